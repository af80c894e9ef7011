//! One history: a while of trouble, then quiet, then everything must be as promised.

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

use crate::brake::Brake;
use crate::busy;
use crate::diary::Diary;
use crate::replicas;
use crate::server_side;
use crate::world::{self, World};

/// How often it is looked whether a quiet world is as it should be, and how long that may take. The longest that
/// anything waits is a target for its deadline.
const LOOK_EVERY: Duration = Duration::from_secs(5);
const LOOKS: u32 = 60;

/// What a history was like; printed for a seed that was asked for.
#[derive(Debug)]
#[expect(dead_code, reason = "read through Debug only")]
pub(crate) struct Summary {
    pub(crate) n_tasks: usize,
    pub(crate) n_targets_ended: usize,
    pub(crate) n_events: usize,
    pub(crate) n_executions: usize,
}

/// What was wrong, and all that happened before.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) seed: u64,
    pub(crate) wrong: String,
    pub(crate) diary: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, wrong, diary } = self;
        writeln!(f, "{diary}\nseed {seed}: {wrong}")?;
        write!(
            f,
            "again: MUSTER_SIM_SEED={seed} cargo nextest run -p simulation --no-capture"
        )
    }
}

/// Lets one history happen, from its seed.
pub(crate) fn run(seed: u64) -> Result<Summary, Box<Failure>> {
    simulate(seed, async |dir, brake, diary| {
        history(&mut World::new(seed, dir, brake, diary)).await
    })
}

/// Lets two servers change one store without a word between them.
pub(crate) fn run_replicas(seed: u64) -> Result<(), Box<Failure>> {
    simulate(seed, async |dir, brake, _| {
        replicas::converge(seed, dir, &brake).await
    })
}

/// Lets agents report all the time to servers that have nothing to say, and nothing go wrong.
pub(crate) fn run_busy(seed: u64) -> Result<(), Box<Failure>> {
    simulate(seed, async |dir, brake, diary| {
        busy::stay_connected(&mut World::new(seed, dir, brake, diary)).await
    })
}

/// Runs a part of the world in simulated time, in a directory of its own.
fn simulate<T>(
    seed: u64,
    part: impl AsyncFnOnce(&Path, Brake, Diary) -> Result<T, String>,
) -> Result<T, Box<Failure>> {
    silence_kills();
    let dir = directory();
    server_side::make_template(dir.path(), &world::hosts());
    let (brake, diary) = (Brake::default(), Diary::default());
    let hook = brake.clone();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .on_thread_park(move || hook.before_sleep())
        .build()
        .expect("a runtime");
    brake.attach(runtime.handle());
    let part = part(dir.path(), brake.clone(), diary.clone());
    let lived = AssertUnwindSafe(|| LocalSet::new().block_on(&runtime, part));
    let lived = std::panic::catch_unwind(lived);
    brake.release();
    runtime.shutdown_background();
    let wrong = match lived {
        Ok(Ok(lived)) => return Ok(lived),
        Ok(Err(wrong)) => wrong,
        Err(panic) => words(panic.as_ref()),
    };
    let diary = diary.text();
    Err(Box::new(Failure { seed, wrong, diary }))
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
        world.mind().await;
        world.check_always().await?;
    }
    world.calm_down().await;
    quiet(world).await?;
    world.ask_and_cut().await;
    quiet(world).await?;
    world.nothing_asked_in_calm_was_lost().await?;
    // What was promised is on the disk, not only in the server's memory.
    world.diary.note("every server is killed once more");
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

/// A quiet world ends as wanted.
async fn quiet(world: &mut World) -> Result<(), String> {
    let mut wrong = String::new();
    for _ in 0..LOOKS {
        sleep(LOOK_EVERY).await;
        world.mind().await;
        match world.check_quiet().await {
            Ok(()) => return Ok(()),
            Err(why) => wrong = why,
        }
    }
    for agent in &world.agents {
        world
            .diary
            .note(format!("{}: {}", agent.address, agent.host.describe()));
        for state in agent.states() {
            world.diary.note(format!("{}: {state}", agent.address));
        }
    }
    Err(wrong)
}

/// In memory where there is such a place: nothing here is to outlive the machine.
fn directory() -> TempDir {
    let memory = PathBuf::from("/dev/shm");
    let made = tempfile::Builder::new()
        .prefix("muster-sim-")
        .tempdir_in(memory);
    made.or_else(|_| tempfile::tempdir())
        .expect("a temporary directory")
}

/// An agent that is killed on purpose is no news.
fn silence_kills() {
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
