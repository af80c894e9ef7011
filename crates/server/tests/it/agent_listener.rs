//! The agents' door over real TLS: who is let in, with which certificate, and how many at a time.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use control::{Clock, Control, FirstKeys, NewJoinToken};
use futures_util::{SinkExt, StreamExt};
use model::access::Caller;
use model::{Host, UnixMillis};
use rcgen::{CertificateParams, KeyPair};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use server::agents::{Agents, Limits, bind};
use server::ca::Ca;
use store::Store;
use tempfile::TempDir;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_util::codec::Framed;
use wire::enrol::{Enrol, Enrolled};
use wire::{Bye, Codec, Down, DownKind, Hello, Report, Up};

const JOIN: &str = "join-me-0123456789";
const HOST: &str = "0:10.0.0.1";
const PATIENCE: Duration = Duration::from_secs(20);

struct Door {
    control: Control,
    ca: Arc<Ca>,
    address: SocketAddr,
    _stop: watch::Sender<bool>,
    _stop_background: watch::Sender<bool>,
    _dir: TempDir,
}

impl Door {
    async fn open(limits: Limits) -> Self {
        Self::with(limits, |agents| agents, Duration::from_secs(90 * 24 * 3600)).await
    }

    async fn with(limits: Limits, change: impl FnOnce(Agents) -> Agents, life: Duration) -> Self {
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
        control.ensure_first_keys(fixed).await.unwrap();
        let ca = Arc::new(Ca::load(&store).await.unwrap().with_agent_life(life));
        let listener = bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = listener.local_addr().unwrap();
        let agents = Agents::new(control.clone(), ca.clone(), listener, limits).unwrap();
        let (stop, stopped) = watch::channel(false);
        let (stop_background, background_stopped) = watch::channel(false);
        tokio::spawn(background.run(background_stopped));
        tokio::spawn(change(agents).run(stopped));
        Self {
            control,
            ca,
            address,
            _stop: stop,
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
        let name = ServerName::try_from(wire::enrol::SERVER_NAME).unwrap();
        let connector = TlsConnector::from(Arc::new(config));
        connector.connect(name, stream).await
    }

    async fn ask(&self, identity: Option<&Identity>, question: Enrol) -> Option<Enrolled> {
        let stream = self.connect(wire::enrol::ALPN, identity).await.ok()?;
        let mut frames = Framed::new(stream, Codec::<Enrolled, Enrol>::new());
        frames.send(question).await.ok()?;
        frames.next().await?.ok()
    }

    async fn enrol(&self) -> Identity {
        let key = KeyPair::generate().unwrap();
        let question = Enrol {
            token: JOIN.into(),
            ..question(&key)
        };
        let answer = self.ask(None, question).await.unwrap();
        assert_eq!(answer.refused, "");
        Identity::new(&key, answer)
    }

    /// Says hello, and hears the answer.
    async fn hello(&self, identity: &Identity) -> (Frames, Option<DownKind>) {
        let stream = self.connect(wire::ALPN, Some(identity)).await.unwrap();
        let mut frames: Frames = Framed::new(stream, Codec::new());
        let host: Host = HOST.parse().unwrap();
        let hello = Hello {
            oldest: 1,
            newest: 1,
            cloud: host.cloud,
            ip: host.ip.to_string(),
            ..Hello::default()
        };
        frames.send(hello.into()).await.unwrap();
        let answer = tokio::time::timeout(PATIENCE, frames.next()).await.unwrap();
        let kind = answer
            .and_then(|frame| frame.ok())
            .and_then(|frame| frame.kind);
        (frames, kind)
    }
}

type Frames = Framed<TlsStream<TcpStream>, Codec<Down, Up>>;

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

fn question(key: &KeyPair) -> Enrol {
    let request = CertificateParams::default().serialize_request(key).unwrap();
    Enrol {
        token: String::new(),
        cloud: 0,
        ip: "10.0.0.1".into(),
        agent_id: String::new(),
        csr_der: request.der().to_vec(),
    }
}

fn goodbye(kind: Option<DownKind>) -> Bye {
    match kind {
        Some(DownKind::Bye(bye)) => bye,
        other => panic!("no goodbye: {other:?}"),
    }
}

fn is_welcome(kind: &Option<DownKind>) -> bool {
    matches!(kind, Some(DownKind::Welcome(_)))
}

/// Resolves when the server has closed the connection.
async fn closed(stream: &mut TcpStream) {
    let mut bytes = [0; 64];
    let reading = async { while stream.read(&mut bytes).await.is_ok_and(|n| n > 0) {} };
    tokio::time::timeout(PATIENCE, reading).await.unwrap();
}

#[tokio::test]
async fn an_agent_renews_with_its_certificate_and_without_a_token() {
    let door = Door::open(Limits::default()).await;
    let first = door.enrol().await;
    let key = KeyPair::generate().unwrap();
    let answer = door.ask(Some(&first), question(&key)).await.unwrap();
    assert_eq!(answer.refused, "");
    let second = Identity::new(&key, answer);
    assert_ne!(first.certificate, second.certificate);
    // Whether it is good can be asked without wanting another.
    let asked = Enrol {
        csr_der: Vec::new(),
        ..question(&key)
    };
    let answer = door.ask(Some(&second), asked).await.unwrap();
    assert_eq!(
        (answer.refused.as_str(), answer.certificate_der.len()),
        ("", 0)
    );
    let (_session, kind) = door.hello(&second).await;
    assert!(is_welcome(&kind), "{kind:?}");
    // The old one counts until it ends: its agent may have been killed before it had the new one.
    let (_session, kind) = door.hello(&first).await;
    assert!(is_welcome(&kind), "{kind:?}");
}

#[tokio::test]
async fn a_certificate_is_only_for_its_own_host_whatever_the_request_says() {
    let door = Door::open(Limits::default()).await;
    let ours = door.enrol().await;
    let key = KeyPair::generate().unwrap();
    let as_another = Enrol {
        ip: "10.0.0.2".into(),
        ..question(&key)
    };
    let answer = door.ask(Some(&ours), as_another).await.unwrap();
    let renewed = Identity::new(&key, answer);
    let (_, certificate) = x509_parser::parse_x509_certificate(&renewed.certificate).unwrap();
    let named = wire::host::of_certificate(&certificate).unwrap();
    assert_eq!(named.to_string(), HOST);
}

#[tokio::test]
async fn without_token_and_certificate_nobody_gets_one() {
    let door = Door::open(Limits::default()).await;
    let key = KeyPair::generate().unwrap();
    let answer = door.ask(None, question(&key)).await.unwrap();
    assert!(answer.refused.contains("join token"), "{}", answer.refused);
    assert!(answer.certificate_der.is_empty());
}

#[tokio::test]
async fn a_revoked_certificate_opens_no_session_and_is_not_renewed() {
    let door = Door::open(Limits::default()).await;
    let stolen = door.enrol().await;
    let (mut session, kind) = door.hello(&stolen).await;
    assert!(is_welcome(&kind), "{kind:?}");
    let host: Host = HOST.parse().unwrap();
    door.control.revoke(&Caller::system(), host).await.unwrap();
    let last = loop {
        let frame = tokio::time::timeout(PATIENCE, session.next())
            .await
            .unwrap();
        match frame.unwrap().unwrap().kind {
            Some(DownKind::Bye(bye)) => break bye,
            _other => {}
        }
    };
    assert!(last.permanent && last.rejoin, "{last:?}");
    drop(session);

    let (_, kind) = door.hello(&stolen).await;
    let bye = goodbye(kind);
    assert!(
        bye.permanent && bye.rejoin && bye.reason.contains("revoked"),
        "{bye:?}"
    );
    let key = KeyPair::generate().unwrap();
    let answer = door.ask(Some(&stolen), question(&key)).await.unwrap();
    assert!(answer.refused.contains("revoked"), "{}", answer.refused);

    let fresh = door.enrol().await;
    let (_session, kind) = door.hello(&fresh).await;
    assert!(is_welcome(&kind), "{kind:?}");
    let (_, kind) = door.hello(&stolen).await;
    assert!(goodbye(kind).permanent, "the stolen one stays refused");
}

/// The agent whose session ends is away for a moment only; before, its host went to whoever asked in that moment.
#[tokio::test]
async fn a_join_token_does_not_take_the_host_of_an_agent_that_was_here_lately() {
    let door = Door::open(Limits::default()).await;
    let living = door.enrol().await;
    let (session, kind) = door.hello(&living).await;
    assert!(is_welcome(&kind), "{kind:?}");
    drop(session);
    let host: Host = HOST.parse().unwrap();
    let is_up = || {
        let fleet = door.control.fleet();
        fleet.hosts().any(|view| view.link.is_up())
    };
    while is_up() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let key = KeyPair::generate().unwrap();
    let intruder = Enrol {
        token: JOIN.into(),
        ..question(&key)
    };
    let answer = door.ask(None, intruder.clone()).await.unwrap();
    assert!(answer.certificate_der.is_empty() && answer.retry);
    assert!(answer.refused.contains("--replace"), "{}", answer.refused);
    let (session, kind) = door.hello(&living).await;
    assert!(is_welcome(&kind), "its certificate still counts: {kind:?}");

    // An operator's word, while it is connected.
    let new = NewJoinToken {
        host: Some(host),
        replace: true,
        ..NewJoinToken::default()
    };
    let created = door.control.create_join_token(&Caller::system(), new).await;
    let successor = Enrol {
        token: created.unwrap().1,
        ..intruder
    };
    let answer = door.ask(None, successor).await.unwrap();
    assert_eq!(answer.refused, "");
    let (_session, kind) = door.hello(&Identity::new(&key, answer)).await;
    assert!(is_welcome(&kind), "{kind:?}");
    drop(session);
    let (_, kind) = door.hello(&living).await;
    assert!(goodbye(kind).rejoin, "its certificate counts no more");
}

#[tokio::test]
async fn an_expired_certificate_is_refused() {
    let life = Duration::from_secs(1);
    let door = Door::with(Limits::default(), |agents| agents, life).await;
    let identity = door.enrol().await;
    // Validity is in whole seconds.
    let until = tokio::time::Instant::now() + PATIENCE;
    loop {
        let opened = door.connect(wire::ALPN, Some(&identity)).await;
        let is_refused = match opened {
            Err(_) => true,
            Ok(mut stream) => {
                let mut bytes = [0; 1];
                let read =
                    tokio::time::timeout(Duration::from_millis(300), stream.read(&mut bytes));
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
async fn certificates_are_valid_some_days_back_for_clocks_that_are_behind() {
    let door = Door::open(Limits::default()).await;
    let identity = door.enrol().await;
    let (_, certificate) = x509_parser::parse_x509_certificate(&identity.certificate).unwrap();
    let now = UnixMillis::from_secs(i64::try_from(unix_now()).unwrap()).0 / 1000;
    let validity = certificate.validity();
    assert!(now - validity.not_before.timestamp() > 24 * 3600);
    let days = (validity.not_after.timestamp() - now) / (24 * 3600);
    assert!((89..=90).contains(&days), "{days}");
    let shown = Arc::new(Shown::default());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(shown.clone())
        .with_no_client_auth();
    let stream = TcpStream::connect(door.address).await.unwrap();
    let name = ServerName::try_from(wire::enrol::SERVER_NAME).unwrap();
    let connector = TlsConnector::from(Arc::new(config));
    let _stream = connector.connect(name, stream).await.unwrap();
    let der = shown.0.lock().unwrap().clone().unwrap();
    let (_, leaf) = x509_parser::parse_x509_certificate(&der).unwrap();
    let validity = leaf.validity();
    assert!(now - validity.not_before.timestamp() > 24 * 3600);
    let days = (validity.not_after.timestamp() - now) / (24 * 3600);
    assert!((29..=30).contains(&days), "the server's own: {days}");
}

fn unix_now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.unwrap().as_secs()
}

/// Remembers the certificate that a server shows.
#[derive(Debug, Default)]
struct Shown(std::sync::Mutex<Option<Vec<u8>>>);

impl ServerCertVerifier for Shown {
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

#[tokio::test]
async fn an_address_with_too_many_strangers_is_closed_at_once_and_room_comes_back() {
    let limits = Limits {
        strangers: 2,
        patience: Duration::from_millis(500),
        ..Limits::default()
    };
    let door = Door::open(limits).await;
    let identity = {
        let enrolled = door.enrol().await;
        // Its enrolment has ended; agents that are connected are no strangers.
        let (session, kind) = door.hello(&enrolled).await;
        assert!(is_welcome(&kind), "{kind:?}");
        (enrolled, session)
    };
    let mut silent = Vec::new();
    for _ in 0..2 {
        silent.push(TcpStream::connect(door.address).await.unwrap());
    }
    // Only when both are inside is the third too many; until then it is one of them, and closed for its silence.
    let mut third = TcpStream::connect(door.address).await.unwrap();
    closed(&mut third).await;
    // Slow ones lose their place, and then others come in.
    for stream in &mut silent {
        closed(stream).await;
    }
    let (_session, kind) = door.hello(&identity.0).await;
    assert!(is_welcome(&kind), "{kind:?}");
}

#[tokio::test]
async fn an_address_that_connects_too_often_is_closed_at_once() {
    let limits = Limits {
        rate: 1,
        burst: 3,
        ..Limits::default()
    };
    let door = Door::open(limits).await;
    let mut n_open = 0;
    let mut streams = Vec::new();
    for _ in 0..20 {
        let mut stream = TcpStream::connect(door.address).await.unwrap();
        let mut bytes = [0; 1];
        let read = tokio::time::timeout(Duration::from_millis(50), stream.read(&mut bytes));
        n_open += usize::from(read.await.is_err());
        streams.push(stream);
    }
    // Three at once, and one more a second.
    assert!((3..=6).contains(&n_open), "{n_open}");
}

#[tokio::test]
async fn a_first_frame_that_is_long_is_not_read() {
    let door = Door::open(Limits::default()).await;
    let identity = door.enrol().await;
    let stream = door.connect(wire::ALPN, Some(&identity)).await.unwrap();
    let mut frames: Frames = Framed::new(stream, Codec::new());
    let hello = Hello {
        hostname: "x".repeat(2 * 1024 * 1024),
        ..Hello::default()
    };
    // The server may close before all of it is written.
    let _cut_off = frames.send(hello.into()).await;
    let end = async { while frames.next().await.is_some_and(|frame| frame.is_ok()) {} };
    tokio::time::timeout(PATIENCE, end).await.unwrap();
    // Once it has said hello, a frame may be longer than that.
    let (mut frames, kind) = door.hello(&identity).await;
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
        let frame = tokio::time::timeout(PATIENCE, frames.next()).await.unwrap();
        if let Some(DownKind::Ack(_)) = frame.unwrap().unwrap().kind {
            break;
        }
    }
}

#[tokio::test]
async fn a_server_without_room_says_so_and_keeps_those_it_has() {
    let life = Duration::from_secs(3600);
    let door = Door::with(Limits::default(), |agents| agents.with_room(1), life).await;
    let identity = door.enrol().await;
    let (mut first, kind) = door.hello(&identity).await;
    assert!(is_welcome(&kind), "{kind:?}");
    let (_, kind) = door.hello(&identity).await;
    let bye = goodbye(kind);
    assert!(!bye.permanent && bye.reason.contains("no room"), "{bye:?}");
    first.send(Report::default().into()).await.unwrap();
    let answer = tokio::time::timeout(PATIENCE, first.next()).await.unwrap();
    assert!(answer.unwrap().is_ok());
}
