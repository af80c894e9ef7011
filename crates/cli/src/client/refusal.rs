//! Turns responses that are no results into failures: what is wrong, and what to do.

use std::time::Duration;

use api::{ErrorBody, ErrorDetail, MissingRoleDetail};
use serde::Deserialize;
use serde::de::IgnoredAny;
use ureq::Body;
use ureq::http::{Response, StatusCode};

use super::tls;
use crate::account::Account;
use crate::failure::{Failure, Kind, chain};
use crate::format::{clean, now};

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
    if let Some(other) = tls::other_scheme(url, &cause) {
        let what = format!("cannot reach {url}: it does not speak that protocol");
        return Failure::new(Kind::Unreachable, what).advise(format!("try {other}"));
    }
    match tls::untrusted(&cause) {
        Some(why) => Failure::new(
            Kind::Unreachable,
            format!("the certificate of {url} is not trusted: {why}"),
        )
        .advise(tls::ADVICE),
        None => Failure::new(Kind::Unreachable, format!("cannot reach {url}: {cause}"))
            .advise(&account.advice),
    }
}

/// The server refused the request.
pub(super) fn refused(account: &Account, status: StatusCode, body: &[u8]) -> Failure {
    let said = message(status, body);
    match status {
        StatusCode::UNAUTHORIZED => unauthorized(account, &said),
        StatusCode::FORBIDDEN => {
            let missing = error_of(body).and_then(|error| error.missing_role);
            let failure = Failure::new(Kind::Refused, said);
            match missing {
                Some(missing) => failure.advise(how_to_grant(&missing)),
                None => failure.advise("muster whoami shows who you are and your roles"),
            }
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

/// The commands with which an admin gives the role.
fn how_to_grant(missing: &MissingRoleDetail) -> String {
    let place = match (&missing.namespace, missing.business) {
        (Some(namespace), _) => format!(" --namespace {}", clean(namespace)),
        (None, Some(business)) => format!(" --business {business}"),
        (None, None) if missing.role == "admin" => String::new(),
        (None, None) => " [--namespace NAMESPACE]".to_owned(),
    };
    let role = clean(&missing.role);
    let grant = |kind: &str, name: &String| {
        format!(
            "an admin can grant it: muster {kind} grant {} --role {role}{place}",
            clean(name)
        )
    };
    let app = missing.app.iter().map(|app| grant("app", app));
    let user = missing.user.iter().map(|user| grant("user", user));
    let mut lines: Vec<String> = app.chain(user).collect();
    lines.push("muster whoami shows who you are and your roles".to_owned());
    lines.join("\n")
}

/// The server did not let a user log in.
pub(super) fn login_refused(
    account: &Account,
    user: &str,
    status: StatusCode,
    body: &[u8],
) -> Failure {
    let said = message(status, body);
    Failure::new(
        Kind::Refused,
        format!("{} refused the login of {user}: {said}", account.url),
    )
}

fn unauthorized(account: &Account, said: &str) -> Failure {
    let url = &account.url;
    let refused = |what: String| Failure::new(Kind::Refused, what);
    if let Some(login) = &account.login {
        let who = match &login.user {
            Some(user) => format!("the login of {user}"),
            None => "the login".to_owned(),
        };
        let has_expired = login.expires_at.is_some_and(|at| at <= now());
        let why = match (&account.app, has_expired) {
            (None, true) => "it has expired",
            _ => said,
        };
        let what = format!("{url} refused {who} (from {}): {why}", login.from);
        return refused(what).advise(match &account.context {
            Some(context) if login.from != "MUSTER_TOKEN" => {
                let user = login.user.as_deref().unwrap_or("NAME");
                format!("log in again: muster login --context {context} --user {user}")
            }
            _ => "set a new MUSTER_TOKEN (muster login --print-token), or unset it".to_owned(),
        });
    }
    if let Some(app) = &account.app {
        let what = format!("{url} refused app {} (from {}): {said}", app.code, app.from);
        return refused(what).advise(match said.contains("may not name a user") {
            true => "unset MUSTER_USER, or log in as that user: muster login",
            false => "is that the secret of this server? the server's own is in cli.toml in its data directory (--data DIR)",
        });
    }
    let remark = match account.remark.is_empty() {
        true => String::new(),
        false => format!(" ({})", account.remark),
    };
    let server = match &account.context {
        Some(context) => format!("--context {context}"),
        None => url.clone(),
    };
    refused(format!(
        "{url} needs credentials, and none were found{remark}"
    ))
    .advise(format!(
        "log in: muster login {server} --user NAME\n\
         or set MUSTER_TOKEN, or MUSTER_APP_CODE and MUSTER_APP_SECRET,\n\
         or name the data directory of a server on this machine: --data DIR"
    ))
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
