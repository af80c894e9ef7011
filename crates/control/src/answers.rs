//! The hosts that a request names, and the answer for each.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use fleet::{Fleet, HostView};
use model::{AgentId, Code, Host, Invalid, Op, Spec};

/// One host as the caller named it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetHost {
    /// The part before `:namespace:name` in the caller's key, echoed verbatim.
    pub key_prefix: Box<str>,
    pub place: HostSelector,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostSelector {
    Host(Host),
    Agent(AgentId),
    /// Not readable as a host: fails its own key and no other.
    Bad(Invalid),
}

/// Finds hosts as callers name them, for the length of one answer.
#[derive(Debug, Clone, Copy)]
pub struct HostLookup<'a> {
    pub(crate) fleet: &'a Fleet,
}

impl<'a> HostLookup<'a> {
    /// None when the host is not known.
    pub fn find(&self, place: &HostSelector) -> Option<HostView<'a>> {
        let id = match place {
            HostSelector::Host(host) => self.fleet.host_id(host),
            HostSelector::Agent(agent) => self.fleet.host_of_agent(agent),
            HostSelector::Bad(_) => None,
        };
        id.and_then(|id| self.fleet.host(id))
    }
}

/// The answer for one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostAnswer {
    pub key_prefix: Box<str>,
    pub host: Option<Host>,
    pub code: Code,
    pub message: String,
    /// Whether the request changed what is stored for the host.
    pub changed: bool,
}

/// What is decided for one host.
#[derive(Debug, Clone)]
pub(crate) struct HostDecision {
    pub(crate) code: Code,
    pub(crate) message: String,
    pub(crate) changed: bool,
}

/// Resolves a host, or answers why it cannot.
pub(crate) fn resolve(fleet: &Fleet, asked: &TargetHost) -> Result<Host, HostAnswer> {
    let refuse = |code, message| {
        Err(HostAnswer {
            key_prefix: asked.key_prefix.clone(),
            host: None,
            code,
            message,
            changed: false,
        })
    };
    match &asked.place {
        HostSelector::Host(host) => Ok(*host),
        HostSelector::Agent(agent) => {
            match fleet.host_of_agent(agent).and_then(|id| fleet.host(id)) {
                Some(view) => Ok(view.host),
                None => refuse(
                    Code::NO_CONNECTION,
                    format!("can not find connection by agent id {agent}"),
                ),
            }
        }
        HostSelector::Bad(invalid) => refuse(Code::INVALID, invalid.to_string()),
    }
}

/// Why the agent of a host would ignore a part of this spec, or the part that this operation relies on. None for a host
/// whose agent is not known yet.
pub(crate) fn spec_lacking(
    fleet: &Fleet,
    host: Host,
    spec: &Spec,
    op: Option<Op>,
) -> Option<String> {
    let view = fleet.host_id(&host).and_then(|id| fleet.host(id))?;
    let info = view.info?;
    let section = info.extensions.lacks(spec, op)?.as_str();
    let version = &info.version;
    Some(format!(
        "the agent of {host} ({version}) does not know spec.{section}: upgrade the agent, or remove spec.{section}"
    ))
}

/// One answer per key, in the order of the request. `decide` runs once per host, however many keys name it.
pub(crate) fn answer_each(
    fleet: &Fleet,
    hosts: &[TargetHost],
    mut decide: impl FnMut(Host) -> HostDecision,
) -> Vec<HostAnswer> {
    let mut answers: Vec<HostAnswer> = Vec::with_capacity(hosts.len());
    let mut keys: HashSet<&str> = HashSet::with_capacity(hosts.len());
    let mut decided: HashMap<Host, usize> = HashMap::with_capacity(hosts.len());
    for asked in hosts.iter().filter(|asked| keys.insert(&asked.key_prefix)) {
        let answer = match resolve(fleet, asked) {
            Err(refusal) => refusal,
            Ok(host) => {
                let key_prefix = asked.key_prefix.clone();
                match decided.entry(host) {
                    Entry::Occupied(before) => HostAnswer {
                        key_prefix,
                        ..answers[*before.get()].clone()
                    },
                    Entry::Vacant(first) => {
                        first.insert(answers.len());
                        let decision = decide(host);
                        HostAnswer {
                            key_prefix,
                            host: Some(host),
                            code: decision.code,
                            message: decision.message,
                            changed: decision.changed,
                        }
                    }
                }
            }
        };
        answers.push(answer);
    }
    answers
}

/// How many hosts or processes a line of the audit trail names before it counts the rest.
pub(crate) const NAMED_IN_AUDIT: usize = 20;

/// The changed hosts, for the audit trail: `2 of 3 hosts: 0:10.0.0.1, 0:10.0.0.2`.
pub(crate) fn trail(answers: &[HostAnswer]) -> String {
    let done = || {
        answers
            .iter()
            .filter(|answer| answer.code == Code::OK)
            .filter_map(|answer| answer.host)
    };
    let hosts: Vec<String> = done()
        .take(NAMED_IN_AUDIT)
        .map(|host| host.to_string())
        .collect();
    let (n_done, n_asked) = (done().count(), answers.len());
    format!("{n_done} of {n_asked} hosts: {}", shortened(hosts, n_done))
}

/// Joins the first of `n`, and counts the rest.
pub(crate) fn shortened(first: Vec<String>, n: usize) -> String {
    match n - first.len() {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

/// The answer for a host where the request succeeded.
pub(crate) fn success(changed: bool) -> HostDecision {
    HostDecision {
        code: Code::OK,
        message: "success".to_owned(),
        changed,
    }
}

/// The user of a change, or its app if there is none.
pub(crate) fn user_or_app(user: &str, app: &str) -> String {
    match user.is_empty() {
        true => app.to_owned(),
        false => user.to_owned(),
    }
}
