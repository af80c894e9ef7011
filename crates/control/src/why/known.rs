//! What is known of a process, and the reason that follows from it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use fleet::{Link, Row};
use model::spec::after::{self, Dependency};
use model::status::LastExit;
use model::{Flag, Host, ProcessState, Reason, UnixMillis};

use super::cause;
use crate::TimelineEntry;

/// What is known of a process without asking anything else.
pub(super) struct Known {
    pub(super) host: Host,
    pub(super) state: ProcessState,
    pub(super) wanted: Flag,
    pub(super) link: Link,
    pub(super) is_enrolled: bool,
    pub(super) started_at: UnixMillis,
    pub(super) last_exit: Option<LastExit>,
    pub(super) tried: u32,
    pub(super) next: Option<UnixMillis>,
    pub(super) message: String,
    /// Why its health check or live probe fails; empty if it does not.
    pub(super) health: String,
    /// Why its ready probe fails, if it has one.
    pub(super) not_ready: Option<String>,
    pub(super) waits: Option<Waits>,
}

/// The dependencies that it waits for.
#[derive(Debug, Clone)]
pub(super) struct Waits {
    pub(super) dependencies: Vec<Dependency>,
    pub(super) since: UnixMillis,
}

impl Waits {
    fn new(row: &Row<'_>) -> Option<Self> {
        let waiting = after::waiting(&row.message(), &row.definition().spec.after)?;
        Some(Self {
            dependencies: waiting.dependencies.into_iter().cloned().collect(),
            since: waiting.since,
        })
    }
}

impl Known {
    pub(super) fn new(row: &Row<'_>) -> Self {
        let host = row.host();
        let is_up = host.link.is_up();
        Self {
            host: host.host,
            state: row.process_state(),
            wanted: row.flag(),
            link: host.link,
            is_enrolled: host.enrolled_at != UnixMillis::NEVER,
            started_at: row.started_at(),
            last_exit: row.last_exit(),
            tried: row.restarts(),
            next: row.next_at().filter(|_| is_up),
            message: row.message().into_owned(),
            health: failed_check(row),
            not_ready: not_ready(row),
            waits: Waits::new(row),
        }
    }

    pub(super) fn runs(&self) -> bool {
        matches!(
            self.state,
            ProcessState::Running
                | ProcessState::Ready
                | ProcessState::Starting
                | ProcessState::Unhealthy
        )
    }

    pub(super) fn since(&self, last: Option<&TimelineEntry>) -> UnixMillis {
        let ended = self.last_exit.map_or(UnixMillis::NEVER, |exit| exit.at);
        match (self.link, self.state) {
            (Link::Down { since }, _) => since,
            (Link::Never, _) => UnixMillis::NEVER,
            (Link::Up { .. }, ProcessState::Starting) if self.waits.is_some() => {
                self.waits.as_ref().map_or(ended, |waits| waits.since)
            }
            (Link::Up { .. }, _) if self.runs() => self.started_at,
            // It was stopped after its last run that ended by itself.
            (Link::Up { .. }, ProcessState::Stopped) => {
                let stopped = last.filter(|entry| is_stop(&entry.code));
                stopped.map_or(ended, |entry| entry.at.max(ended))
            }
            (Link::Up { .. }, _) => ended,
        }
    }

    pub(super) fn reason(&self, last: Option<&TimelineEntry>) -> Reason {
        let mut params = BTreeMap::<Cow<'static, str>, String>::new();
        let code = match (self.link, self.state) {
            (Link::Never, _) if self.is_enrolled => "agent_away",
            (Link::Never, _) => "no_agent",
            (Link::Down { since }, _) => {
                params.insert("since".into(), since.0.to_string());
                "agent_away"
            }
            (_, ProcessState::Running) => match &self.not_ready {
                Some(why) => {
                    params.insert("check".into(), why.clone());
                    "not_ready"
                }
                None => "running",
            },
            (_, ProcessState::Ready) => "ready",
            (_, ProcessState::Starting) => match &self.waits {
                Some(waits) => {
                    params.extend(dependency_params(waits));
                    "dependency"
                }
                None => "starting",
            },
            (_, ProcessState::Unhealthy) => {
                params.insert("check".into(), self.health.clone());
                "unhealthy"
            }
            (_, ProcessState::Backoff) => "backoff",
            (_, ProcessState::Failed) => "gave_up",
            (_, ProcessState::Stopped) => match last.filter(|entry| is_stop(&entry.code)) {
                Some(entry) if self.wanted == Flag::Stopped => {
                    params.extend(cause::params_of(entry));
                    "stopped_by"
                }
                _ if self.wanted == Flag::Running => "down",
                _ => "not_started",
            },
            (_, ProcessState::Completed) => "completed",
            (_, ProcessState::Scheduled) => "scheduled",
            (_, ProcessState::Unknown) => "not_reported",
        };
        if self.tried > 0 {
            params.insert("tried".into(), self.tried.to_string());
        }
        if let Some(exit) = self.last_exit.filter(|_| !self.runs()) {
            params.insert("exit".into(), exit.exit.to_string());
        }
        Reason {
            code: code.into(),
            params,
        }
    }
}

/// Why its health check, or else its live probe, failed; empty if neither did.
fn failed_check(row: &Row<'_>) -> String {
    let results = row.health().into_iter().chain(row.probes().live);
    let mut failed = results.filter(|result| !result.ok);
    failed
        .next()
        .map(|result| result.message)
        .unwrap_or_default()
}

/// Why its ready probe fails; None without such a probe, and before its first result.
fn not_ready(row: &Row<'_>) -> Option<String> {
    row.definition().spec.probes.ready.as_ref()?;
    let result = row.probes().ready.filter(|result| !result.ok)?;
    Some(result.message)
}

/// Each list in the order of the spec.
fn dependency_params(waits: &Waits) -> [(Cow<'static, str>, String); 4] {
    let joined = |each: fn(&Dependency) -> String| {
        let all: Vec<String> = waits.dependencies.iter().map(each).collect();
        all.join(", ")
    };
    [
        ("process".into(), joined(|one| one.process.to_string())),
        ("when".into(), joined(|one| one.when.as_str().to_owned())),
        ("where".into(), joined(|one| one.place.as_str().to_owned())),
        ("since".into(), waits.since.0.to_string()),
    ]
}

fn is_stop(code: &str) -> bool {
    code == "stop" || code == "kill"
}
