//! The agent's end of the two queues to and from the supervisor.
//!
//! Both queues are bounded, so neither side may wait for room without listening at the same time. Requests therefore
//! wait here, in order, and go out while notices come in.

use std::collections::VecDeque;

use supervisor::{Notice, Request};
use tokio::sync::mpsc;

/// The supervisor ended, which it never does by itself.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("the supervisor ended")]
pub struct SupervisorGone;

#[derive(Debug)]
pub struct Keeper {
    requests: mpsc::Sender<Request>,
    notices: mpsc::Receiver<Notice>,
    /// As much as one frame of the server asks for: the next is read when these are gone.
    pending: VecDeque<Request>,
}

impl Keeper {
    pub fn new(requests: mpsc::Sender<Request>, notices: mpsc::Receiver<Notice>) -> Self {
        Self {
            requests,
            notices,
            pending: VecDeque::new(),
        }
    }

    pub fn ask(&mut self, request: Request) {
        self.pending.push_back(request);
    }

    /// Whether the supervisor has taken everything.
    pub fn is_idle(&self) -> bool {
        self.pending.is_empty()
    }

    /// Passes one request on, or waits for one notice. May be cancelled without loss.
    pub async fn turn(&mut self) -> Result<Option<Notice>, SupervisorGone> {
        tokio::select! {
            permit = self.requests.reserve(), if !self.pending.is_empty() => {
                let permit = permit.map_err(|_| SupervisorGone)?;
                if let Some(request) = self.pending.pop_front() {
                    permit.send(request);
                }
                Ok(None)
            }
            notice = self.notices.recv() => notice.map(Some).ok_or(SupervisorGone),
        }
    }
}
