//! Finds the registered process of a task.

use fleet::view::{Instance, ViewRow};
use fleet::{Fleet, Row};
use model::job::{JobTarget, JobTaskRow};
use model::topology::{escape_alias, split_instance_name};
use model::{FullName, Host};

use super::gate::Observed;
use crate::topology::instance;

/// The registration of a task: the one that it was created for, else the one that replaced it.
pub(super) fn instance_of<'a>(
    fleet: &Fleet,
    row: &ViewRow<'a>,
    local_inst_id: u32,
    task: &JobTaskRow,
) -> Option<Instance<'a>> {
    let expected = instance(fleet, row, local_inst_id);
    let label = &task.label;
    let is_it = |instance: &Instance<'_>| {
        let (name, host) = (instance.row.name(), instance.row.host().host);
        instance.local_inst_id == local_inst_id
            && host.cloud == label.bk_cloud_id
            && host.ip.to_string() == label.bk_host_innerip
            && split_instance_name(&name.name)
                .is_some_and(|(alias, _)| alias == escape_alias(&label.bk_process_name))
    };
    if expected.as_ref().is_some_and(is_it) {
        return expected;
    }
    row.instances().into_iter().find(is_it).or(expected)
}

/// Whether the agent of a task is connected. True for a task without an instance, which fails when it starts.
pub(super) fn is_connected(fleet: &Fleet, task: &JobTaskRow) -> bool {
    if let JobTarget::Agent { agent } = &task.target {
        return fleet.find_host(agent).is_none_or(|view| view.link.is_up());
    }
    row_of(fleet, task).is_none_or(|row| row.host().link.is_up())
}

/// What the fleet shows of the process of a task; None if it is not registered.
pub(super) fn observed(fleet: &Fleet, task: &JobTaskRow) -> Option<Observed> {
    let row = row_of(fleet, task)?;
    let probes = row.probes();
    let results = [row.health(), probes.ready, probes.live].into_iter();
    let health = results.flatten().find(|result| !result.ok);
    let exit = || row.last_exit().map(|last| last.exit.to_string());
    Some(Observed {
        state: row.process_state(),
        pid: row.pid(),
        restarts: row.restarts(),
        has_ready_probe: row.definition().spec.probes.ready.is_some(),
        detail: match health {
            Some(health) => health.message,
            None => exit().unwrap_or_default(),
        },
    })
}

/// The registration of the process of a task.
pub(super) fn row_of<'a>(fleet: &'a Fleet, task: &JobTaskRow) -> Option<Row<'a>> {
    match &task.target {
        JobTarget::Instance {
            process,
            local_inst_id,
        } => {
            let row = fleet.view_row(*process)?;
            Some(instance_of(fleet, &row, *local_inst_id, task)?.row)
        }
        JobTarget::Registered { registered, host } => registration(fleet, registered, *host),
        JobTarget::Agent { .. } => None,
    }
}

/// A registered process on a host.
pub(super) fn registration<'a>(fleet: &'a Fleet, name: &FullName, host: Host) -> Option<Row<'a>> {
    fleet.process(fleet.host_id(&host)?, fleet.name_id(name)?)
}
