//! Why a process is as it is: one sentence from what is known of it, its last operation, and the output of the run that ended.

mod cause;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use fleet::{Link, Row};
use model::access::{Caller, Permission};
use model::spec::after::{self, Dependency};
use model::status::LastExit;
use model::{Flag, FullName, Host, ProcessState, Reason, UnixMillis};

pub use self::cause::Cause;
use crate::timeline::{TimelineFilter, TimelineWord};
use crate::{Control, ControlError, LogsOf, TimelineEntry};

/// How many of the last operations and events may explain an end.
const MAX_HAPPENED: usize = 20;
/// How many of the last lines are shown.
const LAST_LINES: u32 = 20;
/// The longest output that is shown.
const MAX_OUTPUT: usize = 16 * 1024;
/// How long the agent may take to answer. Without its answer there is no output.
const OUTPUT_WITHIN: Duration = Duration::from_secs(5);

/// Why a process on a host is as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Why {
    pub host: Host,
    pub state: ProcessState,
    /// Since when; `NEVER` if that is not known.
    pub since: UnixMillis,
    pub reason: Reason,
    /// A sentence for people.
    pub text: String,
    pub last_exit: Option<LastExit>,
    /// Why the last run ended; none if none has.
    pub cause: Option<Cause>,
    /// How often the agent has started it by itself.
    pub tried: u32,
    /// When it starts next.
    pub next: Option<UnixMillis>,
    /// The last lines of the run that ended; empty if none has, the agent is away, or the caller may not read output.
    pub output: Vec<String>,
}

/// What is known of a process without asking anything else.
struct Known {
    host: Host,
    state: ProcessState,
    wanted: Flag,
    link: Link,
    is_enrolled: bool,
    started_at: UnixMillis,
    last_exit: Option<LastExit>,
    tried: u32,
    next: Option<UnixMillis>,
    message: String,
    /// Why its health check or live probe fails; empty if it does not.
    health: String,
    /// Why its ready probe fails, if it has one.
    not_ready: Option<String>,
    waits: Option<Waits>,
}

/// The dependencies that it waits for.
#[derive(Debug, Clone)]
struct Waits {
    dependencies: Vec<Dependency>,
    since: UnixMillis,
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

/// The reason of a row beside its message, for programs; none where everything is as wanted.
pub fn row_reason(row: &Row<'_>) -> Option<Reason> {
    let reason = Known::new(row).reason(None);
    match &*reason.code {
        "running" | "ready" | "starting" | "completed" | "scheduled" | "not_started" => None,
        _ => Some(reason),
    }
}

impl Control {
    /// Of the only host that it is on, or the given one.
    pub async fn why(
        &self,
        caller: &Caller,
        process: &FullName,
        host: Option<Host>,
    ) -> Result<Why, ControlError> {
        let known = self.known(caller, process, host)?;
        let happened = self.happened(caller, process, known.host).await?;
        let mut operations = happened.iter();
        let last = operations.find(|entry| entry.kind == TimelineWord::Operation);
        let reason = known.reason(last);
        Ok(Why {
            since: known.since(last),
            cause: known
                .last_exit
                .map(|last| cause::cause(last, &happened, known.runs())),
            text: known.text(&reason),
            output: self.output(caller, process, &known).await,
            host: known.host,
            state: known.state,
            reason,
            last_exit: known.last_exit,
            tried: known.tried,
            next: known.next,
        })
    }

    fn known(
        &self,
        caller: &Caller,
        process: &FullName,
        host: Option<Host>,
    ) -> Result<Known, ControlError> {
        let viewer = (caller, Permission::View);
        let (address, id) = self.sessions().only_host(viewer, process, host, None)?;
        let fleet = self.0.core.fleet();
        let row = fleet
            .name_id(process)
            .and_then(|name| fleet.process(id, name));
        let row = row.ok_or_else(|| {
            ControlError::NotFound(format!("process {process} is not registered on {address}"))
        })?;
        Ok(Known::new(&row))
    }

    /// The last operations and events, newest first.
    async fn happened(
        &self,
        caller: &Caller,
        process: &FullName,
        host: Host,
    ) -> Result<Vec<TimelineEntry>, ControlError> {
        // The timeline is of a whole namespace.
        if !caller.may(Permission::View, &process.namespace) {
            return Ok(Vec::new());
        }
        let page = |limit: usize, kinds: &[TimelineWord]| TimelineFilter {
            limit,
            process: Some(process.clone()),
            host: Some(host),
            kinds: Some(kinds.to_vec()),
            ..TimelineFilter::default()
        };
        let events = self.events();
        let words = [
            TimelineWord::Operation,
            TimelineWord::Event,
            TimelineWord::Health,
        ];
        let all = page(MAX_HAPPENED, &words);
        let mut all = events.timeline(caller, all).await?.entries;
        if (all.iter()).all(|entry| entry.kind != TimelineWord::Operation) {
            // Many events since do not hide the last operation.
            let last = page(1, &words[..1]);
            all.extend(events.timeline(caller, last).await?.entries);
        }
        Ok(all)
    }

