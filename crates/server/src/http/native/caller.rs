//! Who asks at the native API.

use std::sync::{Arc, OnceLock};

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use control::Credentials;
use model::access::{AccessArea, Caller, Permission};

use super::ApiError;
use crate::http::front::{LoggedCaller, RequestId, peer};
use crate::http::{HttpState, credentials};

/// The caller, checked. An extractor: a handler that takes it is closed to everybody else, and to those who may see nothing.
#[derive(Debug)]
pub(crate) struct Asking(pub Caller);

/// The same for what lasts: with the credentials, so that it can be asked again whether they still count.
#[derive(Debug)]
pub(crate) struct AskingForLong(pub Caller, pub Credentials);

impl FromRequestParts<HttpState> for Asking {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, http: &HttpState) -> Result<Self, ApiError> {
        let long = AskingForLong::from_request_parts(parts, http).await?;
        Ok(Self(long.0))
    }
}

impl FromRequestParts<HttpState> for AskingForLong {
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
        http.control
            .access()
            .check(&caller, Permission::View, AccessArea::Anything)?;
        Ok(Self(caller, credentials))
    }
}
