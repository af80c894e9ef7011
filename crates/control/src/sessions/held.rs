//! Compares what an agent holds with what is registered.

use std::collections::BTreeMap;

use model::access::{AccessArea, Caller, Permission};
use model::held::{ForeignProcess, HeldProcess, HeldReport};
use model::spec::AutoType;
use model::{Flag, FullName, Host, Reason, UnixMillis};
use wire::ask::Question;

use super::Sessions;
use crate::ControlError;

/// What the agent of a host holds, compared with what is registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldView {
    pub host: Host,
    pub processes: Vec<Comparison>,
    pub foreign: Vec<ForeignProcess>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    pub process: FullName,
    /// None when it is not registered on this host.
    pub wanted: Option<DesiredState>,
    /// None when the agent does not hold it.
    pub held: Option<HeldProcess>,
    pub differs: Vec<HeldDifference>,
}

/// One difference: as a code, and as a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldDifference {
    pub reason: Reason,
    pub text: String,
}

/// The registration of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DesiredState {
    pub incarnation: u64,
    pub definition_hash: u64,
    pub registered_at: UnixMillis,
    pub flag: Flag,
    pub managed: bool,
    /// Runs all the time, not on a schedule.
    pub is_resident: bool,
}

impl Sessions {
    /// Asks the agent what it holds, and compares. Shows the namespaces that the caller may see.
    pub async fn held(&self, caller: &Caller, host: Host) -> Result<HeldView, ControlError> {
        self.access
            .check(caller, Permission::View, AccessArea::Anything)?;
        let answer = self.ask(host, Question::Held {}).await?.whole().await?;
        let report: HeldReport = serde_json::from_slice(&answer).map_err(|error| {
            tracing::warn!(%host, %error, "cannot read what an agent holds");
            ControlError::Away(format!(
                "the agent of host {host} answered in no known form: it may be of another version"
            ))
        })?;
        let report = report.bound();
        let may_see = |name: &FullName| caller.may(Permission::View, &name.namespace);
        let mut both: BTreeMap<FullName, (Option<DesiredState>, Option<HeldProcess>)> =
            BTreeMap::new();
        for (name, wanted) in self.wanted_on(host) {
            both.entry(name).or_default().0 = Some(wanted);
        }
        for held in report.processes {
            let entry = both.entry(held.process.clone()).or_default();
            entry.1 = Some(held);
        }
        let processes = both
            .into_iter()
            .filter(|(name, _)| may_see(name))
            .map(|(process, (wanted, held))| Comparison {
                differs: differences(wanted.as_ref(), held.as_ref()),
                process,
                wanted,
                held,
            })
            .collect();
        let mut foreign = report.foreign;
        foreign.retain(|foreign| may_see(&foreign.process));
        Ok(HeldView {
            host,
            processes,
            foreign,
        })
    }

    fn wanted_on(&self, host: Host) -> Vec<(FullName, DesiredState)> {
        let fleet = self.core.fleet();
        let rows = fleet.host_id(&host).into_iter();
        rows.flat_map(|id| fleet.processes_of(id))
            .map(|row| {
                let policy = &row.definition().spec.monitor_policy;
                let wanted = DesiredState {
                    incarnation: row.incarnation().0,
                    definition_hash: row.definition().hash,
                    registered_at: row.registered_at(),
                    flag: row.flag(),
                    managed: row.managed(),
                    is_resident: policy.auto_type == AutoType::Resident,
                };
                (row.name().clone(), wanted)
            })
            .collect()
    }
}

