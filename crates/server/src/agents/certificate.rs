//! Reads the host and the time of issue from an agent's certificate.

use control::{Certificate, Issued, Refused};
use model::UnixMillis;
use rustls_pki_types::CertificateDer;
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::ca::BACKDATED;

/// None when it is no agent's certificate. An expired one is refused here as well as in the handshake, because a resumed TLS
/// session does not verify its certificate again.
pub(super) fn read(
    der: &CertificateDer<'_>,
    now: UnixMillis,
) -> Option<Result<Certificate, Refused>> {
    let (_, certificate) = X509Certificate::from_der(der).ok()?;
    let host = wire::host::of_certificate(&certificate)?;
    let validity = certificate.validity();
    let until = UnixMillis::from_secs(validity.not_after.timestamp());
    if until < now {
        return Some(Err(Refused {
            reason: format!("certificate of host {host} expired"),
            permanent: true,
            rejoin: true,
        }));
    }
    let issued = match wire::host::issued_at(&certificate) {
        Some(at) => Issued::At(at),
        None => {
            let from = validity.not_before.timestamp() + BACKDATED.as_secs() as i64;
            Issued::About(UnixMillis::from_secs(from))
        }
    };
    Some(Ok(Certificate { host, issued }))
}
