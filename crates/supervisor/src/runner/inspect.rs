//! Queries: one process as it is on the host now.

use model::UnixMillis;
use model::operation::ProcessInspection;

use super::{Key, Runner, SupervisedProcess};
use crate::machine::{Event, LiveRun};
use crate::os::clock;
use crate::os::procfs::{self, Stat};

/// How much of a command line is shown.
const MAX_CMDLINE: u64 = 4096;

impl Runner {
    /// Answers a query at once, or when `version_cmd` has ended.
    pub(super) fn inspect(&mut self, key: Key) -> Option<Event> {
        if let Some(event) = self.find_main(key) {
            self.step_once(key, event);
        }
        let alive = self.held.get(&key)?.process.alive();
        if alive.is_some() && self.find_version(key) {
            self.await_version(key);
            return None;
        }
        Some(Event::Inspected(Box::new(self.instance(key))))
    }

    pub(super) fn instance(&self, key: Key) -> ProcessInspection {
        let held = self.held.get(&key);
        let alive = held.and_then(|held| held.process.alive());
        let version = held.map_or("", |held| held.process.version.as_str());
        self.instance_of(alive, held.map(Box::as_ref), version, clock::unix())
    }

    pub(super) fn instance_of(
        &self,
        alive: Option<LiveRun>,
        held: Option<&SupervisedProcess>,
        version: &str,
        now: UnixMillis,
    ) -> ProcessInspection {
        let mut instance = ProcessInspection {
            pid: -1,
            version: version.to_owned(),
            managed: held.is_some_and(|held| held.process.managed),
            started_at: held.map_or(UnixMillis::NEVER, |held| held.process.last_started_at),
            disk: -1,
            free_kib: procfs::meminfo_kib("MemAvailable"),
            looked_at: now,
            utc_offset_secs: clock::utc_offset_secs(now),
            ..ProcessInspection::default()
        };
        let Some(alive) = alive else {
            return instance;
        };
        let stat = match Stat::find(alive.pid()) {
            Ok(Some(stat)) if stat.is_live() => stat,
            Ok(_) => return instance,
            // As far as the agent knows it runs; its usage cannot be read.
            Err(_) => {
                instance.pid = alive.pid();
                instance.started_at = alive.started_at;
                return instance;
            }
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from) as f64;
        let elapsed_ms = clock::boot_ms().saturating_sub(alive.since_boot_ms);
        let ticks = (stat.utime + stat.stime) as f64;
        let used_secs = ticks / clock::ticks_per_second() as f64;
        let rss_kib = stat.rss_pages * rustix::param::page_size() as u64 / 1024;
        let total_kib = procfs::meminfo_kib("MemTotal").max(1);
        let cmdline = procfs::cmdline(stat.pid, MAX_CMDLINE).unwrap_or_default();
        let cmdline = String::from_utf8_lossy(&cmdline).replace('\0', " ");
        instance.pid = alive.pid();
        instance.cmdline = cmdline.trim_end().to_owned();
        instance.cpu_average = percent(used_secs, elapsed_ms as f64 / 1000.0 * cores);
        instance.cpu = instance.cpu_average;
        instance.mem = percent(rss_kib as f64, total_kib as f64);
        instance.rss_kib = rss_kib;
        instance.stat = char::from(stat.state).to_string();
        instance.utime_ticks = stat.utime;
        instance.stime_ticks = stat.stime;
        instance.threads = stat.threads;
        instance.elapsed_secs = elapsed_ms / 1000;
        instance.started_at = alive.started_at;
        if let Some(held) = held {
            instance.health = held.process.health().to_owned();
            instance.cpu = f64::from(held.usage.cpu);
            instance.disk = match held.registration.spec.identity.log_path.is_empty() {
                true => -1,
                false => held.usage.disk as i64,
            };
        }
        instance
    }
}

fn percent(part: f64, whole: f64) -> f64 {
    match whole > 0.0 {
        true => (part / whole * 100.0 * 100.0).round() / 100.0,
        false => 0.0,
    }
}
