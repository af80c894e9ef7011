//! Why the last run of a process ended: from how it ended, and what its agent and operators did just before.

use std::borrow::Cow;
use std::collections::BTreeMap;

use model::event::EventKind;
use model::status::{Exit, LastExit};
use model::{Reason, UnixMillis};

use crate::TimelineEntry;

/// How long a run may take to end after what ended it: a stop has its signals and its grace.
const ENDS_WITHIN_MS: i64 = 10 * 60 * 1000;
/// The clocks of agents and servers differ, and ends are known to the second.
const CLOCKS_MS: i64 = 2_000;

/// Why a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    pub at: UnixMillis,
    /// `exit`, `signal`, `oom`, `limit`, `health`, `operator`, `host_restarted` or `not_seen`.
    pub reason: Reason,
    /// A sentence for people.
    pub text: String,
}

/// From what happened to the process, newest first. `is_up`: another run has taken its place.
pub(super) fn cause(last: LastExit, happened: &[TimelineEntry], is_up: bool) -> Cause {
    let cause = Ended {
        last,
        happened,
        is_up,
    };
    let (code, params, text) = cause.decide();
    Cause {
        at: last.at,
        reason: Reason {
            code: code.into(),
            params: params.into_iter().collect(),
        },
        text,
    }
}

type Params = Vec<(Cow<'static, str>, String)>;

struct Ended<'a> {
    last: LastExit,
    happened: &'a [TimelineEntry],
    is_up: bool,
}

impl Ended<'_> {
    fn decide(&self) -> (&'static str, Params, String) {
        let last = self.last;
        if last.host_restarted {
            let text = "its host was restarted".to_owned();
            return ("host_restarted", Vec::new(), text);
        }
        if last.oom {
            let memory = last.memory.unwrap_or_default();
            let params = [("used", memory.used), ("limit", memory.limit)];
            let known = params.into_iter().filter(|(_, bytes)| *bytes > 0);
            let params = known.map(|(key, bytes)| (key.into(), bytes.to_string()));
            let text = self
                .reported()
                .unwrap_or("the kernel killed it: memory was short");
            return ("oom", params.collect(), text.to_owned());
        }
        // An end by itself is an event of the same moment.
        if let Some(text) = self.reported() {
            return self.by_itself(Some(text));
        }
        for entry in self.happened {
            let before = last.at.0 + CLOCKS_MS - entry.at.0;
            if !(0..=ENDS_WITHIN_MS + CLOCKS_MS).contains(&before) {
                continue;
            }
            match (EventKind::parse(&entry.code), entry.code.as_str()) {
                (
                    Some(
                        EventKind::ProcessResourceLimitExceed
                        | EventKind::ProcessGroupResourceLimitExceed,
                    ),
                    _,
                ) => return ("limit", Vec::new(), entry.text.clone()),
                (Some(EventKind::ProcessUnhealthy), _) => {
                    return ("health", Vec::new(), entry.text.clone());
                }
                (None, "stop" | "kill") => return by_operator(entry),
                // If it is down, what it restarted has ended as well.
                (None, "restart") if self.is_up => return by_operator(entry),
                (None, "start" | "restart") => return self.by_itself(None),
                _ => {}
            }
        }
        self.by_itself(None)
    }

    /// The sentence of the event that its agent sent when it ended by itself.
    fn reported(&self) -> Option<&str> {
        let exit = EventKind::ProcessExit.as_str();
        let found = self.happened.iter().find(|entry| {
            let apart = entry.at.0 - self.last.at.0;
            entry.code == exit && (-CLOCKS_MS / 2..CLOCKS_MS).contains(&apart)
        });
        found.map(|entry| entry.text.as_str())
    }

    fn by_itself(&self, told: Option<&str>) -> (&'static str, Params, String) {
        let exit = self.last.exit;
        let (code, params) = match exit {
            Exit::Code(code) => ("exit", vec![("exit_code".into(), code.to_string())]),
            Exit::Signal(signal) => ("signal", vec![("signal".into(), signal.to_string())]),
            Exit::Unseen => ("not_seen", Vec::new()),
        };
        (
            code,
            params,
            told.map_or_else(|| exit.to_string(), str::to_owned),
        )
    }
}

