//! Logging in and out. A login is a token: `bk_token` in the dialects of GSE, a bearer token or a cookie in the native API.

use api::{LoggedIn, LoginBody, LoginCodeBody, LoginCodeCreated, WhoAmI, WhoAmIApp, WhoAmIUser};
use axum::extract::State;
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use control::LoginOrigin;
use model::Invalid;

use super::ApiError;
use super::caller::Identified;
use super::grants;
use super::refusals::Refusals;
use super::request::JsonBody;
use super::response::{json, ok};
use crate::http::credentials::IfUnknown;
use crate::http::front::peer;
use crate::http::{HttpState, credentials, now};

/// Logs a user in. The token is also set as the cookie `muster_session`, with TLS as `__Host-muster_session`.
#[utoipa::path(post, path = "/api/v1/login", operation_id = "login", tag = "access", security(()), request_body = LoginBody,
    responses((status = 200, description = "Logged in", body = LoggedIn), Refusals))]
pub(crate) async fn login(
    State(http): State<HttpState>,
    parts: Parts,
    JsonBody(body): JsonBody<LoginBody>,
) -> Result<Response, ApiError> {
    // Login CSRF: a foreign page must not log its visitor in as another user.
    credentials::check_origin(&http, &parts, IfUnknown::Allow)
        .map_err(|foreign| ApiError::foreign_origin(&foreign))?;
    let agent = parts.headers.get(header::USER_AGENT);
    let agent = agent.map(|agent| String::from_utf8_lossy(agent.as_bytes()));
    let from = LoginOrigin::new(peer(&parts.extensions), &agent.unwrap_or_default());
    let access = http.control.access();
    let (bk_token, expires_at) = match (body.code, body.username, body.password) {
        (Some(code), None, None) => access.login_with_code(&code, from).await?,
        (Some(_), ..) => {
            let rule = "stands alone: leave out username and password";
            return Err(Invalid::new("code", rule).into());
        }
        (None, name, password) => {
            let name = name.ok_or_else(|| Invalid::required("username"))?;
            let password = password.ok_or_else(|| Invalid::required("password"))?;
            access.login(&name, &password, from).await?
        }
    };
    let lives_secs = expires_at.millis_since(now()) / 1000;
    let cookie = cookie(&http, &parts, &bk_token, lives_secs);
    let answer = ok(&LoggedIn {
        bk_token,
        expires_at,
    });
    Ok(with_cookie(answer, &cookie))
}

/// Makes a code that logs a user in once, within 15 minutes: for a link to the console. A user makes one for themselves, an
/// administrator for anyone.
#[utoipa::path(post, path = "/api/v1/login/code", operation_id = "create_login_code", tag = "access", request_body = LoginCodeBody,
    responses((status = 201, description = "The code, shown this once", body = LoginCodeCreated), Refusals))]
pub(crate) async fn create_code(
    State(http): State<HttpState>,
    Identified(caller, _credentials): Identified,
    JsonBody(body): JsonBody<LoginCodeBody>,
) -> Result<Response, ApiError> {
    let access = http.control.access();
    let made = access.create_login_code(&caller, body.user.as_deref());
    let control::LoginCode {
        user,
        code,
        expires_at,
    } = made.await?;
    let created = LoginCodeCreated {
        user,
        path: console::login_path(&code),
        code,
        expires_at,
    };
    Ok(json(StatusCode::CREATED, &created))
}

/// Ends the login that the request carries.
#[utoipa::path(post, path = "/api/v1/logout", operation_id = "logout", tag = "access",
    responses((status = 204, description = "Logged out"), Refusals))]
pub(crate) async fn logout(
    State(http): State<HttpState>,
    parts: Parts,
) -> Result<Response, ApiError> {
    let token = credentials::native(&http, &parts)?.token;
    let token = token.ok_or_else(|| Invalid::required("bk_token"))?;
    http.control
        .access()
        .logout(&token, peer(&parts.extensions))
        .await?;
    let gone = cookie(&http, &parts, "", 0);
    Ok(with_cookie(StatusCode::NO_CONTENT.into_response(), &gone))
}

/// Shows who the caller is: its app and its user, the roles of each, and when the login ends. Needs no role.
#[utoipa::path(get, path = "/api/v1/whoami", operation_id = "whoami", tag = "access",
    responses((status = 200, description = "The caller", body = WhoAmI), Refusals))]
pub(crate) async fn whoami(
    State(http): State<HttpState>,
    Identified(caller, credentials): Identified,
) -> Response {
    let identity = http.control.access().identity(&caller, &credentials);
    let app = identity.app.map(|app| WhoAmIApp {
        grants: grants::rows(&app.grants()),
        code: app.code,
        trusted: app.trusted,
        rate_limit: app.rate_limit,
    });
    let user = identity.user.map(|user| WhoAmIUser {
        name: user.name,
        logged_in: user.login.is_some(),
        has_password: user.login.as_ref().map(|login| login.has_password),
        expires_at: user.login.as_ref().map(|login| login.expires_at),
        grants: user.login.map(|login| grants::rows(&login.grants)),
    });
    ok(&WhoAmI { app, user })
}

/// Over TLS the `__Host-` prefix makes browsers send the cookie only over TLS and only to this host.
fn cookie(http: &HttpState, parts: &Parts, token: &str, lives_secs: i64) -> String {
    let (name, secure) = match credentials::is_secure(http, parts) {
        true => (credentials::SECURE_COOKIE, "; Secure"),
        false => (credentials::COOKIE, ""),
    };
    format!("{name}={token}; Path=/; Max-Age={lives_secs}; HttpOnly; SameSite=Lax{secure}")
}

fn with_cookie(mut response: Response, cookie: &str) -> Response {
    if let Ok(cookie) = HeaderValue::from_str(cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}
