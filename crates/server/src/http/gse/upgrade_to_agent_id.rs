//! upgrade_to_agent_id: sets the agent ids of hosts, by which GSE 2.0 callers name them.

use control::{HostSelector, TargetHost};
use model::{AgentId, Code, Invalid};
use serde::Serialize;

use super::endpoint::Keys;
use super::hosts::{RawHost, RequestedHost};
use super::refusal::Refusal;
use super::request::RawRequest;
use super::{RequestContext, success};

/// Hosts as `cloud:ip`.
#[derive(Default, Serialize)]
struct UpgradeResult {
    success: Vec<Box<str>>,
    failed: Vec<Box<str>>,
}

pub(crate) async fn upgrade_to_agent_id(
    context: &RequestContext<'_>,
    request: RawRequest,
) -> Result<Vec<u8>, Refusal> {
    let hosts = request.hosts.ok_or_else(|| Invalid::required("hosts"))?;
    if hosts.is_empty() {
        return Err(Invalid::new("hosts", "must not be empty").into());
    }
    let mut upgraded = UpgradeResult::default();
    let mut pairs = Vec::with_capacity(hosts.len());
    for host in &hosts {
        match pair(&host.0) {
            (asked, Ok(id)) if !matches!(asked.place, HostSelector::Bad(_)) => {
                pairs.push((asked, id))
            }
            (asked, _) => upgraded.failed.push(asked.key_prefix),
        }
    }
    for answer in context
        .http
        .control
        .registry()
        .set_agent_ids(context.caller, pairs)
        .await?
    {
        match answer.code {
            Code::OK => upgraded.success.push(answer.key_prefix),
            _ => upgraded.failed.push(answer.key_prefix),
        }
    }
    Ok(success(upgraded))
}

fn pair(host: &RawHost) -> (TargetHost, Result<AgentId, Invalid>) {
    let asked = RequestedHost::Host(host).asked(Keys::V2);
    (asked, AgentId::parse(&host.bk_agent_id.to_text()))
}
