//! One OpenAPI document for every dialect, and a page to browse it.

use axum::Router;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use utoipa_swagger_ui::SwaggerUi;

use super::{HttpState, health, metrics};

/// Every route that documents itself, with what it says.
pub(crate) fn documented_router() -> OpenApiRouter<HttpState> {
    OpenApiRouter::new()
        .routes(routes!(health::healthz))
        .routes(routes!(health::readyz))
        .routes(routes!(metrics::metrics))
}

/// `/openapi.json`, and `/docs` to read it with.
pub(crate) fn browser(openapi: utoipa::openapi::OpenApi) -> Router<HttpState> {
    SwaggerUi::new("/docs").url("/openapi.json", openapi).into()
}
