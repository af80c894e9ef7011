//! One session after the other, for as long as the agent lives.
//!
//! Where a connection comes from, and chance, are arguments: tests and the simulation have their own.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use crate::backoff::{Attempt, Backoff};
use crate::error::{AgentError, chain};
use crate::hand::Hand;
use crate::session::{Ended, Speaker, Why, talk};

/// Connects, talks, waits and connects again, until `stop`.
pub async fn sessions<S, E>(
    connect: impl AsyncFn() -> Result<S, E>,
    chance: impl Fn() -> f64,
    speaker: &Speaker,
    hand: &mut Hand,
    stop: &CancellationToken,
) -> Result<(), AgentError>
where
    S: AsyncRead + AsyncWrite,
    E: std::error::Error,
{
    let mut backoff = Backoff::default();
    loop {
        let connected = tokio::select! {
            gone = hand.attend() => return Err(gone.into()),
            () = stop.cancelled() => return Ok(()),
            connected = connect() => connected,
        };
        let attempt = match connected {
            Ok(stream) => match judge(talk(stream, speaker, hand, stop).await?) {
                Some(attempt) => attempt,
                None => return Ok(()),
            },
            Err(error) => {
                tracing::warn!(error = %chain(&error), "no session");
                Attempt::Failed
            }
        };
        let delay = backoff.delay(attempt, chance());
        tracing::debug!(
            delay_ms = delay.as_millis() as u64,
            "waiting before the next try"
        );
        if wait(delay, hand, stop).await?.is_leaving() {
            return Ok(());
        }
    }
}

/// Says how a session ended and what that means for the next one; none when the agent is leaving.
fn judge(ended: Ended) -> Option<Attempt> {
    let Ended { why, lasted } = ended;
    match &why {
        Why::Leaving => return None,
        Why::Bye {
            reason,
            permanent: true,
        } => {
            tracing::error!(
                reason,
                "the server will not have this agent until somebody changes something; processes go on as they are"
            );
            return Some(Attempt::Refused);
        }
        _ => tracing::warn!(error = %chain(&why), "session ended; processes go on as they are"),
    }
    Some(lasted.map_or(Attempt::Failed, Attempt::Lost))
}

pub(crate) enum Waited {
    Through,
    Leaving,
}

impl Waited {
    pub(crate) fn is_leaving(&self) -> bool {
        matches!(self, Self::Leaving)
    }
}

/// Lets time pass while the supervisor is served.
pub(crate) async fn wait(
    delay: Duration,
    hand: &mut Hand,
    stop: &CancellationToken,
) -> Result<Waited, AgentError> {
    tokio::select! {
        gone = hand.attend() => Err(gone.into()),
        () = stop.cancelled() => Ok(Waited::Leaving),
        () = tokio::time::sleep(delay) => Ok(Waited::Through),
    }
}