fn differences(wanted: Option<&DesiredState>, held: Option<&HeldProcess>) -> Vec<HeldDifference> {
    let (wanted, held) = match (wanted, held) {
        (Some(wanted), Some(held)) => (wanted, held),
        (Some(_), None) => {
            let text = "registered, but not held by the agent";
            return vec![differs("not_held", text)];
        }
        (None, Some(_)) => {
            let text = "held by the agent, but not registered";
            return vec![differs("held_unregistered", text)];
        }
        (None, None) => return Vec::new(),
    };
    let mut found = Vec::new();
    if wanted.incarnation != held.incarnation {
        let text = "the agent holds an earlier registration";
        found.push(differs("held_earlier", text));
    }
    if wanted.definition_hash != held.definition_hash {
        let text = "the agent holds another spec or other labels";
        found.push(differs("held_other_spec", text));
    }
    // Flags are recorded when the operation has ended.
    if !held.operations.is_empty() {
        return found;
    }
    if wanted.flag != held.flag {
        let (here, there) = (flag_text(wanted.flag), flag_text(held.flag));
        let text = format!("wanted {here}, but the agent holds it as {there}");
        let mut flags = differs("held_flag", text);
        flags.reason = flags.reason.with("wanted", wanted.flag.as_str());
        flags.reason = flags.reason.with("held", held.flag.as_str());
        found.push(flags);
    }
    match (wanted.managed, held.managed) {
        (true, false) => found.push(differs("held_unmanaged", "managed, but not by the agent")),
        (false, true) => found.push(differs(
            "held_managed",
            "managed by the agent, but not meant to be",
        )),
        (true, true) | (false, false) => {}
    }
    match (wanted.flag, held.run) {
        (Flag::Running, None) if wanted.managed && wanted.is_resident => {
            let text = format!("should run and does not: {}", held.phase);
            let mut down = differs("held_down", text);
            down.reason = down.reason.with("phase", &held.phase);
            found.push(down);
        }
        (Flag::Stopped, Some(run)) => {
            let text = format!("should be stopped and runs as pid {}", run.pid);
            let mut up = differs("held_up", text);
            up.reason = up.reason.with("pid", run.pid);
            found.push(up);
        }
        (Flag::Running | Flag::Stopped | Flag::Unregistered, _) => {}
    }
    found
}

fn differs(code: &'static str, text: impl Into<String>) -> HeldDifference {
    HeldDifference {
        reason: Reason::new(code),
        text: text.into(),
    }
}

fn flag_text(flag: Flag) -> &'static str {
    match flag {
        Flag::Unregistered => "never operated",
        Flag::Running => "running",
        Flag::Stopped => "stopped",
    }
}

#[cfg(test)]
mod tests {
    use model::held::HeldRun;
    use model::{OpId, TaskId};

    use super::*;

    fn wanted() -> DesiredState {
        DesiredState {
            incarnation: 3,
            definition_hash: 7,
            registered_at: UnixMillis(1),
            flag: Flag::Running,
            managed: true,
            is_resident: true,
        }
    }

    fn held() -> HeldProcess {
        HeldProcess {
            process: "n/a".parse().unwrap(),
            incarnation: 3,
            definition_hash: 7,
            flag: Flag::Running,
            managed: true,
            phase: "up".into(),
            run: Some(HeldRun {
                pid: 9,
                started_at: UnixMillis(1),
            }),
            operations: Vec::new(),
        }
    }

    fn differ(wanted: DesiredState, held: HeldProcess) -> String {
        let found = differences(Some(&wanted), Some(&held));
        let texts: Vec<String> = found.into_iter().map(|one| one.text).collect();
        texts.join("; ")
    }

    #[test]
    fn equal_state_does_not_differ() {
        assert_eq!(differ(wanted(), held()), "");
        let periodic = DesiredState {
            is_resident: false,
            ..wanted()
        };
        let resting = HeldProcess {
            run: None,
            ..held()
        };
        assert_eq!(differ(periodic, resting), "");
    }

    #[test]
    fn each_difference_is_a_sentence() {
        let lost = &differences(Some(&wanted()), None)[0];
        assert!(lost.text.contains("not held"), "{lost:?}");
        assert_eq!(lost.reason.code, "not_held");
        assert!(
            differences(None, Some(&held()))[0]
                .text
                .contains("not registered")
        );
        let other = HeldProcess {
            incarnation: 2,
            definition_hash: 8,
            flag: Flag::Stopped,
            managed: false,
            run: None,
            phase: "down".into(),
            ..held()
        };
        assert_eq!(
            differ(wanted(), other),
            "the agent holds an earlier registration; the agent holds another spec or other labels; \
             wanted running, but the agent holds it as stopped; managed, but not by the agent; \
             should run and does not: down"
        );
        let stopped = DesiredState {
            flag: Flag::Stopped,
            ..wanted()
        };
        let text = differ(stopped, held());
        assert!(
            text.ends_with("should be stopped and runs as pid 9"),
            "{text}"
        );
    }

    #[test]
    fn an_open_operation_is_no_difference() {
        let starting = HeldProcess {
            flag: Flag::Stopped,
            run: None,
            operations: vec![OpId {
                task: TaskId::from_number(1),
                ordinal: 0,
            }],
            ..held()
        };
        assert_eq!(differ(wanted(), starting), "");
    }
}
