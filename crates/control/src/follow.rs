//! Follows the commits of other replicas: a hint on the bus says that the store has a newer revision. Hints may be lost, so it
//! also polls.

use std::sync::Arc;
use std::time::Duration;

use bus::{Message, Received};
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;

use crate::{Replicas, stopped};

/// How long a replica without hints may stay behind. Reads check the head themselves.
const POLL_EVERY: Duration = Duration::from_secs(1);

pub(crate) async fn run(replicas: Arc<Replicas>, mut stop: watch::Receiver<bool>) {
    let core = &replicas.core;
    if core.is_alone {
        return;
    }
    let mut hints = core.bus.subscribe();
    let mut poll = tokio::time::interval(POLL_EVERY);
    poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let received = tokio::select! {
            received = hints.recv() => Some(received),
            _ = poll.tick() => None,
            () = stopped(&mut stop) => return,
        };
        let followed = match received {
            Some(Received::Message(_, Message::Committed(revision)))
                if revision > core.fleet().revision() =>
            {
                core.follow(revision).await
            }
            Some(Received::Message(_, Message::Committed(_) | Message::Soft(_))) => Ok(()),
            // The store has what was missed.
            Some(Received::Lagged) | None => {
                replicas.catch_up().await;
                Ok(())
            }
        };
        if let Err(error) = followed {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "cannot follow the other replicas"
            );
        }
    }
}
