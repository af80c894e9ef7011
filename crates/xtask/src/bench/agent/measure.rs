//! Measures one supervisor.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::sandbox::Sandbox;
use super::{BenchPaths, Peer, Supervisor};
use crate::{interrupt, usage};

/// A figure, or why it is missing.
pub(super) type Cell<T> = Result<T, String>;

/// The size of the benchmark.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) whole: usize,
    pub(super) kills: usize,
    /// Between two kills of one process. Some supervisors delay the restart of a process that ran for less than a second.
    pub(super) gap: Duration,
    pub(super) idle: Duration,
    /// Limit for processes to start.
    pub(super) patience: Duration,
}

impl Plan {
    pub(super) const WHOLE: Self = Self {
        whole: 1000,
        kills: 50,
        gap: Duration::from_millis(1200),
        idle: Duration::from_secs(30),
        patience: Duration::from_secs(90),
    };
    pub(super) const QUICK: Self = Self {
        whole: 100,
        kills: 10,
        idle: Duration::from_secs(5),
        patience: Duration::from_secs(30),
        ..Self::WHOLE
    };

    /// The whole benchmark with so many processes, and as much more patience.
    pub(super) fn of(processes: usize) -> Self {
        let times = u32::try_from(processes.div_ceil(Self::WHOLE.whole)).unwrap_or(u32::MAX);
        Self {
            whole: processes,
            patience: Self::WHOLE.patience.saturating_mul(times.max(1)),
            ..Self::WHOLE
        }
    }

    pub(super) fn half(&self) -> usize {
        self.whole / 2
    }
}

#[derive(Debug)]
pub(super) struct Figures {
    /// Why nothing was measured.
    pub(super) skipped: Option<String>,
    pub(super) restart_p50: Cell<Duration>,
    pub(super) restart_p99: Cell<Duration>,
    /// Until the API shows it as well: p50 and p99.
    pub(super) reported: Option<(Duration, Duration)>,
    pub(super) start_half: Cell<Duration>,
    pub(super) start_whole: Cell<Duration>,
    pub(super) storm: Cell<Duration>,
    pub(super) memory_none: Cell<u64>,
    pub(super) memory_half: Cell<u64>,
    pub(super) memory_whole: Cell<u64>,
    /// Of one core.
    pub(super) idle_cpu: Cell<f64>,
}

impl Figures {
    fn none(why: &str) -> Self {
        Self {
            skipped: None,
            restart_p50: Err(why.to_owned()),
            restart_p99: Err(why.to_owned()),
            reported: None,
            start_half: Err(why.to_owned()),
            start_whole: Err(why.to_owned()),
            storm: Err(why.to_owned()),
            memory_none: Err(why.to_owned()),
            memory_half: Err(why.to_owned()),
            memory_whole: Err(why.to_owned()),
            idle_cpu: Err(why.to_owned()),
        }
    }

    pub(super) fn skipped(why: String) -> Self {
        Self {
            skipped: Some(why),
            ..Self::none("skipped")
        }
    }

    /// Notes below the table: failures, and figures without a column.
    pub(super) fn notes(&self, name: &str, plan: &Plan) -> Vec<String> {
        let (half, whole) = (plan.half(), plan.whole);
        let failed = [
            ("restart".to_owned(), self.restart_p50.as_ref().err()),
            (format!("start {half}"), self.start_half.as_ref().err()),
            (format!("start {whole}"), self.start_whole.as_ref().err()),
            (format!("storm of {whole}"), self.storm.as_ref().err()),
            ("memory at 0".to_owned(), self.memory_none.as_ref().err()),
            ("idle CPU".to_owned(), self.idle_cpu.as_ref().err()),
        ];
        let failed = failed
            .into_iter()
            .filter_map(|(what, why)| Some(format!("{name}, {what}: {}", why?)));
        let reported = self.reported.map(|(p50, p99)| {
            format!(
                "{name}, from the kill until the API shows the new pid as running: p50 {:.2} ms, p99 {:.2} ms",
                p50.as_secs_f64() * 1000.0,
                p99.as_secs_f64() * 1000.0
            )
        });
        failed.chain(reported).collect()
    }
}

/// How long a supervisor idles before its memory is measured.
const SETTLE: Duration = Duration::from_millis(1500);

