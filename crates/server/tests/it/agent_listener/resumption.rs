//! Agents that come back resume their TLS sessions, at any server of the fleet, and are checked all the same.

use std::net::SocketAddr;
use std::time::Duration;

use rustls::HandshakeKind;

use super::*;

/// An agent that keeps its tickets.
struct ReturningAgent {
    connector: TlsConnector,
}

impl ReturningAgent {
    fn new(listener: &TestListener, identity: &Identity) -> Self {
        let config = listener.client_config(wire::ALPN, Some(identity));
        Self {
            connector: TlsConnector::from(Arc::new(config)),
        }
    }

    /// How the handshake went, and the answer to the hello.
    async fn connect(&self, address: SocketAddr) -> (HandshakeKind, Option<DownKind>) {
        let stream = TcpStream::connect(address).await.unwrap();
        let name = ServerName::try_from(wire::enrol::SERVER_NAME).unwrap();
        let stream = self.connector.connect(name, stream).await.unwrap();
        let kind = stream.get_ref().1.handshake_kind().unwrap();
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
