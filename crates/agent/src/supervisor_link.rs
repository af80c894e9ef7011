//! The agent's end of the two bounded queues to and from the supervisor.
//!
//! A side that waited for room without receiving would deadlock, so requests wait here, in order, and go out while notices
//! come in.

use std::collections::VecDeque;

use supervisor::{Notice, Request};
use tokio::sync::mpsc;

/// The supervisor ended, which it does only after a failure.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("the supervisor ended")]
pub struct SupervisorGone;

#[derive(Debug)]
pub struct SupervisorLink {
    requests: mpsc::Sender<Request>,
    notices: mpsc::Receiver<Notice>,
    /// At most the requests of one frame: the session reads the next frame when this is empty.
    pending: VecDeque<Request>,
}

impl SupervisorLink {
    pub fn new(requests: mpsc::Sender<Request>, notices: mpsc::Receiver<Notice>) -> Self {
        Self {
            requests,
            notices,
            pending: VecDeque::new(),
        }
    }

    pub fn submit(&mut self, request: Request) {
        self.pending.push_back(request);
    }

    /// Whether the supervisor has taken every request.
    pub fn is_idle(&self) -> bool {
        self.pending.is_empty()
    }

    /// Sends one request, or waits for one notice. Cancel-safe.
    pub async fn exchange(&mut self) -> Result<Option<Notice>, SupervisorGone> {
        tokio::select! {
            permit = self.requests.reserve(), if !self.pending.is_empty() => {
                let permit = permit.map_err(|_| SupervisorGone)?;
                if let Some(request) = self.pending.pop_front() {
                    permit.send(request);
                }
                if self.pending.is_empty() {
                    // The room of a long frame.
                    self.pending = VecDeque::new();
                }
                Ok(None)
            }
            notice = self.notices.recv() => notice.map(Some).ok_or(SupervisorGone),
        }
    }
}
