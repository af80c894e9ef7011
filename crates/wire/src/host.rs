//! How a certificate names the host that it was issued for.

use model::Host;

/// The URI in the subject alternative name of an agent's certificate.
pub fn to_uri(host: &Host) -> String {
    format!("muster://host/{}/{}", host.cloud, host.ip)
}

pub fn from_uri(uri: &str) -> Option<Host> {
    let (cloud, ip) = uri.strip_prefix("muster://host/")?.split_once('/')?;
    Host::parse(cloud.parse().ok()?, ip).ok()
}

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
