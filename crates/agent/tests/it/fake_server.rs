//! A server of a CA and a listener, driven by the test.

use std::io;
use std::sync::Arc;

use futures_util::{SinkExt, StreamExt};
use model::{Host, UnixMillis};
use rcgen::{
    BasicConstraints, CertificateParams, CertificateSigningRequestParams, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType,
};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use rustls_pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::codec::Framed;
use wire::enrol::{Enrol, Enrolled, JoinToken};
use wire::{Codec, Down, Hello, Up, UpKind, Welcome};
use x509_parser::prelude::{FromDer, X509Certificate};

pub(crate) const SECRET: &str = "open-sesame";

pub(crate) struct Ca {
    der: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
}

impl Ca {
    pub(crate) fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::DigitalSignature,
        ];
        let der = params.self_signed(&key).unwrap().der().clone();
        Self {
            der,
            issuer: Issuer::new(params, key),
        }
    }

    /// A token that names this CA.
    pub(crate) fn token(&self) -> JoinToken {
        let digest = ring::digest::digest(&ring::digest::SHA256, &self.der);
        JoinToken {
            secret: SECRET.into(),
            ca_sha256: Some(digest.as_ref().try_into().unwrap()),
        }
    }

    pub(crate) fn sign(&self, enrol: &Enrol) -> Enrolled {
        self.sign_at(enrol, UnixMillis(1_800_000_000_000))
    }

    /// A certificate issued at this time.
    pub(crate) fn sign_at(&self, enrol: &Enrol, issued: UnixMillis) -> Enrolled {
        let request = CertificateSigningRequestParams::from_der(&enrol.csr_der[..].into());
        let mut request = request.unwrap();
        let uri = wire::host::issued_to_uri(issued);
        let names = &mut request.params.subject_alt_names;
        names.push(SanType::URI(uri.as_str().try_into().unwrap()));
        Enrolled {
            refused: String::new(),
            retry: false,
            server_time_ms: 0,
            certificate_der: request.signed_by(&self.issuer).unwrap().der().to_vec(),
            ca_der: self.der.to_vec(),
            agent_id: match enrol.agent_id.as_str() {
                "" => "chosen-by-server".into(),
                id => id.into(),
            },
        }
    }

    /// Presents the CA `shown` beside the server's certificate.
    fn server_config(&self, shown: &Self) -> ServerConfig {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![wire::enrol::SERVER_NAME.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap().der().clone();
        let mut roots = RootCertStore::empty();
        roots.add(self.der.clone()).unwrap();
        let clients =
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone())
                .allow_unauthenticated()
                .build()
                .unwrap();
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_client_cert_verifier(clients)
            .with_single_cert(
                vec![certificate, shown.der.clone()],
                PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
            )
            .unwrap();
        config.alpn_protocols = vec![wire::ALPN.to_vec(), wire::enrol::ALPN.to_vec()];
        config
    }
}

pub(crate) struct FakeServer {
    listener: TcpListener,
    acceptor: TlsAcceptor,
}

pub(crate) type EnrolmentFrames = Framed<TlsStream<TcpStream>, Codec<Enrol, Enrolled>>;
pub(crate) type SessionFrames = Framed<TlsStream<TcpStream>, Codec<Up, Down>>;

impl FakeServer {
    pub(crate) async fn start(ca: &Ca) -> Self {
        Self::start_at(ca, "127.0.0.1:0").await
    }

    pub(crate) async fn start_at(ca: &Ca, address: &str) -> Self {
        Self {
            listener: TcpListener::bind(address).await.unwrap(),
            acceptor: Arc::new(ca.server_config(ca)).into(),
        }
    }

    /// An impostor: its certificate is signed by one CA, and it presents another.
    pub(crate) async fn start_showing(signer: &Ca, shown: &Ca) -> Self {
        Self {
            listener: TcpListener::bind("127.0.0.1:0").await.unwrap(),
            acceptor: Arc::new(signer.server_config(shown)).into(),
        }
    }

    pub(crate) fn address(&self) -> String {
        self.listener.local_addr().unwrap().to_string()
    }

    pub(crate) async fn accept(&self) -> io::Result<TlsStream<TcpStream>> {
        let (stream, _) = self.listener.accept().await?;
        self.acceptor.accept(stream).await
    }

    /// Accepts a connection for enrolment, and its request.
    pub(crate) async fn accept_enrolment(&self) -> (EnrolmentFrames, Enrol) {
        let stream = self.accept().await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(wire::enrol::ALPN));
        assert!(stream.get_ref().1.peer_certificates().is_none());
        let mut framed = Framed::new(stream, Codec::with_limit(wire::enrol::MAX_FRAME));
        let question = framed.next().await.unwrap().unwrap();
        (framed, question)
    }

    pub(crate) async fn enrol(&self, ca: &Ca) -> Enrol {
        let (mut framed, question) = self.accept_enrolment().await;
        framed.send(ca.sign(&question)).await.unwrap();
        question
    }

    /// Welcomes a session: its frames, the host of the certificate, the hello.
    pub(crate) async fn welcome(&self) -> (SessionFrames, Host, Hello) {
        self.try_to_welcome().await.expect("no hello")
    }

    /// `None` if the agent disconnected before the welcome.
    pub(crate) async fn try_to_welcome(&self) -> Option<(SessionFrames, Host, Hello)> {
        let stream = self.accept().await.ok()?;
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(wire::ALPN));
        let host = host_of(&stream.get_ref().1.peer_certificates().unwrap()[0]);
        let mut framed = Framed::new(stream, Codec::new());
        let Some(Ok(Up {
            kind: Some(UpKind::Hello(hello)),
        })) = framed.next().await
        else {
            return None;
        };
        let welcome = Welcome {
            version: 1,
            ..Welcome::default()
        };
        framed.send(welcome.into()).await.ok()?;
        Some((framed, host, hello))
    }
}

fn host_of(certificate: &CertificateDer<'_>) -> Host {
    let (_, certificate) = X509Certificate::from_der(certificate).unwrap();
    wire::host::of_certificate(&certificate).unwrap()
}
