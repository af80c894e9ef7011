//! One session after the other, for as long as the agent lives.
//!
//! Where a connection comes from, and chance, are arguments: tests and the simulation have their own.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::backoff::{Attempt, Backoff};
use crate::choice::Choice;
use crate::error::{AgentError, chain};
use crate::hand::Hand;
use crate::session::{Ended, Greeted, Introduction, Speaker, Why, greet, talk};

/// How long one server may take to welcome an agent that moves, before the next is asked.
const GREETED_WITHIN: Duration = Duration::from_secs(10);

/// Why there are no more sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parted {
    Leaving,
    /// The certificate is of no use any more.
    MustJoin,
}

/// Connects, talks, waits and connects again, until `stop`. `connect` takes one of `n_servers`, counted from 0.
pub async fn sessions<S, E>(
    n_servers: usize,
    connect: impl AsyncFn(usize) -> Result<S, E>,
    chance: impl Fn() -> f64,
    speaker: &Speaker,
    hand: &mut Hand,
    stop: &CancellationToken,
) -> Result<Parted, AgentError>
where
    S: AsyncRead + AsyncWrite,
    E: std::error::Error,
{
    let mut backoff = Backoff::default();
    let mut choice = Choice::new(n_servers, &chance);
    loop {
        let server = choice.current();
        let connected = tokio::select! {
            gone = hand.attend() => return Err(gone.into()),
            () = stop.cancelled() => return Ok(Parted::Leaving),
            connected = connect(server) => connected,
        };
        let attempt = match connected {
            Ok(stream) => {
                let elsewhere = async |from, introduction| {
                    let others = choice.others(from, &chance);
                    first_to_welcome(&others, &connect, &introduction).await
                };
                let ended = talk(stream, server, speaker, hand, stop, &elsewhere).await?;
                match judge(&ended) {
                    Ok(attempt @ Attempt::Lost(_)) => {
                        choice.lost(ended.server);
                        attempt
                    }
                    Ok(attempt) => attempt,
                    Err(parted) => return Ok(parted),
                }
            }
            Err(error) => {
                tracing::warn!(error = %chain(&error), "no session");
                Attempt::Failed
            }
        };
        let delay = match attempt {
            Attempt::Failed if choice.failed() => Backoff::next_server(chance()),
            Attempt::Refused => {
                choice.failed();
                backoff.delay(attempt, chance())
            }
            Attempt::Failed | Attempt::Lost(_) => backoff.delay(attempt, chance()),
        };
        tracing::debug!(
            delay_ms = delay.as_millis() as u64,
            "waiting before the next try"
        );
        if wait(delay, hand, stop).await?.is_leaving() {
            return Ok(Parted::Leaving);
        }
    }
}

/// Goes through the servers until one of them welcomes the agent.
async fn first_to_welcome<S, E>(
    servers: &[usize],
    connect: &impl AsyncFn(usize) -> Result<S, E>,
    introduction: &Introduction,
) -> Option<Greeted<S>>
where
    S: AsyncRead + AsyncWrite,
    E: std::error::Error,
{
    for &server in servers {
        let attempt = async {
            let stream = connect(server)
                .await
                .map_err(|error| tracing::debug!(error = %chain(&error), "not to be reached"))?;
            greet(stream, server, introduction)
                .await
                .map_err(|why| tracing::debug!(error = %chain(&why), "not welcome"))
        };
        if let Ok(Ok(greeted)) = timeout(GREETED_WITHIN, attempt).await {
            return Some(greeted);
        }
    }
    None
}

/// Says how a session ended and what that means for the next one, if there is to be one.
fn judge(ended: &Ended) -> Result<Attempt, Parted> {
    let Ended { why, lasted, .. } = ended;
    match why {
        Why::Leaving => return Err(Parted::Leaving),
        Why::Bye {
            reason,
            permanent: true,
            rejoin,
        } => {
            tracing::error!(
                reason,
                "the server will not have this agent until somebody changes something; processes go on as they are"
            );
            return match rejoin {
                true => Err(Parted::MustJoin),
                false => Ok(Attempt::Refused),
            };
        }
        _ => tracing::warn!(error = %chain(why), "session ended; processes go on as they are"),
    }
    Ok(lasted.map_or(Attempt::Failed, Attempt::Lost))
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
