//! One history: faults, then healing, then every promise must hold.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::Duration;

use supervisor::host::AgentKilled;
use tempfile::TempDir;
use testing::Random;
use tokio::task::LocalSet;
use tokio::time::sleep;

use crate::busy;
use crate::clock_hold::ClockHold;
use crate::history_log::HistoryLog;
use crate::replicas;
use crate::server_side;
use crate::world::{self, World};

/// How often and how many times the state after healing is checked before the history fails. The longest wait is that of a
/// roll for its targets, gates and the way back.
const CHECK_EVERY: Duration = Duration::from_secs(5);
const CHECKS: u32 = 150;

/// What a history was like; printed for a seed that was asked for.
#[derive(Debug)]
#[expect(dead_code, reason = "read through Debug only")]
pub(crate) struct Summary {
    pub(crate) n_tasks: usize,
    pub(crate) n_targets_ended: usize,
    pub(crate) n_events: usize,
    pub(crate) n_executions: usize,
}

/// A violated promise, with the log of the history.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) seed: u64,
    pub(crate) wrong: String,
    pub(crate) log: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, wrong, log } = self;
        writeln!(f, "{log}\nseed {seed}: {wrong}")?;
        write!(
            f,
            "again: MUSTER_SIM_SEED={seed} cargo nextest run -p simulation --no-capture"
        )
    }
}

/// Runs one history.
pub(crate) fn run(seed: u64) -> Result<Summary, Box<Failure>> {
    simulate(seed, async |dir, clock_hold, log| {
        history(&mut World::new(seed, dir, clock_hold, log)).await
    })
}

/// Runs two replicas on one store that exchange no message.
pub(crate) fn run_replicas(seed: u64) -> Result<(), Box<Failure>> {
    simulate(seed, async |dir, clock_hold, _| {
        replicas::converge(seed, dir, &clock_hold).await
    })
}

/// Runs agents that report all the time to idle servers, without faults.
pub(crate) fn run_busy(seed: u64) -> Result<(), Box<Failure>> {
    simulate(seed, async |dir, clock_hold, log| {
        busy::stay_connected(&mut World::new(seed, dir, clock_hold, log)).await
    })
}

/// Runs a simulation in simulated time, in its own directory.
fn simulate<T>(
    seed: u64,
    part: impl AsyncFnOnce(&Path, ClockHold, HistoryLog) -> Result<T, String>,
) -> Result<T, Box<Failure>> {
    take_lowest_priority();
    silence_kill_panics();
    let dir = directory();
    server_side::make_template(dir.path(), &world::hosts());
    let (clock_hold, log) = (ClockHold::default(), HistoryLog::default());
    let hook = clock_hold.clone();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .on_thread_park(move || hook.before_sleep())
        .build()
        .expect("a runtime");
    clock_hold.attach(runtime.handle());
    let part = part(dir.path(), clock_hold.clone(), log.clone());
    let lived = AssertUnwindSafe(|| LocalSet::new().block_on(&runtime, part));
    let lived = std::panic::catch_unwind(lived);
    clock_hold.release();
    runtime.shutdown_background();
    let wrong = match lived {
        Ok(Ok(lived)) => return Ok(lived),
        Ok(Err(wrong)) => wrong,
        Err(panic) => words(panic.as_ref()),
    };
    let log = log.text();
    Err(Box::new(Failure { seed, wrong, log }))
}

/// Mostly short, sometimes long.
pub(crate) fn pause(random: &mut Random) -> Duration {
    let most = random.weighted(&[(3, 1), (4, 60), (4, 1_000), (3, 6_000), (1, 50_000)]);
    random.millis_below(most)
}

async fn history(world: &mut World) -> Result<Summary, String> {
    world.begin().await;
    let n_actions = 5 + world.random.below(30);
    for _ in 0..n_actions {
        world.act().await;
        sleep(pause(&mut world.random)).await;
        world.note_agent_ends().await;
        world.check_always().await?;
    }
    world.heal().await;
    quiet(world).await?;
    world.operate_and_cut().await;
    quiet(world).await?;
    world.no_task_after_healing_was_terminated().await?;
    // Acknowledged changes must be on the disk, not only in the server's memory.
    world.log.note("every server is killed once more");
    world.servers.kill();
    world.servers.start().await;
    quiet(world).await?;
    world.servers.stop().await;
    let traces = || world.agents.iter().map(|agent| &agent.trace);
    Ok(Summary {
        n_tasks: world.tasks.len(),
        n_targets_ended: world.ends.len(),
        n_events: traces().map(|trace| trace.events.len()).sum(),
        n_executions: traces().map(|trace| trace.executions.len()).sum(),
    })
}

/// Waits until the healed system is in its desired state.
async fn quiet(world: &mut World) -> Result<(), String> {
    let mut wrong = String::new();
    for _ in 0..CHECKS {
        sleep(CHECK_EVERY).await;
        world.note_agent_ends().await;
        match world.check_quiet().await {
            Ok(()) => return Ok(()),
            Err(why) => wrong = why,
        }
    }
    for agent in &world.agents {
        world
            .log
            .note(format!("{}: {}", agent.address, agent.host.describe()));
        for state in agent.states() {
            world.log.note(format!("{}: {state}", agent.address));
        }
    }
    Err(wrong)
}

/// In memory if possible, because that is faster.
fn directory() -> TempDir {
    let memory = PathBuf::from("/dev/shm");
    let made = tempfile::Builder::new()
        .prefix("muster-sim-")
        .tempdir_in(memory);
    made.or_else(|_| tempfile::tempdir())
        .expect("a temporary directory")
}

/// Takes the lowest priority for this thread and those that it starts, so that tests of real processes beside it keep their
/// timing. A failure costs only that.
fn take_lowest_priority() {
    let _ = rustix::process::nice(19);
}

/// Suppresses the panic messages of agents that are killed on purpose.
fn silence_kill_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !panic.payload().is::<AgentKilled>() {
                before(panic);
            }
        }));
    });
}

fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let said = panic.downcast_ref::<String>().cloned();
    let said = said.or_else(|| panic.downcast_ref::<&str>().map(|said| (*said).to_owned()));
    said.unwrap_or_else(|| "something panicked".to_owned())
}