pub(super) fn measure(peer: &Peer, paths: &BenchPaths, plan: &Plan) -> Figures {
    let mut figures = Figures::none("what comes before it failed");
    figures.memory_none = attempt(peer, paths, 0, |_, supervisor, _| {
        interrupt::sleep(SETTLE)?;
        supervisor.failure()?;
        usage::memory(&supervisor.pids()?)
    });
    match attempt(peer, paths, 1, |sandbox, supervisor, _| {
        restarts(sandbox, supervisor, plan)
    }) {
        Ok((up, reported)) => {
            figures.restart_p50 = Ok(percentile(&up, 50));
            figures.restart_p99 = Ok(percentile(&up, 99));
            figures.reported =
                reported.map(|times| (percentile(&times, 50), percentile(&times, 99)));
        }
        Err(why) => figures.restart_p50 = Err(why),
    }
    let half = plan.half();
    let half = attempt(peer, paths, half, |sandbox, supervisor, requested_at| {
        let took = sandbox.wait_for_all(supervisor, requested_at, plan.patience)?;
        interrupt::sleep(SETTLE)?;
        Ok((took, usage::memory(&supervisor.pids()?)?))
    });
    (figures.start_half, figures.memory_half) = both(half);
    let whole = attempt(
        peer,
        paths,
        plan.whole,
        |sandbox, supervisor, requested_at| {
            let took = sandbox.wait_for_all(supervisor, requested_at, plan.patience)?;
            interrupt::sleep(SETTLE)?;
            let memory = usage::memory(&supervisor.pids()?)?;
            figures.storm = storm(sandbox, supervisor, plan).map_err(|error| format!("{error:#}"));
            figures.idle_cpu = idle(supervisor, plan).map_err(|error| format!("{error:#}"));
            Ok((took, memory))
        },
    );
    (figures.start_whole, figures.memory_whole) = both(whole);
    figures
}

fn both<A, B>(cell: Cell<(A, B)>) -> (Cell<A>, Cell<B>) {
    match cell {
        Ok((a, b)) => (Ok(a), Ok(b)),
        Err(why) => (Err(why.clone()), Err(why)),
    }
}

/// Runs a supervisor with `n` sleepers during `work`.
fn attempt<T>(
    peer: &Peer,
    paths: &BenchPaths,
    n: usize,
    work: impl FnOnce(&mut Sandbox, &mut dyn Supervisor, Instant) -> anyhow::Result<T>,
) -> Cell<T> {
    let tried = || {
        interrupt::check()?;
        let mut sandbox = Sandbox::new(paths, n)?;
        let mut started = (peer.start)(&sandbox, n)?;
        work(
            &mut sandbox,
            started.supervisor.as_mut(),
            started.requested_at,
        )
        // The supervisor is dropped before its sandbox, which kills what is left.
    };
    let result = tried().map_err(|error| format!("{error:#}"));
    eprintln!(
        "  with {n}: {}",
        result.as_ref().err().map_or("ok", |why| why)
    );
    result
}

pub(super) type Times = Vec<Duration>;

/// Kills one process again and again: how long until the next one is up, and until it is reported to be.
pub(super) fn restarts(
    sandbox: &mut Sandbox,
    supervisor: &mut dyn Supervisor,
    plan: &Plan,
) -> anyhow::Result<(Times, Option<Times>)> {
    let (mut up, mut reported) = (Vec::new(), Vec::new());
    sandbox.wait_for_all(supervisor, Instant::now(), plan.patience)?;
    for _ in 0..plan.kills {
        interrupt::sleep(plan.gap)?;
        let killed_at = Instant::now();
        kill(&sandbox.forget());
        up.push(sandbox.wait_until_up(supervisor, killed_at, plan.patience)?);
        reported.push(sandbox.wait_for_reports(supervisor, killed_at, plan.patience)?);
    }
    let reported = reported.into_iter().collect::<Option<Times>>();
    Ok((up, reported))
}

/// Kills one process after the other, each as soon as the one before is up: how long until each is up again.
pub(super) fn in_a_row(
    sandbox: &mut Sandbox,
    supervisor: &mut dyn Supervisor,
    plan: &Plan,
    kills: usize,
) -> anyhow::Result<Times> {
    let n = sandbox.n_sleepers();
    let mut times = Vec::new();
    for n_killed in 0..kills {
        interrupt::check()?;
        let killed_at = Instant::now();
        kill(&[sandbox.forget_one(n_killed % n)]);
        times.push(sandbox.wait_until_up(supervisor, killed_at, plan.patience)?);
    }
    Ok(times)
}

/// Kills all at once: how long until all are up again.
fn storm(
    sandbox: &mut Sandbox,
    supervisor: &mut dyn Supervisor,
    plan: &Plan,
) -> anyhow::Result<Duration> {
    let victims = sandbox.forget();
    let killed_at = Instant::now();
    kill(&victims);
    sandbox.wait_for_all(supervisor, killed_at, plan.patience)
}

/// The share of one core that idle processes cost.
fn idle(supervisor: &dyn Supervisor, plan: &Plan) -> anyhow::Result<f64> {
    interrupt::sleep(SETTLE)?;
    let pids = supervisor.pids()?;
    let (before, began) = (usage::cpu(&pids), Instant::now());
    interrupt::sleep(plan.idle)?;
    let used = usage::cpu(&pids).saturating_sub(before);
    Ok(used.as_secs_f64() / began.elapsed().as_secs_f64())
}

pub(super) fn kill(pids: &[i32]) {
    for pid in pids.iter().filter_map(|pid| Pid::from_raw(*pid)) {
        // It may have exited.
        let _ = kill_process(pid, Signal::KILL);
    }
}

/// By nearest rank.
pub(super) fn percentile(times: &[Duration], percent: usize) -> Duration {
    let mut times = times.to_vec();
    times.sort_unstable();
    let rank = (times.len() * percent).div_ceil(100).max(1);
    times[rank - 1]
}
