//! Following other replicas: a hint on the bus says that there is something new in the store. Hints may be lost, so it is
//! looked for without one, too.

use std::time::Duration;

use bus::{Message, Received};
use tokio::sync::watch;

use crate::{Control, stopped};

/// How long a replica that hears nothing may show what is old.
const LOOK_AGAIN: Duration = Duration::from_secs(30);

pub(crate) async fn run(control: Control, mut stop: watch::Receiver<bool>) {
    let mut hints = control.0.bus.subscribe();
    loop {
        let received = tokio::select! {
            received = hints.recv() => Some(received),
            () = tokio::time::sleep(LOOK_AGAIN) => None,
            () = stopped(&mut stop) => return,
        };
        let newer = match received {
            Some(Received::Message(_, Message::Committed(revision))) => {
                revision > control.fleet().revision()
            }
            Some(Received::Message(_, Message::Soft(_))) => false,
            // Whatever was missed, the store has it.
            Some(Received::Lagged) | None => true,
        };
        if newer && let Err(error) = control.follow().await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "cannot follow the other replicas"
            );
        }
    }
}
