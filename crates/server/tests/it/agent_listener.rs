//! The listener for agents over real TLS: certificates, enrolment and limits.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use control::{Clock, Control, FirstKeys, NewJoinToken};
use futures_util::{SinkExt, StreamExt};
use model::Host;
use model::access::Caller;
use rcgen::{CertificateParams, KeyPair};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use server::agents::{AgentLimits, AgentListener, bind, listen};
use server::ca::Ca;
use store::Store;
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_util::codec::Framed;
use wire::enrol::{Enrol, Enrolled};
use wire::{Bye, Codec, Down, DownKind, Hello, Report, Up};

use crate::rig::{JOIN, TIMEOUT};

mod relay_connections;
mod relays;
mod resumption;

const HOST: &str = "0:10.0.0.1";

struct TestListener {
    control: Control,
    ca: Arc<Ca>,
    address: SocketAddr,
    stop: watch::Sender<bool>,
    _stop_background: watch::Sender<bool>,
    _dir: TempDir,
}

impl TestListener {
    async fn open(limits: AgentLimits) -> Self {
        Self::with(limits, |agents| agents, Duration::from_secs(90 * 24 * 3600)).await
    }

    async fn with(
        limits: AgentLimits,
        change: impl FnOnce(AgentListener) -> AgentListener,
        life: Duration,
    ) -> Self {
        let dir = TempDir::new().unwrap();
        let url = format!("sqlite:{}/muster.db", dir.path().display());
        let store = Store::open(&url).await.unwrap();
        let (control, background) = Control::alone(store.clone(), Clock::system())
            .await
            .unwrap();
        let fixed = FirstKeys {
            join_token: Some(JOIN.into()),
            ..FirstKeys::default()
        };
        control.access().ensure_first_keys(fixed).await.unwrap();
        let ca = Arc::new(Ca::load(&store).await.unwrap().with_agent_life(life));
        let socket = bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = socket.local_addr().unwrap();
        let listener = listen(socket).unwrap();
        let agents = AgentListener::new(control.clone(), ca.clone(), listener, limits).unwrap();
        let (stop, stopped) = watch::channel(false);
        let (stop_background, background_stopped) = watch::channel(false);
        tokio::spawn(background.run(background_stopped));
        tokio::spawn(change(agents).run(stopped));
        Self {
            control,
            ca,
            address,
            stop,
            _stop_background: stop_background,
            _dir: dir,
        }
    }

    async fn connect(
        &self,
        alpn: &[u8],
        identity: Option<&Identity>,
    ) -> std::io::Result<TlsStream<TcpStream>> {
        let stream = TcpStream::connect(self.address).await?;
        self.handshake(stream, alpn, identity).await
    }

    /// TLS over a connection that may have begun with a header, or a stream of one.
    async fn handshake<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: S,
        alpn: &[u8],
        identity: Option<&Identity>,
    ) -> std::io::Result<TlsStream<S>> {
        let config = self.client_config(alpn, identity);
        let name = ServerName::try_from(wire::enrol::SERVER_NAME).unwrap();
        let connector = TlsConnector::from(Arc::new(config));
        connector.connect(name, stream).await
    }

    fn client_config(&self, alpn: &[u8], identity: Option<&Identity>) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        roots.add(self.ca.certificate().clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
        let mut config = match identity {
            None => builder.with_no_client_auth(),
            Some(identity) => builder
                .with_client_auth_cert(vec![identity.certificate.clone()], identity.key.clone_key())
                .unwrap(),
        };
        config.alpn_protocols = vec![alpn.to_vec()];
        config
    }

    async fn request(&self, identity: Option<&Identity>, request: Enrol) -> Option<Enrolled> {
        let stream = self.connect(wire::enrol::ALPN, identity).await.ok()?;
        let mut frames = Framed::new(stream, Codec::<Enrolled, Enrol>::new());
        frames.send(request).await.ok()?;
        frames.next().await?.ok()
    }

    async fn enrol(&self) -> Identity {
        let key = KeyPair::generate().unwrap();
        let request = Enrol {
            token: JOIN.into(),
            ..enrol_request(&key)
        };
        let answer = self.request(None, request).await.unwrap();
        assert_eq!(answer.refused, "");
        Identity::new(&key, answer)
    }

    /// Sends a hello and reads the response.
    async fn hello(&self, identity: &Identity) -> (Frames, Option<DownKind>) {
        let stream = self.connect(wire::ALPN, Some(identity)).await.unwrap();
        Self::say_hello(stream).await
    }

    async fn say_hello<S: AsyncRead + AsyncWrite + Unpin>(
        stream: TlsStream<S>,
    ) -> (Frames<S>, Option<DownKind>) {
        let mut frames: Frames<S> = Framed::new(stream, Codec::new());
        let host: Host = HOST.parse().unwrap();
        let hello = Hello {
            oldest: 1,
            newest: 1,
            cloud: host.cloud,
            ip: host.ip.to_string(),
            ..Hello::default()
        };
        frames.send(hello.into()).await.unwrap();
        let answer = tokio::time::timeout(TIMEOUT, frames.next()).await.unwrap();
        let kind = answer
            .and_then(|frame| frame.ok())
            .and_then(|frame| frame.kind);
        (frames, kind)
    }
}

