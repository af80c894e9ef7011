//! Settings of the listener for the API, and of calls to other servers.

use std::path::PathBuf;

use agent::config::source::{Key, Sources};
use model::Invalid;
use server::{HttpListenerSettings, Origin, TlsFiles};

use super::{parse_number, to_text};
use crate::failure::Failure;

pub(super) const TLS_CERT: Key = Key::new("http_tls_cert", "MUSTER_HTTP_TLS_CERT");
pub(super) const TLS_KEY: Key = Key::new("http_tls_key", "MUSTER_HTTP_TLS_KEY");
pub(super) const CONNECTIONS: Key = Key::new("http_connections", "MUSTER_HTTP_CONNECTIONS");
pub(super) const PER_ADDRESS: Key = Key::new(
    "http_connections_per_address",
    "MUSTER_HTTP_CONNECTIONS_PER_ADDRESS",
);
pub(super) const ORIGIN: Key = Key::new("http_origin", "MUSTER_HTTP_ORIGIN");
pub(super) const OUTGOING_CA: Key = Key::new("outgoing_ca", "MUSTER_OUTGOING_CA");

const MAX_CONNECTIONS: u32 = 1_000_000;

#[derive(Debug, Clone, Default, clap::Args)]
pub struct ApiListenerArgs {
    /// A PEM file with the certificate of the API and its chain; with it the API is served over https. Read
    /// again when it changes [env: MUSTER_HTTP_TLS_CERT]
    #[arg(long, value_name = "FILE")]
    pub http_tls_cert: Option<String>,
    /// A PEM file with the key of that certificate [env: MUSTER_HTTP_TLS_KEY]
    #[arg(long, value_name = "FILE")]
    pub http_tls_key: Option<String>,
    /// Connections to the API at the same time [env: MUSTER_HTTP_CONNECTIONS] [default: 8192]
    #[arg(long, value_name = "N")]
    pub http_connections: Option<String>,
    /// The same from one address; a proxy counts as one address [env: MUSTER_HTTP_CONNECTIONS_PER_ADDRESS]
    /// [default: 1024]
    #[arg(long, value_name = "N")]
    pub http_connections_per_address: Option<String>,
    /// Origins, separated by commas, whose pages may use the cookie of a login, besides the server's own address: the
    /// https://NAME of a proxy in front [env: MUSTER_HTTP_ORIGIN]
    #[arg(long, value_name = "ORIGIN")]
    pub http_origin: Option<String>,
    /// A PEM file with the only CAs to trust for https:// webhooks and the CMDB
    /// [env: MUSTER_OUTGOING_CA] [default: public CAs]
    #[arg(long, value_name = "FILE")]
    pub outgoing_ca: Option<String>,
}

pub(super) fn pick(
    args: &ApiListenerArgs,
    sources: &Sources<'_>,
) -> Result<HttpListenerSettings, Failure> {
    let mut listener = HttpListenerSettings::default();
    let number = |key: Key, flag: &Option<String>| {
        sources.pick(key, flag.as_deref(), |text| {
            parse_number(key.name, text, MAX_CONNECTIONS).map(|n| n as usize)
        })
    };
    if let Some(n) = number(CONNECTIONS, &args.http_connections)? {
        listener.max_connections = n;
    }
    if let Some(n) = number(PER_ADDRESS, &args.http_connections_per_address)? {
        listener.max_connections_per_address = n;
    }
    let origins = sources.pick(ORIGIN, args.http_origin.as_deref(), |text| {
        text.split(',').map(Origin::parse).collect()
    })?;
    listener.origins = origins.unwrap_or_default();
    let chain = file(TLS_CERT, &args.http_tls_cert, sources)?;
    let key = file(TLS_KEY, &args.http_tls_key, sources)?;
    listener.tls = match (chain, key) {
        (Some(chain), Some(key)) => Some(TlsFiles { chain, key }),
        (None, None) => None,
        (Some(_), None) | (None, Some(_)) => {
            return Err(Failure::usage(
                "https needs both --http-tls-cert and --http-tls-key",
            ));
        }
    };
    Ok(listener)
}

pub(super) fn pick_outgoing_ca(
    args: &ApiListenerArgs,
    sources: &Sources<'_>,
) -> Result<Option<PathBuf>, Failure> {
    file(OUTGOING_CA, &args.outgoing_ca, sources)
}

pub(super) fn show(server: &server::Config, put: &mut impl FnMut(Key, Option<String>)) {
    let listener = &server.http_listener;
    if let Some(tls) = &listener.tls {
        put(TLS_CERT, Some(to_text(&tls.chain)));
        put(TLS_KEY, Some(to_text(&tls.key)));
    }
    put(CONNECTIONS, Some(listener.max_connections.to_string()));
    put(
        PER_ADDRESS,
        Some(listener.max_connections_per_address.to_string()),
    );
    let origins: Vec<&str> = listener.origins.iter().map(Origin::as_str).collect();
    put(ORIGIN, (!origins.is_empty()).then(|| origins.join(",")));
    put(OUTGOING_CA, server.outgoing_ca.as_deref().map(to_text));
}

/// Absolute, so that it does not depend on the current directory.
fn file(
    key: Key,
    flag: &Option<String>,
    sources: &Sources<'_>,
) -> Result<Option<PathBuf>, Failure> {
    let picked = sources.pick(key, flag.as_deref(), |text| match text.trim() {
        "" => Err(Invalid::required(key.name)),
        path => std::path::absolute(path)
            .map_err(|error| Invalid::new(key.name, format!("{path:?}: {error}"))),
    })?;
    Ok(picked)
}
