//! Agents that come back resume their TLS sessions, at any server of the fleet, and are checked all the same.

use std::net::SocketAddr;
use std::time::Duration;

use rustls::client::TicketRequest;
use rustls::{CipherSuite, HandshakeKind};

use super::*;

/// An agent that keeps its tickets.
struct ReturningAgent {
    connector: TlsConnector,
}

impl ReturningAgent {
    fn new(listener: &TestListener, identity: &Identity) -> Self {
        Self::with(listener.client_config(wire::ALPN, Some(identity)))
    }

    fn with(config: ClientConfig) -> Self {
        Self {
            connector: TlsConnector::from(Arc::new(config)),
        }
    }

    /// Begins a handshake that the server never answers.
    async fn connect_in_vain(&self) {
        let (here, there) = tokio::io::duplex(1 << 16);
        drop(there);
        let name = ServerName::try_from(wire::enrol::SERVER_NAME).unwrap();
        self.connector.connect(name, here).await.unwrap_err();
    }

    /// How the handshake went, and the answer to the hello.
    async fn connect(&self, address: SocketAddr) -> (HandshakeKind, Option<DownKind>) {
        let stream = TcpStream::connect(address).await.unwrap();
        let name = ServerName::try_from(wire::enrol::SERVER_NAME).unwrap();
        let stream = self.connector.connect(name, stream).await.unwrap();
        let tls = stream.get_ref().1;
        let kind = tls.handshake_kind().unwrap();
        let suite = tls.negotiated_cipher_suite().unwrap().suite();
        assert_eq!(suite, CipherSuite::TLS13_AES_128_GCM_SHA256);
        // The ticket comes before the answer.
        let (_frames, answer) = TestListener::say_hello(stream).await;
        (kind, answer)
    }
}

#[tokio::test]
async fn an_agent_resumes_its_session_at_any_server_of_its_fleet() {
    let listener = TestListener::open(AgentLimits::default()).await;
    let agent = ReturningAgent::new(&listener, &listener.enrol().await);
    // As another replica does it, or the server after a restart.
    let socket = bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let elsewhere = socket.local_addr().unwrap();
    let socket = listen(socket).unwrap();
    let (control, ca) = (listener.control.clone(), listener.ca.clone());
    let other = AgentListener::new(control, ca, socket, AgentLimits::default()).unwrap();
    let (_stop, stopped) = watch::channel(false);
    tokio::spawn(other.run(stopped));

    let (kind, answer) = agent.connect(listener.address).await;
    assert_eq!(kind, HandshakeKind::Full);
    assert!(is_welcome(&answer), "{answer:?}");
    for address in [listener.address, elsewhere, listener.address] {
        let (kind, answer) = agent.connect(address).await;
        assert_eq!(kind, HandshakeKind::Resumed);
        assert!(is_welcome(&answer), "{answer:?}");
    }
}

#[tokio::test]
async fn a_server_of_another_fleet_resumes_nothing() {
    let listener = TestListener::open(AgentLimits::default()).await;
    let agent = ReturningAgent::new(&listener, &listener.enrol().await);
    agent.connect(listener.address).await;
    let other = TestListener::open(AgentLimits::default()).await;
    let stream = TcpStream::connect(other.address).await.unwrap();
    let name = ServerName::try_from(wire::enrol::SERVER_NAME).unwrap();
    let refused = agent.connector.connect(name, stream).await;
    let error = refused.expect_err("its certificate is of another authority");
    assert!(error.to_string().contains("certificate"), "{error}");
}

#[tokio::test]
async fn a_revoked_host_resumes_its_session_in_vain() {
    let listener = TestListener::open(AgentLimits::default()).await;
    let agent = ReturningAgent::new(&listener, &listener.enrol().await);
    agent.connect(listener.address).await;
    let host: Host = HOST.parse().unwrap();
    let enrolment = listener.control.enrolment();
    enrolment.revoke(&Caller::system(), host).await.unwrap();
    let (kind, answer) = agent.connect(listener.address).await;
    assert_eq!(kind, HandshakeKind::Resumed);
    let bye = expect_bye(answer);
    assert!(
        bye.permanent && bye.rejoin && bye.reason.contains("revoked"),
        "{bye:?}"
    );
}

