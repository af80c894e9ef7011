//! The GSE family: ESB, pms and GSE 2.0. Three ways to write the same requests, one envelope for every answer.
//!
//! The envelope always comes with HTTP 200, because clients raise on anything else. [`endpoint`] is the table of paths,
//! [`request`] what bodies may hold, [`refusal`] the codes; each verb has a file of its own.

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
use axum::http::{Method, header};
use axum::response::{IntoResponse, Response};
use control::Mode;
use model::access::Caller;
use serde::Serialize;

use super::front::Noted;
use super::{HttpState, body, credentials, envelope, json};
pub(crate) use content::exit_of;
pub(crate) use endpoint::{Dialect, Endpoint, Keys, Verb, all, is_dialect};
use refusal::Refusal;
use request::RawRequest;
pub(crate) use row::percent;

/// Who asks, and how the answer is to be written.
pub(crate) struct Ask<'a> {
    http: &'a HttpState,
    caller: &'a Caller,
    endpoint: &'static Endpoint,
}

/// Answers any request under the prefixes of the three dialects, whatever it is.
pub(crate) async fn answer(http: &HttpState, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let found = endpoint::find(&parts.method, parts.uri.path());
    let mut noted = Noted {
        dialect: endpoint::dialect_of(parts.uri.path()),
        endpoint: found
            .as_ref()
            .map_or("other", |endpoint| endpoint.name)
            .into(),
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
            request.take_query(&parts.uri);
        }
        let ask = Ask {
            http,
            caller: &caller,
            endpoint,
        };
        carry_out(&ask, request).await
    };
    let body = Box::pin(answered).await.unwrap_or_else(|refusal| {
        noted.code = refusal.code;
        refusal.to_envelope()
    });
    let mut response = ([(header::CONTENT_TYPE, "application/json")], body).into_response();
    response.extensions_mut().insert(noted);
    response
}

async fn carry_out(ask: &Ask<'_>, request: RawRequest) -> Result<Vec<u8>, Refusal> {
    match ask.endpoint.verb {
        Verb::Register => register::register(ask, request, Mode::Register).await,
        Verb::Update => register::register(ask, request, Mode::Update).await,
        Verb::Unregister => unregister::unregister(ask, request).await,
        Verb::Operate => operate::operate(ask, request).await,
        Verb::OperateMulti => operate::operate_multi(ask, request).await,
        Verb::Result => result::result(ask, request).await,
        Verb::Status => status::status(ask, request).await,
        Verb::Sync => sync::sync(ask, request).await,
        Verb::SetGroups => groups::set_groups(ask, request).await,
        Verb::Groups => groups::groups(ask, request).await,
        Verb::TaskState => task_state::task_state(ask, request).await,
        Verb::UpgradeToAgentId => upgrade_to_agent_id::upgrade_to_agent_id(ask, request).await,
        Verb::AgentStatus => agents::agent_status(ask, request).await,
        Verb::AgentInfo => agents::agent_info(ask, request).await,
        Verb::ListAgentState => agents::list_agent_state(ask, request).await,
        Verb::ListAgentInfo => agents::list_agent_info(ask, request).await,
    }
}

impl Ask<'_> {
    fn keys(&self) -> Keys {
        self.endpoint.keys()
    }
}

/// A good answer.
fn success<T: Serialize>(data: T) -> Vec<u8> {
    envelope::good("success", data)
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
        dialect: "gse",
        endpoint: "other".into(),
        app: String::new(),
        user: String::new(),
        code: refusal.code,
    };
    let headers = [(header::CONTENT_TYPE, "application/json")];
    let mut response = (headers, refusal.to_envelope()).into_response();
    response.extensions_mut().insert(noted);
    response
}
