//! Clients that come while no server can be reached. A server that restarts is back within seconds: a client that was closed
//! meanwhile would back off, and come back long after the server.
//!
//! One of them at a time tries again, and the others hear of its success.

use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{Mutex, Notify};
use tokio::time::{Instant, sleep, sleep_until};

use super::{NoUpstream, Servers, Upstream};

/// How often the servers are tried while clients wait.
const RETRY: Duration = Duration::from_millis(500);

#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// Held by the client that tries.
    trying: Mutex<()>,
    reached: Notify,
    n_clients: AtomicUsize,
}

/// Counts a client as waiting until it is dropped.
struct WaitingClient<'a>(&'a AtomicUsize);

impl<'a> WaitingClient<'a> {
    fn new(n_clients: &'a AtomicUsize) -> Self {
        n_clients.fetch_add(1, Ordering::SeqCst);
        Self(n_clients)
    }
}

impl Drop for WaitingClient<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Servers {
    /// Connects as [`Servers::connect`] does. If no server can be reached, it waits for one so long, or until the client has gone.
    pub(crate) async fn connect_within(
        &self,
        patience: Duration,
        opening: &[u8],
        gone: impl Future<Output = ()>,
    ) -> Result<Upstream, NoUpstream> {
        let until = Instant::now() + patience;
        let mut gone = pin!(gone);
        let Waiting {
            trying,
            reached,
            n_clients,
        } = &self.waiting;
        let (mut waits, mut turn, mut is_told) = (None, None, false);
        loop {
            // From here on it hears of a success.
            let mut told = pin!(reached.notified());
            told.as_mut().enable();
            let is_first = waits.is_none() && n_clients.load(Ordering::SeqCst) == 0;
            if is_first || turn.is_some() || is_told {
                match self.connect(opening).await {
                    Ok(upstream) => {
                        if waits.is_some() {
                            reached.notify_waiters();
                        }
                        return Ok(upstream);
                    }
                    Err(NoUpstream::Servers) if Instant::now() < until => {}
                    Err(error) => return Err(error),
                }
            }
            waits.get_or_insert_with(|| WaitingClient::new(n_clients));
            let has_turn = turn.is_some();
            tokio::select! {
                () = &mut gone => return Err(NoUpstream::Servers),
                () = told => is_told = true,
                () = sleep(RETRY), if has_turn => {}
                // Its holder was the last to succeed, or has gone: this client tries at once.
                guard = trying.lock(), if !has_turn => turn = Some(guard),
                () = sleep_until(until) => return Err(NoUpstream::Servers),
            }
        }
    }
}
