//! What a new host downloads: `/install.sh`, and the binaries of agents with their checksums. Needs no login: there is no secret
//! in it, and a host that has none yet must be able to read it.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use control::AgentBinary;
use model::Host;

use super::HttpState;
use super::native::ApiError;

const SCRIPT: &str = include_str!("install/install.sh");
const UNIT: &str = include_str!("../../../../packaging/systemd/muster-agent.service");
/// What a host's name and port may consist of: it becomes part of a shell script.
const PLAIN: &[u8] = b".-_:[]";

pub(crate) fn routes() -> Router<HttpState> {
    Router::new()
        .route("/install.sh", get(script))
        .route("/install/SHA256SUMS", get(checksums))
        .route("/install/{file}", get(binary))
}

/// Where a binary is handed out.
pub(crate) fn path_of(binary: &AgentBinary) -> String {
    format!("/install/{}", binary.file_name())
}

/// The line that makes a machine a host, as CLI and console show it; none if this server does not know its own name.
pub(crate) fn line(
    http: &HttpState,
    headers: &HeaderMap,
    token: &str,
    host: Option<Host>,
) -> Option<String> {
    let url = url_of(http, headers)?;
    let mut line = format!("curl -fsS {url}/install.sh | sh -s -- --token {token}");
    if let Some(host) = host {
        line.push_str(&format!(" --ip {}", host.ip));
        if host.cloud != 0 {
            line.push_str(&format!(" --cloud-id {}", host.cloud));
        }
    }
    Some(line)
}

/// The script, which knows by which name this server was reached.
async fn script(State(http): State<HttpState>, headers: HeaderMap) -> Response {
    let url = url_of(&http, &headers).unwrap_or_default();
    let port = http.agents_address.map_or(0, |address| address.port());
    let text = SCRIPT
        .replace("@URL@", &url)
        .replace("@AGENTS_PORT@", &port.to_string())
        .replace("@UNIT@", UNIT.trim_end());
    let headers = [
        (header::CONTENT_TYPE, "text/x-shellscript; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    (headers, text).into_response()
}

/// The address by which the caller reached this server; none if its name could be more than a name in a shell.
fn url_of(http: &HttpState, headers: &HeaderMap) -> Option<String> {
    let host = headers.get(header::HOST)?.to_str().ok()?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || PLAIN.contains(&byte);
    if host.is_empty() || host.starts_with('-') || !host.bytes().all(is_plain) {
        return None;
    }
    let https = format!("https://{host}");
    // Behind a proxy that ends TLS, its header or the operator's setting says so.
    let forwarded = headers.get("x-forwarded-proto");
    let is_https = http.is_https
        || forwarded.is_some_and(|scheme| scheme == "https")
        || (http.origins.iter()).any(|origin| origin.as_str().eq_ignore_ascii_case(&https));
    Some(match is_https {
        true => https,
        false => format!("http://{host}"),
    })
}

/// As `sha256sum` writes it.
async fn checksums(State(http): State<HttpState>) -> Result<Response, ApiError> {
    let lines = listed(&http).await?.into_iter();
    let lines = lines.map(|one| format!("{}  {}\n", one.sha256.as_str(), one.file_name()));
    let headers = [
        (header::CONTENT_TYPE, "text/plain; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    Ok((headers, lines.collect::<String>()).into_response())
}

async fn binary(
    State(http): State<HttpState>,
    Path(file): Path<String>,
) -> Result<Response, ApiError> {
    let found = listed(&http).await?;
    let found = found.into_iter().find(|one| one.file_name() == file);
    let Some(binary) = found else {
        return Err(ApiError::no_such_path(&format!("/install/{file}")));
    };
    let agents = http.control.agents().clone();
    let loaded = tokio::task::spawn_blocking(move || agents.binaries().load(&binary)).await;
    let bytes = match loaded {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(error)) => {
            tracing::warn!(file, %error, "cannot hand out an agent's binary");
            return Ok(StatusCode::SERVICE_UNAVAILABLE.into_response());
        }
        Err(_) => return Err(ApiError::internal()),
    };
    let headers = [(header::CONTENT_TYPE, "application/octet-stream")];
    Ok((headers, Body::from(Bytes::from_owner(Content(bytes)))).into_response())
}

/// The content of a binary, which all downloads that go on at a time share.
struct Content(Arc<Bytes>);

impl AsRef<[u8]> for Content {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

async fn listed(http: &HttpState) -> Result<Vec<AgentBinary>, ApiError> {
    let agents = http.control.agents().clone();
    let listed = tokio::task::spawn_blocking(move || agents.binaries().list()).await;
    listed.map_err(|_| ApiError::internal())
}
