//! The HTTP API in several dialects, all of them over the same `control` methods.
//!
//! # The path of a request
//!
//! [`front`] gives it an id, and logs and counts its response. axum routes a path of the native API to its handler in
//! `native/`; paths of the GSE and GSEKit dialects go to [`gse`] or [`gsekit`], which find the endpoint in their tables.
//! Either way a handler extracts, authorises, calls `control`, and responds. Policy is in `control`, never here.

mod body;
mod console;
mod credentials;
mod envelope;
mod front;
mod gse;
mod gsekit;
mod health;
mod install;
mod job_options;
mod json;
pub mod listen;
mod long_reads;
mod metrics;
mod native;
mod openapi;
mod origin;
mod readiness;
pub mod reference;
mod selection;
mod stream_slots;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use control::Control;
use tokio::sync::{Semaphore, watch};
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{NotForContentType, Predicate, SizeAbove};

use crate::outgoing::tls_roots;
use crate::shed::ShedCounters;
use crate::webhooks::WebhookClient;
pub use body::BodyPace;
use gse::percent;
use long_reads::LongReads;
use metrics::Metrics;
use native::ApiError;
pub(crate) use native::event_row;
pub use origin::Origin;
pub use readiness::Readiness;

/// Smaller answers are not worth compressing.
const MIN_COMPRESSED: u64 = 1024;
/// How many requests may be under way. Streams count until they have begun. As many as connections: with fewer,
/// unauthenticated callers with slow bodies could block others.
const MAX_REQUESTS: usize = 8192;

/// How long a stream may go on after its caller has lost the permission.
const STREAM_CHECK_EVERY: Duration = Duration::from_secs(5);

/// The state of every handler; clones share it.
#[derive(Debug, Clone)]
pub struct HttpState {
    pub control: Control,
    pub version: &'static str,
    pub ready: Readiness,
    /// True ends watches and long polls, so that a shutdown need not wait for them.
    pub stop: watch::Receiver<bool>,
    /// The fingerprint of the CA, which join tokens carry so that agents verify the server.
    ca_sha256: Option<[u8; 32]>,
    /// Where this replica listens for agents.
    agents_address: Option<SocketAddr>,
    /// Whether this server ends TLS itself.
    is_https: bool,
    metrics: Arc<Metrics>,
    /// Counts what both listeners refuse at their limits.
    pub(crate) shed: Arc<ShedCounters>,
    stream_slots: stream_slots::StreamSlots,
    pub(crate) long_reads: LongReads,
    webhook_client: WebhookClient,
    pace: BodyPace,
    /// How often a stream checks that its caller may still read.
    stream_check_every: Duration,
    /// Origins of browsers that count as this server's own.
    origins: Arc<[Origin]>,
    /// One permit for each request under way.
    request_permits: Arc<Semaphore>,
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
            agents_address: None,
            is_https: false,
            metrics: Arc::default(),
            shed: Arc::default(),
            stream_slots: stream_slots::StreamSlots::default(),
            long_reads: LongReads::default(),
            webhook_client: WebhookClient::new(&tls_roots(None).expect("no file is read")),
            pace: BodyPace::default(),
            stream_check_every: STREAM_CHECK_EVERY,
            origins: Arc::default(),
            request_permits: Arc::new(Semaphore::new(MAX_REQUESTS)),
        }
    }

    /// Sends test events to webhooks with this client.
    #[must_use]
    pub(crate) fn with_webhook_client(mut self, client: WebhookClient) -> Self {
        self.webhook_client = client;
        self
    }

    /// Allows pages of these origins to act for a user.
    #[must_use]
    pub(crate) fn with_origins(mut self, origins: Vec<Origin>) -> Self {
        self.origins = origins.into();
        self
    }

    /// Replaces the default limits.
    #[must_use]
    pub fn with_bounds(mut self, pace: BodyPace, max_requests: usize) -> Self {
        self.pace = pace;
        self.request_permits = Arc::new(Semaphore::new(max_requests));
        self
    }

    /// Tells callers that add hosts where agents connect.
    #[must_use]
    pub(crate) fn with_agents_address(mut self, address: SocketAddr) -> Self {
        self.agents_address = Some(address);
        self
    }

    /// Tells new hosts to download with TLS.
    #[must_use]
    pub(crate) fn with_https(mut self, is_https: bool) -> Self {
        self.is_https = is_https;
        self
    }

    #[must_use]
    pub fn with_stream_checks(mut self, every: Duration) -> Self {
        self.stream_check_every = every;
        self
    }

    /// Sets the fingerprint of the CA that new join tokens carry.
    #[must_use]
    pub fn with_ca(mut self, sha256: [u8; 32]) -> Self {
        self.ca_sha256 = Some(sha256);
        self
    }

    /// Resolves when the server begins to shut down.
    pub(crate) async fn stopping(&self) {
        crate::stopped(&mut self.stop.clone()).await;
    }
}

/// Every HTTP path of the server. Serve it with `into_make_service_with_connect_info::<SocketAddr>()`, or put a
/// `ConnectInfo<SocketAddr>` into each request's extensions, so that the audit trail shows where callers come from.
pub fn router(state: HttpState) -> Router {
    let (documented, openapi) = openapi::documented_router();
    let small_or_streamed = SizeAbove::new(MIN_COMPRESSED).and(NotForContentType::SSE);
    let routes = documented
        .merge(console::routes())
        .merge(install::routes())
        .merge(openapi::browser(openapi))
        .fallback(fallback)
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

/// `/api/v1/hosts/` means `/api/v1/hosts`. The GSE dialects handle theirs, and the page of the API needs its own.
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
    let (_, openapi) = openapi::documented_router();
    let mut text = openapi
        .to_pretty_json()
        .expect("an OpenAPI document has only string keys");
    text.push('\n');
    text
}

/// Requests without a route: the BlueKing dialects, which have tables of their own, and unknown paths.
async fn fallback(State(http): State<HttpState>, request: Request) -> Response {
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
