//! Turns the machines' actions into system calls, and changes on the host into their events.
//!
//! One loop, one thread, and no work that holds it for long: what concerns all processes is done in slices. Each turn takes
//! what has arrived (requests, exits, timers), steps the machines concerned and
//! journals their new states. Another thread syncs the journal, once for everything written by then, before results and
//! events are reported; turns go on meanwhile. Only an accepted operation is synced at once, before it is acted on. A
//! process at rest costs a pidfd in one epoll set: no task, no timer.

mod answer;
mod drift;
mod drive;
mod family_kill;
mod group_membership;
mod health;
mod inspect;
mod limits;
mod logs;
mod net_probe;
mod oom;
mod order;
mod outbox;
mod output;
mod pace;
mod probe;
mod request;
mod run_history;
mod sample;
mod schedule;
mod side_command;
mod signal;
mod step;
mod supervised_process;
mod sync;
mod wrapped_program;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::path::{Path, PathBuf};
use std::time::Duration;

use model::group::ProcessGroup;
use model::spec::ProbeKind;
use model::{FullName, Namespace};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, Interval, MissedTickBehavior};

use crate::journal::entry::Ledger;
use crate::journal::{Journal, Syncing};
use crate::machine::{Boot, Depth, Event, Pools, Run};
use crate::os::cgroup::Cgroups;
use crate::os::exits::Exits;
use crate::os::family::Families;
use crate::os::kept_runs::KeptRuns;
use crate::os::kernel_log::KernelLog;
use crate::os::procfs::Stat;
use crate::os::sample::Sampler;
use crate::os::spools::Spools;
use crate::os::{clock, spawn};
use crate::supervisor::Supervisor;
use crate::{Notice, Options, Request, SupervisorError};
use drift::ConfigRead;
use family_kill::SideKill;
use order::OrderIndex;
use outbox::Outbox;
use output::Rotating;
use pace::Pace;
use probe::NetProbes;
use sample::{DiskCount, PeriodWork};
use side_command::SideCommand;
use supervised_process::SupervisedProcess;
use sync::done_syncing;

/// How many requests are taken in one turn; they share one sync.
const MAX_REQUESTS: usize = 1024;
/// How often output files are checked.
const BOUND_OUTPUT_EVERY: Duration = Duration::from_secs(1);
/// The same while one of them grows fast.
const BOUND_FLOOD_EVERY: Duration = Duration::from_millis(100);
/// How many of these checks there are for one regular check.
const FLOOD_ROUNDS: u32 = 10;

/// In every n-th check, also files that were not growing, of processes that used CPU.
const BOUND_ALL_EVERY: u32 = 5;
/// In every n-th check, also those of processes that used no CPU.
const BOUND_IDLE_EVERY: u32 = 60;

/// A held process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key(u32);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    Process(Key),
    /// A side command, by its pid.
    SideCommand(i32),
    /// A side command that is being killed, by its pid.
    SideKill(i32),
    /// A family that is being killed.
    FamilyKill(Key),
    /// A query that waits for a side command.
    Query(Key),
    Schedule(Key),
    Health(Key),
    Probe(Key, ProbeKind),
}

#[derive(Debug)]
pub(crate) struct Runner {
    dir: PathBuf,
    /// The value of `MUSTER_AGENT` in the environment of its commands.
    agent: String,
    options: Options,
    journal: Journal,
    ledger: Ledger,
    /// Boxed: a hash table allocates room for more entries than it has.
    held: HashMap<Key, Box<SupervisedProcess>>,
    names: HashMap<FullName, Key>,
    order: OrderIndex,
    next_key: u32,
    spools: Spools,
    runs: KeptRuns,
    exits: Exits,
    families: Families,
    /// The processes that watch a run.
    watchers: HashMap<Run, Vec<Key>>,
    sides: HashMap<i32, SideCommand>,
    side_kills: HashMap<i32, SideKill>,
    net_probes: NetProbes,
    timers: BinaryHeap<Reverse<(u64, Timer)>>,
    outbox: Outbox,
    sampler: Sampler,
    period_work: Option<PeriodWork>,
    pace: Pace,
    traffic_due_boot_ms: u64,
    disk_due_boot_ms: u64,
    config_due_boot_ms: u64,
    /// How far the wall clock is ahead of the boot clock.
    wall_lead_ms: i64,
    groups: BTreeMap<Namespace, Vec<ProcessGroup>>,
    pools: Pools,
    cgroups: Cgroups,
    kernel_log: KernelLog,
    rewrite_due_boot_ms: u64,
    /// When the journal may be synced again after a failure.
    sync_due_boot_ms: u64,
    bound_rounds: u32,
    /// An output grew fast before the last check.
    is_flooded: bool,
    flood_rounds: u32,
    /// An error was logged that the directory is gone.
    dir_is_lost: bool,
    boot: Boot,
    /// Whether the journal was read to its end.
    is_whole: bool,
    _lock: std::fs::File,
}

