//! Busy agents and idle servers, without faults: usage changes all the time, and the servers send nothing. Each side must
//! know that the other lives, so no session may end.

use std::time::Duration;

use model::Op;
use tokio::time::sleep;

use crate::program;
use crate::world::{N_HOSTS, N_PROCESSES, World};

/// Between the starts of two processes, so that they do not report together.
const BETWEEN_STARTS: Duration = Duration::from_secs(3);
/// The heartbeat interval: a busy agent reports at least once in it.
const CHECK_EVERY: Duration = Duration::from_secs(wire::HEARTBEAT_SECS);
/// Many times the silence that ends a session.
const CHECKS: u32 = 30;

pub(crate) async fn stay_connected(world: &mut World) -> Result<(), String> {
    world.is_healed = true;
    world.servers.start().await;
    world.agents.iter_mut().for_each(|agent| agent.start());
    sleep(BETWEEN_STARTS).await;
    for number in 0..N_PROCESSES {
        let spec = program::lasting_spec(&mut world.random, &program::name(number));
        let everywhere: Vec<usize> = (0..N_HOSTS).collect();
        world.register_as(everywhere.clone(), number, spec).await;
        world.operate_on(everywhere, number, Op::Start).await;
        sleep(BETWEEN_STARTS).await;
    }
    let connections = |world: &World| -> Vec<u64> {
        let links = world.agents.iter().map(|agent| &agent.link);
        links.map(|link| link.n_connections()).collect()
    };
    let statuses = |world: &World| -> u64 {
        let controls = world.servers.controls();
        controls.iter().map(|one| one.figures().statuses).sum()
    };
    let before = connections(world);
    let mut n_told = statuses(world);
    for look in 0..CHECKS {
        sleep(CHECK_EVERY).await;
        world.check_always().await?;
        let told = std::mem::replace(&mut n_told, statuses(world));
        if told == n_told {
            return Err(format!("look {look}: no agent had anything to report"));
        }
        let now = connections(world);
        if now != before {
            let (secs, was) = (look as u64 * wire::HEARTBEAT_SECS, before);
            return Err(format!(
                "after {secs} s of reports {now:?} connections were made, not {was:?}"
            ));
        }
    }
    world.servers.stop().await;
    Ok(())
}
