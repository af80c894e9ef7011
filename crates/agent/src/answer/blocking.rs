//! Answers that take a while, made on a blocking thread. An empty first chunk says that the work has begun, so that the server
//! can tell slow work from an agent without this question.

use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::task::JoinHandle;

use super::NextChunk;

/// The whole answer, or why there is none.
pub(super) type TaskResult = Result<Vec<u8>, String>;

#[derive(Debug)]
pub(super) struct BlockingTask {
    has_begun: bool,
    work: JoinHandle<TaskResult>,
}

impl BlockingTask {
    pub(super) fn begin(work: impl FnOnce() -> TaskResult + Send + 'static) -> Self {
        Self {
            has_begun: false,
            work: tokio::task::spawn_blocking(work),
        }
    }

    pub(super) fn next(&mut self) -> Option<NextChunk> {
        let has_begun = std::mem::replace(&mut self.has_begun, true);
        (!has_begun).then(|| NextChunk::Chunk(Vec::new()))
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<TaskResult> {
        Pin::new(&mut self.work).poll(cx).map(|done| {
            let failed = |error| Err(format!("the agent failed at this question: {error}"));
            done.unwrap_or_else(failed)
        })
    }
}