fn by_operator(entry: &TimelineEntry) -> (&'static str, Params, String) {
    let mut params = vec![("op".into(), entry.code.clone())];
    let who = [
        ("user", &entry.user),
        ("app", &entry.app),
        ("from", &entry.from),
    ];
    let who = who.into_iter().filter(|(_, value)| !value.is_empty());
    params.extend(who.map(|(key, value)| (key.into(), value.clone())));
    ("operator", params, entry.text.clone())
}

/// The params of an entry as those of a reason.
pub(super) fn params_of(entry: &TimelineEntry) -> BTreeMap<Cow<'static, str>, String> {
    by_operator(entry).1.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use model::status::OomMemory;

    use super::*;
    use crate::timeline::TimelineWord;

    const AT: i64 = 1_700_000_000_000;

    fn entry(code: &str, at: i64) -> TimelineEntry {
        TimelineEntry {
            id: "h1".into(),
            at: UnixMillis(at),
            kind: TimelineWord::Operation,
            code: code.into(),
            params: BTreeMap::new(),
            text: format!("{code} it was"),
            process: None,
            host: None,
            user: "alice".into(),
            app: String::new(),
            from: "10.0.0.9".into(),
            task: None,
            job: None,
        }
    }

    fn last(exit: Exit) -> LastExit {
        LastExit::new(exit, UnixMillis(AT))
    }

    #[test]
    fn an_end_is_explained_by_what_came_just_before() {
        let killed = last(Exit::Signal(9));
        for (end, happened, is_up, code) in [
            (last(Exit::Code(3)), vec![], false, "exit"),
            (killed, vec![], false, "signal"),
            (last(Exit::Unseen), vec![], false, "not_seen"),
            (killed, vec![entry("stop", AT - 9_000)], false, "operator"),
            (killed, vec![entry("kill", AT + 900)], false, "operator"),
            (killed, vec![entry("restart", AT - 500)], true, "operator"),
            // What a restart began has ended, too.
            (killed, vec![entry("restart", AT - 500)], false, "signal"),
            (
                killed,
                vec![entry("start", AT - 500), entry("stop", AT - 900)],
                false,
                "signal",
            ),
            // Long ago, or later.
            (killed, vec![entry("stop", AT - 3_600_000)], false, "signal"),
            (killed, vec![entry("stop", AT + 60_000)], false, "signal"),
            (
                killed,
                vec![entry("process_resource_limit_exceed", AT - 40)],
                true,
                "limit",
            ),
            (
                killed,
                vec![entry("process_group_resource_limit_exceed", AT - 40)],
                true,
                "limit",
            ),
            (
                killed,
                vec![entry("process_unhealthy", AT - 9_000)],
                true,
                "health",
            ),
            // Its own end, although an operator asked for another thing before.
            (
                killed,
                vec![entry("process_exit", AT + 400), entry("stop", AT - 9)],
                true,
                "signal",
            ),
            (
                killed,
                vec![
                    entry("process_restart_success", AT + 900),
                    entry("process_unhealthy", AT - 9),
                ],
                true,
                "health",
            ),
        ] {
            let found = cause(end, &happened, is_up);
            assert_eq!(found.reason.code, code, "{happened:?}");
            assert_eq!(found.at, UnixMillis(AT));
            assert!(!found.text.is_empty());
        }
    }

    #[test]
    fn memory_and_reboots_are_told_by_the_end_itself() {
        let memory = OomMemory {
            used: 100,
            limit: 0,
        };
        let oom = LastExit {
            oom: true,
            memory: Some(memory),
            ..last(Exit::Signal(9))
        };
        let found = cause(oom, &[entry("stop", AT - 5)], false);
        assert_eq!(found.reason.code, "oom");
        let params: Vec<_> = found.reason.params.into_iter().collect();
        assert_eq!(params, [("used".into(), "100".to_owned())]);
        let rebooted = LastExit {
            host_restarted: true,
            ..last(Exit::Unseen)
        };
        assert_eq!(cause(rebooted, &[], true).reason.code, "host_restarted");
    }

    #[test]
    fn an_operator_is_named() {
        let found = cause(last(Exit::Signal(15)), &[entry("stop", AT - 5)], false);
        assert_eq!(found.text, "stop it was");
        assert_eq!(found.reason.params["user"], "alice");
        assert_eq!(found.reason.params["op"], "stop");
        assert!(!found.reason.params.contains_key("app"));
    }
}
