//! get_proc_operate_result: every key of a task, also while it runs.

use control::{HostLookup, HostSelector, TargetView, TaskView};
use model::{Code, Op, Outcome};
use serde::ser::{Error as _, Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use super::RequestContext;
use super::content::{TargetFacts, content, output_share};
use super::refusal::Refusal;
use super::register::{Entry, Key, Suffix};
use super::request::RawRequest;
use crate::http::envelope;

pub(crate) async fn result(
    context: &RequestContext<'_>,
    request: RawRequest,
) -> Result<Vec<u8>, Refusal> {
    let id = request.task_id()?;
    let control = &context.http.control;
    let response = control
        .operations()
        .read_task(context.caller, id, |task, hosts| {
            envelope::good_with("success", |bytes| write(task, hosts, bytes))
        })
        .await?;
    Ok(response)
}

/// Writes the results of all targets. A poll of a large task writes anew only what changed since the last one.
fn write(task: &TaskView, hosts: HostLookup<'_>, bytes: &mut Vec<u8>) {
    let all = Results::of(task, hosts);
    bytes.push(b'{');
    for (n, (targets, kept)) in task.parts().enumerate() {
        let part = Results { targets, ..all };
        if n > 0 {
            bytes.push(b',');
        }
        match targets.iter().any(says_what_may_change) {
            true => bytes.extend_from_slice(&part.entries()),
            false => bytes.extend_from_slice(kept.get_or_write(|| part.entries())),
        }
    }
    bytes.push(b'}');
}

/// The result of a query names its host, with the agent id that it has now.
fn says_what_may_change(target: &TargetView) -> bool {
    target.op == Op::Query && target.outcome.is_some()
}

/// A map by key, serialised without building it.
#[derive(Clone, Copy)]
pub(crate) struct Results<'a> {
    targets: &'a [TargetView],
    hosts: HostLookup<'a>,
    max_output: usize,
}

impl<'a> Results<'a> {
    pub(crate) fn of(task: &'a TaskView, hosts: HostLookup<'a>) -> Self {
        Self {
            targets: &task.targets,
            hosts,
            max_output: output_share(task.targets.len()),
        }
    }

    /// Without the braces around them. Each target has a key.
    fn entries(&self) -> Box<[u8]> {
        let map = serde_json::to_vec(self).expect("results have only string keys");
        map[1..map.len() - 1].into()
    }
}

impl Serialize for Results<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let handling = serde_json::value::to_raw_value(&Entry {
            error_code: Code::HANDLING.0,
            error_msg: "handling",
            content: "",
        });
        let handling = handling.map_err(S::Error::custom)?;
        // One buffer for the keys of all targets: a task has very many.
        let mut key = String::new();
        for target in self.targets {
            let write = |outcome: &Outcome| {
                let entry = entry(target, outcome, self.hosts, self.max_output);
                entry.map_err(S::Error::custom)
            };
            let made;
            let entry = match &target.outcome {
                None => &*handling,
                Some(outcome) if says_what_may_change(target) => {
                    made = write(outcome)?;
                    &*made
                }
                Some(outcome) => match outcome.written() {
                    Some(written) => written,
                    None => outcome.keep_written(write(outcome)?),
                },
            };
            for prefix in target.key_prefixes.iter() {
                key.clear();
                Key(prefix, Suffix::Process(&target.process)).write(&mut key);
                map.serialize_entry(&key, entry)?;
            }
        }
        map.end()
    }
}

/// What is told of a target that has ended.
fn entry(
    target: &TargetView,
    outcome: &Outcome,
    hosts: HostLookup<'_>,
    max_output: usize,
) -> serde_json::Result<Box<RawValue>> {
    let facts = facts(target, outcome, hosts, max_output);
    serde_json::value::to_raw_value(&Entry {
        error_code: outcome.code.0,
        error_msg: &outcome.message,
        content: &content(target.op, outcome, &facts),
    })
}

fn facts<'a>(
    target: &'a TargetView,
    outcome: &'a Outcome,
    hosts: HostLookup<'a>,
    max_output: usize,
) -> TargetFacts<'a> {
    // Only the result of a query names its host.
    let of_query = target.host.filter(|_| target.op == Op::Query);
    let host = of_query.and_then(|host| hosts.find(&HostSelector::Host(host)));
    let subject = outcome.subject.as_deref();
    TargetFacts {
        process: &target.process,
        ip: of_query.map_or_else(String::new, |host| host.ip.to_string()),
        agent_id: host
            .and_then(|host| host.agent_id)
            .map_or("", |id| id.as_str()),
        proc_name: subject.map_or("", |subject| &subject.proc_name),
        setup_path: subject.map_or("", |subject| &subject.setup_path),
        registered_at: subject
            .map(|subject| subject.registered_at)
            .unwrap_or_default(),
        managed: subject.is_some_and(|subject| subject.managed),
        max_output,
    }
}
