//! Streams the output of a process from its host.

use std::time::Duration;

use fleet::Row;
use model::access::{Caller, Permission};
use model::change::HostId;
use model::selector::LabelSelector;
use model::{FullName, Host, Invalid, LinePattern};
use wire::ask::{Logs, Question};

use super::Sessions;
use super::question::AnswerStream;
use crate::ControlError;
use crate::access::may_with;

/// How many hosts a refusal names.
const MAX_NAMED: usize = 5;

/// Which output to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogsOf {
    pub process: FullName,
    /// Optional if the process is on one host only.
    pub host: Option<Host>,
    /// Only on a host where the labels of the process pass.
    pub labels: Option<LabelSelector>,
    pub tail_lines: u32,
    /// Continues with new output.
    pub follow: bool,
    /// The run before the current or last one.
    pub previous: bool,
    /// Only what was written within this time.
    pub since: Option<Duration>,
    /// Only lines that match.
    pub grep: Option<LinePattern>,
    /// The run with this number in the history; not with `follow`, `previous` or `since`.
    pub run: Option<u32>,
}

impl LogsOf {
    /// The last lines of the current run.
    pub fn last_lines(process: FullName, tail_lines: u32) -> Self {
        Self {
            process,
            host: None,
            labels: None,
            tail_lines,
            follow: false,
            previous: false,
            since: None,
            grep: None,
            run: None,
        }
    }

    fn question(&self) -> Question {
        let logs = Logs {
            process: self.process.clone(),
            tail_lines: self.tail_lines,
            follow: self.follow,
            previous: self.previous,
            since_ms: self
                .since
                .map(|since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX)),
            grep: self.grep.clone(),
            run: self.run,
        };
        logs.into_question()
    }
}

impl Sessions {
    /// The last lines of a process's output. If its agent has none, the output of its last operation.
    pub async fn logs(
        &self,
        caller: &Caller,
        wanted: LogsOf,
    ) -> Result<AnswerStream, ControlError> {
        if wanted.previous && wanted.follow {
            let rule = "cannot be followed: the run before the current one has ended";
            return Err(Invalid::new("previous", rule).into());
        }
        if wanted.run.is_some() && (wanted.follow || wanted.previous || wanted.since.is_some()) {
            let rule = "names one run: leave out follow, previous and since";
            return Err(Invalid::new("run", rule).into());
        }
        let labels = wanted.labels.as_ref();
        let (host, id) = self.only_host(
            (caller, Permission::Operate),
            &wanted.process,
            wanted.host,
            labels,
        )?;
        let question = wanted.question();
        // What an operation wrote has no time and is no run.
        let is_plain = matches!(question, Question::Logs(_));
        match self.ask(host, question).await {
            Err(ControlError::NotFound(reason)) if is_plain => {
                match self.core.tasks.last_output(id, &wanted.process) {
                    Some((op, output)) => {
                        let text = format!("muster: {reason}; its last {op} wrote:\n{output}");
                        Ok(AnswerStream::known(host, text.into_bytes()))
                    }
                    None => Err(ControlError::NotFound(reason)),
                }
            }
            other => other,
        }
    }

    /// The host that is asked for, or the only one that the process is on and where the caller has the permission.
    pub(crate) fn only_host(
        &self,
        (caller, permission): (&Caller, Permission),
        name: &FullName,
        host: Option<Host>,
        labels: Option<&LabelSelector>,
    ) -> Result<(Host, HostId), ControlError> {
        let fleet = self.core.fleet();
        let rows = fleet.name_id(name).into_iter();
        let may = |row: &Row<'_>| may_with(caller, permission, row);
        let hosts: Vec<(Host, HostId)> = rows
            .flat_map(|id| fleet.processes_named(id))
            .filter(may)
            .filter(|row| labels.is_none_or(|labels| row.passes(labels)))
            .map(|row| (row.host().host, row.host().id))
            .collect();
        // A caller that has the permission for some processes only does not learn where others are.
        let is_found = match host {
            Some(host) => hosts.iter().any(|(on, _)| *on == host),
            None => !hosts.is_empty(),
        };
        if !is_found {
            self.access.check(caller, permission, &name.namespace)?;
        }
        match (host, hosts.as_slice()) {
            (_, []) => Err(ControlError::NotFound(match labels {
                None => format!("process {name} is not registered"),
                Some(labels) => format!("process {name} is on no host with the labels {labels}"),
            })),
            (None, [only]) => Ok(*only),
            (None, several) => {
                let named: Vec<String> = several
                    .iter()
                    .take(MAX_NAMED)
                    .map(|(host, _)| host.to_string())
                    .collect();
                let (n, named) = (
                    several.len(),
                    crate::answers::shortened(named, several.len()),
                );
                let rule = format!("must be given: {name} is on {n} hosts: {named}");
                Err(Invalid::new("host", rule).into())
            }
            (Some(host), hosts) => {
                let found = hosts.iter().find(|(on, _)| *on == host);
                found.copied().ok_or_else(|| {
                    ControlError::NotFound(format!("process {name} is not registered on {host}"))
                })
            }
        }
    }
}
