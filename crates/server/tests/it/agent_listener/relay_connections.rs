//! Connections of relays that carry many agents: each stream is an agent, with its own TLS, address and limits.

use std::time::Duration;

use futures_util::StreamExt;
use multiplex::{Connection, PrefaceError, Stream};
use server::agents::{AgentLimits, AgentListener, Relays};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::relays::proxy_header;
use super::{HOST, TIMEOUT, TestListener, closed, expect_bye, is_welcome};

impl TestListener {
    /// Behind relays on loopback, which may bring so many agents.
    async fn for_relays(limits: AgentLimits, n_agents: usize) -> Self {
        Self::for_relays_with(limits, |agents| agents.with_relayed_agents(n_agents)).await
    }

    async fn for_relays_with(
        limits: AgentLimits,
        change: impl FnOnce(AgentListener) -> AgentListener,
    ) -> Self {
        let relays = Relays::parse("127.0.0.0/8").unwrap();
        let life = Duration::from_secs(90 * 24 * 3600);
        let change = |agents: AgentListener| change(agents.with_relays(relays));
        Self::with(limits, change, life).await
    }

    /// A connection as that of a relay.
    async fn relay(&self) -> Result<Connection, PrefaceError> {
        let tcp = TcpStream::connect(self.address).await.unwrap();
        let opening = tokio::time::timeout(TIMEOUT, Connection::open(tcp));
        let (connection, driver) = opening.await.unwrap()?;
        tokio::spawn(driver.run());
        Ok(connection)
    }
}

fn agent(connection: &Connection, last: u8) -> Stream {
    connection.stream(&proxy_header([10, 0, 0, last])).unwrap()
}

#[tokio::test]
async fn many_agents_come_over_one_connection() {
    let listener = TestListener::for_relays(AgentLimits::default(), 100).await;
    let identity = listener.enrol().await;
    let relay = listener.relay().await.unwrap();
    // Some enrol, one has a session.
    for last in 1..=5 {
        let stream = agent(&relay, last);
        let tls = listener.handshake(stream, wire::enrol::ALPN, Some(&identity));
        drop(tls.await.unwrap());
    }
    let tls = listener.handshake(agent(&relay, 7), wire::ALPN, Some(&identity));
    let (mut session, kind) = TestListener::say_hello(tls.await.unwrap()).await;
    assert!(is_welcome(&kind), "{kind:?}");
    let shown = listener.relay_of(HOST).unwrap();
    assert_eq!(shown, "127.0.0.1:7101".parse().unwrap());
    // The end of the connection is the end of the session.
    listener.stop.send(true).unwrap();
    let last = async {
        loop {
            match session.next().await.unwrap().unwrap().kind {
                Some(wire::DownKind::Bye(bye)) => break bye,
                _other => {}
            }
        }
    };
    let bye = tokio::time::timeout(TIMEOUT, last).await.unwrap();
    assert!(bye.reason.contains("stopping"), "{bye:?}");
}

#[tokio::test]
async fn only_a_relay_may_carry_many_agents_and_only_where_that_is_on() {
    let stranger = TestListener::behind("10.9.9.9", AgentLimits::default()).await;
    let off = TestListener::for_relays(AgentLimits::default(), 0).await;
    for listener in [stranger, off] {
        let refused = listener.relay().await.unwrap_err();
        assert!(!matches!(refused, PrefaceError::Malformed), "{refused:?}");
    }
}

#[tokio::test]
async fn a_stream_with_a_bad_beginning_ends_and_no_other() {
    let listener = TestListener::for_relays(AgentLimits::default(), 100).await;
    let identity = listener.enrol().await;
    let relay = listener.relay().await.unwrap();
    let local = b"\r\n\r\n\0\r\nQUIT\n\x20\x00\x00\x00";
    for opening in [&b""[..], b"PROXY TCP4 1.1.1.1 2.2.2.2 1 2\r\n", local] {
        let mut stream = relay.stream(opening).unwrap();
        closed(&mut stream).await;
    }
    // A relay behind a relay, and bytes that are no TLS.
    for first in [proxy_header([10, 0, 0, 9]), vec![b'x'; 4096]] {
        let mut stream = agent(&relay, 8);
        stream.write_all(&first).await.ok();
        closed(&mut stream).await;
    }
    let tls = listener.handshake(agent(&relay, 7), wire::ALPN, Some(&identity));
    let (_session, kind) = TestListener::say_hello(tls.await.unwrap()).await;
    assert!(is_welcome(&kind), "{kind:?}");
}

#[tokio::test]
async fn a_relay_that_breaks_the_rules_loses_its_connection() {
    let listener = TestListener::for_relays(AgentLimits::default(), 100).await;
    let mut tcp = TcpStream::connect(listener.address).await.unwrap();
    let preface = multiplex::Preface {
        version: 1,
        window: 1,
    };
    tcp.write_all(&preface.to_bytes()).await.unwrap();
    let mut answer = [0; multiplex::PREFACE];
    tcp.read_exact(&mut answer).await.unwrap();
    tcp.write_all(b"\x02\0\0\x01\0\0\0\x01x").await.unwrap();
    closed(&mut tcp).await;
}

#[tokio::test]
async fn limits_count_the_agents_of_a_connection_each_by_its_address() {
    let limits = AgentLimits {
        unauthenticated: 2,
        ..AgentLimits::default()
    };
    let listener = TestListener::for_relays(limits, 100).await;
    let relay = listener.relay().await.unwrap();
    let mut waiting = Vec::new();
    for last in 1..=4 {
        for _ in 0..2 {
            waiting.push(agent(&relay, last));
        }
    }
    let mut beyond = agent(&relay, 1);
    closed(&mut beyond).await;
    for stream in &waiting {
        let kind = stream.try_read(&mut [0]).unwrap_err().kind();
        assert_eq!(kind, std::io::ErrorKind::WouldBlock);
    }
}

