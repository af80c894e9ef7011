//! Usage: sampled once a period for all processes together, reported rarely and only when it changed.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Duration;

use model::FullName;
use model::figures::{FigureSeries, STEP_SECS};
use tokio::task::JoinHandle;

use super::{Key, Runner, SupervisedProcess, is_lost};
use crate::machine::{Event, Usage};
use crate::os::rights::OsRights;
use crate::os::sample::{Pass, Root, Traffic};
use crate::os::{clock, disk};

/// Bytes under the log paths, counted on a blocking thread: a walk may take long.
pub(crate) type DiskCount = JoinHandle<Vec<(Key, Result<u64, String>)>>;

/// How long the agent's only thread works on a period before it takes exits, requests and timers.
const SLICE: Duration = Duration::from_micros(500);

/// The work of a period, which is done in slices.
#[derive(Debug)]
pub(crate) struct PeriodWork {
    /// Processes that are down, which may have been started by hand.
    resting: VecDeque<Key>,
    /// Runs under which another program may be the process.
    wrappers: VecDeque<Key>,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    Begin,
    Read(SamplePass),
    Traffic(SamplePass, Traffic),
    /// From this process on.
    Apply(SamplePass, usize),
}

#[derive(Debug)]
struct SamplePass {
    running: Vec<Key>,
    pass: Pass,
    /// Bytes per second of each, if that was due.
    rates: Option<Vec<u64>>,
    step: u64,
}

impl Runner {
    /// Once a period: observes processes that are down, which may have been started by hand, and samples those that are up.
    pub(super) fn period(&mut self) {
        self.exits.reap_orphans(clock::boot_ms());
        self.check_dir();
        self.check_clock();
        let names = &self.names;
        self.cgroups.tidy_forgotten(|name| names.contains_key(name));
        // One that takes longer than a period goes on.
        self.period_work.get_or_insert_with(|| {
            let mut work = PeriodWork {
                resting: VecDeque::new(),
                wrappers: VecDeque::new(),
                stage: Stage::Begin,
            };
            for (key, held) in &self.held {
                if held.is_resting() {
                    work.resting.push_back(*key);
                } else if held.may_be_wrapper() {
                    work.wrappers.push_back(*key);
                }
            }
            work
        });
    }

    /// Goes on with the work of the period for a slice of time.
    pub(super) fn work_on_period(&mut self) {
        let until = std::time::Instant::now() + SLICE;
        let Some(mut work) = self.period_work.take() else {
            return;
        };
        while let Some(key) = work.resting.pop_front() {
            if self.held.get(&key).is_some_and(|held| held.is_resting()) {
                self.drive(key, Event::Tick);
            }
            if std::time::Instant::now() >= until {
                self.period_work = Some(work);
                return;
            }
        }
        while let Some(key) = work.wrappers.pop_front() {
            self.find_wrapped_program(key);
            if std::time::Instant::now() >= until {
                self.period_work = Some(work);
                return;
            }
        }
        if let Some(stage) = self.sample_on(work.stage, until) {
            work.stage = stage;
            self.period_work = Some(work);
        }
    }

    /// Logs once that the agent's directory is gone: the agent goes on, but its next start will not know what it did.
    fn check_dir(&mut self) {
        let is_lost = is_lost(&self.dir, &self.agent);
        if is_lost && !self.dir_is_lost {
            let dir = self.dir.display();
            tracing::error!(
                %dir,
                "the agent's directory was removed or replaced while the agent runs: nothing it does from now on survives \
                 it, and operations that need a place for output fail; put the directory back and restart the agent"
            );
        }
        self.dir_is_lost |= is_lost;
    }

    /// Samples on until this moment; none when all is done.
    fn sample_on(&mut self, stage: Stage, until: std::time::Instant) -> Option<Stage> {
        match stage {
            Stage::Begin => Some(Stage::Read(self.begin_sample())),
            Stage::Read(mut sample) => {
                if !self.sampler.read_on(&mut sample.pass, until) {
                    return Some(Stage::Read(sample));
                }
                match !sample.running.is_empty() && self.is_traffic_due() {
                    true => Some(Stage::Traffic(sample, self.sampler.begin_traffic())),
                    false => Some(Stage::Apply(sample, 0)),
                }
            }
            Stage::Traffic(mut sample, mut traffic) => {
                let is_done = self.sampler.traffic_on(&mut traffic, &sample.pass, until);
                if !is_done {
                    return Some(Stage::Traffic(sample, traffic));
                }
                sample.rates = Some(traffic.rates);
                Some(Stage::Apply(sample, 0))
            }
            Stage::Apply(sample, from) => {
                for index in from..sample.running.len() {
                    if std::time::Instant::now() >= until {
                        return Some(Stage::Apply(sample, index));
                    }
                    self.apply_sample(&sample, index);
                }
                self.enforce_limits();
                None
            }
        }
    }

    fn begin_sample(&mut self) -> SamplePass {
        let step = figure_step(clock::boot_ms());
        let (mut running, mut roots) = (Vec::new(), Vec::new());
        for (key, held) in &mut self.held {
            // Gives the memory of processes back that are down for long.
            held.figures.take_if(|figures| figures.is_over(step));
            let Some(alive) = held.process.alive() else {
                continue;
            };
            let namespace = &held.registration.name.namespace;
            running.push(*key);
            roots.push(Root {
                run: alive.run,
                group: held.group_of(alive.run, &self.cgroups),
                is_limited: held.has_limits() || self.groups.contains_key(namespace),
            });
        }
        SamplePass {
            running,
            pass: self.sampler.begin(roots),
            rates: None,
            step,
        }
    }

