//! get_proc_operate_result: every key of a task, from the first poll on.

use control::{TargetView, TaskView};
use fleet::Fleet;
use model::Code;
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::content::{About, content};
use super::refusal::Refusal;
use super::register::{Entry, Key, Suffix};
use super::request::RawRequest;
use super::{Ask, success};

pub(crate) async fn result(ask: &Ask<'_>, request: RawRequest) -> Result<Vec<u8>, Refusal> {
    let id = request.task_id()?;
    let control = &ask.http.control;
    let task = control.task(ask.caller, id).await?;
    let fleet = control.fleet();
    Ok(success(Results {
        task: &task,
        fleet: &fleet,
    }))
}

/// A map by key, written without building it.
pub(crate) struct Results<'a> {
    pub task: &'a TaskView,
    pub fleet: &'a Fleet,
}

impl Serialize for Results<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for target in &self.task.targets {
            let content = match &target.outcome {
                None => String::new(),
                Some(outcome) => content(target.op, outcome, &about(target, self.fleet)),
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

/// What the fleet knows of a target now.
fn about<'a>(target: &'a TargetView, fleet: &'a Fleet) -> About<'a> {
    let host = target.host.as_ref().and_then(|host| fleet.host_id(host));
    let row = host
        .zip(fleet.name_id(&target.process))
        .and_then(|(host, name)| fleet.process(host, name));
    let identity = row.map(|row| &row.definition().spec.identity);
    About {
        process: &target.process,
        ip: target
            .host
            .map(|host| host.ip.to_string())
            .unwrap_or_default(),
        agent_id: host
            .and_then(|host| fleet.host(host)?.agent_id)
            .map_or("", |id| id.as_str()),
        proc_name: identity
            .map(|identity| identity.proc_name.as_str())
            .or(target.probe.as_ref().map(|probe| probe.proc_name.as_str()))
            .unwrap_or_default(),
        setup_path: identity
            .map(|identity| identity.setup_path.as_str())
            .or(target.probe.as_ref().map(|probe| probe.setup_path.as_str()))
            .unwrap_or_default(),
        registered_at: row.map(|row| row.registered_at()).unwrap_or_default(),
        managed: row.is_some_and(|row| row.managed()),
    }
}