/// Identifies the agent by its directory: the same after a restart, and unique on this host.
fn agent_mark(dir: &Path) -> String {
    use std::os::unix::fs::MetadataExt;
    match std::fs::metadata(dir) {
        Ok(data) => format!("{:x}-{:x}", data.dev(), data.ino()),
        Err(_) => dir.display().to_string(),
    }
}

/// Whether the agent's directory was removed or replaced.
fn is_lost(dir: &Path, agent: &str) -> bool {
    agent_mark(dir) != agent || !dir.join("journal").exists()
}

impl Runner {
    pub(crate) fn new(
        supervisor: Supervisor,
        notices: mpsc::Sender<Notice>,
    ) -> Result<Self, SupervisorError> {
        spawn::prepare_agent_process();
        let agent = agent_mark(&supervisor.dir);
        let output = supervisor.dir.join("output");
        let runs = KeptRuns::in_dir(
            supervisor.dir.join("runs"),
            supervisor.options.output_runs,
            supervisor.options.output_max,
        );
        let control_groups = supervisor.options.control_groups;
        let options = &supervisor.options;
        let pace = Pace::new(options.sample_every, options.cpu_max);
        let mut runner = Self {
            agent: agent.clone(),
            dir: supervisor.dir,
            options: supervisor.options,
            journal: supervisor.journal,
            ledger: supervisor.state.ledger,
            held: HashMap::new(),
            names: HashMap::new(),
            order: OrderIndex::new(),
            next_key: 0,
            spools: Spools::in_dir(output),
            runs,
            exits: Exits::new().map_err(SupervisorError::Watch)?,
            families: Families::default(),
            watchers: HashMap::new(),
            sides: HashMap::new(),
            side_kills: HashMap::new(),
            net_probes: NetProbes::default(),
            timers: BinaryHeap::new(),
            outbox: Outbox::new(notices),
            sampler: Sampler::new(),
            period_work: None,
            pace,
            traffic_due_boot_ms: 0,
            disk_due_boot_ms: 0,
            config_due_boot_ms: 0,
            wall_lead_ms: clock::unix().0 - clock::boot_ms() as i64,
            groups: supervisor.state.groups,
            pools: Pools::default(),
            cgroups: Cgroups::find(&agent, control_groups),
            kernel_log: KernelLog::default(),
            rewrite_due_boot_ms: 0,
            sync_due_boot_ms: 0,
            bound_rounds: 0,
            is_flooded: false,
            flood_rounds: 0,
            dir_is_lost: false,
            boot: supervisor.boot,
            is_whole: supervisor.is_whole,
            _lock: supervisor._lock,
        };
        for (_, (hold, process)) in supervisor.state.held {
            runner.insert(hold, process);
        }
        Ok(runner)
    }

