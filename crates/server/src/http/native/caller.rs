//! Who asks at the native API.

use std::sync::{Arc, OnceLock};

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use model::access::Caller;

use super::ApiError;
use crate::http::front::{Asker, RequestId, peer};
use crate::http::{HttpState, credentials};

/// The caller, checked. An extractor: a handler that takes it is closed to everybody else.
#[derive(Debug)]
pub(crate) struct Asking(pub Caller);

impl FromRequestParts<HttpState> for Asking {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, http: &HttpState) -> Result<Self, ApiError> {
        let credentials = credentials::outside_body(parts)
            .map_err(|error| ApiError::unreadable_credentials(&error))?;
        let id = parts.extensions.get::<RequestId>();
        let id = id.map_or("", |id| &*id.0);
        let from = peer(&parts.extensions);
        let caller = http.control.authenticate(&credentials, from, id)?;
        if let Some(asker) = parts.extensions.get::<Arc<OnceLock<Asker>>>() {
            asker.get_or_init(|| Asker {
                app: caller.app.clone(),
                user: caller.user.clone(),
            });
        }
        Ok(Self(caller))
    }
}
