//! What a plan changes: counts, and lines to read.

use std::fmt;

use model::topology::{BkProcessId, Program, SourceFault, SourceRow};
use model::{Host, Reason};

/// How many lines are kept; the counts include all.
const MAX_LINES: usize = 1000;
/// How many faults are kept with the business.
const MAX_TROUBLES: usize = 1000;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Difference {
    pub sets: ChangeCounts,
    pub modules: ChangeCounts,
    pub hosts: ChangeCounts,
    pub services: ChangeCounts,
    pub processes: ChangeCounts,
    /// Registered processes.
    pub instances: ChangeCounts,
    /// Processes that the source no longer has, and that still run: shown until they stop.
    pub vanished: u32,
    pub lines: Vec<ChangeLine>,
    /// The number of lines beyond the limit.
    pub more_lines: u32,
    /// Skipped rows, and why.
    pub troubles: Vec<SourceFault>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChangeCounts {
    pub new: u32,
    pub changed: u32,
    pub gone: u32,
}

/// One change of the view, as a line to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeLine {
    /// `+` new, `~` changed, `-` gone, `!` still running.
    pub mark: char,
    pub change: ChangeOf,
}

/// What a change is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeOf {
    Set(String),
    Module(String),
    Service(String),
    Host {
        host: Host,
        before: Option<Host>,
    },
    Process {
        id: BkProcessId,
        name: String,
        service: String,
        /// The changed ones.
        fields: String,
    },
    ProcessGone {
        id: BkProcessId,
        name: String,
    },
    /// The source no longer has it: it is shown until it is stopped.
    StillRuns {
        id: BkProcessId,
        name: String,
    },
}

impl ChangeOf {
    /// As a code with parameters.
    pub fn reason(&self) -> Reason {
        match self {
            Self::Set(name) => Reason::new("set").with("name", name),
            Self::Module(name) => Reason::new("module").with("name", name),
            Self::Service(name) => Reason::new("service").with("name", name),
            Self::Host { host, before: None } => Reason::new("host").with("host", host),
            Self::Host {
                host,
                before: Some(before),
            } => Reason::new("host_moved")
                .with("host", host)
                .with("before", before),
            Self::Process {
                id,
                name,
                service,
                fields,
            } => {
                let reason = Reason::new("process").with("id", id).with("name", name);
                let reason = reason.with("service", service);
                match fields.is_empty() {
                    true => reason,
                    false => reason.with("fields", fields),
                }
            }
            Self::ProcessGone { id, name } => {
                Reason::new("process").with("id", id).with("name", name)
            }
            Self::StillRuns { id, name } => {
                Reason::new("still_runs").with("id", id).with("name", name)
            }
        }
    }
}

impl fmt::Display for ChangeLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.mark)?;
        match &self.change {
            ChangeOf::Set(name) => write!(f, "set {name}"),
            ChangeOf::Module(name) => write!(f, "module {name}"),
            ChangeOf::Service(name) => write!(f, "service instance {name}"),
            ChangeOf::Host { host, before: None } => write!(f, "host {host}"),
            ChangeOf::Host {
                host,
                before: Some(before),
            } => write!(f, "host {host}, which was {before}"),
            ChangeOf::Process {
                id,
                name,
                service,
                fields,
            } => {
                let colon = if fields.is_empty() { "" } else { ": " };
                write!(f, "process {id} {name} of {service}{colon}{fields}")
            }
            ChangeOf::ProcessGone { id, name } => write!(f, "process {id} {name}"),
            ChangeOf::StillRuns { id, name } => {
                write!(
                    f,
                    "process {id} {name} still runs: shown until it is stopped"
                )
            }
        }
    }
}

impl ChangeCounts {
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }
}

impl Difference {
    pub fn is_empty(&self) -> bool {
        [
            self.sets,
            self.modules,
            self.hosts,
            self.services,
            self.processes,
            self.instances,
        ]
        .into_iter()
        .all(ChangeCounts::is_empty)
            && self.vanished == 0
    }

    pub(super) fn line(&mut self, mark: char, change: impl FnOnce() -> ChangeOf) {
        match self.lines.len() < MAX_LINES {
            true => self.lines.push(ChangeLine {
                mark,
                change: change(),
            }),
            false => self.more_lines += 1,
        }
    }

    /// Keeps the first faults, and counts the rest.
    pub(super) fn bound_troubles(&mut self) {
        let n_more = self.troubles.len().saturating_sub(MAX_TROUBLES);
        if n_more > 0 {
            self.troubles.truncate(MAX_TROUBLES);
            self.troubles.push(SourceFault {
                row: SourceRow("others".to_owned()),
                reason: format!("{n_more} more rows are wrong"),
                cause: Some(Reason::new("more").with("count", n_more)),
            });
        }
    }

    /// One line for the audit trail.
    pub(super) fn summary(&self) -> String {
        let part = |what: &str, tally: ChangeCounts| {
            (!tally.is_empty())
                .then(|| format!("{what} +{} ~{} -{}", tally.new, tally.changed, tally.gone))
        };
        let parts = [
            part("sets", self.sets),
            part("modules", self.modules),
            part("hosts", self.hosts),
            part("services", self.services),
            part("processes", self.processes),
            part("instances", self.instances),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// The changed fields, with commas between them.
pub(super) fn changed(before: &Program, now: &Program) -> String {
    let (before, now) = (fields(before), fields(now));
    let names: Vec<&str> = before
        .iter()
        .zip(&now)
        .filter(|(before, now)| before != now)
        .map(|((name, _), _)| *name)
        .collect();
    names.join(", ")
}

fn fields(program: &Program) -> [(&'static str, String); 16] {
    [
        ("bk_process_name", program.bk_process_name.clone()),
        ("bk_func_name", program.bk_func_name.clone()),
        ("proc_num", program.proc_num.to_string()),
        ("priority", format!("{:?}", program.priority)),
        ("user", program.user.clone()),
        ("work_path", program.work_path.clone()),
        ("pid_file", program.pid_file.clone()),
        ("start_cmd", program.start_cmd.clone()),
        ("stop_cmd", program.stop_cmd.clone()),
        ("restart_cmd", program.restart_cmd.clone()),
        ("reload_cmd", program.reload_cmd.clone()),
        ("face_stop_cmd", program.face_stop_cmd.clone()),
        ("timeout", format!("{:?}", program.timeout)),
        (
            "bk_start_check_secs",
            format!("{:?}", program.bk_start_check_secs),
        ),
        ("spec", program.spec.clone()),
        ("labels", format!("{:?}", program.labels)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_limited() {
        let trouble = |n: usize| SourceFault {
            row: SourceRow(n.to_string()),
            reason: "is wrong".to_owned(),
            cause: None,
        };
        let mut difference = Difference {
            troubles: (0..MAX_TROUBLES + 7).map(trouble).collect(),
            ..Difference::default()
        };
        difference.bound_troubles();
        assert_eq!(difference.troubles.len(), MAX_TROUBLES + 1);
        assert_eq!(
            difference.troubles[MAX_TROUBLES].reason,
            "7 more rows are wrong"
        );
    }
}
