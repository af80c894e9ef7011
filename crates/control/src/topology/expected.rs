//! Which registration an instance of the view should have. Used by the planner, jobs and `retire`.

use fleet::Fleet;
use fleet::view::{Instance, ViewRow};
use model::change::HostId;
use model::topology::{MachineRow, business_of, escape_alias, split_instance_name};

use super::render::{self, Variables};

/// The host of a machine: by its agent id, else by its address.
pub(crate) fn host_of(fleet: &Fleet, machine: &MachineRow) -> Option<HostId> {
    let by_agent = machine.agent_id.as_ref();
    by_agent
        .and_then(|agent| fleet.host_of_agent(agent))
        .or_else(|| fleet.host_id(&machine.host))
}

/// Whether a registration is expected; else it is left over from an earlier name or host of its process.
pub(crate) fn is_expected(fleet: &Fleet, process: &ViewRow<'_>, row: &fleet::Row<'_>) -> bool {
    let name = row.name();
    let Some((alias, local)) = split_instance_name(&name.name) else {
        return false;
    };
    !process.process.vanished
        && business_of(&name.namespace) == Some(process.business.id)
        && alias == escape_alias(&process.program.bk_process_name)
        && (1..=process.program.proc_num).contains(&local)
        && host_of(fleet, process.machine) == Some(row.host().id)
}

/// Why an instance of the view is not registered: its spec is invalid, or another process has its name.
pub(crate) fn why_unregistered(process: &ViewRow<'_>, local_inst_id: u32) -> String {
    let variables = Variables::of(process, local_inst_id);
    let why = match render::spec(process.program, &variables, Vec::new()) {
        Err(invalid) => invalid.to_string(),
        Ok(_) => "refresh the business to hear what is wrong with it".to_owned(),
    };
    format!("this instance of the process is not registered: {why}")
}

/// The instances that jobs act on: the expected ones, or all of a vanished process.
pub(crate) fn instances<'a>(fleet: &Fleet, process: &ViewRow<'a>) -> Vec<Instance<'a>> {
    let mut all = process.instances();
    if !process.process.vanished {
        all.retain(|instance| is_expected(fleet, process, &instance.row));
    }
    all
}

/// One instance that jobs act on.
pub(crate) fn instance<'a>(
    fleet: &Fleet,
    process: &ViewRow<'a>,
    local_inst_id: u32,
) -> Option<Instance<'a>> {
    let all = instances(fleet, process);
    let mut all = all.into_iter();
    all.find(|instance| instance.local_inst_id == local_inst_id)
}
