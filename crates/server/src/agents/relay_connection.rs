//! A connection of a relay that carries many agents: each stream is treated as a connection of its agent.
//!
//! A stream is opened with the PROXY header that would begin the agent's own connection.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;

use multiplex::{Connection, PrefaceError, Stream};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

use super::socket::AgentSocket;
use super::{
    AgentConnection, ConnectionError, Door, HANDSHAKE_QUEUE_TIMEOUT, MAX_REFUSED_POLITELY,
    Unauthenticated, relayed,
};
use crate::shed::ShedReason;
use crate::stopped;

const NO_ROOM: &str = "this server has no room for more agents of relays: raise --relayed-agents";

/// Runs the connection until it ends, or the server stops and the last of its agents has been told.
pub(super) async fn serve(
    door: Arc<Door>,
    tcp: TcpStream,
    peer: SocketAddr,
) -> Result<(), ConnectionError> {
    let Ok(_permit) = door.relay_connections.try_acquire() else {
        door.shed.count(ShedReason::AgentConnections, peer);
        return Err(ConnectionError::Refused(
            "too many connections of relays".to_owned(),
        ));
    };
    let accepted = timeout(door.timeout, Connection::accept(tcp)).await;
    let accepted = accepted.map_err(|_| ConnectionError::TooSlow)?;
    let (connection, driver) = accepted.map_err(|error| {
        if matches!(
            error,
            PrefaceError::NotMultiplexed | PrefaceError::Malformed
        ) {
            let why = format_args!("{peer} wants to carry many agents, and {error}");
            door.shed.count(ShedReason::AgentProxyHeader, why);
        }
        ConnectionError::Header(error.to_string())
    })?;
    tracing::info!(relay = %peer, "a relay has connected, to carry many agents");
    let mut stop = door.stop.clone();
    let relay = Relay {
        address: peer,
        waiting_streams: Arc::new(Semaphore::new(door.max_waiting_of_relay)),
    };
    let mut driving = pin!(driver.serve(|stream, opening| admit(&door, stream, opening, &relay)));
    let ended = tokio::select! {
        ended = &mut driving => ended,
        () = stopped(&mut stop) => {
            connection.finish();
            driving.await
        }
    };
    match &ended {
        Ok(()) | Err(multiplex::ConnectionError::Closed) => {
            tracing::info!(relay = %peer, "a connection of a relay has ended");
        }
        Err(
            error @ (multiplex::ConnectionError::Frame(_) | multiplex::ConnectionError::Rules(_)),
        ) => {
            let why = format_args!("{peer} carries many agents, and {error}");
            door.shed.count(ShedReason::AgentProxyHeader, why);
        }
        Err(error) => {
            tracing::warn!(relay = %peer, %error, "a connection of a relay has ended, with its agents");
        }
    }
    ended.map_err(|error| ConnectionError::Header(error.to_string()))
}

/// The other side of a connection.
struct Relay {
    address: SocketAddr,
    waiting_streams: Arc<Semaphore>,
}

/// Begins the session of an agent. A stream that is refused is dropped, which ends it.
fn admit(door: &Arc<Door>, stream: Stream, opening: &[u8], relay: &Relay) {
    let peer = relay.address;
    let origin = match relayed::parse_opening(opening, peer) {
        Ok(origin) => origin,
        Err(error) => {
            let why = format_args!("{peer} {error}");
            door.shed.count(ShedReason::AgentProxyHeader, why);
            return;
        }
    };
    let (agent, max) = (origin.agent, door.max_streams);
    let n_streams = door.streams.len();
    if n_streams >= max + MAX_REFUSED_POLITELY {
        let why = format_args!("{agent} through {peer}: at most {max} agents can come so");
        door.shed.count(ShedReason::AgentConnections, why);
        return;
    }
    let slot = match door.limiter.admit(agent.ip(), Instant::now()) {
        Ok(slot) => slot,
        Err(error) => {
            let why = format_args!("{agent} through {peer}: {error}");
            door.shed.count(ShedReason::AgentAddress, why);
            return;
        }
    };
    let of_relay = relay.waiting_streams.clone().try_acquire_owned();
    let of_all = door.waiting_streams.clone().try_acquire_owned();
    let (Ok(of_relay), Ok(of_all)) = (of_relay, of_all) else {
        let why = format_args!("{agent} through {peer}: too many wait for their handshake");
        door.shed.count(ShedReason::AgentUnauthenticated, why);
        return;
    };
    let full = (n_streams >= max).then_some(NO_ROOM);
    if full.is_some() {
        door.shed.count(ShedReason::AgentConnections, agent);
    }
    let connection = AgentConnection {
        door: door.clone(),
        full,
    };
    let permit = door.unauthenticated_streams.clone().acquire_owned();
    let (shed, mut stop) = (door.shed.clone(), door.stop.clone());
    door.streams.spawn(async move {
        let queued = tokio::select! {
            biased;
            () = stream.ended() => return,
            () = stopped(&mut stop) => return,
            queued = timeout(HANDSHAKE_QUEUE_TIMEOUT, permit) => queued,
        };
        let Ok(Ok(permit)) = queued else {
            shed.count(ShedReason::AgentUnauthenticated, agent);
            return;
        };
        let socket = AgentSocket::Stream(stream);
        let unauthenticated = Unauthenticated {
            slot,
            _permit: permit,
            _of_relays: Some([of_relay, of_all]),
        };
        if let Err(error) = connection.serve(socket, origin, unauthenticated).await {
            tracing::debug!(%agent, relay = %peer, %error, "agent stream ended");
        }
    });
}
