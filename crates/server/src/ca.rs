//! The fleet's own certificate authority. Its key is in the store, so that every replica has the same.
//!
//! Certificates are short-lived: agents renew theirs in time, and servers issue their own.

use std::time::Duration;

use model::{Host, UnixMillis};
use rcgen::{
    BasicConstraints, CertificateParams, CertificateSigningRequestParams, DistinguishedName,
    DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose, SanType,
};
use rustls_pki_types::{
    CertificateDer, CertificateSigningRequestDer, PrivateKeyDer, PrivatePkcs8KeyDer,
};
use serde::{Deserialize, Serialize};
use store::Store;
use wire::enrol::SERVER_NAME;

/// The setting that holds the CA.
const SETTING: &str = "ca";
/// How far back certificates are valid, for hosts whose clocks are behind.
pub(crate) const BACKDATED: Duration = Duration::from_secs(2 * DAY);
const CA_LIFE: Duration = Duration::from_secs(20 * 365 * DAY);
/// How long a server's own certificate is valid. It is replaced long before, for hosts whose clocks are ahead.
pub(crate) const SERVER_LIFE: Duration = Duration::from_secs(30 * DAY);
/// How long an agent's certificate is valid by default.
pub const AGENT_LIFE: Duration = Duration::from_secs(90 * DAY);
const DAY: u64 = 24 * 3600;

#[derive(Debug, thiserror::Error)]
pub enum CaError {
    #[error("the certificate authority in the store cannot be read")]
    Unreadable(#[source] serde_json::Error),
    #[error("a certificate cannot be made")]
    Rcgen(#[from] rcgen::Error),
    #[error("the store is not available")]
    Store(#[from] store::StoreError),
    #[error("no threads for handshakes")]
    Threads(#[from] std::io::Error),
}

/// As saved in the store.
#[derive(Serialize, Deserialize)]
struct SavedCa {
    certificate_der: Vec<u8>,
    key_der: Vec<u8>,
}

pub struct Ca {
    certificate: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
    ticket_secret: [u8; 32],
    agent_life: Duration,
}

impl std::fmt::Debug for Ca {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Ca(…)")
    }
}

/// A certificate chain with its private key.
pub(crate) struct Leaf {
    pub(crate) chain: Vec<CertificateDer<'static>>,
    pub(crate) key: PrivateKeyDer<'static>,
}

impl std::fmt::Debug for Leaf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Leaf(…)")
    }
}

impl Ca {
    /// Reads the CA from the store; the first server makes it.
    pub async fn load(store: &Store) -> Result<Self, CaError> {
        let bytes = match store.setting(SETTING).await? {
            Some(bytes) => bytes,
            None => store.put_setting_if_absent(SETTING, &make()?).await?,
        };
        let saved: SavedCa = serde_json::from_slice(&bytes).map_err(CaError::Unreadable)?;
        let certificate = CertificateDer::from(saved.certificate_der);
        let ticket_secret = derive_ticket_secret(&saved.key_der);
        let key = KeyPair::try_from(&PrivateKeyDer::from(PrivatePkcs8KeyDer::from(
            saved.key_der,
        )))?;
        let issuer = Issuer::from_ca_cert_der(&certificate, key)?;
        Ok(Self {
            certificate,
            issuer,
            ticket_secret,
            agent_life: AGENT_LIFE,
        })
    }

    /// Sets how long agents' certificates are valid.
    #[must_use]
    pub fn with_agent_life(mut self, life: Duration) -> Self {
        self.agent_life = life;
        self
    }

    pub fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// The SHA-256 of the certificate. Join tokens carry it, so that an agent verifies the server before it sends its secret.
    pub fn fingerprint(&self) -> [u8; 32] {
        let digest = ring::digest::digest(&ring::digest::SHA256, &self.certificate);
        digest.as_ref().try_into().expect("SHA-256 has 32 bytes")
    }

    /// What the keys of TLS session tickets are derived from: the same for every replica, and after a restart.
    pub(crate) fn ticket_secret(&self) -> &[u8; 32] {
        &self.ticket_secret
    }

    /// Issues a certificate for this server itself.
    pub(crate) fn server_leaf(&self) -> Result<Leaf, CaError> {
        let key = KeyPair::generate()?;
        let mut params = leaf_params(SERVER_NAME, SERVER_LIFE);
        params.subject_alt_names = vec![SanType::DnsName(SERVER_NAME.try_into()?)];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let certificate = params.signed_by(&key, &self.issuer)?;
        Ok(Leaf {
            chain: vec![certificate.der().clone(), self.certificate.clone()],
            key: PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der())),
        })
    }

    /// Issues a certificate for a host and the key of its CSR. Everything else in the CSR is ignored.
    pub fn sign_agent(
        &self,
        host: &Host,
        request: CheckedRequest,
        issued_at: UnixMillis,
    ) -> Result<CertificateDer<'static>, CaError> {
        let CheckedRequest(mut request) = request;
        let mut params = leaf_params(&host.to_string(), self.agent_life);
        params.subject_alt_names = vec![
            SanType::URI(wire::host::to_uri(host).try_into()?),
            SanType::URI(wire::host::issued_to_uri(issued_at).try_into()?),
        ];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        request.params = params;
        Ok(request.signed_by(&self.issuer)?.der().clone())
    }
}

/// A certificate signing request (CSR) that can be signed: its signature is by the key that it names.
pub struct CheckedRequest(CertificateSigningRequestParams);

impl CheckedRequest {
    pub fn read(csr_der: &[u8]) -> Result<Self, CaError> {
        let request = CertificateSigningRequestDer::from(csr_der);
        Ok(Self(CertificateSigningRequestParams::from_der(&request)?))
    }
}

impl std::fmt::Debug for CheckedRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CheckedRequest(…)")
    }
}

fn make() -> Result<Vec<u8>, CaError> {
    let key = KeyPair::generate()?;
    let mut params = leaf_params("Muster fleet CA", CA_LIFE);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let certificate = params.self_signed(&key)?;
    let saved = SavedCa {
        certificate_der: certificate.der().to_vec(),
        key_der: key.serialize_der(),
    };
    Ok(serde_json::to_vec(&saved).expect("bytes are always JSON"))
}

fn leaf_params(name: &str, life: Duration) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    let now = time::OffsetDateTime::now_utc();
    params.not_before = now - BACKDATED;
    params.not_after = now + life;
    params
}

/// Tells nothing about the key of the CA.
fn derive_ticket_secret(key_der: &[u8]) -> [u8; 32] {
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, key_der);
    let tag = ring::hmac::sign(&key, b"muster session tickets");
    tag.as_ref().try_into().expect("SHA-256 has 32 bytes")
}
