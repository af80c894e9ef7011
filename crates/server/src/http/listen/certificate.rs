//! The certificate of the API: two files, read again when they change, so that a renewal needs no restart.

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

/// The certificate that was read last.
#[derive(Debug)]
pub(super) struct Certificate {
    files: TlsFiles,
    current: RwLock<Arc<CertifiedKey>>,
}

/// When the two files were written, and their sizes; none while one is missing.
type Stamp = Option<[(SystemTime, u64); 2]>;

impl Certificate {
    pub(super) fn read(files: &TlsFiles) -> Result<Self, CertificateError> {
        Ok(Self {
            current: RwLock::new(Arc::new(load(files)?)),
            files: files.clone(),
        })
    }

    /// Polls the files and reads them again when they have changed, until `stop` is true.
    pub(super) async fn follow_files(&self, every: Duration, mut stop: watch::Receiver<bool>) {
        // The files may have changed while the server started: read them once more.
        let mut last = None;
        loop {
            let stamp = self.stamp();
            if stamp.is_some() && stamp != last {
                last = stamp;
                self.reload();
            }
            tokio::select! {
                () = tokio::time::sleep(every) => {}
                () = stopped(&mut stop) => return,
            }
        }
    }

    /// Reads the files. Files that cannot be used are logged, and the current certificate stays.
    fn reload(&self) {
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

    /// The URL of the server with a host that the certificate covers: its own address, else the first name.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_cannot_be_used_keep_the_current_certificate() {
        let folder = tempfile::tempdir().unwrap();
        let key = rcgen::KeyPair::generate().unwrap();
        let params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let files = TlsFiles {
            chain: folder.path().join("chain.pem"),
            key: folder.path().join("key.pem"),
        };
        std::fs::write(&files.key, key.serialize_pem()).unwrap();
        std::fs::write(&files.chain, params.self_signed(&key).unwrap().pem()).unwrap();
        let certificate = Certificate::read(&files).unwrap();
        let first = certificate.current();
        for unusable in ["nonsense", "", "-----BEGIN CERTIFICATE-----"] {
            std::fs::write(&files.chain, unusable).unwrap();
            certificate.reload();
            assert!(Arc::ptr_eq(&first, &certificate.current()), "{unusable}");
        }
    }
}
