//! The GSEKit dialect: processes by business, set and module; jobs on them; config templates.
//!
//! [`endpoint`] is the table of paths, [`request`] the fields of bodies, [`refusal`] the codes; each verb has its own file.
//! Statuses are always current: nothing here waits for a synchronisation.

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
use axum::http::Method;
use axum::response::Response;
use model::access::{Caller, Permission};
use model::topology::BusinessId;
use serde::Serialize;

use super::front::ResponseRecord;
use super::{HttpState, envelope};
pub(crate) use endpoint::{Endpoint, Verb, all, is_dialect};
use refusal::Refusal;
pub(super) use refusal::{CODES, OWN_CODES};
use request::RawRequest;

const DIALECT: &str = "gsekit";

struct RequestContext<'a> {
    http: &'a HttpState,
    caller: &'a Caller,
}

impl RequestContext<'_> {
    /// The business of the request, which the caller must be allowed to view.
    fn viewed_business(&self, request: &RawRequest) -> Result<BusinessId, Refusal> {
        let business = request.business()?;
        let control = &self.http.control;
        control
            .access()
            .check(self.caller, Permission::View, business)?;
        Ok(business)
    }
}

/// Responds to any request under the prefixes of the dialect.
pub(crate) async fn answer(http: &HttpState, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let found = endpoint::find(&parts.method, parts.uri.path());
    let name = found.as_ref().map_or("other", |endpoint| endpoint.name);
    let mut record = ResponseRecord::new(DIALECT, name);
    let answered = async {
        let endpoint = found?;
        let read = envelope::read(http, &parts, body, &mut record);
        let (caller, mut request): (_, RawRequest) = read.await?;
        if parts.method == Method::GET {
            request.take_query(&parts.uri)?;
        }
        let context = RequestContext {
            http,
            caller: &caller,
        };
        carry_out(&context, endpoint.verb, request).await
    };
    let answered = Box::pin(answered).await;
    envelope::respond(record, &CODES, answered)
}

async fn carry_out(
    context: &RequestContext<'_>,
    verb: Verb,
    request: RawRequest,
) -> Result<Vec<u8>, Refusal> {
    match verb {
        Verb::ProcessStatus => process_status::process_status(context, request).await,
        Verb::FlushProcess => refresh::flush_process(context, request).await,
        Verb::SyncProcessStatus => refresh::sync_process_status(context, request).await,
        Verb::CreateJob => create_job::create_job(context, request).await,
        Verb::JobStatus => job_status::job_status(context, request).await,
        Verb::ConfigTemplateList => {
            config_template_list::config_template_list(context, request).await
        }
        Verb::AccessOverview => access_overview::access_overview(context, request).await,
        Verb::ExpressionMatch => expression_match::expression_match(request),
    }
}

/// The message is empty, as in the document.
fn success<T: Serialize>(data: T) -> Vec<u8> {
    envelope::good("", data)
}

/// The response to a request that was not read.
pub(crate) fn refuse(refusal: Refusal) -> Response {
    envelope::respond(ResponseRecord::new(DIALECT, "other"), &CODES, Err(refusal))
}