#[tokio::test]
async fn a_certificate_that_expires_ends_resumption() {
    let life = Duration::from_secs(4);
    let listener = TestListener::with(AgentLimits::default(), |agents| agents, life).await;
    let identity = listener.enrol().await;
    let agent = ReturningAgent::new(&listener, &identity);
    let (_, answer) = agent.connect(listener.address).await;
    assert!(is_welcome(&answer), "{answer:?}");
    let until = tokio::time::Instant::now() + TIMEOUT;
    loop {
        let (kind, answer) = agent.connect(listener.address).await;
        assert_eq!(kind, HandshakeKind::Resumed);
        if let Some(DownKind::Bye(bye)) = &answer {
            assert!(bye.permanent && bye.rejoin, "{bye:?}");
            assert!(bye.reason.contains("expired"), "{bye:?}");
            return;
        }
        assert!(tokio::time::Instant::now() < until, "it never expires");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn an_agent_that_asks_for_tickets_resumes_after_tries_in_vain() {
    let listener = TestListener::open(AgentLimits::default()).await;
    let identity = listener.enrol().await;
    let mut config = listener.client_config(wire::ALPN, Some(&identity));
    config.send_ticket_request = Some(TicketRequest {
        new_session_count: 4,
        resumption_count: 2,
    });
    let agent = ReturningAgent::with(config);
    agent.connect(listener.address).await;
    for _ in 0..3 {
        agent.connect_in_vain().await;
    }
    // The last ticket. The session brings two.
    for n_vain in [0, 1, 1] {
        for _ in 0..n_vain {
            agent.connect_in_vain().await;
        }
        let (kind, answer) = agent.connect(listener.address).await;
        assert_eq!(kind, HandshakeKind::Resumed);
        assert!(is_welcome(&answer), "{answer:?}");
    }
    for _ in 0..2 {
        agent.connect_in_vain().await;
    }
    let (kind, _) = agent.connect(listener.address).await;
    assert_eq!(kind, HandshakeKind::Full, "all are used up");
    // An agent that does not ask gets one.
    let agent = ReturningAgent::new(&listener, &identity);
    agent.connect(listener.address).await;
    agent.connect_in_vain().await;
    let (kind, _) = agent.connect(listener.address).await;
    assert_eq!(kind, HandshakeKind::Full);
}

#[tokio::test]
async fn a_renewal_resumes_nothing_and_shows_the_certificate() {
    let listener = TestListener::open(AgentLimits::default()).await;
    let identity = listener.enrol().await;
    let sessions = listener.client_config(wire::ALPN, Some(&identity));
    let agent = ReturningAgent::with(sessions.clone());
    for protocols in [&[wire::enrol::ALPN][..], &[wire::ALPN, wire::enrol::ALPN]] {
        agent.connect(listener.address).await;
        // With the tickets of its sessions, which no agent shows here.
        let mut config = sessions.clone();
        config.alpn_protocols = protocols.iter().map(|it| it.to_vec()).collect();
        let stream = TcpStream::connect(listener.address).await.unwrap();
        let name = ServerName::try_from(wire::enrol::SERVER_NAME).unwrap();
        let connecting = TlsConnector::from(Arc::new(config)).connect(name, stream);
        let stream = connecting.await.unwrap();
        let kind = stream.get_ref().1.handshake_kind().unwrap();
        assert_eq!(kind, HandshakeKind::Full, "{protocols:?}");
        let key = KeyPair::generate().unwrap();
        let mut frames = Framed::new(stream, Codec::<Enrolled, Enrol>::new());
        frames.send(enrol_request(&key)).await.unwrap();
        let answer = frames.next().await.unwrap().unwrap();
        assert_eq!(answer.refused, "");
        assert!(!answer.certificate_der.is_empty());
    }
}
