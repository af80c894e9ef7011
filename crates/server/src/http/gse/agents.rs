//! get_agent_status, get_agent_info, list_agent_state and list_agent_info: whether agents live, and what they are.

use std::borrow::Cow;

use fleet::{HostView, Link};
use model::UnixMillis;
use serde::Serialize;
use serde::ser::Serializer;

use super::endpoint::Keys;
use super::hosts::{self, HostEcho, Named};
use super::refusal::Refusal;
use super::request::RawRequest;
use super::{Ask, success};

/// GSE's numbers for the state of an agent. Only running counts as alive.
const NOT_FOUND: i32 = -2;
const UNKNOWN: i32 = -1;
const RUNNING: i32 = 2;
/// An agent; 0 would be a proxy.
const RUN_MODE_AGENT: u8 = 1;

/// One agent that was asked for, and what is known of its host.
struct Seen<'a> {
    named: Named<'a>,
    host: Option<HostView<'a>>,
}

impl<'a> Seen<'a> {
    fn echo(&self) -> HostEcho<'a> {
        self.named.echo(self.host.as_ref(), Keys::V2)
    }

    fn is_up(&self) -> bool {
        self.host.is_some_and(|host| host.link.is_up())
    }

    /// A host that was only ever named in requests has no agent.
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
}

/// What is answered when none of the agents is known: 2.0 callers are told so, v1 callers get their map all the same.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NoneKnown {
    Refuse,
    Answer,
}

/// Answers with what `write` makes of the agents.
async fn answer(
    ask: &Ask<'_>,
    request: RawRequest,
    none_known: NoneKnown,
    write: fn(&[Seen<'_>]) -> Vec<u8>,
) -> Result<Vec<u8>, Refusal> {
    let named = request.named()?;
    let fleet = ask.http.control.fleet();
    let seen: Vec<Seen<'_>> = named
        .into_iter()
        .map(|named| Seen {
            named,
            host: hosts::find(&fleet, &named.place()),
        })
        .collect();
    match none_known == NoneKnown::Answer || seen.iter().any(Seen::is_known) {
        true => Ok(write(&seen)),
        false => Err(Refusal::no_known_agent()),
    }
}

pub(crate) async fn agent_status(ask: &Ask<'_>, request: RawRequest) -> Result<Vec<u8>, Refusal> {
    #[derive(Serialize)]
    struct AgentStatus<'a> {
        #[serde(flatten)]
        host: HostEcho<'a>,
        bk_agent_alive: u8,
    }
    answer(ask, request, NoneKnown::Answer, |seen| {
        success(by_host(seen, |seen| AgentStatus {
            host: seen.echo(),
            bk_agent_alive: seen.is_up().into(),
        }))
    })
    .await
}

pub(crate) async fn agent_info(ask: &Ask<'_>, request: RawRequest) -> Result<Vec<u8>, Refusal> {
    #[derive(Serialize)]
    struct AgentInfo<'a> {
        #[serde(flatten)]
        host: HostEcho<'a>,
        version: &'a str,
        bk_agent_alive: u8,
        parent_ip: &'a str,
        parent_port: u16,
    }
    answer(ask, request, NoneKnown::Answer, |seen| {
        success(by_host(seen, |seen| AgentInfo {
            host: seen.echo(),
            version: seen.version(),
            bk_agent_alive: seen.is_up().into(),
            // Agents connect to the server itself: there are no proxies between.
            parent_ip: "",
            parent_port: 0,
        }))
    })
    .await
}

pub(crate) async fn list_agent_state(
    ask: &Ask<'_>,
    request: RawRequest,
) -> Result<Vec<u8>, Refusal> {
    answer(ask, request, NoneKnown::Refuse, |seen| {
        let rows: Vec<AgentState<'_>> = seen.iter().map(AgentState::of).collect();
        success(rows)
    })
    .await
}

pub(crate) async fn list_agent_info(
    ask: &Ask<'_>,
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
    }
    answer(ask, request, NoneKnown::Refuse, |seen| {
        let rows: Vec<AgentInfo<'_>> = seen
            .iter()
            .map(|seen| {
                let info = seen.host.and_then(|host| host.info);
                AgentInfo {
                    state: AgentState::of(seen),
                    bk_host_ip: seen.echo().ip,
                    bk_os_type: "linux",
                    hostname: info.map_or("", |info| &info.hostname),
                    kernel: info.map_or("", |info| &info.kernel),
                    cores: info.map_or(0, |info| info.cores),
                    memory_kib: info.map_or(0, |info| info.memory_kib),
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
    fn of(seen: &Seen<'a>) -> Self {
        Self {
            bk_agent_id: seen.named.agent_id(seen.host.as_ref()),
            bk_cloud_id: seen.echo().bk_cloud_id,
            version: seen.version(),
            run_mode: RUN_MODE_AGENT,
            status_code: seen.status_code(),
            report_time: seen.report_time(),
        }
    }
}

/// A map by `cloud:ip`, each host once.
struct ByHost<T>(Vec<(String, T)>);

fn by_host<'a, T>(seen: &[Seen<'a>], of: impl Fn(&Seen<'a>) -> T) -> ByHost<T> {
    let mut written = std::collections::HashSet::with_capacity(seen.len());
    let keyed = seen.iter().map(|seen| (seen.named.prefix(Keys::V2), seen));
    let once = keyed.filter(|(key, _)| written.insert(key.clone()));
    ByHost(once.map(|(key, seen)| (key, of(seen))).collect())
}

impl<T: Serialize> Serialize for ByHost<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}
