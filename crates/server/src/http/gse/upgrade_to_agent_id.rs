//! upgrade_to_agent_id: gives hosts the ids that GSE 2.0 callers will name them by.

use control::{Asked, Place};
use model::{AgentId, Code, Invalid};
use serde::Serialize;

use super::endpoint::Keys;
use super::hosts::{Named, RawHost};
use super::refusal::Refusal;
use super::request::RawRequest;
use super::{Ask, success};

/// Hosts as `cloud:ip`.
#[derive(Default, Serialize)]
struct Upgraded {
    success: Vec<Box<str>>,
    failed: Vec<Box<str>>,
}

pub(crate) async fn upgrade_to_agent_id(
    ask: &Ask<'_>,
    request: RawRequest,
) -> Result<Vec<u8>, Refusal> {
    let hosts = request.hosts.ok_or_else(|| Invalid::required("hosts"))?;
    if hosts.is_empty() {
        return Err(Invalid::new("hosts", "must not be empty").into());
    }
    let mut upgraded = Upgraded::default();
    let mut pairs = Vec::with_capacity(hosts.len());
    for host in &hosts {
        match pair(&host.0) {
            (asked, Ok(id)) if !matches!(asked.place, Place::Bad(_)) => pairs.push((asked, id)),
            (asked, _) => upgraded.failed.push(asked.key_prefix),
        }
    }
    for answer in ask.http.control.set_agent_ids(ask.caller, pairs).await? {
        match answer.code {
            Code::OK => upgraded.success.push(answer.key_prefix),
            _ => upgraded.failed.push(answer.key_prefix),
        }
    }
    Ok(success(upgraded))
}

fn pair(host: &RawHost) -> (Asked, Result<AgentId, Invalid>) {
    let asked = Named::Host(host).asked(Keys::V2);
    (asked, AgentId::parse(&host.bk_agent_id.to_text()))
}
