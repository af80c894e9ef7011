//! What happens to every request whatever its dialect: an id, sight of whatever any replica acknowledged, one line in the
//! log, a count, and an answer even to a panic.

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

use super::native::{ApiError, is_json_or_empty};
use super::{HttpState, gse, gsekit};
use crate::shed::Reason;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-bkapi-request-id");
/// An answer is what it says it is, stands in no frame, and its address, which may hold credentials, is told nobody.
const TO_BROWSERS: [(HeaderName, &str); 3] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
];
/// The longest id that is taken over from a caller.
const MAX_REQUEST_ID: usize = 1024;

/// The id that the caller gave to a request, or one made here.
#[derive(Debug, Clone)]
pub(crate) struct RequestId(pub Arc<str>);

/// What the log and the metrics should know of an answer; handlers put it into the response.
#[derive(Debug, Clone)]
pub(crate) struct Noted {
    pub dialect: &'static str,
    pub endpoint: Cow<'static, str>,
    pub app: String,
    pub user: String,
    /// The code in the envelope, or the HTTP status.
    pub code: i64,
}

/// Who asked at the native API; a cell for it travels with the request, and whoever checks the credentials fills it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asker {
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
    let asker: Arc<OnceLock<Asker>> = Arc::default();
    request.extensions_mut().insert(id.clone());
    request.extensions_mut().insert(asker.clone());
    let turn = http.turns.try_acquire();
    let mut response = match &turn {
        Err(_) => {
            http.shed.note(Reason::Requests, "too many at a time");
            too_many(&path)
        }
        Ok(_) if path.starts_with("/api/v1/") && !is_json_or_empty(&request) => {
            ApiError::not_json().into_response()
        }
        Ok(_) => {
            if path.starts_with("/api/") || gse::is_dialect(&path) || gsekit::is_dialect(&path) {
                // Before the credentials are looked at: an app that another replica just made is known here, too.
                http.control.settled().await;
            }
            let answered = AssertUnwindSafe(next.run(request)).catch_unwind().await;
            answered.unwrap_or_else(|_| panicked(&path))
        }
    };

    let noted = response.extensions_mut().remove::<Noted>();
    let noted = noted.unwrap_or_else(|| native(matched.as_ref(), asker.get(), &response));
    let took = began.elapsed();
    http.metrics.count(&noted, took);
    tracing::info!(
        target: "muster::http",
        request_id = %id.0,
        dialect = noted.dialect,
        endpoint = %noted.endpoint,
        %method,
        app = %noted.app,
        user = %noted.user,
        code = noted.code,
        ms = took.as_millis() as u64,
        "answered"
    );
    let headers = response.headers_mut();
    if let Ok(value) = HeaderValue::from_str(&id.0) {
        headers.insert(REQUEST_ID, value);
    }
    for (name, value) in TO_BROWSERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

fn native(matched: Option<&MatchedPath>, asker: Option<&Asker>, response: &Response) -> Noted {
    let asker = asker.cloned().unwrap_or_default();
    Noted {
        dialect: "native",
        // Unknown paths are one endpoint, or callers could make as many as they like.
        endpoint: matched.map_or("other".into(), |path| path.as_str().to_owned().into()),
        app: asker.app,
        user: asker.user,
        code: i64::from(response.status().as_u16()),
    }
}

/// Answered before anything is looked at.
fn too_many(path: &str) -> Response {
    if gse::is_dialect(path) {
        gse::busy()
    } else if gsekit::is_dialect(path) {
        gsekit::busy()
    } else {
        ApiError::busy().into_response()
    }
}

/// The hook has printed the panic; the caller only learns that it was not their fault.
fn panicked(path: &str) -> Response {
    if gse::is_dialect(path) {
        gse::internal_error()
    } else if gsekit::is_dialect(path) {
        gsekit::internal_error()
    } else {
        ApiError::internal().into_response()
    }
}

/// Where a request came from, where the listener said so.
pub(crate) fn peer(extensions: &Extensions) -> Option<IpAddr> {
    let peer = extensions.get::<ConnectInfo<SocketAddr>>()?;
    Some(peer.0.ip().to_canonical())
}

impl RequestId {
    fn of(headers: &HeaderMap) -> Self {
        let given = headers
            .get(REQUEST_ID)
            .and_then(|value| value.to_str().ok());
        let given = given.map(str::trim).filter(|id| {
            (1..=MAX_REQUEST_ID).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_graphic())
        });
        Self(given.map_or_else(fresh_id, Arc::from))
    }
}

/// Random, so that ids of several servers and of one after a restart differ.
fn fresh_id() -> Arc<str> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let mut bytes = [0; 16];
    if SystemRandom::new().fill(&mut bytes).is_err() {
        // An id that is merely a number still tells requests apart.
        bytes[8..].copy_from_slice(&NEXT.fetch_add(1, Ordering::Relaxed).to_be_bytes());
    }
    format!("{:032x}", u128::from_be_bytes(bytes)).into()
}

#[cfg(test)]
mod tests;
