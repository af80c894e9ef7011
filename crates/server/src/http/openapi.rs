//! One OpenAPI document for every dialect, and a page to browse it.
//!
//! Handlers of the native API declare their part. The paths of the GSE dialects and of GSEKit are generated from their tables
//! of endpoints (`gse`, `gsekit`), and the schemas of their bodies are in `api/src/schemas.json`. Every request body gets its
//! example from `api/src/examples.json`.

mod examples;
mod gse;
mod gsekit;

use axum::Router;
use utoipa::OpenApi;
use utoipa::openapi::security::{ApiKey, ApiKeyValue, Http, HttpAuthScheme, SecurityScheme};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use utoipa_swagger_ui::SwaggerUi;

use super::{HttpState, health, metrics, native};

const DESCRIPTION: &str = "Muster keeps processes on a fleet of hosts as they are wanted. It speaks the dialects that \
BlueKing's clients speak (ESB, pms, GSE 2.0, GSEKit), each answering with HTTP 200 and an envelope `{result, code, message, data}`, \
and a native API under `/api/v1` with ordinary status codes. The dialects' paths may end in a slash or not, and a gateway's \
prefix `/api/bk-gse/{stage}` before a GSE 2.0 path is ignored.";

#[derive(OpenApi)]
#[openapi(
    info(title = "Muster", description = DESCRIPTION, license(name = "Apache-2.0")),
    tags(
        (name = "processes", description = "Native: what is registered, and how it is"),
        (name = "tasks", description = "Native: operations and their results"),
        (name = "view", description = "Native: processes by business, set and module"),
        (name = "jobs", description = "Native: one action on everything that is selected, and how it goes"),
        (name = "templates", description = "Native: config templates, their versions, and the files made of them"),
        (name = "hosts", description = "Native: hosts and their agents"),
        (name = "groups", description = "Native: process groups"),
        (name = "access", description = "Native: apps, users, join tokens, logins, the audit trail"),
        (name = "events", description = "Native: what happened, and who else is told of it"),
        (name = "watch", description = "Native: what happens, as it happens"),
        (name = "server", description = "The server itself; no credentials"),
        (name = "esb", description = "BlueKing ESB"),
        (name = "pms", description = "GSE process management; GET and DELETE carry a JSON body"),
        (name = "gse2", description = "GSE 2.0"),
        (name = "gsekit", description = "GSEKit: the process view"),
    ),
    security(("app" = []), ("login" = []), ("cookie" = []), ("app_code" = [], "app_secret" = [], "user_name" = [])),
)]
struct Document;

/// Every route that documents itself, and one document for all.
pub(crate) fn documented_router() -> (Router<HttpState>, utoipa::openapi::OpenApi) {
    let mut document = Document::openapi();
    let components = document.components.get_or_insert_default();
    let header = |name: &str| SecurityScheme::ApiKey(ApiKey::Header(ApiKeyValue::new(name)));
    for (name, scheme) in [
        ("app", header("X-Bkapi-Authorization")),
        ("app_code", header("X-Bkapi-App-Code")),
        ("app_secret", header("X-Bkapi-App-Secret")),
        ("user_name", header("X-Bkapi-User-Name")),
        (
            "login",
            SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer)),
        ),
        (
            "cookie",
            SecurityScheme::ApiKey(ApiKey::Cookie(ApiKeyValue::new("muster_session"))),
        ),
    ] {
        components.add_security_scheme(name, scheme);
    }
    document.merge(gse::document());
    document.merge(gsekit::document());
    let routes = OpenApiRouter::with_openapi(document)
        .merge(native::routes())
        .routes(routes!(health::healthz))
        .routes(routes!(health::readyz))
        .routes(routes!(metrics::metrics));
    let (router, mut document) = routes.split_for_parts();
    examples::add(&mut document);
    (router, document)
}

/// `/openapi.json`, and `/docs` to read it with.
pub(crate) fn browser(openapi: utoipa::openapi::OpenApi) -> Router<HttpState> {
    SwaggerUi::new("/docs").url("/openapi.json", openapi).into()
}
