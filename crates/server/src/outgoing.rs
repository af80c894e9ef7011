//! The TLS roots for outgoing https calls: to webhooks and to the CMDB.

use std::path::Path;
use std::sync::Arc;

use rustls::RootCertStore;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

use crate::http::listen::CertificateError;

/// Reads the root certificates of a file, which replace the public ones; without a file, the public ones.
pub(crate) fn tls_roots(file: Option<&Path>) -> Result<TlsConfig, CertificateError> {
    let roots = match file {
        None => RootCerts::WebPki,
        Some(path) => RootCerts::Specific(Arc::new(read(path)?)),
    };
    Ok(TlsConfig::builder().root_certs(roots).build())
}

fn read(path: &Path) -> Result<Vec<Certificate<'static>>, CertificateError> {
    let pem = |source| CertificateError::Pem {
        path: path.to_owned(),
        source,
    };
    let certificates: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(path)
        .map_err(pem)?
        .collect::<Result<_, _>>()
        .map_err(pem)?;
    // A file without a usable root is a mistake to report at boot, not at the first call.
    let (n_usable, _) =
        RootCertStore::empty().add_parsable_certificates(certificates.iter().cloned());
    if n_usable == 0 {
        return Err(CertificateError::Empty {
            path: path.to_owned(),
        });
    }
    let certificates = certificates.iter();
    Ok(certificates
        .map(|der| Certificate::from_der(der).to_owned())
        .collect())
}