type Frames<S = TcpStream> = Framed<TlsStream<S>, Codec<Down, Up>>;

struct Identity {
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

impl Identity {
    fn new(key: &KeyPair, answer: Enrolled) -> Self {
        Self {
            certificate: answer.certificate_der.into(),
            key: PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
        }
    }
}

fn enrol_request(key: &KeyPair) -> Enrol {
    let csr = CertificateParams::default().serialize_request(key).unwrap();
    Enrol {
        token: String::new(),
        cloud: 0,
        ip: "10.0.0.1".into(),
        agent_id: String::new(),
        csr_der: csr.der().to_vec(),
    }
}

fn expect_bye(kind: Option<DownKind>) -> Bye {
    match kind {
        Some(DownKind::Bye(bye)) => bye,
        other => panic!("no bye: {other:?}"),
    }
}

fn is_welcome(kind: &Option<DownKind>) -> bool {
    matches!(kind, Some(DownKind::Welcome(_)))
}

/// Resolves when the server has closed the connection.
async fn closed(stream: &mut (impl AsyncRead + Unpin)) {
    let mut bytes = [0; 64];
    let reading = async { while stream.read(&mut bytes).await.is_ok_and(|n| n > 0) {} };
    tokio::time::timeout(TIMEOUT, reading).await.unwrap();
}

#[tokio::test]
async fn an_agent_renews_with_its_certificate_and_without_a_token() {
    let listener = TestListener::open(AgentLimits::default()).await;
    let first = listener.enrol().await;
    let key = KeyPair::generate().unwrap();
    let answer = listener
        .request(Some(&first), enrol_request(&key))
        .await
        .unwrap();
    assert_eq!(answer.refused, "");
    let second = Identity::new(&key, answer);
    assert_ne!(first.certificate, second.certificate);
    // Without a CSR it only checks its certificate.
    let check = Enrol {
        csr_der: Vec::new(),
        ..enrol_request(&key)
    };
    let answer = listener.request(Some(&second), check).await.unwrap();
    assert_eq!(
        (answer.refused.as_str(), answer.certificate_der.len()),
        ("", 0)
    );
    let (_session, kind) = listener.hello(&second).await;
    assert!(is_welcome(&kind), "{kind:?}");
    // The old one is valid until it expires: the agent may have been killed before it had the new one.
    let (_session, kind) = listener.hello(&first).await;
    assert!(is_welcome(&kind), "{kind:?}");
}

#[tokio::test]
async fn a_renewed_certificate_is_for_the_same_host() {
    let listener = TestListener::open(AgentLimits::default()).await;
    let ours = listener.enrol().await;
    let key = KeyPair::generate().unwrap();
    let as_another = Enrol {
        ip: "10.0.0.2".into(),
        ..enrol_request(&key)
    };
    let answer = listener.request(Some(&ours), as_another).await.unwrap();
    let renewed = Identity::new(&key, answer);
    let (_, certificate) = x509_parser::parse_x509_certificate(&renewed.certificate).unwrap();
    let named = wire::host::of_certificate(&certificate).unwrap();
    assert_eq!(named.to_string(), HOST);
}

#[tokio::test]
async fn enrolment_needs_a_token_or_a_certificate() {
    let listener = TestListener::open(AgentLimits::default()).await;
    let key = KeyPair::generate().unwrap();
    let answer = listener.request(None, enrol_request(&key)).await.unwrap();
    assert!(answer.refused.contains("join token"), "{}", answer.refused);
    assert!(answer.certificate_der.is_empty());
}

#[tokio::test]
async fn a_revoked_certificate_opens_no_session_and_is_not_renewed() {
    let listener = TestListener::open(AgentLimits::default()).await;
    let stolen = listener.enrol().await;
    let (mut session, kind) = listener.hello(&stolen).await;
    assert!(is_welcome(&kind), "{kind:?}");
    let host: Host = HOST.parse().unwrap();
    listener
        .control
        .enrolment()
        .revoke(&Caller::system(), host)
        .await
        .unwrap();
    let last = loop {
        let frame = tokio::time::timeout(TIMEOUT, session.next()).await.unwrap();
        match frame.unwrap().unwrap().kind {
            Some(DownKind::Bye(bye)) => break bye,
            _other => {}
        }
    };
    assert!(last.permanent && last.rejoin, "{last:?}");
    drop(session);

    let (_, kind) = listener.hello(&stolen).await;
    let bye = expect_bye(kind);
    assert!(
        bye.permanent && bye.rejoin && bye.reason.contains("revoked"),
        "{bye:?}"
    );
    let key = KeyPair::generate().unwrap();
    let answer = listener
        .request(Some(&stolen), enrol_request(&key))
        .await
        .unwrap();
    assert!(answer.refused.contains("revoked"), "{}", answer.refused);

    let fresh = listener.enrol().await;
    let (_session, kind) = listener.hello(&fresh).await;
    assert!(is_welcome(&kind), "{kind:?}");
    let (_, kind) = listener.hello(&stolen).await;
    assert!(expect_bye(kind).permanent, "the stolen one stays refused");
}

/// An agent may be disconnected for a moment only: another must not take its host meanwhile.
#[tokio::test]
async fn a_join_token_does_not_take_the_host_of_a_recent_agent() {
    let listener = TestListener::open(AgentLimits::default()).await;
    let living = listener.enrol().await;
    let (session, kind) = listener.hello(&living).await;
    assert!(is_welcome(&kind), "{kind:?}");
    drop(session);
    let host: Host = HOST.parse().unwrap();
    let is_up = || {
        let fleet = listener.control.inspect_fleet();
        fleet.hosts().any(|view| view.link.is_up())
    };
    while is_up() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let key = KeyPair::generate().unwrap();
    let intruder = Enrol {
        token: JOIN.into(),
        ..enrol_request(&key)
    };
    let answer = listener.request(None, intruder.clone()).await.unwrap();
    assert!(answer.certificate_der.is_empty() && answer.retry);
    assert!(answer.refused.contains("--replace"), "{}", answer.refused);
    let (session, kind) = listener.hello(&living).await;
    assert!(
        is_welcome(&kind),
        "its certificate is still valid: {kind:?}"
    );

    // An operator allows it, while the agent is connected.
    let new = NewJoinToken {
        host: Some(host),
        replace: true,
        ..NewJoinToken::default()
    };
    let created = listener
        .control
        .access()
        .create_join_token(&Caller::system(), new)
        .await;
    let successor = Enrol {
        token: created.unwrap().1,
        ..intruder
    };
    let answer = listener.request(None, successor).await.unwrap();
    assert_eq!(answer.refused, "");
    let (_session, kind) = listener.hello(&Identity::new(&key, answer)).await;
    assert!(is_welcome(&kind), "{kind:?}");
    drop(session);
    let (_, kind) = listener.hello(&living).await;
    assert!(
        expect_bye(kind).rejoin,
        "its certificate is no longer valid"
    );
}

#[tokio::test]
async fn an_expired_certificate_is_refused() {
    let limits = AgentLimits::default();
    let listener = TestListener::with(limits, |agents| agents, Duration::ZERO).await;
    let identity = listener.enrol().await;
    // Validity is in whole seconds.
    let until = tokio::time::Instant::now() + TIMEOUT;
    loop {
        let opened = listener.connect(wire::ALPN, Some(&identity)).await;
        let is_refused = match opened {
            Err(_) => true,
            Ok(mut stream) => {
                let mut bytes = [0; 1];
                let read = tokio::time::timeout(Duration::from_millis(50), stream.read(&mut bytes));
                matches!(read.await, Ok(Err(_)))
            }
        };
        if is_refused {
            break;
        }
        assert!(tokio::time::Instant::now() < until, "it never expires");
    }
}

#[tokio::test]
async fn certificates_are_backdated_for_clocks_that_are_behind() {
    let listener = TestListener::open(AgentLimits::default()).await;
    let identity = listener.enrol().await;
    let (_, certificate) = x509_parser::parse_x509_certificate(&identity.certificate).unwrap();
    let now = unix_now();
    let validity = certificate.validity();
    assert!(now - validity.not_before.timestamp() > 24 * 3600);
    let days = (validity.not_after.timestamp() - now) / (24 * 3600);
    assert!((89..=90).contains(&days), "{days}");
    let verifier = Arc::new(RecordingVerifier::default());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(verifier.clone())
        .with_no_client_auth();
    let stream = TcpStream::connect(listener.address).await.unwrap();
    let name = ServerName::try_from(wire::enrol::SERVER_NAME).unwrap();
    let connector = TlsConnector::from(Arc::new(config));
    let _stream = connector.connect(name, stream).await.unwrap();
    let der = verifier.0.lock().unwrap().clone().unwrap();
    let (_, leaf) = x509_parser::parse_x509_certificate(&der).unwrap();
    let validity = leaf.validity();
    assert!(now - validity.not_before.timestamp() > 24 * 3600);
    let days = (validity.not_after.timestamp() - now) / (24 * 3600);
    assert!((29..=30).contains(&days), "the server's own: {days}");
}

fn unix_now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.unwrap().as_secs() as i64
}

