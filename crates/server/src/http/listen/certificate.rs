//! The certificate of the API: two files, read again when they change, so that whoever renews it need not restart anything.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use locks::RwLock;
use rustls::ServerConfig;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio::sync::watch;
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

use crate::stopped;

/// How often the files are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Both in PEM. The chain begins with the server's own certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    pub chain: PathBuf,
    pub key: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    #[error("{path} cannot be read as PEM")]
    Pem {
        path: PathBuf,
        #[source]
        source: rustls_pki_types::pem::Error,
    },
    #[error("{path} holds no certificate")]
    Empty { path: PathBuf },
    #[error("the key in {key} does not fit the certificate in {chain}")]
    Mismatch {
        chain: PathBuf,
        key: PathBuf,
        #[source]
        source: rustls::Error,
    },
}

/// The certificate as it was read last.
#[derive(Debug)]
pub(super) struct Certificate {
    files: TlsFiles,
    current: RwLock<Arc<CertifiedKey>>,
}

/// When the two files were written; none where one is not there at the moment.
type Stamp = Option<[(SystemTime, u64); 2]>;

impl Certificate {
    pub(super) fn read(files: &TlsFiles) -> Result<Self, CertificateError> {
        Ok(Self {
            current: RwLock::new(Arc::new(load(files)?)),
            files: files.clone(),
        })
    }

    /// Reads the files again whenever they have changed, until told to stop. What cannot be used is said, and the old one
    /// stays.
    pub(super) async fn keep_up(&self, mut stop: watch::Receiver<bool>) {
        // What was written while the server started is read once more.
        let mut seen = None;
        loop {
            let stamp = self.stamp();
            if stamp.is_some() && stamp != seen {
                seen = stamp;
                self.read_again();
            }
            tokio::select! {
                () = tokio::time::sleep(LOOK_EVERY) => {}
                () = stopped(&mut stop) => return,
            }
        }
    }

    fn read_again(&self) {
        let fresh = match load(&self.files) {
            Ok(fresh) => fresh,
            Err(error) => {
                let error = crate::http::chain(&error);
                tracing::error!(%error, "the new certificate of the API is not used");
                return;
            }
        };
        let mut current = self.current.write();
        if current.cert != fresh.cert {
            tracing::info!(chain = %self.files.chain.display(), "the API has a new certificate");
        }
        *current = Arc::new(fresh);
    }

    fn stamp(&self) -> Stamp {
        let of = |path: &Path| {
            let metadata = std::fs::metadata(path).ok()?;
            Some((metadata.modified().ok()?, metadata.len()))
        };
        Some([of(&self.files.chain)?, of(&self.files.key)?])
    }

    fn current(&self) -> Arc<CertifiedKey> {
        let current = self.current.read();
        current.clone()
    }

    /// Where to reach the server under a name that the certificate has: its own address, else the first name.
    pub(super) fn url(&self, reachable: SocketAddr) -> String {
        let current = self.current();
        let parsed = current
            .cert
            .first()
            .and_then(|der| X509Certificate::from_der(der).ok());
        let names = parsed.as_ref().and_then(|(_, certificate)| {
            let names = certificate.subject_alternative_name().ok()??;
            Some(&names.value.general_names)
        });
        let names: &[GeneralName<'_>] = names.map_or(&[], Vec::as_slice);
        let ip = match reachable.ip() {
            std::net::IpAddr::V4(ip) => ip.octets().to_vec(),
            std::net::IpAddr::V6(ip) => ip.octets().to_vec(),
        };
        let has_ip = names
            .iter()
            .any(|name| matches!(name, GeneralName::IPAddress(bytes) if **bytes == *ip));
        let named = names.iter().find_map(|name| match name {
            GeneralName::DNSName(name) if !name.starts_with('*') => Some(*name),
            _ => None,
        });
        match named {
            Some(name) if !has_ip => format!("https://{name}:{}", reachable.port()),
            _ => format!("https://{reachable}"),
        }
    }
}

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.current())
    }
}

pub(super) fn config(certificate: Arc<Certificate>) -> ServerConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring has the default versions")
        .with_no_client_auth()
        .with_cert_resolver(certificate);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config
}

fn load(files: &TlsFiles) -> Result<CertifiedKey, CertificateError> {
    let pem = |path: &Path| {
        let path = path.to_owned();
        move |source| CertificateError::Pem { path, source }
    };
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(&files.chain)
        .map_err(pem(&files.chain))?
        .collect::<Result<_, _>>()
        .map_err(pem(&files.chain))?;
    if chain.is_empty() {
        return Err(CertificateError::Empty {
            path: files.chain.clone(),
        });
    }
    let key = PrivateKeyDer::from_pem_file(&files.key).map_err(pem(&files.key))?;
    let provider = rustls::crypto::ring::default_provider();
    CertifiedKey::from_der(chain, key, &provider).map_err(|source| CertificateError::Mismatch {
        chain: files.chain.clone(),
        key: files.key.clone(),
        source,
    })
}
