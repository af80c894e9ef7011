//! The GSE family of dialects: ESB, pms and GSE 2.0. They write the same requests in three ways, with one response envelope.
//!
//! [`endpoint`] is the table of paths, [`request`] the fields of bodies, [`refusal`] the codes; each verb has its own file.

mod agents;
mod content;
mod endpoint;
mod groups;
mod hosts;
mod operate;
mod refusal;
mod register;
mod request;
mod result;
mod row;
mod status;
mod sync;
mod task_state;
mod unregister;
mod upgrade_to_agent_id;

use axum::extract::Request;
use axum::http::Method;
use axum::response::Response;
use control::Mode;
use model::access::Caller;
use serde::Serialize;

use super::front::ResponseRecord;
use super::{HttpState, envelope};
pub(crate) use content::exit_of;
pub(crate) use endpoint::{Dialect, Endpoint, Keys, Verb, all, is_dialect};
use refusal::Refusal;
pub(super) use refusal::{CODES, OWN_CODES};
use request::RawRequest;
pub(crate) use row::percent;

/// The caller of a request, and its endpoint.
pub(crate) struct RequestContext<'a> {
    http: &'a HttpState,
    caller: &'a Caller,
    endpoint: &'static Endpoint,
}

/// Responds to any request under the prefixes of the three dialects.
pub(crate) async fn answer(http: &HttpState, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let found = endpoint::find(&parts.method, parts.uri.path());
    let name = found.as_ref().map_or("other", |endpoint| endpoint.name);
    let mut record = ResponseRecord::new(endpoint::dialect_of(parts.uri.path()), name);
    let answered = async {
        let endpoint = found?;
        let read = envelope::read(http, &parts, body, &mut record);
        let (caller, mut request): (_, RawRequest) = read.await?;
        if parts.method == Method::GET {
            request.take_query(&parts.uri);
        }
        let context = RequestContext {
            http,
            caller: &caller,
            endpoint,
        };
        carry_out(&context, request).await
    };
    let answered = Box::pin(answered).await;
    envelope::respond(record, &CODES, answered)
}

async fn carry_out(context: &RequestContext<'_>, request: RawRequest) -> Result<Vec<u8>, Refusal> {
    match context.endpoint.verb {
        Verb::Register => register::register(context, request, Mode::Register).await,
        Verb::Update => register::register(context, request, Mode::Update).await,
        Verb::Unregister => unregister::unregister(context, request).await,
        Verb::Operate => operate::operate(context, request).await,
        Verb::OperateMulti => operate::operate_multi(context, request).await,
        Verb::Result => result::result(context, request).await,
        Verb::Status => status::status(context, request).await,
        Verb::Sync => sync::sync(context, request).await,
        Verb::SetGroups => groups::set_groups(context, request).await,
        Verb::Groups => groups::groups(context, request).await,
        Verb::TaskState => task_state::task_state(context, request).await,
        Verb::UpgradeToAgentId => upgrade_to_agent_id::upgrade_to_agent_id(context, request).await,
        Verb::AgentStatus => agents::agent_status(context, request).await,
        Verb::AgentInfo => agents::agent_info(context, request).await,
        Verb::ListAgentState => agents::list_agent_state(context, request).await,
        Verb::ListAgentInfo => agents::list_agent_info(context, request).await,
    }
}

impl RequestContext<'_> {
    fn keys(&self) -> Keys {
        self.endpoint.keys()
    }
}

fn success<T: Serialize>(data: T) -> Vec<u8> {
    envelope::good("success", data)
}

/// The response to a request that was not read.
pub(crate) fn refuse(refusal: Refusal) -> Response {
    envelope::respond(ResponseRecord::new("gse", "other"), &CODES, Err(refusal))
}
