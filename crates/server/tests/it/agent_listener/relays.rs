//! Connections through relays: PROXY headers before TLS.

use std::net::SocketAddr;
use std::time::Duration;

use model::Host;
use model::access::Caller;
use server::agents::{AgentLimits, Relays};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::{HOST, TestListener, closed, is_welcome};

/// The header of a relay: TCP over IPv4 from this agent to port 7101.
pub(super) fn proxy_header(agent: [u8; 4]) -> Vec<u8> {
    let mut bytes = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\x00\x0c".to_vec();
    bytes.extend(agent);
    bytes.extend([10, 0, 0, 1, 0x04, 0xd2, 0x1b, 0xbd]);
    bytes
}

impl TestListener {
    /// With these relays, and other limits than the default.
    pub(super) async fn behind(relays: &str, limits: AgentLimits) -> Self {
        let relays = Relays::parse(relays).unwrap();
        let life = Duration::from_secs(90 * 24 * 3600);
        Self::with(limits, |agents| agents.with_relays(relays), life).await
    }

    /// A connection that begins with these bytes.
    async fn begin(&self, bytes: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        stream
    }

    pub(super) fn relay_of(&self, host: &str) -> Option<SocketAddr> {
        let host: Host = host.parse().unwrap();
        let caller = Caller::system();
        let registry = self.control.registry();
        let shown = registry.host(&caller, &host, |view, _| view.info.unwrap().relay);
        shown.unwrap()
    }
}

#[tokio::test]
async fn an_agent_comes_through_a_relay_or_from_its_machine() {
    let listener = TestListener::behind("127.0.0.0/8", AgentLimits::default()).await;
    let identity = listener.enrol().await;
    let headers = [
        (proxy_header([10, 0, 0, 7]), Some("127.0.0.1:7101")),
        // A local connection of the relay, and one of an agent beside it.
        (b"\r\n\r\n\0\r\nQUIT\n\x20\x00\x00\x00".to_vec(), None),
        (Vec::new(), None),
    ];
    for (header, relay) in headers {
        let mut stream = listener.begin(&[]).await;
        // A relay may send its header in pieces.
        for byte in header {
            stream.write_all(&[byte]).await.unwrap();
        }
        let tls = listener.handshake(stream, wire::ALPN, Some(&identity));
        let (_session, kind) = TestListener::say_hello(tls.await.unwrap()).await;
        assert!(is_welcome(&kind), "{kind:?}");
        assert_eq!(
            listener.relay_of(HOST),
            relay.map(|text| text.parse().unwrap())
        );
    }
}

#[tokio::test]
async fn a_header_that_is_not_allowed_or_malformed_ends_the_connection() {
    for (relays, bytes) in [
        ("10.9.9.9", proxy_header([10, 0, 0, 7])),
        ("", proxy_header([10, 0, 0, 7])),
        (
            "127.0.0.1",
            b"PROXY TCP4 10.0.0.7 10.0.0.1 1 2\r\n".to_vec(),
        ),
        (
            "127.0.0.1",
            b"\r\n\r\n\0\r\nQUIT\n\x21\x11\xff\xff".to_vec(),
        ),
        (
            "127.0.0.1",
            b"\r\n\r\n\0\r\nQUIT\n\x21\x11\x00\x03abc".to_vec(),
        ),
        (
            "127.0.0.1",
            b"\r\nno header at all, but long enough".to_vec(),
        ),
        (
            "127.0.0.1",
            [proxy_header([10, 0, 0, 7]), proxy_header([10, 0, 0, 8])].concat(),
        ),
    ] {
        let listener = TestListener::behind(relays, AgentLimits::default()).await;
        let mut stream = listener.begin(&bytes).await;
        closed(&mut stream).await;
    }
}

#[tokio::test]
async fn a_header_that_does_not_come_or_does_not_end_is_not_waited_for() {
    let limits = AgentLimits {
        timeout: Duration::from_millis(200),
        ..AgentLimits::default()
    };
    let listener = TestListener::behind("127.0.0.1", limits).await;
    let header = proxy_header([10, 0, 0, 7]);
    for part in [&header[..0], &header[..1], &header[..20], &header[..]] {
        let mut stream = listener.begin(part).await;
        closed(&mut stream).await;
    }
}

#[tokio::test]
async fn limits_count_the_agents_behind_a_relay_and_not_the_relay() {
    let limits = AgentLimits {
        unauthenticated: 2,
        ..AgentLimits::default()
    };
    let listener = TestListener::behind("127.0.0.1", limits).await;
    // More than one address may have, of several agents; each agent may have two.
    let mut waiting = Vec::new();
    for agent in 1..=4 {
        for _ in 0..2 {
            waiting.push(listener.begin(&proxy_header([10, 0, 0, agent])).await);
        }
    }
    let first_agent = proxy_header([10, 0, 0, 1]);
    let mut beyond = listener.begin(&[&first_agent[..], b"\x16"].concat()).await;
    closed(&mut beyond).await;
    // The others still wait for their handshake: the server has closed none.
    for stream in &waiting {
        let mut byte = [0];
        let read = stream.try_read(&mut byte);
        let kind = read.unwrap_err().kind();
        assert_eq!(kind, std::io::ErrorKind::WouldBlock);
    }
}
