//! TLS configurations. For enrolment the agent trusts the CA that the join token names, afterwards that CA alone.

use std::sync::Arc;

use locks::Mutex;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, TicketRequest, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::version::TLS13;
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

use crate::identity::Identity;

/// Servers whose tickets are kept: all have one name.
const MAX_SERVERS: usize = 1;
/// How many tickets the agent asks for. Each try to connect uses one up, also in vain: TLS hands out none twice. A server that is
/// away costs some; a resumed session brings one more than it used, up to the eight that are kept.
const TICKETS: TicketRequest = TicketRequest {
    new_session_count: 4,
    resumption_count: 2,
};

#[derive(Debug, thiserror::Error)]
#[error(
    "the agent's certificates cannot be used: remove identity.toml from the data directory and enrol again"
)]
pub struct TlsError(#[from] rustls::Error);

/// For sessions: mutual TLS.
pub fn session_config(identity: &Identity) -> Result<Arc<ClientConfig>, TlsError> {
    let mut config = mutual_config(identity)?;
    config.alpn_protocols = vec![wire::ALPN.to_vec()];
    config.resumption = Resumption::in_memory_sessions(MAX_SERVERS);
    config.send_ticket_request = Some(TICKETS);
    Ok(Arc::new(config))
}

/// For renewals: mutual TLS without resumption, so that each connection presents the certificate.
pub(crate) fn renewal_config(identity: &Identity) -> Result<Arc<ClientConfig>, TlsError> {
    let mut config = mutual_config(identity)?;
    config.alpn_protocols = vec![wire::enrol::ALPN.to_vec()];
    config.resumption = Resumption::disabled();
    Ok(Arc::new(config))
}

fn mutual_config(identity: &Identity) -> Result<ClientConfig, TlsError> {
    let mut roots = RootCertStore::empty();
    roots.add(identity.ca.clone())?;
    Ok(ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])?
        .with_root_certificates(roots)
        .with_client_auth_cert(vec![identity.certificate.clone()], identity.key.clone_key())?)
}

/// For enrolment: the agent has no certificate yet, and verifies the fingerprint of the server's CA if the token has one.
pub(crate) fn enrolment_config(
    ca_sha256: Option<[u8; 32]>,
) -> Result<(Arc<ClientConfig>, Arc<EnrolmentVerifier>), TlsError> {
    let provider = provider();
    let verifier = Arc::new(EnrolmentVerifier {
        ca_sha256,
        provider: Arc::clone(&provider),
        ca: Mutex::new(None),
    });
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::clone(&verifier) as Arc<dyn ServerCertVerifier>)
        .with_no_client_auth();
    config.alpn_protocols = vec![wire::enrol::ALPN.to_vec()];
    config.resumption = Resumption::disabled();
    Ok((Arc::new(config), verifier))
}

/// The name in every server's certificate, whatever its address.
pub(crate) fn server_name() -> ServerName<'static> {
    ServerName::try_from(wire::enrol::SERVER_NAME).expect("the constant is a DNS name")
}

pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    let digest = ring::digest::digest(&ring::digest::SHA256, bytes);
    digest.as_ref().try_into().expect("SHA-256 has 32 bytes")
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// Accepts a server whose chain contains the CA with the right fingerprint, and whose certificate that CA signed. Without a
/// fingerprint it accepts any CA (trust on first use). TLS sends no application data before that.
#[derive(Debug)]
pub(crate) struct EnrolmentVerifier {
    ca_sha256: Option<[u8; 32]>,
    provider: Arc<CryptoProvider>,
    ca: Mutex<Option<CertificateDer<'static>>>,
}

impl EnrolmentVerifier {
    /// The CA of the server that was accepted last.
    pub(crate) fn ca(&self) -> Option<CertificateDer<'static>> {
        self.ca.lock().clone()
    }

    fn find_ca<'a>(
        &self,
        chain: &'a [CertificateDer<'a>],
    ) -> Result<&'a CertificateDer<'a>, rustls::Error> {
        let (found, complaint) = match self.ca_sha256 {
            Some(wanted) => (chain.iter().find(|ca| sha256(ca) == wanted), WRONG_CA),
            None => (chain.last(), "the server shows no CA"),
        };
        found.ok_or_else(|| rustls::Error::General(complaint.into()))
    }
}

/// The error text by which [`crate::connect::ConnectError::is_wrong_ca`] recognises a wrong fingerprint.
pub(crate) const WRONG_CA: &str = "the server shows no CA with the fingerprint of the join token";

impl ServerCertVerifier for EnrolmentVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let ca = self.find_ca(intermediates)?.clone().into_owned();
        let mut roots = RootCertStore::empty();
        roots.add(ca.clone())?;
        let verified = WebPkiServerVerifier::builder_with_provider(
            Arc::new(roots),
            Arc::clone(&self.provider),
        )
        .build()
        .map_err(|e| rustls::Error::General(e.to_string()))?
        .verify_server_cert(end_entity, &[], server_name, ocsp_response, now)?;
        *self.ca.lock() = Some(ca);
        Ok(verified)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, cert, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, cert, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}
