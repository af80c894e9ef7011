//! get_agent_status, get_agent_info, list_agent_state and list_agent_info.

use std::borrow::Cow;
use std::net::SocketAddr;

use fleet::{HostView, Link};
use model::UnixMillis;
use serde::Serialize;
use serde::ser::Serializer;

use super::endpoint::Keys;
use super::hosts::{HostEcho, RequestedHost};
use super::refusal::{Refusal, no_known_agent};
use super::request::RawRequest;
use super::{RequestContext, success};

/// GSE's numbers for the state of an agent. Only running counts as alive.
const NOT_FOUND: i32 = -2;
const UNKNOWN: i32 = -1;
const RUNNING: i32 = 2;
/// An agent; 0 would be a proxy.
const RUN_MODE_AGENT: u8 = 1;

/// One requested agent, and its host if the fleet knows it.
struct AgentView<'a> {
    named: RequestedHost<'a>,
    host: Option<HostView<'a>>,
}

impl<'a> AgentView<'a> {
    fn echo(&self) -> HostEcho<'a> {
        self.named.echo(self.host.as_ref(), Keys::V2)
    }

    fn is_up(&self) -> bool {
        self.host.is_some_and(|host| host.link.is_up())
    }

    /// A host that only requests have named has no agent.
    fn is_known(&self) -> bool {
        self.host.is_some_and(|host| {
            host.link != Link::Never
                || host.enrolled_at != UnixMillis::NEVER
                || host.agent_id.is_some()
        })
    }

    fn status_code(&self) -> i32 {
        match (self.is_up(), self.is_known()) {
            (true, _) => RUNNING,
            (false, true) => UNKNOWN,
            (false, false) => NOT_FOUND,
        }
    }

    fn report_time(&self) -> i64 {
        self.host.map_or(0, |host| match host.link {
            Link::Up { since } => host.heard_at.max(since).secs(),
            Link::Down { since } => since.secs(),
            Link::Never => 0,
        })
    }

    fn version(&self) -> &'a str {
        let info = self.host.and_then(|host| host.info);
        info.map_or("", |info| &info.version)
    }

    fn relay(&self) -> Option<SocketAddr> {
        self.host?.info?.relay
    }

    /// GSE's word for the relay; empty for an agent that connects to the server itself.
    fn parent_ip(&self) -> String {
        let relay = self.relay().map(|relay| relay.ip().to_string());
        relay.unwrap_or_default()
    }
}

/// The response when no requested agent is known: a refusal in GSE 2.0, the map of hosts in v1.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NoneKnown {
    Refuse,
    Answer,
}

/// Responds with what `write` makes of the agents.
async fn answer(
    context: &RequestContext<'_>,
    request: RawRequest,
    none_known: NoneKnown,
    write: fn(&[AgentView<'_>]) -> Vec<u8>,
) -> Result<Vec<u8>, Refusal> {
    let named = request.named()?;
    context.http.control.registry().find_hosts(|hosts| {
        let agents: Vec<AgentView<'_>> = named
            .into_iter()
            .map(|named| AgentView {
                named,
                host: hosts.find(&named.place()),
            })
            .collect();
        match none_known == NoneKnown::Answer || agents.iter().any(AgentView::is_known) {
            true => Ok(write(&agents)),
            false => Err(no_known_agent()),
        }
    })
}

pub(crate) async fn agent_status(
    context: &RequestContext<'_>,
    request: RawRequest,
) -> Result<Vec<u8>, Refusal> {
    #[derive(Serialize)]
    struct AgentStatus<'a> {
        #[serde(flatten)]
        host: HostEcho<'a>,
        bk_agent_alive: u8,
    }
    answer(context, request, NoneKnown::Answer, |agents| {
        success(by_host(agents, |agent| AgentStatus {
            host: agent.echo(),
            bk_agent_alive: agent.is_up().into(),
        }))
    })
    .await
}

pub(crate) async fn agent_info(
    context: &RequestContext<'_>,
    request: RawRequest,
) -> Result<Vec<u8>, Refusal> {
    #[derive(Serialize)]
    struct AgentInfo<'a> {
        #[serde(flatten)]
        host: HostEcho<'a>,
        version: &'a str,
        bk_agent_alive: u8,
        parent_ip: String,
        parent_port: u16,
    }
    answer(context, request, NoneKnown::Answer, |agents| {
        success(by_host(agents, |agent| AgentInfo {
            host: agent.echo(),
            version: agent.version(),
            bk_agent_alive: agent.is_up().into(),
            parent_ip: agent.parent_ip(),
            parent_port: agent.relay().map_or(0, |relay| relay.port()),
        }))
    })
    .await
}

pub(crate) async fn list_agent_state(
    context: &RequestContext<'_>,
    request: RawRequest,
) -> Result<Vec<u8>, Refusal> {
    answer(context, request, NoneKnown::Refuse, |agents| {
        let rows: Vec<AgentState<'_>> = agents.iter().map(AgentState::of).collect();
        success(rows)
    })
    .await
}

pub(crate) async fn list_agent_info(
    context: &RequestContext<'_>,
    request: RawRequest,
) -> Result<Vec<u8>, Refusal> {
    #[derive(Serialize)]
    struct AgentInfo<'a> {
        #[serde(flatten)]
        state: AgentState<'a>,
        bk_host_ip: Cow<'a, str>,
        bk_os_type: &'a str,
        hostname: &'a str,
        kernel: &'a str,
        cores: u32,
        memory_kib: u64,
        parent_ip: String,
        parent_port: u16,
    }
    answer(context, request, NoneKnown::Refuse, |agents| {
        let rows: Vec<AgentInfo<'_>> = agents
            .iter()
            .map(|agent| {
                let info = agent.host.and_then(|host| host.info);
                AgentInfo {
                    state: AgentState::of(agent),
                    bk_host_ip: agent.echo().ip,
                    bk_os_type: "linux",
                    hostname: info.map_or("", |info| &info.hostname),
                    kernel: info.map_or("", |info| &info.kernel),
                    cores: info.map_or(0, |info| info.cores),
                    memory_kib: info.map_or(0, |info| info.memory_kib),
                    parent_ip: agent.parent_ip(),
                    parent_port: agent.relay().map_or(0, |relay| relay.port()),
                }
            })
            .collect();
        success(rows)
    })
    .await
}

#[derive(Serialize)]
struct AgentState<'a> {
    bk_agent_id: Cow<'a, str>,
    bk_cloud_id: i64,
    version: &'a str,
    run_mode: u8,
    status_code: i32,
    report_time: i64,
}

impl<'a> AgentState<'a> {
    fn of(agent: &AgentView<'a>) -> Self {
        Self {
            bk_agent_id: agent.named.agent_id(agent.host.as_ref()),
            bk_cloud_id: agent.echo().bk_cloud_id,
            version: agent.version(),
            run_mode: RUN_MODE_AGENT,
            status_code: agent.status_code(),
            report_time: agent.report_time(),
        }
    }
}

/// A map by `cloud:ip`, each host once.
struct ByHost<T>(Vec<(String, T)>);

fn by_host<'a, T>(agents: &[AgentView<'a>], of: impl Fn(&AgentView<'a>) -> T) -> ByHost<T> {
    let mut written = std::collections::HashSet::with_capacity(agents.len());
    let keyed = agents
        .iter()
        .map(|agent| (agent.named.prefix(Keys::V2), agent));
    let once = keyed.filter(|(key, _)| written.insert(key.clone()));
    ByHost(once.map(|(key, agent)| (key, of(agent))).collect())
}

impl<T: Serialize> Serialize for ByHost<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}
