//! Which certificates are trusted for an https:// server.

use std::path::Path;
use std::sync::Arc;

use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

use crate::failure::Failure;

/// Only those in the file; without a file, public CAs.
pub(super) fn config(ca: Option<&Path>) -> Result<TlsConfig, Failure> {
    let roots = match ca {
        None => RootCerts::WebPki,
        Some(path) => RootCerts::Specific(Arc::new(read(path)?)),
    };
    Ok(TlsConfig::builder().root_certs(roots).build())
}

/// What to do about a certificate that is not trusted.
pub(super) const ADVICE: &str = "--ca FILE (or MUSTER_CA) names a PEM file with the CA that signed it, or with the certificate itself;\n\
    on the server's machine cli.toml names it. The address must be a name in the certificate";

/// The same address with http in place of https, or the other way round, if the error says that the server speaks that.
pub(super) fn other_scheme(url: &str, error: &str) -> Option<String> {
    match url.split_once("://")? {
        ("https", rest) if error.contains("corrupt message") => Some(format!("http://{rest}")),
        ("http", rest) if error.contains("invalid HTTP version") => Some(format!("https://{rest}")),
        _ => None,
    }
}

/// Why the certificate was refused, if that is what the error says.
pub(super) fn untrusted(error: &str) -> Option<&str> {
    let (_, why) = error.split_once("invalid peer certificate: ")?;
    Some(match why {
        "UnknownIssuer" => "no trusted CA signed it",
        "CaUsedAsEndEntity" => "it is the certificate of a CA, not of a server",
        why => why,
    })
}

fn read(path: &Path) -> Result<Vec<Certificate<'static>>, Failure> {
    let advice = "--ca and MUSTER_CA name a PEM file with certificates";
    let bad = |why: String| Failure::usage(format!("{}: {why}", path.display())).advise(advice);
    let text = std::fs::read(path).map_err(|error| bad(format!("cannot be read: {error}")))?;
    let mut certificates = Vec::new();
    for item in parse_pem(&text) {
        let item = item.map_err(|error| bad(format!("is not PEM: {error}")))?;
        // A file may hold its key, too.
        if let PemItem::Certificate(certificate) = item {
            certificates.push(certificate);
        }
    }
    match certificates.is_empty() {
        true => Err(bad("holds no certificate".to_owned())),
        false => Ok(certificates),
    }
}
