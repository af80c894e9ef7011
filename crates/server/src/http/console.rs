//! Serves the web console under `/ui/`: embedded files, and its page for every other address below.
//!
//! The page takes everything else from the native API. Nothing here depends on the caller.

use axum::Router;
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use console::File;

use super::HttpState;
use super::native::ApiError;

/// Where the console is.
const ROOT: &str = "/ui/";

/// Only files of this server; no inline script or style, no frame around it, and no text that becomes a script by mistake.
/// The one policy that may make a script's address from text is that of the worker.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src 'self' data:; worker-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types muster-worker";

/// Shown when the server was built without the console.
const NOT_BUILT: &str = "This server was built without the web console.\n\n\
    To build it: npm ci && npm run build, in the folder console/ of the source, then build the server again.\n\
    The API is described at /docs/.\n";

pub(crate) fn routes() -> Router<HttpState> {
    Router::new()
        .route("/", get(to_console))
        .route("/ui", get(to_console))
        .route("/ui/", get(index))
        .route("/ui/{*path}", get(file_or_index))
}

async fn to_console() -> Redirect {
    Redirect::temporary(ROOT)
}

async fn index(headers: HeaderMap) -> Response {
    match console::index() {
        Some(index) => send(index, &headers),
        None => (StatusCode::NOT_FOUND, NOT_BUILT).into_response(),
    }
}

async fn file_or_index(Path(path): Path<String>, headers: HeaderMap) -> Response {
    match console::file(&path) {
        Some(file) => send(file, &headers),
        // A page for a missing script would fail in the browser in a less clear way.
        None if console::is_file_path(&path) => {
            ApiError::no_such_path(&format!("{ROOT}{path}")).into_response()
        }
        None => index(headers).await,
    }
}

fn send(file: &'static File, request: &HeaderMap) -> Response {
    let cache = match file.is_immutable() {
        true => "public, max-age=31536000, immutable",
        false => "no-cache",
    };
    let headers = [
        (header::CONTENT_TYPE, file.content_type),
        (header::ETAG, file.etag),
        (header::CACHE_CONTROL, cache),
        (header::VARY, "accept-encoding"),
        (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
    ];
    if is_known(request, file.etag) {
        return (StatusCode::NOT_MODIFIED, headers).into_response();
    }
    match file.gzip.filter(|_| accepts_gzip(request)) {
        Some(gzip) => {
            let mut response = (headers, gzip).into_response();
            let encoding = HeaderValue::from_static("gzip");
            response
                .headers_mut()
                .insert(header::CONTENT_ENCODING, encoding);
            response
        }
        None => (headers, file.plain).into_response(),
    }
}

/// Whether the browser has this very content.
fn is_known(request: &HeaderMap, etag: &str) -> bool {
    items(request, header::IF_NONE_MATCH).any(|known| known.trim_start_matches("W/") == etag)
}

fn accepts_gzip(request: &HeaderMap) -> bool {
    items(request, header::ACCEPT_ENCODING).any(|accepted| {
        let mut parts = accepted.split(';').map(str::trim);
        let is_gzip = matches!(parts.next(), Some("gzip" | "*"));
        let quality = parts.find_map(|part| part.strip_prefix("q="));
        is_gzip && quality.is_none_or(|quality| quality.parse::<f32>().is_ok_and(|q| q > 0.0))
    })
}

/// The values of a header that is a list.
fn items(headers: &HeaderMap, name: header::HeaderName) -> impl Iterator<Item = &str> {
    let values = headers.get_all(name).into_iter();
    let texts = values.filter_map(|value| value.to_str().ok());
    texts.flat_map(|text| text.split(',')).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: header::HeaderName, value: &'static str) -> HeaderMap {
        [(name, HeaderValue::from_static(value))]
            .into_iter()
            .collect()
    }

    #[test]
    fn gzip_is_sent_to_those_who_accept_it() {
        let accepts = |value| accepts_gzip(&with(header::ACCEPT_ENCODING, value));
        assert!(accepts("gzip"));
        assert!(accepts("br;q=1.0, gzip;q=0.8"));
        assert!(accepts("*"));
        assert!(!accepts("br"));
        assert!(!accepts("gzip;q=0, br"));
        assert!(!accepts_gzip(&HeaderMap::new()));
    }

    #[test]
    fn a_content_that_the_browser_has_is_not_sent_again() {
        let known = |value| is_known(&with(header::IF_NONE_MATCH, value), "\"5\"");
        assert!(known("\"5\""));
        assert!(known("\"4\", W/\"5\""));
        assert!(!known("\"4\""));
    }
}
