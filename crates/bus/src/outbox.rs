//! Frames that wait to be sent. Publishing never waits, so a full outbox drops its oldest frames: the newest hint says most.
//! Receivers notice the gap in the sequence numbers.

use std::collections::VecDeque;

use locks::Mutex;
use tokio::sync::Notify;

use crate::ReplicaId;

/// Frames that wait to be sent.
const MAX_FRAMES: usize = 4096;
/// Their bytes together.
const MAX_BYTES: usize = 64 << 20;

/// A frame and its receiver.
#[derive(Debug)]
pub(crate) struct Outgoing {
    /// None: all other replicas.
    pub(crate) to: Option<ReplicaId>,
    pub(crate) bytes: Vec<u8>,
    /// The id of the pending request that it carries.
    pub(crate) request: Option<u64>,
}

#[derive(Debug, Default)]
pub(crate) struct Outbox {
    queue: Mutex<Queue>,
    filled: Notify,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<Outgoing>,
    n_bytes: usize,
}

impl Outbox {
    /// Appends a frame, and answers which frames it dropped to make room.
    pub(crate) fn push(&self, outgoing: Outgoing) -> Vec<Outgoing> {
        let mut queue = self.queue.lock();
        queue.n_bytes += outgoing.bytes.len();
        queue.waiting.push_back(outgoing);
        let mut dropped = Vec::new();
        while queue.waiting.len() > MAX_FRAMES || queue.n_bytes > MAX_BYTES {
            dropped.extend(queue.pop());
        }
        drop(queue);
        self.filled.notify_one();
        dropped
    }

    /// Waits for frames, and takes the oldest, up to so many and about so many bytes. Cancel safe. One task at a time may wait.
    pub(crate) async fn take(&self, max_frames: usize, max_bytes: usize) -> Vec<Outgoing> {
        loop {
            let taken = self.try_take(max_frames, max_bytes);
            if !taken.is_empty() {
                return taken;
            }
            self.filled.notified().await;
        }
    }

    pub(crate) fn try_take(&self, max_frames: usize, max_bytes: usize) -> Vec<Outgoing> {
        let mut queue = self.queue.lock();
        let (mut taken, mut n_bytes) = (Vec::new(), 0);
        while taken.len() < max_frames && n_bytes < max_bytes {
            let Some(outgoing) = queue.pop() else { break };
            n_bytes += outgoing.bytes.len();
            taken.push(outgoing);
        }
        taken
    }
}

impl Queue {
    fn pop(&mut self) -> Option<Outgoing> {
        let outgoing = self.waiting.pop_front()?;
        self.n_bytes -= outgoing.bytes.len();
        Some(outgoing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outgoing(n_bytes: usize) -> Outgoing {
        Outgoing {
            to: None,
            bytes: vec![0; n_bytes],
            request: None,
        }
    }

    #[test]
    fn too_many_frames_drop_the_oldest() {
        let outbox = Outbox::default();
        for n in 0..MAX_FRAMES {
            assert!(outbox.push(outgoing(n)).is_empty());
        }
        assert_eq!(outbox.push(outgoing(7)).len(), 1);
        let oldest = outbox.try_take(1, usize::MAX);
        assert_eq!(oldest[0].bytes.len(), 1);
    }

    #[test]
    fn too_many_bytes_drop_the_oldest() {
        let outbox = Outbox::default();
        outbox.push(outgoing(1));
        outbox.push(outgoing(2));
        let dropped = outbox.push(outgoing(MAX_BYTES - 2));
        assert_eq!(dropped.len(), 1);
        assert_eq!(outbox.try_take(9, usize::MAX).len(), 2);
    }
}
