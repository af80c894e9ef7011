//! Runs one session after the other, with backoff, until the agent stops.
//!
//! The connector and the random numbers are arguments, for tests and the simulation.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::backoff::{Attempt, Backoff};
use crate::error::{AgentError, chain};
use crate::server_order::ServerOrder;
use crate::session::{
    AgentInfo, EndReason, HelloTemplate, SessionEnd, WelcomedConnection, run_session, say_hello,
};
use crate::state::AgentState;

/// Limit for the welcome of one server before the next is tried, when the agent moves.
const WELCOME_TIMEOUT: Duration = Duration::from_secs(10);

/// Why no further session follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionsEnd {
    Stopping,
    /// The server does not accept the certificate any more.
    MustJoin,
}

/// Connects, runs a session, waits and connects again, until `stop`. `connect` takes a server's index below `n_servers`.
pub async fn run_sessions<S, E>(
    n_servers: usize,
    connect: impl AsyncFn(usize) -> Result<S, E>,
    random_fraction: impl Fn() -> f64,
    info: &AgentInfo,
    state: &mut AgentState,
    stop: &CancellationToken,
) -> Result<SessionsEnd, AgentError>
where
    S: AsyncRead + AsyncWrite,
    E: std::error::Error + 'static,
{
    let mut backoff = Backoff::default();
    let mut order = ServerOrder::new(n_servers, &random_fraction);
    loop {
        let server = order.current();
        let connected = tokio::select! {
            gone = state.serve_supervisor() => return Err(gone.into()),
            () = stop.cancelled() => return Ok(SessionsEnd::Stopping),
            connected = connect(server) => connected,
        };
        let attempt = match connected {
            Ok(stream) => {
                let connect_elsewhere = async |from, template| {
                    let others = order.others(from, &random_fraction);
                    first_to_welcome(&others, &connect, &template).await
                };
                let ended =
                    run_session(stream, server, info, state, stop, &connect_elsewhere).await?;
                match next_attempt(&ended) {
                    Ok(attempt @ Attempt::Lost(_)) => {
                        order.lost(ended.server);
                        attempt
                    }
                    Ok(attempt) => attempt,
                    Err(parted) => return Ok(parted),
                }
            }
            Err(error) => {
                tracing::warn!(error = %chain(&error), "cannot connect to the server; trying again");
                match is_not_listening(&error) {
                    true => Attempt::NotListening,
                    false => Attempt::Failed,
                }
            }
        };
        let delay = match attempt {
            Attempt::Failed | Attempt::NotListening if order.failed() => {
                Backoff::next_server(random_fraction())
            }
            Attempt::Refused => {
                order.failed();
                backoff.delay(attempt, random_fraction())
            }
            Attempt::Failed | Attempt::NotListening | Attempt::Lost(_) => {
                backoff.delay(attempt, random_fraction())
            }
        };
        tracing::debug!(
            delay_ms = delay.as_millis() as u64,
            "waiting before the next try"
        );
        if wait(delay, state, stop).await?.is_stopping() {
            return Ok(SessionsEnd::Stopping);
        }
    }
}

/// Whether the host of the server answered that no program listens there.
fn is_not_listening(error: &(dyn std::error::Error + 'static)) -> bool {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let mut io = causes.filter_map(|error| error.downcast_ref::<std::io::Error>());
    io.any(|error| error.kind() == std::io::ErrorKind::ConnectionRefused)
}

/// Tries the servers in order until one welcomes the agent.
async fn first_to_welcome<S, E>(
    servers: &[usize],
    connect: &impl AsyncFn(usize) -> Result<S, E>,
    template: &HelloTemplate,
) -> Option<WelcomedConnection<S>>
where
    S: AsyncRead + AsyncWrite,
    E: std::error::Error,
{
    for &server in servers {
        let attempt = async {
            let stream = connect(server)
                .await
                .map_err(|error| tracing::debug!(error = %chain(&error), "not to be reached"))?;
            say_hello(stream, server, template)
                .await
                .map_err(|reason| tracing::debug!(error = %chain(&reason), "not welcome"))
        };
        if let Ok(Ok(connection)) = timeout(WELCOME_TIMEOUT, attempt).await {
            return Some(connection);
        }
    }
    None
}

/// Logs how a session ended, and returns the attempt for the backoff, or why there is no next session.
fn next_attempt(ended: &SessionEnd) -> Result<Attempt, SessionsEnd> {
    let SessionEnd { reason, lasted, .. } = ended;
    match reason {
        EndReason::Stopping => return Err(SessionsEnd::Stopping),
        EndReason::Bye {
            reason,
            permanent: true,
            rejoin,
        } => {
            tracing::error!("{}; processes keep running", rejected(reason, *rejoin));
            return match rejoin {
                true => Err(SessionsEnd::MustJoin),
                false => Ok(Attempt::Refused),
            };
        }
        _ => {
            tracing::warn!(error = %chain(reason), "connection to the server lost; processes keep running")
        }
    }
    Ok(lasted.map_or(Attempt::Failed, Attempt::Lost))
}

/// Why the server does not accept this agent, and what to do.
fn rejected(reason: &str, rejoin: bool) -> String {
    let advice = match rejoin {
        true => "use a new join token (muster token create)",
        false => "correct this; the agent tries again every minute",
    };
    format!("server rejected this agent: {reason}; {advice}")
}

pub(crate) enum WaitEnd {
    Elapsed,
    Stopping,
}

impl WaitEnd {
    pub(crate) fn is_stopping(&self) -> bool {
        matches!(self, Self::Stopping)
    }
}

/// Waits, and serves the supervisor meanwhile.
pub(crate) async fn wait(
    delay: Duration,
    state: &mut AgentState,
    stop: &CancellationToken,
) -> Result<WaitEnd, AgentError> {
    tokio::select! {
        gone = state.serve_supervisor() => Err(gone.into()),
        () = stop.cancelled() => Ok(WaitEnd::Stopping),
        () = tokio::time::sleep(delay) => Ok(WaitEnd::Elapsed),
    }
}