/// Records the certificate of the server.
#[derive(Debug, Default)]
struct RecordingVerifier(std::sync::Mutex<Option<Vec<u8>>>);

impl ServerCertVerifier for RecordingVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        *self.0.lock().unwrap() = Some(end_entity.to_vec());
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ECDSA_NISTP256_SHA256]
    }
}

/// Only the limit that is tested closes connections.
fn patient_limits() -> AgentLimits {
    AgentLimits {
        timeout: Duration::from_secs(600),
        ..AgentLimits::default()
    }
}

#[tokio::test]
async fn unauthenticated_connections_of_an_address_are_limited() {
    let limits = AgentLimits {
        unauthenticated: 2,
        ..patient_limits()
    };
    let listener = TestListener::open(limits).await;
    let identity = listener.enrol().await;
    // A connected agent is authenticated.
    let (_session, kind) = listener.hello(&identity).await;
    assert!(is_welcome(&kind), "{kind:?}");
    let mut silent = Vec::new();
    for _ in 0..4 {
        silent.push(TcpStream::connect(listener.address).await.unwrap());
    }
    let closings = silent.iter_mut().map(|stream| Box::pin(closed(stream)));
    futures_util::future::select_all(closings).await;
    drop(silent);
    let connected = async {
        while listener.connect(wire::ALPN, Some(&identity)).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    let in_time = tokio::time::timeout(TIMEOUT, connected).await;
    in_time.expect("their slots are free again");
}

#[tokio::test]
async fn a_silent_connection_is_closed() {
    let limits = AgentLimits {
        timeout: Duration::from_millis(50),
        ..AgentLimits::default()
    };
    let listener = TestListener::open(limits).await;
    let mut silent = TcpStream::connect(listener.address).await.unwrap();
    closed(&mut silent).await;
}

#[tokio::test]
async fn new_connections_of_an_address_are_rate_limited() {
    let limits = AgentLimits {
        rate: 1,
        burst: 3,
        ..patient_limits()
    };
    let listener = TestListener::open(limits).await;
    let mut open = Vec::new();
    for _ in 0..3 {
        open.push(listener.connect(wire::enrol::ALPN, None).await.unwrap());
    }
    let mut streams = Vec::new();
    for _ in 0..50 {
        streams.push(TcpStream::connect(listener.address).await.unwrap());
    }
    let closings = streams.iter_mut().map(|stream| Box::pin(closed(stream)));
    futures_util::future::select_all(closings).await;
}

#[tokio::test]
async fn a_long_first_frame_is_refused() {
    let listener = TestListener::open(AgentLimits::default()).await;
    let identity = listener.enrol().await;
    let stream = listener.connect(wire::ALPN, Some(&identity)).await.unwrap();
    let mut frames: Frames = Framed::new(stream, Codec::new());
    let hello = Hello {
        hostname: "x".repeat(2 * 1024 * 1024),
        ..Hello::default()
    };
    // The server may close before all of it is written.
    frames.send(hello.into()).await.ok();
    let end = async { while frames.next().await.is_some_and(|frame| frame.is_ok()) {} };
    tokio::time::timeout(TIMEOUT, end).await.unwrap();
    // After the hello a frame may be longer than that.
    let (mut frames, kind) = listener.hello(&identity).await;
    assert!(is_welcome(&kind), "{kind:?}");
    let long = wire::ProcessStatus {
        namespace: "n".into(),
        name: "p".into(),
        message: "x".repeat(2 * 1024 * 1024),
        ..Default::default()
    };
    frames
        .send(
            Report {
                statuses: vec![long],
            }
            .into(),
        )
        .await
        .unwrap();
    frames.send(Report::default().into()).await.unwrap();
    loop {
        let frame = tokio::time::timeout(TIMEOUT, frames.next()).await.unwrap();
        if let Some(DownKind::Ack(_)) = frame.unwrap().unwrap().kind {
            break;
        }
    }
}

#[tokio::test]
async fn a_full_server_refuses_agents_with_a_reason_and_keeps_those_it_has() {
    let life = Duration::from_secs(3600);
    let listener = TestListener::with(
        AgentLimits::default(),
        |agents| agents.with_max_connections(1),
        life,
    )
    .await;
    let identity = listener.enrol().await;
    let (mut first, kind) = listener.hello(&identity).await;
    assert!(is_welcome(&kind), "{kind:?}");
    let (_, kind) = listener.hello(&identity).await;
    let bye = expect_bye(kind);
    assert!(!bye.permanent && bye.reason.contains("no room"), "{bye:?}");
    first.send(Report::default().into()).await.unwrap();
    let answer = tokio::time::timeout(TIMEOUT, first.next()).await.unwrap();
    assert!(answer.unwrap().is_ok());
}
