//! The GSEKit dialect: processes by business, set and module; jobs on them; config templates.
//!
//! [`endpoint`] is the table of paths, [`request`] what bodies may hold, [`refusal`] the codes; each verb has a file of its
//! own. Statuses are always those of now: nothing here waits for a synchronisation.

mod access_overview;
mod config_template_list;
mod create_job;
mod endpoint;
mod expression_match;
mod job_status;
mod process_status;
mod refresh;
mod refusal;
mod request;
mod row;

use axum::extract::Request;
use axum::http::{Method, header};
use axum::response::{IntoResponse, Response};
use model::access::Caller;
use serde::Serialize;

use super::front::Noted;
use super::{HttpState, body, credentials, envelope, json};
pub(crate) use endpoint::{Endpoint, Verb, all, is_dialect};
use refusal::Refusal;
use request::RawRequest;

const DIALECT: &str = "gsekit";

/// Who asks.
struct Ask<'a> {
    http: &'a HttpState,
    caller: &'a Caller,
}

/// Answers any request under the prefixes of the dialect, whatever it is.
pub(crate) async fn answer(http: &HttpState, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let found = endpoint::find(&parts.method, parts.uri.path());
    let name = found.as_ref().map_or("other", |endpoint| endpoint.name);
    let mut noted = Noted {
        dialect: DIALECT,
        endpoint: name.into(),
        app: String::new(),
        user: String::new(),
        code: 0,
    };
    let answered = async {
        let endpoint = found?;
        let body = body::collect(body, http).await?;
        // Nothing else of the body is kept before it is known who asks.
        let caller = credentials::authenticate(http, &parts, json::read(&body)?)?;
        noted.app.clone_from(&caller.app);
        noted.user.clone_from(&caller.user);
        let mut request: RawRequest = json::read(&body)?;
        drop(body);
        if parts.method == Method::GET {
            request.take_query(&parts.uri)?;
        }
        let ask = Ask {
            http,
            caller: &caller,
        };
        carry_out(&ask, endpoint.verb, request).await
    };
    let body = Box::pin(answered).await.unwrap_or_else(|refusal| {
        noted.code = refusal.code;
        refusal.to_envelope()
    });
    respond(noted, body)
}

async fn carry_out(ask: &Ask<'_>, verb: Verb, request: RawRequest) -> Result<Vec<u8>, Refusal> {
    match verb {
        Verb::ProcessStatus => process_status::process_status(ask, request).await,
        Verb::FlushProcess => refresh::flush_process(ask, request).await,
        Verb::SyncProcessStatus => refresh::sync_process_status(ask, request).await,
        Verb::CreateJob => create_job::create_job(ask, request).await,
        Verb::JobStatus => job_status::job_status(ask, request).await,
        Verb::ConfigTemplateList => config_template_list::config_template_list(ask, request).await,
        Verb::AccessOverview => access_overview::access_overview(ask, request).await,
        Verb::ExpressionMatch => expression_match::expression_match(request),
    }
}

/// A good answer: the document's has an empty message.
fn success<T: Serialize>(data: T) -> Vec<u8> {
    envelope::good("", data)
}

fn respond(noted: Noted, body: Vec<u8>) -> Response {
    let mut response = ([(header::CONTENT_TYPE, "application/json")], body).into_response();
    response.extensions_mut().insert(noted);
    response
}

/// The answer to a request that made the server panic.
pub(crate) fn internal_error() -> Response {
    refused(&Refusal::internal())
}

/// The answer to a request that is one too many.
pub(crate) fn busy() -> Response {
    refused(&Refusal::busy())
}

fn refused(refusal: &Refusal) -> Response {
    let noted = Noted {
        dialect: DIALECT,
        endpoint: "other".into(),
        app: String::new(),
        user: String::new(),
        code: refusal.code,
    };
    respond(noted, refusal.to_envelope())
}
