//! What vanished, or is too many, goes when it has stopped.

use std::time::Duration;

use model::State;
use model::change::Changes;
use model::topology::{BkProcessId, ServiceId, business_of, parts_of_instance};
use tokio::sync::watch;

use super::plan::forget_files;
use crate::commit::World;
use crate::register::Draft;
use crate::{Control, stopped};

/// How often it is looked at, told or not.
const LOOK_EVERY: Duration = Duration::from_secs(10);

pub(crate) async fn run(control: Control, mut stop: watch::Receiver<bool>) {
    loop {
        tokio::select! {
            () = stopped(&mut stop) => return,
            () = control.0.retire.notified() => {}
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
        if control.fleet().view().surplus().is_empty() {
            continue;
        }
        let at = control.now();
        if let Err(error) = control.commit(move |world| Ok((plan(world, at), ()))).await {
            tracing::warn!(%error, "what vanished from the topology cannot be forgotten yet");
        }
    }
}

fn plan(world: &World<'_>, at: model::UnixMillis) -> Changes {
    let view = world.fleet.view();
    let mut draft = Draft::new(world, at);
    let mut gone: Vec<BkProcessId> = Vec::new();
    for id in view.surplus().iter().map(BkProcessId) {
        let mut left = 0;
        for instance in world.fleet.instances_of(id) {
            let Some(row) = world.fleet.row(instance) else {
                continue;
            };
            if row.state() != State::Running && !is_expected(world, id, &row) {
                draft.forget(instance);
            } else {
                left += 1;
            }
        }
        if left == 0 && view.has_vanished(id) {
            forget_files(&mut draft, view, id);
            gone.push(id);
        }
    }
    drop_services(&mut draft, world, &gone);
    draft.changes.topology.processes_gone = gone;
    draft.finish()
}

/// Whether a registration is one that its process should have.
fn is_expected(world: &World<'_>, owner: BkProcessId, row: &fleet::Row<'_>) -> bool {
    let Some(process) = world.fleet.view_row(owner) else {
        return false;
    };
    let name = row.name();
    let Some((alias, local)) = parts_of_instance(&name.name) else {
        return false;
    };
    let machine = process.machine;
    let on_its_host = row.host().host == machine.host
        || (machine.agent_id.is_some() && row.host().agent_id == machine.agent_id.as_ref());
    !process.process.vanished
        && business_of(&name.namespace) == Some(process.business.id)
        && alias == process.program.bk_process_name
        && (1..=process.program.proc_num).contains(&local)
        && on_its_host
}

/// Services without a process are not kept, nor programs, nor machines; sets and modules are their source's.
fn drop_services(draft: &mut Draft<'_>, world: &World<'_>, gone: &[BkProcessId]) {
    let view = world.fleet.view();
    let mut services: Vec<ServiceId> = gone
        .iter()
        .filter_map(|id| view.process(*id))
        .map(|row| row.service)
        .collect();
    services.sort_unstable();
    services.dedup();
    services.retain(|id| view.processes_of_service(*id).all(|id| gone.contains(&id)));
    draft.changes.topology.services_gone = services;
}
