//! What a new host downloads: `/install.sh`, and the binaries of agents with their checksums. Needs no login: there is no secret
//! in it, and a host that has none yet must be able to read it.

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use control::AgentBinary;

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

/// The script, which knows by which name this server was reached.
async fn script(State(http): State<HttpState>, headers: HeaderMap) -> Response {
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok());
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || PLAIN.contains(&byte);
    let host = host.filter(|host| !host.is_empty() && host.bytes().all(is_plain));
    let scheme = match http.is_https || forwarded_proto(&headers) == Some("https") {
        true => "https",
        false => "http",
    };
    let url = host.map_or_else(String::new, |host| format!("{scheme}://{host}"));
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

/// Set by a proxy that ends TLS.
fn forwarded_proto(headers: &HeaderMap) -> Option<&str> {
    headers.get("x-forwarded-proto")?.to_str().ok()
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
    Ok((headers, Body::from((*bytes).clone())).into_response())
}

async fn listed(http: &HttpState) -> Result<Vec<AgentBinary>, ApiError> {
    let agents = http.control.agents().clone();
    let listed = tokio::task::spawn_blocking(move || agents.binaries().list()).await;
    listed.map_err(|_| ApiError::internal())
}