    fn is_traffic_due(&mut self) -> bool {
        let now = clock::boot_ms();
        let limited = |held: &SupervisedProcess| {
            held.registration.spec.runtime.net_max.is_some() && held.process.is_limited()
        };
        // Half a period early counts as due: a tick that comes a moment too early would delay it by a whole period.
        let soon = now + self.pace.period().as_millis() as u64 / 2;
        let is_due =
            soon >= self.traffic_due_boot_ms || self.held.values().any(|held| limited(held));
        if is_due {
            self.traffic_due_boot_ms = now + self.options.report_usage_every.as_millis() as u64;
        }
        is_due
    }

    fn apply_sample(&mut self, of: &SamplePass, index: usize) {
        let now = clock::now();
        let report_ms = self.options.report_usage_every.as_millis() as u64;
        let key = of.running[index];
        let Some(held) = self.held.get_mut(&key) else {
            return;
        };
        let sample = of.pass.samples.get(index).copied().flatten();
        held.is_sampled = sample.is_some();
        // The kernel kills no process that does nothing.
        if sample.is_none_or(|sample| !sample.is_idle) {
            held.count_oom_kills(&self.cgroups, now.boot_ms);
        }
        let Some(sample) = sample else {
            return;
        };
        let rate = of.rates.as_ref().and_then(|rates| rates.get(index));
        held.usage = Usage {
            cpu: rounded(sample.cpu),
            mem: rounded(sample.mem),
            fd: sample.fd,
            net: rate.copied().unwrap_or(held.usage.net),
            disk: held.usage.disk,
        };
        let figures = held.figures.get_or_insert_default();
        figures.add(of.step, held.usage.cpu, held.usage.mem, held.usage.fd);
        if now.boot_ms >= held.usage_reported_boot_ms + report_ms && held.refresh_usage(now.unix) {
            held.usage_reported_boot_ms = now.boot_ms;
            self.outbox.status_changed(key);
        }
    }

    /// The usage of a process over the last hour; none if it is not held.
    pub(super) fn figures(&self, name: &FullName) -> Option<FigureSeries> {
        let held = self.names.get(name).and_then(|key| self.held.get(key))?;
        let step = figure_step(clock::boot_ms());
        let figures = held.figures.as_ref();
        Some(figures.map_or_else(FigureSeries::empty, |figures| figures.series(step)))
    }

    /// Starts counting the bytes under every log path when that is due, and under those of new runs at once.
    pub(super) fn count_disk(&mut self) -> Option<DiskCount> {
        let now = clock::boot_ms();
        let all = now >= self.disk_due_boot_ms;
        if all {
            self.disk_due_boot_ms = now + self.options.count_disk_every.as_millis() as u64;
        }
        let mut paths: Vec<(Key, PathBuf, OsRights)> = Vec::new();
        for (key, held) in &mut self.held {
            let log_path = &held.registration.spec.identity.log_path;
            let limited =
                held.registration.spec.runtime.log_bytes_max.is_some() && held.process.is_limited();
            if !log_path.is_empty() && (all || limited || !held.disk_counted) {
                // An unknown user has no files to count.
                let rights = OsRights::of(&held.registration.spec.identity.user);
                paths.extend(rights.map(|rights| (*key, PathBuf::from(log_path), rights)));
            }
            held.disk_counted = true;
        }
        if paths.is_empty() {
            return None;
        }
        Some(tokio::task::spawn_blocking(move || {
            let mut counted: Vec<(PathBuf, OsRights, Result<u64, String>)> = Vec::new();
            let mut bytes = Vec::with_capacity(paths.len());
            for (key, path, rights) in paths {
                // Processes of one user often share a directory of logs.
                let mut lately = counted.iter().rev().take(16);
                let known = lately.find(|(known, of, _)| *known == path && *of == rights);
                let count = match known {
                    Some((_, _, count)) => count.clone(),
                    None => disk::bytes_under(&path, &rights),
                };
                bytes.push((key, count.clone()));
                counted.push((path, rights, count));
            }
            bytes
        }))
    }

    pub(super) fn disk_counted(&mut self, counts: Vec<(Key, Result<u64, String>)>) {
        let now = clock::unix();
        for (key, count) in counts {
            let Some(held) = self.held.get_mut(&key) else {
                continue;
            };
            if let Err(why) = &count
                && !held.disk_is_hidden
            {
                tracing::warn!(process = %held.registration.name, why, "its disk usage is not known");
            }
            held.disk_is_hidden = count.is_err();
            held.usage.disk = count.unwrap_or(0);
            // The first value is reported at once.
            if held.reported.disk == 0 && held.refresh_usage(now) {
                self.outbox.status_changed(key);
            }
        }
    }
}

/// The number of a step of figures.
fn figure_step(boot_ms: u64) -> u64 {
    boot_ms / (STEP_SECS * 1000)
}

/// Two decimals: more would change, and so be reported, more often.
fn rounded(percent: f64) -> f32 {
    ((percent * 100.0).round() / 100.0) as f32
}
