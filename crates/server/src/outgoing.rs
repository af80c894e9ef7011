//! Whom to trust about the servers that we call: webhooks and the CMDB over https.

use std::path::Path;
use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;

use crate::http::listen::CertificateError;

/// Those whom the public trusts, or those of one file and nobody else.
#[derive(Debug, Clone)]
pub(crate) struct Trust {
    named: Option<Arc<Vec<CertificateDer<'static>>>>,
    config: Arc<ClientConfig>,
}

impl Trust {
    pub(crate) fn read(file: Option<&Path>) -> Result<Self, CertificateError> {
        let Some(path) = file else {
            let roots = RootCertStore {
                roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
            };
            return Ok(Self {
                named: None,
                config: config(roots),
            });
        };
        let pem = |source| CertificateError::Pem {
            path: path.to_owned(),
            source,
        };
        let named: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(path)
            .map_err(pem)?
            .collect::<Result<_, _>>()
            .map_err(pem)?;
        let mut roots = RootCertStore::empty();
        let (n_good, _) = roots.add_parsable_certificates(named.iter().cloned());
        if n_good == 0 {
            return Err(CertificateError::Empty {
                path: path.to_owned(),
            });
        }
        Ok(Self {
            named: Some(Arc::new(named)),
            config: config(roots),
        })
    }

    pub(crate) fn config(&self) -> Arc<ClientConfig> {
        self.config.clone()
    }

    /// The same for `ureq`.
    pub(crate) fn for_ureq(&self) -> ureq::tls::TlsConfig {
        let roots = match &self.named {
            None => ureq::tls::RootCerts::WebPki,
            Some(named) => {
                let certificates = named.iter();
                let certificates =
                    certificates.map(|der| ureq::tls::Certificate::from_der(der).to_owned());
                ureq::tls::RootCerts::Specific(Arc::new(certificates.collect()))
            }
        };
        ureq::tls::TlsConfig::builder().root_certs(roots).build()
    }
}

fn config(roots: RootCertStore) -> Arc<ClientConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring has the default versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    Arc::new(config)
}
