//! get_proc_operate_result: every key of a task, also while it runs.

use control::{HostLookup, HostSelector, TargetView, TaskView};
use model::{Code, Outcome};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::content::{TargetFacts, content, output_share};
use super::refusal::Refusal;
use super::register::{Entry, Key, Suffix};
use super::request::RawRequest;
use super::{RequestContext, success};

pub(crate) async fn result(
    context: &RequestContext<'_>,
    request: RawRequest,
) -> Result<Vec<u8>, Refusal> {
    let id = request.task_id()?;
    let control = &context.http.control;
    let response = control
        .operations()
        .read_task(context.caller, id, |task, hosts| {
            success(Results { task, hosts })
        })
        .await?;
    Ok(response)
}

/// A map by key, serialised without building it.
pub(crate) struct Results<'a> {
    pub task: &'a TaskView,
    pub hosts: HostLookup<'a>,
}

impl Serialize for Results<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let max_output = output_share(self.task.targets.len());
        for target in &self.task.targets {
            let content = match &target.outcome {
                None => String::new(),
                Some(outcome) => content(
                    target.op,
                    outcome,
                    &facts(target, outcome, self.hosts, max_output),
                ),
            };
            let (code, message) = match &target.outcome {
                None => (Code::HANDLING, "handling"),
                Some(outcome) => (outcome.code, outcome.message.as_str()),
            };
            let entry = Entry {
                error_code: code.0,
                error_msg: message,
                content: &content,
            };
            for prefix in target.key_prefixes.iter() {
                map.serialize_entry(&Key(prefix, Suffix::Process(&target.process)), &entry)?;
            }
        }
        map.end()
    }
}

fn facts<'a>(
    target: &'a TargetView,
    outcome: &'a Outcome,
    hosts: HostLookup<'a>,
    max_output: usize,
) -> TargetFacts<'a> {
    let host = target
        .host
        .and_then(|host| hosts.find(&HostSelector::Host(host)));
    let subject = outcome.subject.as_deref();
    TargetFacts {
        process: &target.process,
        ip: target
            .host
            .map(|host| host.ip.to_string())
            .unwrap_or_default(),
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
