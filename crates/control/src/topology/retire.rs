//! Unregisters vanished and surplus instances once they have stopped.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use model::State;
use model::change::Changes;
use model::topology::{BkProcessId, ProgramId, ServiceId};
use roaring::RoaringBitmap;
use tokio::sync::watch;

use super::Topology;
use super::expected::is_expected;
use super::plan::forget_files;
use crate::commit::World;
use crate::draft::Draft;
use crate::stopped;

/// How often to check without a wake-up.
const POLL_EVERY: Duration = Duration::from_secs(10);

pub(crate) async fn run(topology: Arc<Topology>, mut stop: watch::Receiver<bool>) {
    let core = &topology.core;
    loop {
        tokio::select! {
            () = stopped(&mut stop) => return,
            () = core.retire.notified() => {}
            () = tokio::time::sleep(POLL_EVERY) => {}
        }
        if !topology.replicas.leads() || core.fleet().view().surplus().is_empty() {
            continue;
        }
        let at = core.now();
        if let Err(error) = core.commit(move |world| Ok((plan(world, at), ()))).await {
            tracing::warn!(%error, "what vanished from the topology cannot be forgotten yet");
        }
    }
}

fn plan(world: &World<'_>, at: model::UnixMillis) -> Changes {
    let view = world.fleet.view();
    let mut draft = Draft::new(world, at);
    let mut gone: Vec<BkProcessId> = Vec::new();
    for id in view.surplus().iter().map(BkProcessId) {
        let process = world.fleet.view_row(id);
        let expected =
            |row: &_| process.is_some_and(|process| is_expected(world.fleet, &process, row));
        let mut left = 0;
        for instance in world.fleet.instances_of(id) {
            let Some(row) = world.fleet.row(instance) else {
                continue;
            };
            if row.state() != State::Running && !expected(&row) {
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
    if !gone.is_empty() {
        drop_places(&mut draft, world, &gone);
    }
    draft.changes.topology.processes_gone = gone;
    draft.finish()
}

/// Drops services, programs and machines without a process. Sets and modules belong to the source.
pub(super) fn drop_places(draft: &mut Draft<'_>, world: &World<'_>, gone: &[BkProcessId]) {
    let view = world.fleet.view();
    let all_gone: RoaringBitmap = gone.iter().map(|id| id.0).collect();
    let rows = || gone.iter().filter_map(|id| view.process(*id));
    let services: BTreeSet<ServiceId> = rows().map(|row| row.service).collect();
    let topology = &mut draft.changes.topology;
    for id in services {
        let mut processes = view.processes_of_service(id);
        if processes.all(|id| all_gone.contains(id.0)) {
            topology.services_gone.push(id);
        }
    }
    let of_services = topology.services_gone.iter();
    let machines: BTreeSet<_> = of_services
        .filter_map(|id| view.service(*id))
        .map(|row| row.machine)
        .collect();
    let is_empty = |id: &_| {
        let there = view.processes_on(*id);
        there.is_none_or(|there| there.is_subset(&all_gone))
    };
    let machines = machines.into_iter().filter(is_empty);
    topology.machines_gone.extend(machines);
    let mut lost: BTreeMap<ProgramId, u32> = BTreeMap::new();
    for row in rows() {
        *lost.entry(row.program).or_default() += 1;
    }
    let unused = lost.into_iter();
    let unused = unused.filter(|(program, lost)| view.program_users(*program) == *lost);
    topology
        .programs_gone
        .extend(unused.map(|(program, _)| program));
}