    pub(crate) async fn run(
        mut self,
        mut requests: mpsc::Receiver<Request>,
        mut stop: watch::Receiver<bool>,
    ) -> Result<(), SupervisorError> {
        let mut children = signal(SignalKind::child()).map_err(SupervisorError::Watch)?;
        let mut sample = ticks(Instant::now(), self.pace.period());
        let mut bound = ticks(Instant::now(), BOUND_OUTPUT_EVERY);
        if !self.cgroups.count_oom_kills() {
            self.kernel_log.read_on();
        }
        self.recover().await;
        let mut batch = Vec::new();
        let mut disk_count: Option<DiskCount> = None;
        let mut config_read: Option<ConfigRead> = None;
        let mut rotating: Option<Rotating> = None;
        let mut syncing: Option<Syncing> = None;
        loop {
            self.look_again();
            self.settle();
            if syncing.is_none() && self.wants_sync() {
                self.outbox.sync_begins();
                syncing = Some(self.journal.begin_sync());
            }
            self.families.forget_readings();
            self.spools.tidy();
            let wake = self.next_wake();
            let idle_outbox = self.outbox.is_empty();
            let no_net_probes = self.net_probes.is_idle();
            let has_period_work = self.period_work.is_some();
            tokio::select! {
                stopped = stop.wait_for(|stop| *stop) => {
                    drop(stopped);
                    break;
                }
                ready = self.exits.ready() => {
                    ready.map_err(SupervisorError::Watch)?;
                    self.take_exits();
                    self.exits.reap_orphans(clock::boot_ms());
                }
                _ = children.recv() => {
                    self.take_exits();
                    self.exits.reap_orphans(clock::boot_ms());
                }
                synced = done_syncing(&mut syncing), if syncing.is_some() => {
                    syncing = None;
                    self.synced(synced);
                }
                () = sleep_until(wake), if wake.is_some() => self.fire_timers(),
                end = self.net_probes.ended(), if !no_net_probes => self.net_probe_ended(end),
                has_room = self.outbox.has_room(), if !idle_outbox => if !has_room {
                    break;
                },
                taken = requests.recv_many(&mut batch, MAX_REQUESTS) => match taken {
                    0 => break,
                    _ => self.take_requests(batch.drain(..)),
                },
                _ = sample.tick() => {
                    self.period();
                    if self.pace.turn() {
                        let period = self.pace.period();
                        sample = ticks(Instant::now() + period, period);
                    }
                    if disk_count.is_none() {
                        disk_count = self.count_disk();
                    }
                    if config_read.is_none() {
                        config_read = self.read_configs();
                    }
                }
                // Everything else that is ready now comes before the next slice.
                () = tokio::task::yield_now(), if has_period_work => self.work_on_period(),
                found = done(&mut config_read), if config_read.is_some() => {
                    config_read = None;
                    self.configs_read(found);
                }
                counts = done(&mut disk_count), if disk_count.is_some() => {
                    disk_count = None;
                    self.disk_counted(counts);
                }
                _ = bound.tick() => {
                    let long = self.bound_output();
                    let pause = match self.is_flooded {
                        true => BOUND_FLOOD_EVERY,
                        false => BOUND_OUTPUT_EVERY,
                    };
                    bound.reset_after(pause);
                    if rotating.is_none() {
                        rotating = output::rotate(long);
                    }
                }
                results = done(&mut rotating), if rotating.is_some() => {
                    rotating = None;
                    self.rotated(results);
                }
            }
        }
        self.kill_sides();
        self.await_side_kills().await;
        let synced = done_syncing(&mut syncing).await;
        self.synced(synced);
        self.settle_for_good();
        self.spools.tidy();
        self.cgroups.tidy_commands();
        Ok(())
    }

    /// Goes on where an earlier agent stopped.
    async fn recover(&mut self) {
        let mut keys: Vec<Key> = self.held.keys().copied().collect();
        keys.sort();
        match self.boot {
            Boot::Same | Boot::StartLost | Boot::Damaged => {
                let mut boots = Vec::with_capacity(keys.len());
                for key in &keys {
                    self.find_children(*key);
                    self.restore_pid_file(*key);
                    boots.push(match self.is_whole {
                        true => self.boot,
                        false => self.kill_unrecorded_runs(*key),
                    });
                }
                // Before any machine observes them.
                self.await_family_kills().await;
                for (key, boot) in keys.iter().zip(boots) {
                    self.step(*key, Event::Recovered(boot));
                }
            }
            Boot::Other => self.step_all_for_new_boot(&keys),
        }
        for key in keys {
            self.refresh(key);
        }
        self.order_is_known();
        let held = &self.held;
        let sinks = || held.values().flat_map(|held| held.process.sinks());
        self.spools
            .remove_strays(|path| sinks().any(|sink| sink.path == path));
        // A damaged journal may lack processes that the server will register again.
        if self.is_whole {
            self.runs.remove_strays(self.names.keys());
        }
        self.cgroups.tidy_unheld(self.names.keys());
        self.cgroups.tidy_others();
    }

    /// Kills runs that a torn or damaged journal no longer records, so that no second copy starts beside them. A run that its
    /// pid file names is spared, and its machine told.
    fn kill_unrecorded_runs(&mut self, key: Key) -> Boot {
        let Some(held) = self.held.get(&key) else {
            return self.boot;
        };
        let mut runs = held.process.watched().into_iter();
        let is_known = runs.any(|run| match Stat::find(run.pid) {
            Ok(stat) => stat.is_some_and(|stat| stat.run() == run && stat.is_live()),
            // An error does not mean that it is gone.
            Err(_) => true,
        });
        let may_run = match self.boot {
            Boot::Same | Boot::StartLost => held.process.may_have_started(),
            Boot::Damaged | Boot::Other => true,
        };
        if is_known || !may_run {
            return self.boot;
        }
        match self.observe_from(key, Depth::Shallow, None) {
            Some(Ok(look)) if look.alive.is_none() => {
                self.begin_kill(key, None);
            }
            Some(Ok(_)) if self.boot == Boot::Same => return Boot::StartLost,
            Some(Ok(_) | Err(_)) | None => {}
        }
        self.boot
    }

