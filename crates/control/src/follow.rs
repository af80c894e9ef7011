//! Following other replicas: a hint on the bus says that there is something new in the store.

use bus::{Message, Received};
use tokio::sync::watch;

use crate::{Control, stopped};

pub(crate) async fn run(control: Control, mut stop: watch::Receiver<bool>) {
    let mut hints = control.0.bus.subscribe();
    loop {
        let received = tokio::select! {
            received = hints.recv() => received,
            () = stopped(&mut stop) => return,
        };
        let newer = match received {
            Received::Message(_, Message::Committed(revision)) => {
                revision > control.fleet().revision()
            }
            Received::Message(_, Message::Presence { .. } | Message::Status { .. }) => false,
            // Whatever was missed, the store has it.
            Received::Lagged => true,
        };
        if newer && let Err(error) = control.follow().await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "cannot follow the other replicas"
            );
        }
    }
}
