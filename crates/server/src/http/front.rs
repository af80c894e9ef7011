//! The middleware of every request in every dialect: gives it an id, waits until this replica has seen all acknowledged
//! commits, logs and counts the response, and turns a panic into a response.

use std::borrow::Cow;
use std::net::{IpAddr, SocketAddr};
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use axum::extract::{ConnectInfo, MatchedPath, Request, State};
use axum::http::{Extensions, HeaderMap, HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use ring::rand::{SecureRandom, SystemRandom};

use super::envelope::Refusal;
use super::native::{ApiError, is_json_or_empty};
use super::{HttpState, gse, gsekit};
use crate::shed::ShedReason;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-bkapi-request-id");
/// Browsers must not guess the type of a response, show it in a frame, or pass on its URL, which may hold credentials.
const BROWSER_HEADERS: [(HeaderName, &str); 3] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
];
/// The longest id that is taken over from a caller.
const MAX_REQUEST_ID: usize = 1024;

/// The request id of the caller, or a new one.
#[derive(Debug, Clone)]
pub(crate) struct RequestId(pub Arc<str>);

/// What the log and the metrics record of a response; handlers put it into the response's extensions.
#[derive(Debug, Clone)]
pub(crate) struct ResponseRecord {
    pub dialect: &'static str,
    pub endpoint: Cow<'static, str>,
    pub app: String,
    pub user: String,
    /// The code in the envelope, or the HTTP status.
    pub code: i64,
}

impl ResponseRecord {
    /// A successful response to a caller that is not authenticated yet.
    pub(crate) fn new(dialect: &'static str, endpoint: &'static str) -> Self {
        Self {
            dialect,
            endpoint: endpoint.into(),
            app: String::new(),
            user: String::new(),
            code: 0,
        }
    }
}

/// The caller of a native request, for the log. A cell for it is in the request's extensions; authentication fills it.
#[derive(Debug, Clone, Default)]
pub(crate) struct LoggedCaller {
    pub app: String,
    pub user: String,
}

pub(crate) async fn front(
    State(http): State<HttpState>,
    mut request: Request,
    next: Next,
) -> Response {
    let began = Instant::now();
    let id = RequestId::of(request.headers());
    let path = request.uri().path().to_owned();
    let method = request.method().clone();
    let matched = request.extensions().get::<MatchedPath>().cloned();
    let caller: Arc<OnceLock<LoggedCaller>> = Arc::default();
    request.extensions_mut().insert(id.clone());
    request.extensions_mut().insert(caller.clone());
    let permit = http.request_permits.try_acquire();
    let mut response = match &permit {
        Err(_) => {
            http.shed.count(ShedReason::Requests, "too many at a time");
            refuse(&path, Refusal::busy(), ApiError::busy())
        }
        Ok(_) if path.starts_with("/api/v1/") && !is_json_or_empty(&request) => {
            ApiError::not_json().into_response()
        }
        Ok(_) => {
            if path.starts_with("/api/") || gse::is_dialect(&path) || gsekit::is_dialect(&path) {
                // Before authentication: another replica may have just created the app.
                http.control.replicas().catch_up().await;
            }
            let answered = AssertUnwindSafe(next.run(request)).catch_unwind().await;
            // The panic hook has printed the details.
            answered.unwrap_or_else(|_| refuse(&path, Refusal::internal(), ApiError::internal()))
        }
    };

    let record = response.extensions_mut().remove::<ResponseRecord>();
    let record = record.unwrap_or_else(|| native(matched.as_ref(), caller.get(), &response));
    let took = began.elapsed();
    http.metrics.count(&record, took);
    tracing::info!(
        target: "muster::http",
        request_id = %id.0,
        dialect = record.dialect,
        endpoint = %record.endpoint,
        %method,
        app = %record.app,
        user = %record.user,
        code = record.code,
        ms = took.as_millis() as u64,
        "answered"
    );
    let headers = response.headers_mut();
    if let Ok(value) = HeaderValue::from_str(&id.0) {
        headers.insert(REQUEST_ID, value);
    }
    for (name, value) in BROWSER_HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

fn native(
    matched: Option<&MatchedPath>,
    caller: Option<&LoggedCaller>,
    response: &Response,
) -> ResponseRecord {
    let caller = caller.cloned().unwrap_or_default();
    ResponseRecord {
        dialect: "native",
        // Unknown paths count as one endpoint, or callers could create any number of metrics.
        endpoint: matched.map_or("other".into(), |path| path.as_str().to_owned().into()),
        app: caller.app,
        user: caller.user,
        code: i64::from(response.status().as_u16()),
    }
}

/// The response to a request that no handler answers: beyond the limit, or after a panic.
fn refuse(path: &str, refusal: Refusal, native: ApiError) -> Response {
    if gse::is_dialect(path) {
        gse::refuse(refusal)
    } else if gsekit::is_dialect(path) {
        gsekit::refuse(refusal)
    } else {
        native.into_response()
    }
}

/// The address that a request came from, if the listener recorded it.
pub(crate) fn peer(extensions: &Extensions) -> Option<IpAddr> {
    let peer = extensions.get::<ConnectInfo<SocketAddr>>()?;
    Some(peer.0.ip().to_canonical())
}

impl RequestId {
    fn of(headers: &HeaderMap) -> Self {
        let theirs = headers
            .get(REQUEST_ID)
            .and_then(|value| value.to_str().ok());
        let theirs = theirs.map(str::trim).filter(|id| {
            (1..=MAX_REQUEST_ID).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_graphic())
        });
        Self(theirs.map_or_else(fresh_id, Arc::from))
    }
}

/// Random, so that ids of several servers and of one after a restart differ.
fn fresh_id() -> Arc<str> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let mut bytes = [0; 16];
    if SystemRandom::new().fill(&mut bytes).is_err() {
        // A counter still tells requests apart.
        bytes[8..].copy_from_slice(&NEXT.fetch_add(1, Ordering::Relaxed).to_be_bytes());
    }
    format!("{:032x}", u128::from_be_bytes(bytes)).into()
}

#[cfg(test)]
mod tests;
