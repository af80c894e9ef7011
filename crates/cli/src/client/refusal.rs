//! Turns responses that are no results into failures: what is wrong, and what to do.

use std::time::Duration;

use api::{ErrorBody, ErrorDetail};
use serde::Deserialize;
use serde::de::IgnoredAny;
use ureq::Body;
use ureq::http::{Response, StatusCode};

use crate::account::Account;
use crate::failure::{Failure, Kind, chain};
use crate::format::clean;

/// How much of an unexpected response is shown.
const MAX_QUOTE: usize = 200;

pub(super) fn has_results(body: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Results {
        #[serde(rename = "results")]
        _results: Vec<IgnoredAny>,
    }
    serde_json::from_slice::<Results>(body).is_ok()
}

/// How long the server wants us to wait before we try again, within reason; it has changed nothing.
pub(super) fn retry_after(response: &Response<Body>) -> Option<Duration> {
    let is_busy = matches!(
        response.status(),
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE
    );
    let secs = response.headers().get("retry-after")?;
    let secs: u64 = secs.to_str().ok()?.trim().parse().ok()?;
    is_busy.then(|| Duration::from_secs(secs.clamp(1, 10)))
}

/// The request got no answer at all.
pub(super) fn unreachable(account: &Account, error: &ureq::Error) -> Failure {
    let url = &account.url;
    let cause = match error {
        ureq::Error::Io(error) => error.to_string(),
        ureq::Error::HostNotFound => "no such host".to_owned(),
        error => chain(error),
    };
    Failure::new(Kind::Unreachable, format!("cannot reach {url}: {cause}")).advise(&account.advice)
}

/// The server refused the request.
pub(super) fn refused(account: &Account, status: StatusCode, body: &[u8]) -> Failure {
    let said = message(status, body);
    match status {
        StatusCode::UNAUTHORIZED => unauthorized(account, &said),
        StatusCode::FORBIDDEN => {
            let who = account.app.as_ref().map_or("nobody", |app| &app.code);
            Failure::new(Kind::Refused, format!("app {who} may not do this: {said}"))
                .advise("use an app that may: MUSTER_APP_CODE and MUSTER_APP_SECRET, or the server's own cli.toml")
        }
        StatusCode::NOT_FOUND => Failure::new(Kind::NotFound, said),
        StatusCode::CONFLICT => Failure::new(Kind::Failed, said),
        StatusCode::PAYLOAD_TOO_LARGE => {
            Failure::usage(said).advise("name fewer hosts in one command")
        }
        StatusCode::TOO_MANY_REQUESTS => Failure::new(Kind::Unreachable, said),
        StatusCode::SERVICE_UNAVAILABLE if is_away(body) => Failure::new(Kind::Unreachable, said)
            .advise("muster hosts shows whose agents are connected"),
        status if status.is_server_error() => Failure::new(
            Kind::Unreachable,
            format!("{} cannot answer now ({status}): {said}", account.url),
        )
        .advise("the server's own log says more; try again in a moment"),
        _ => Failure::usage(said),
    }
}

/// The server is well, but the agent that would have to answer is not connected.
fn is_away(body: &[u8]) -> bool {
    error_of(body).is_some_and(|error| error.code == "away")
}

fn unauthorized(account: &Account, said: &str) -> Failure {
    match &account.app {
        Some(app) => Failure::new(
            Kind::Refused,
            format!("{} refused app {} (from {}): {said}", account.url, app.code, app.from),
        )
        .advise("is that the secret of this server? the server's own is in cli.toml in its data directory (--data DIR)"),
        None => {
            let remark = match account.remark.is_empty() {
                true => String::new(),
                false => format!(" ({})", account.remark),
            };
            Failure::new(
                Kind::Refused,
                format!("{} wants credentials and none were found{remark}", account.url),
            )
            .advise(
                "set MUSTER_APP_CODE and MUSTER_APP_SECRET,\nor name the data directory of a server on this machine: --data DIR",
            )
        }
    }
}

fn error_of(body: &[u8]) -> Option<ErrorDetail> {
    let body: ErrorBody = serde_json::from_slice(body).ok()?;
    Some(body.error)
}

/// The server's message, or the beginning of a response that did not come from a Muster server.
fn message(status: StatusCode, body: &[u8]) -> String {
    if let Some(error) = error_of(body).filter(|error| !error.message.is_empty()) {
        let message = clean(&error.message);
        return match error.field.filter(|field| !field.is_empty()) {
            Some(field) if !message.starts_with(&field) => format!("{}: {message}", clean(&field)),
            _ => message,
        };
    }
    let text: String = String::from_utf8_lossy(body)
        .chars()
        .take(MAX_QUOTE)
        .collect();
    match text.trim() {
        "" => format!("the server answered {status}"),
        text => format!("the server answered {status}: {}", clean(text)),
    }
}