#[tokio::test]
async fn a_silent_stream_is_closed() {
    let limits = AgentLimits {
        timeout: Duration::from_millis(50),
        ..AgentLimits::default()
    };
    let listener = TestListener::for_relays(limits, 100).await;
    let relay = listener.relay().await.unwrap();
    closed(&mut agent(&relay, 1)).await;
    // The connection stays: a relay without agents is no stranger.
    assert!(relay.is_open());
    // A relay that begins and says nothing more is not waited for.
    let mut tcp = TcpStream::connect(listener.address).await.unwrap();
    tcp.write_all(&multiplex::MAGIC).await.unwrap();
    closed(&mut tcp).await;
}

/// How a handshake begins.
const TLS: &[u8] = b"\x16\x03\x01\x02\x00";

/// A listener where further agents of an address wait for their handshake, and a relay.
async fn with_one_handshake_at_a_time() -> (TestListener, Connection) {
    let limits = AgentLimits {
        handshakes: 1,
        timeout: TIMEOUT * 2,
        ..AgentLimits::default()
    };
    let listener = TestListener::for_relays(limits, 100).await;
    let relay = listener.relay().await.unwrap();
    (listener, relay)
}

#[tokio::test]
async fn an_agent_that_gives_up_while_it_waits_for_its_handshake_is_forgotten() {
    let (listener, relay) = with_one_handshake_at_a_time().await;
    // It takes the only handshake of its address, and goes no further.
    let mut slow = agent(&relay, 1);
    slow.write_all(TLS).await.unwrap();
    let mut direct = TcpStream::connect(listener.address).await.unwrap();
    let header = proxy_header([10, 0, 0, 1]);
    direct
        .write_all(&[&header[..], TLS].concat())
        .await
        .unwrap();
    for n in 1..=3 {
        let mut waiting = agent(&relay, 1);
        waiting.write_all(TLS).await.unwrap();
        waiting.end();
        // Long before the server would stop to wait for the handshake.
        let forgotten = tokio::time::timeout(TIMEOUT / 12, closed(&mut waiting));
        assert!(forgotten.await.is_ok(), "stream {n}");
    }
    direct.shutdown().await.unwrap();
    let forgotten = tokio::time::timeout(TIMEOUT / 12, closed(&mut direct));
    assert!(forgotten.await.is_ok(), "a connection");
    let kind = slow.try_read(&mut [0]).unwrap_err().kind();
    assert_eq!(kind, std::io::ErrorKind::WouldBlock, "it is served");
}

#[tokio::test]
async fn a_server_that_stops_waits_for_no_agent_without_a_session() {
    let (listener, relay) = with_one_handshake_at_a_time().await;
    // In its handshake, before its first byte, and in the queue.
    let mut waiting = [1, 2, 1].map(|last| agent(&relay, last));
    for stream in [0, 2] {
        waiting[stream].write_all(TLS).await.unwrap();
    }
    let mut direct = TcpStream::connect(listener.address).await.unwrap();
    listener.stop.send(true).unwrap();
    for stream in &mut waiting {
        let ended = tokio::time::timeout(TIMEOUT / 12, closed(stream));
        assert!(ended.await.is_ok());
    }
    let ended = tokio::time::timeout(TIMEOUT / 12, closed(&mut direct));
    assert!(ended.await.is_ok());
}

#[tokio::test]
async fn streams_that_wait_are_limited_for_each_relay_and_for_all() {
    let listener = TestListener::for_relays_with(AgentLimits::default(), |agents| {
        agents.with_max_waiting(2, 3)
    });
    let listener = listener.await;
    let [first, second] = [
        listener.relay().await.unwrap(),
        listener.relay().await.unwrap(),
    ];
    let mut waiting = vec![agent(&first, 1), agent(&first, 2)];
    closed(&mut agent(&first, 3)).await;
    waiting.push(agent(&second, 4));
    closed(&mut agent(&second, 5)).await;
    // One that goes makes room.
    waiting.remove(0);
    let room = async {
        loop {
            let mut stream = agent(&first, 6);
            stream.write_all(b"no TLS at all").await.ok();
            let mut alert = [0; 1];
            if stream.read_exact(&mut alert).await.is_ok() {
                break;
            }
        }
    };
    tokio::time::timeout(TIMEOUT, room).await.unwrap();
}

#[tokio::test]
async fn agents_beyond_the_limit_of_relayed_ones_are_told_why() {
    let listener = TestListener::for_relays(AgentLimits::default(), 1).await;
    let identity = listener.enrol().await;
    let relay = listener.relay().await.unwrap();
    let tls = listener.handshake(agent(&relay, 1), wire::ALPN, Some(&identity));
    let (_first, kind) = TestListener::say_hello(tls.await.unwrap()).await;
    assert!(is_welcome(&kind), "{kind:?}");
    let tls = listener.handshake(agent(&relay, 2), wire::ALPN, Some(&identity));
    let (_second, kind) = TestListener::say_hello(tls.await.unwrap()).await;
    let bye = expect_bye(kind);
    assert!(
        !bye.permanent && bye.reason.contains("--relayed-agents"),
        "{bye:?}"
    );
    // A connection of its own is not limited by that.
    let (_third, kind) = listener.hello(&identity).await;
    assert!(is_welcome(&kind), "{kind:?}");
}