    /// Finds the run that is a child of this process: an agent that was upgraded by `execve` keeps its children.
    fn find_children(&mut self, key: Key) {
        if let Some(held) = self.held.get_mut(&key) {
            let run = held.process.alive().map(|alive| alive.run);
            let stat = run.and_then(|run| Stat::read(run.pid));
            let us = std::process::id() as i32;
            held.started =
                run.filter(|run| stat.is_some_and(|stat| stat.run() == *run && stat.ppid == us));
        }
    }

    fn next_wake(&mut self) -> Option<Instant> {
        let now = clock::boot_ms();
        while let Some(Reverse((at, due))) = self.timers.peek() {
            if self.is_armed(*at, *due) {
                let wait = at.saturating_sub(now);
                return Some(Instant::now() + Duration::from_millis(wait));
            }
            self.timers.pop();
        }
        None
    }

    fn is_armed(&self, at: u64, due: Timer) -> bool {
        let held = |key| self.held.get(&key);
        let armed_at = match due {
            Timer::Process(key) => held(key).and_then(|held| held.armed),
            Timer::SideCommand(pid) => self.sides.get(&pid).map(|side| side.until_boot_ms),
            Timer::SideKill(pid) => self.side_kills.get(&pid).map(|side| side.due_boot_ms),
            Timer::FamilyKill(key) => held(key)
                .and_then(|held| held.family_kill.as_ref())
                .map(|kill| kill.due_boot_ms),
            Timer::Query(key) => held(key).and_then(|held| held.query_until_boot_ms),
            Timer::Schedule(key) => held(key).and_then(|held| held.schedule_due_boot_ms),
            Timer::Health(key) => held(key).and_then(|held| held.health_due_boot_ms),
            Timer::Probe(key, kind) => held(key)
                .and_then(|held| held.probes.as_ref())
                .and_then(|probes| probes.due(kind)),
        };
        armed_at == Some(at)
    }

    /// Fires the timers that are due.
    fn fire_timers(&mut self) {
        let now = clock::boot_ms();
        // Timers that become due meanwhile wait for the next turn, so that requests and exits are not starved.
        let mut fired = Vec::new();
        while let Some(Reverse((at, due))) = self.timers.peek().copied()
            && at <= now
        {
            self.timers.pop();
            fired.push((at, due));
        }
        for (at, due) in fired {
            if !self.is_armed(at, due) {
                continue;
            }
            match due {
                Timer::Process(key) => {
                    if let Some(held) = self.held.get_mut(&key) {
                        held.armed = None;
                    }
                    self.drive(key, Event::Tick);
                }
                Timer::SideCommand(pid) => self.side_timed_out(pid),
                Timer::SideKill(pid) => self.side_kill_timer_fired(pid),
                Timer::FamilyKill(key) => self.family_kill_timer_fired(key),
                Timer::Query(key) => self.answer_query(key),
                Timer::Schedule(key) => self.schedule_timer_fired(key),
                Timer::Health(key) => self.health_timer_fired(key),
                Timer::Probe(key, kind) => self.probe_timer_fired(key, kind),
            }
        }
    }

    fn take_exits(&mut self) {
        for (run, exit) in self.exits.take() {
            if let Some(side) = self.sides.remove(&run.pid) {
                self.side_ended(side, Some(exit));
            }
            for key in self.watchers.remove(&run).unwrap_or_default() {
                self.ended(key, run, exit);
            }
        }
        for run in self.exits.take_executed() {
            for key in self.watchers.get(&run).cloned().unwrap_or_default() {
                self.executed(key, run);
            }
        }
    }
}

/// The result of blocking work; the default when it failed.
async fn done<T: Default>(work: &mut Option<JoinHandle<T>>) -> T {
    match work {
        Some(work) => work.await.unwrap_or_default(),
        None => T::default(),
    }
}

/// Late ticks are not made up for.
fn ticks(first: Instant, every: Duration) -> Interval {
    let mut ticks = tokio::time::interval_at(first, every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

async fn sleep_until(wake: Option<Instant>) {
    if let Some(wake) = wake {
        tokio::time::sleep_until(wake).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_was_removed_or_replaced_is_lost() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("agent");
        let make = || {
            std::fs::create_dir(&dir).unwrap();
            std::fs::write(dir.join("journal"), "").unwrap();
        };
        make();
        let agent = agent_mark(&dir);
        assert!(!is_lost(&dir, &agent));
        std::fs::rename(&dir, home.path().join("elsewhere")).unwrap();
        assert!(is_lost(&dir, &agent));
        make();
        assert!(is_lost(&dir, &agent), "another of the same name");
    }
}
