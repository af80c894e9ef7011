//! Following other replicas: a hint on the bus says that there is something new in the store. Hints may be lost, so it is
//! looked for without one, too.

use std::time::Duration;

use bus::{Message, Received};
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;

use crate::{Control, stopped};

/// How long a replica that hears nothing may show what is old. Whoever reads looks anyway.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

pub(crate) async fn run(control: Control, mut stop: watch::Receiver<bool>) {
    if control.is_alone() {
        return;
    }
    let mut hints = control.0.bus.subscribe();
    let mut look_again = tokio::time::interval(LOOK_AGAIN);
    look_again.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let received = tokio::select! {
            received = hints.recv() => Some(received),
            _ = look_again.tick() => None,
            () = stopped(&mut stop) => return,
        };
        let followed = match received {
            Some(Received::Message(_, Message::Committed(revision)))
                if revision > control.fleet().revision() =>
            {
                control.follow().await
            }
            Some(Received::Message(_, Message::Committed(_) | Message::Soft(_))) => Ok(()),
            // Whatever was missed, the store has it.
            Some(Received::Lagged) | None => {
                control.settled().await;
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