    /// Output is read like logs, which takes another permission. What cannot be read is left out.
    async fn output(&self, caller: &Caller, process: &FullName, known: &Known) -> Vec<String> {
        if known.last_exit.is_none()
            || !known.link.is_up()
            || !(self.registry()).may_process(caller, Permission::Operate, &known.host, process)
        {
            return Vec::new();
        }
        let wanted = LogsOf {
            host: Some(known.host),
            // The last run of a process that does not run is the one that ended.
            previous: known.runs(),
            ..LogsOf::last_lines(process.clone(), LAST_LINES)
        };
        let reading = async {
            let answer = self.sessions().logs(caller, wanted).await?;
            answer.whole().await
        };
        let Ok(Ok(bytes)) = tokio::time::timeout(OUTPUT_WITHIN, reading).await else {
            return Vec::new();
        };
        let skipped = bytes.len().saturating_sub(MAX_OUTPUT);
        let text = String::from_utf8_lossy(&bytes[skipped..]);
        text.lines().map(str::to_owned).collect()
    }
}

impl Known {
    fn new(row: &Row<'_>) -> Self {
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

    fn runs(&self) -> bool {
        matches!(
            self.state,
            ProcessState::Running
                | ProcessState::Ready
                | ProcessState::Starting
                | ProcessState::Unhealthy
        )
    }

    fn since(&self, last: Option<&TimelineEntry>) -> UnixMillis {
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

    fn reason(&self, last: Option<&TimelineEntry>) -> Reason {
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

    fn text(&self, reason: &Reason) -> String {
        let param = |key| reason.params.get(key).map(String::as_str);
        let head = match &*reason.code {
            "no_agent" | "agent_away" => return self.message.clone(),
            "running" => "it runs".to_owned(),
            "ready" => "it runs and is ready".to_owned(),
            "not_ready" => "it runs, and its ready probe fails".to_owned(),
            "starting" => "it is being started".to_owned(),
            "dependency" => return format!("it {}", self.message),
            "unhealthy" => "it runs, and its health check fails".to_owned(),
            "backoff" => format!(
                "it ended, and the agent starts it again ({} so far)",
                self.tried
            ),
            "gave_up" => match self.tried {
                0 => "it ended, and the agent does not start it again".to_owned(),
                tried => format!("the agent gave up after {tried} attempts"),
            },
            "stopped_by" => {
                let op = param("op").unwrap_or("stop");
                let by = match (param("user"), param("app")) {
                    (Some(user), _) => format!(" by {user}"),
                    (None, Some(app)) => format!(" by app {app}"),
                    (None, None) => String::new(),
                };
                let from = param("from").map(|from| format!(" from {from}"));
                format!("it was stopped ({op}){by}{}", from.unwrap_or_default())
            }
            "down" => "it is wanted, and does not run".to_owned(),
            "not_started" => "it is not wanted".to_owned(),
            "completed" => "it ran to its end".to_owned(),
            "scheduled" => "it waits for its next run".to_owned(),
            _ => "its agent has not reported it yet".to_owned(),
        };
        match (self.message.as_str(), self.last_exit) {
            ("", Some(exit)) if !self.runs() => format!("{head}; last: {}", exit.exit),
            ("", _) => head,
            (message, _) if message.starts_with("gave up after") => format!("the agent {message}"),
            (message, _) => format!("{head}: {message}"),
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

#[cfg(test)]
mod tests {
    use model::status::Exit;

    use super::*;

    fn known(state: ProcessState) -> Known {
        Known {
            host: "10.0.0.1".parse().unwrap(),
            state,
            wanted: Flag::Running,
            link: Link::Up {
                since: UnixMillis(1),
            },
            is_enrolled: true,
            started_at: UnixMillis(50),
            last_exit: None,
            tried: 0,
            next: None,
            message: String::new(),
            health: String::new(),
            not_ready: None,
            waits: None,
        }
    }

    fn stop(user: &str) -> TimelineEntry {
        TimelineEntry {
            id: "h1".into(),
            at: UnixMillis(90),
            kind: TimelineWord::Operation,
            code: "stop".into(),
            params: BTreeMap::new(),
            text: String::new(),
            process: None,
            host: None,
            user: user.into(),
            app: "demo".into(),
            from: "10.0.0.9".into(),
            task: None,
            job: None,
        }
    }

    #[test]
    fn each_state_has_a_code_and_a_sentence() {
        for (state, code) in [
            (ProcessState::Running, "running"),
            (ProcessState::Ready, "ready"),
            (ProcessState::Starting, "starting"),
            (ProcessState::Unhealthy, "unhealthy"),
            (ProcessState::Backoff, "backoff"),
            (ProcessState::Failed, "gave_up"),
            (ProcessState::Stopped, "down"),
            (ProcessState::Completed, "completed"),
            (ProcessState::Scheduled, "scheduled"),
            (ProcessState::Unknown, "not_reported"),
        ] {
            let known = known(state);
            let reason = known.reason(None);
            assert_eq!(reason.code, code);
            assert!(!known.text(&reason).is_empty());
        }
    }

    #[test]
    fn what_runs_and_is_not_ready_says_why() {
        let mut known = known(ProcessState::Running);
        known.not_ready = Some("connection refused".to_owned());
        known.message = "not ready: connection refused".to_owned();
        let reason = known.reason(None);
        assert_eq!(
            (&*reason.code, &*reason.params["check"]),
            ("not_ready", "connection refused")
        );
        assert_eq!(
            known.text(&reason),
            "it runs, and its ready probe fails: not ready: connection refused"
        );
    }

    #[test]
    fn a_stop_names_who_did_it_and_from_where() {
        let mut known = known(ProcessState::Stopped);
        known.wanted = Flag::Stopped;
        let last = stop("alice");
        let reason = known.reason(Some(&last));
        assert_eq!(
            known.text(&reason),
            "it was stopped (stop) by alice from 10.0.0.9"
        );
        assert_eq!(known.since(Some(&last)), UnixMillis(90));
        assert_eq!(known.reason(None).code, "not_started");
        // It was started again since, and the agent gave up.
        known.wanted = Flag::Running;
        assert_eq!(known.reason(Some(&last)).code, "down");
    }

    #[test]
    fn what_gave_up_says_how_often_and_how_it_ended() {
        let mut known = known(ProcessState::Failed);
        known.tried = 4;
        known.last_exit = Some(LastExit::new(Exit::Code(1), UnixMillis(70)));
        let reason = known.reason(None);
        assert_eq!(
            known.text(&reason),
            "the agent gave up after 4 attempts; last: exited with code 1"
        );
        assert_eq!((&*reason.code, &*reason.params["tried"]), ("gave_up", "4"));
        known.message = "gave up after 4 attempts in 30 s; exited with code 1".to_owned();
        assert_eq!(
            known.text(&reason),
            "the agent gave up after 4 attempts in 30 s; exited with code 1"
        );
        assert_eq!(known.since(None), UnixMillis(70));
    }

    #[test]
    fn a_wait_names_the_dependencies_and_since_when() {
        let text =
            r#"[{"process": "db/postgres"}, {"process": "db/x", "when": "up", "where": "any"}]"#;
        let dependencies: Vec<Dependency> = serde_json::from_str(text).unwrap();
        let since = UnixMillis(1_794_922_805_000);
        let mut known = known(ProcessState::Starting);
        let unmet = dependencies
            .iter()
            .map(|dependency| (dependency, "stopped"));
        known.message = after::waits_for(unmet, since);
        known.waits = Some(Waits {
            dependencies: dependencies.clone(),
            since,
        });
        let reason = known.reason(None);
        assert_eq!(reason.code, "dependency");
        let param = |key| reason.params[key].as_str();
        assert_eq!(param("process"), "db/postgres, db/x");
        assert_eq!(
            (param("when"), param("where")),
            ("ready, up", "same_host, any")
        );
        assert_eq!(param("since"), "1794922805000");
        assert_eq!(
            known.text(&reason),
            "it waits for db/postgres to be ready on this host (stopped), db/x to be up on any host (stopped) \
             since 2026-11-17T13:40:05Z"
        );
        assert_eq!(known.since(None), since);
    }

    #[test]
    fn an_absent_agent_comes_before_everything_else() {
        let mut known = known(ProcessState::Unknown);
        known.link = Link::Down {
            since: UnixMillis(60),
        };
        known.message = "agent offline since …".into();
        let reason = known.reason(Some(&stop("alice")));
        assert_eq!(
            (&*reason.code, &*reason.params["since"]),
            ("agent_away", "60")
        );
        assert_eq!(known.text(&reason), known.message);
        assert_eq!(known.since(None), UnixMillis(60));
        known.link = Link::Never;
        known.is_enrolled = false;
        assert_eq!(known.reason(None).code, "no_agent");
    }
}
