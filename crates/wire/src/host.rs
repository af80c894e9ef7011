//! The host and the time of issue in an agent's certificate.

use model::{Host, UnixMillis};
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::X509Certificate;

/// The URI in the subject alternative name of an agent's certificate.
pub fn to_uri(host: &Host) -> String {
    format!("muster://host/{}/{}", host.cloud, host.ip)
}

pub fn from_uri(uri: &str) -> Option<Host> {
    let (cloud, ip) = uri.strip_prefix("muster://host/")?.split_once('/')?;
    Host::parse(cloud.parse().ok()?, ip).ok()
}

/// The host that a certificate was issued for.
pub fn of_certificate(certificate: &X509Certificate<'_>) -> Option<Host> {
    let names = certificate.subject_alternative_name().ok()??;
    names
        .value
        .general_names
        .iter()
        .find_map(|name| match name {
            GeneralName::URI(uri) => from_uri(uri),
            _ => None,
        })
}

/// The URI with the time of issue. The validity begins earlier, for clocks that are behind.
pub fn issued_to_uri(at: UnixMillis) -> String {
    format!("{ISSUED}{}", at.0)
}

/// When a certificate was issued; None for one of an earlier version.
pub fn issued_at(certificate: &X509Certificate<'_>) -> Option<UnixMillis> {
    let names = certificate.subject_alternative_name().ok()??;
    let mut names = names.value.general_names.iter();
    names.find_map(|name| match name {
        GeneralName::URI(uri) => uri.strip_prefix(ISSUED)?.parse().ok().map(UnixMillis),
        _ => None,
    })
}

const ISSUED: &str = "muster://issued/";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_read_back_what_they_print() {
        for host in ["0:10.0.0.1", "7:::1"] {
            let host: Host = host.parse().unwrap();
            assert_eq!(from_uri(&to_uri(&host)), Some(host));
        }
        assert_eq!(from_uri("muster://host/x/10.0.0.1"), None);
        assert_eq!(from_uri("spiffe://host/0/10.0.0.1"), None);
    }
}
