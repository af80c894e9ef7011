//! Authenticates the caller of a request.

use std::sync::{Arc, OnceLock};

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use control::Credentials;
use model::access::{AccessArea, Caller, Permission};

use super::ApiError;
use crate::http::front::{LoggedCaller, RequestId, peer};
use crate::http::{HttpState, credentials};

/// The authenticated caller. A handler that extracts it refuses all other requests, and callers without any permission.
#[derive(Debug)]
pub(crate) struct Authenticated(pub Caller);

/// The same for streams: with the credentials, which are checked again while the stream lasts.
#[derive(Debug)]
pub(crate) struct AuthenticatedStream(pub Caller, pub Credentials);

/// The same for callers that may have no permission at all: they may ask who they are.
#[derive(Debug)]
pub(crate) struct Identified(pub Caller, pub Credentials);

impl FromRequestParts<HttpState> for Authenticated {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, http: &HttpState) -> Result<Self, ApiError> {
        let stream = AuthenticatedStream::from_request_parts(parts, http).await?;
        Ok(Self(stream.0))
    }
}

impl FromRequestParts<HttpState> for AuthenticatedStream {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, http: &HttpState) -> Result<Self, ApiError> {
        let Identified(caller, credentials) = Identified::from_request_parts(parts, http).await?;
        http.control
            .access()
            .check(&caller, Permission::View, AccessArea::Anything)?;
        Ok(Self(caller, credentials))
    }
}

impl FromRequestParts<HttpState> for Identified {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, http: &HttpState) -> Result<Self, ApiError> {
        let credentials = credentials::native(http, parts)?;
        let id = parts.extensions.get::<RequestId>();
        let id = id.map_or("", |id| &*id.0);
        let from = peer(&parts.extensions);
        let caller = http.control.access().authenticate(&credentials, from, id)?;
        if let Some(asker) = parts.extensions.get::<Arc<OnceLock<LoggedCaller>>>() {
            asker.get_or_init(|| LoggedCaller {
                app: caller.app.clone(),
                user: caller.user.clone(),
            });
        }
        Ok(Self(caller, credentials))
    }
}
