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

fn read(path: &Path) -> Result<Vec<Certificate<'static>>, Failure> {
    let advice = "--ca and MUSTER_CA name a PEM file with certificates";
    let bad = |why: String| Failure::usage(format!("{}: {why}", path.display())).advise(advice);
    let text = std::fs::read(path).map_err(|error| bad(format!("cannot be read: {error}")))?;
    let mut certificates = Vec::new();
    for item in parse_pem(&text) {
        let item = item.map_err(|error| bad(format!("is no PEM: {error}")))?;
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
