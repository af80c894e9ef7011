//! The door for programs and people: HTTP in several dialects, all of them over the same `control` methods.
//!
//! # The path of a request
//!
//! [`front`] gives it an id and will log and count its answer. A path of the native API is routed by axum to its handler in
//! `native/`; everything else that looks like a dialect of GSE or of GSEKit goes to [`gse`] or [`gsekit`], which look the
//! endpoint up in their tables. Either way a handler extracts, authorises, calls `control`, and answers. Nothing here decides
//! what a request means.

mod body;
mod credentials;
mod envelope;
mod front;
mod gse;
mod gsekit;
mod health;
mod job_options;
mod json;
pub mod listen;
mod metrics;
mod native;
mod openapi;
mod origin;
mod page;
mod readiness;
mod selection;
mod watchers;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use control::Control;
use tokio::sync::{Semaphore, watch};
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{NotForContentType, Predicate, SizeAbove};

use crate::outgoing::Trust;
use crate::shed::Shed;
pub use body::BodyPace;
use gse::percent;
use metrics::Metrics;
use native::ApiError;
pub(crate) use native::EventRow;
pub use origin::Origin;
pub use readiness::Readiness;

/// Smaller answers are not worth compressing.
const MIN_COMPRESSED: u64 = 1024;
/// How many requests may be under way. Streams count until they have begun. As many as connections: with fewer, strangers
/// whose bodies come slowly would keep others out.
const MAX_REQUESTS: usize = 8192;

/// What every handler can reach; clones share it.
#[derive(Debug, Clone)]
pub struct HttpState {
    pub control: Control,
    pub version: &'static str,
    pub ready: Readiness,
    /// True ends watches and long polls, so that a shutdown need not wait for them.
    pub stop: watch::Receiver<bool>,
    /// The fingerprint of the CA, which join tokens carry so that agents know the server.
    ca_sha256: Option<[u8; 32]>,
    metrics: Arc<Metrics>,
    /// What is turned away for want of room, by every door.
    pub(crate) shed: Arc<Shed>,
    watchers: watchers::Watchers,
    /// Whom to trust about webhooks.
    trust: Trust,
    pace: BodyPace,
    /// Origins of browsers that count as this server's own.
    origins: Arc<[Origin]>,
    /// One for each request under way.
    turns: Arc<Semaphore>,
}

impl HttpState {
    pub fn new(
        control: Control,
        version: &'static str,
        ready: Readiness,
        stop: watch::Receiver<bool>,
    ) -> Self {
        Self {
            control,
            version,
            ready,
            stop,
            ca_sha256: None,
            metrics: Arc::default(),
            shed: Arc::default(),
            watchers: watchers::Watchers::default(),
            trust: Trust::read(None).expect("nothing is read"),
            pace: BodyPace::default(),
            origins: Arc::default(),
            turns: Arc::new(Semaphore::new(MAX_REQUESTS)),
        }
    }

    /// Webhooks are tried with this trust.
    #[must_use]
    pub(crate) fn with_trust(mut self, trust: Trust) -> Self {
        self.trust = trust;
        self
    }

    /// Pages of these origins may act for a user, too.
    #[must_use]
    pub(crate) fn with_origins(mut self, origins: Vec<Origin>) -> Self {
        self.origins = origins.into();
        self
    }

    /// Other bounds than the usual ones.
    #[must_use]
    pub fn with_bounds(mut self, pace: BodyPace, max_requests: usize) -> Self {
        self.pace = pace;
        self.turns = Arc::new(Semaphore::new(max_requests));
        self
    }

    /// Join tokens made here will carry this fingerprint of the CA.
    #[must_use]
    pub fn with_ca(mut self, sha256: [u8; 32]) -> Self {
        self.ca_sha256 = Some(sha256);
        self
    }

    /// Resolves when the server begins to shut down.
    pub(crate) async fn stopping(&self) {
        // An error means that the sender is gone, which is as good as a stop.
        let _ = self.stop.clone().wait_for(|stop| *stop).await;
    }
}

/// Every HTTP path of the server. Serve it with `into_make_service_with_connect_info::<SocketAddr>()`, or put a
/// `ConnectInfo<SocketAddr>` into each request's extensions, so that the audit trail shows where callers come from.
pub fn router(state: HttpState) -> Router {
    let (documented, openapi) = openapi::documented_router().split_for_parts();
    let small_or_streamed = SizeAbove::new(MIN_COMPRESSED).and(NotForContentType::SSE);
    let routes = documented
        .route("/", get(page::index))
        .merge(openapi::browser(openapi))
        .fallback(elsewhere)
        .method_not_allowed_fallback(wrong_method)
        .layer(middleware::from_fn_with_state(state.clone(), front::front))
        .layer(
            CompressionLayer::new()
                .quality(CompressionLevel::Fastest)
                .compress_when(small_or_streamed),
        )
        .with_state(state);
    // Routing compares whole paths, so a trailing slash has to go before it.
    Router::new().fallback_service(tower::util::MapRequest::new(routes, without_trailing_slash))
}

/// `/api/v1/hosts/` means `/api/v1/hosts`. The GSE dialects see to theirs, and the page of the API needs its own.
fn without_trailing_slash(mut request: Request) -> Request {
    const OURS: [&str; 4] = ["/api/v1/", "/healthz/", "/readyz/", "/metrics/"];
    let uri = request.uri();
    let path = uri.path();
    if path.ends_with('/') && OURS.iter().any(|prefix| path.starts_with(prefix)) {
        let trimmed = path.trim_end_matches('/');
        let query = uri
            .query()
            .map(|query| format!("?{query}"))
            .unwrap_or_default();
        if let Ok(uri) = format!("{trimmed}{query}").parse() {
            *request.uri_mut() = uri;
        }
    }
    request
}

/// The one OpenAPI document for all dialects.
pub fn openapi_json() -> String {
    let openapi = openapi::documented_router().split_for_parts().1;
    let mut text = openapi
        .to_pretty_json()
        .expect("an OpenAPI document has only string keys");
    text.push('\n');
    text
}

/// What no route knows: the BlueKing dialects, which have routes of their own, and nothing at all.
async fn elsewhere(State(http): State<HttpState>, request: Request) -> Response {
    let path = request.uri().path();
    if gse::is_dialect(path) {
        gse::answer(&http, request).await
    } else if gsekit::is_dialect(path) {
        gsekit::answer(&http, request).await
    } else {
        ApiError::no_such_path(path).into_response()
    }
}

async fn wrong_method(request: Request) -> Response {
    ApiError::wrong_method(request.method(), request.uri().path()).into_response()
}

pub(crate) fn now() -> model::UnixMillis {
    let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    model::UnixMillis(since_epoch.unwrap_or_default().as_millis() as i64)
}

/// An error with everything below it, for the log.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
