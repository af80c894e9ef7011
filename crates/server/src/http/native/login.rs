//! Logging in and out. A login is a token: `bk_token` in the dialects of GSE, a bearer token or a cookie in the native API.

use axum::extract::State;
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use model::{Invalid, UnixMillis};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::ApiError;
use super::answer::ok;
use super::read::Read;
use super::responses::Refusals;
use crate::http::credentials::IfUnknown;
use crate::http::front::peer;
use crate::http::{HttpState, credentials, now};

#[derive(Deserialize, ToSchema)]
pub(crate) struct LoginBody {
    #[schema(required)]
    username: Option<String>,
    #[schema(required)]
    password: Option<String>,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct LoggedIn {
    bk_token: String,
    #[schema(value_type = i64)]
    expires_at: UnixMillis,
}

/// Logs a user in. The token is also set as the cookie `muster_session`, with TLS as `__Host-muster_session`.
#[utoipa::path(post, path = "/api/v1/login", operation_id = "login", tag = "access", security(()), request_body = LoginBody,
    responses((status = 200, description = "Logged in", body = LoggedIn), Refusals))]
pub(crate) async fn login(
    State(http): State<HttpState>,
    parts: Parts,
    Read(body): Read<LoginBody>,
) -> Result<Response, ApiError> {
    // A page that logs its visitor in as somebody else would see what the visitor then does.
    credentials::check_origin(&http, &parts, IfUnknown::Allow)
        .map_err(|foreign| ApiError::foreign_origin(&foreign))?;
    let name = body.username.ok_or_else(|| Invalid::required("username"))?;
    let password = body.password.ok_or_else(|| Invalid::required("password"))?;
    let from = peer(&parts.extensions);
    let (bk_token, expires_at) = http.control.access().login(&name, &password, from).await?;
    let lives_secs = expires_at.millis_since(now()) / 1000;
    let cookie = cookie(&http, &parts, &bk_token, lives_secs);
    let answer = ok(&LoggedIn {
        bk_token,
        expires_at,
    });
    Ok(with_cookie(answer, &cookie))
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

/// Over TLS the cookie is for TLS and for this host alone, which its prefix makes browsers see to.
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
