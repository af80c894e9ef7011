//! Figures of usage: read once a period for every process together, told rarely and only where they changed.

use std::path::PathBuf;

use tokio::task::JoinHandle;

use super::{Held, Key, Runner, is_lost};
use crate::machine::{Event, Usage};
use crate::os::rights::Rights;
use crate::os::sample::Root;
use crate::os::{clock, disk};

/// Bytes under the log paths, counted beside the loop: a walk may take long.
pub(crate) type DiskCount = JoinHandle<Vec<(Key, Result<u64, String>)>>;

impl Runner {
    /// Once a period: whoever is down may have been started by somebody else, and whoever is up is sampled.
    pub(super) fn period(&mut self) {
        self.exits.reap_orphans(clock::boot_ms());
        self.mind_dir();
        self.mind_clock();
        let names = &self.names;
        self.cgroups.tidy_forgotten(|name| names.contains_key(name));
        let resting: Vec<Key> = self
            .held
            .iter()
            .filter(|(_, held)| held.is_resting())
            .map(|(key, _)| *key)
            .collect();
        for key in resting {
            self.drive(key, Event::Tick);
        }
        self.mind_wrapped();
        self.sample();
        self.enforce_limits();
    }

    /// Without its directory the agent goes on, but the next one will not know what this one did. Said once.
    fn mind_dir(&mut self) {
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

    fn sample(&mut self) {
        let (running, roots): (Vec<Key>, Vec<Root>) = self
            .held
            .iter()
            .filter_map(|(key, held)| {
                let run = held.process.alive()?.run;
                let group = held.group_of(run, &self.cgroups);
                Some((*key, Root { run, group }))
            })
            .unzip();
        let pass = self.sampler.pass(&roots);
        let now = clock::now();
        let report_ms = self.options.report_usage_every.as_millis() as u64;
        let limited = |held: &Held| held.hold.spec.runtime.net_max.is_some() && held.is_judged();
        // Half a period early is not too early: a tick that comes a moment before its time would cost a whole one.
        let soon = now.boot_ms + self.pace.period().as_millis() as u64 / 2;
        let is_due =
            soon >= self.traffic_due_boot_ms || self.held.values().any(|held| limited(held));
        let traffic = (is_due && !roots.is_empty()).then(|| {
            self.traffic_due_boot_ms = now.boot_ms + report_ms;
            self.sampler.traffic(&pass)
        });
        for (index, key) in running.iter().enumerate() {
            let sample = pass.samples.get(index).copied().flatten();
            let Some(held) = self.held.get_mut(key) else {
                continue;
            };
            held.is_sampled = sample.is_some();
            let Some(sample) = sample else {
                continue;
            };
            let rate = traffic.as_ref().and_then(|rates| rates.get(index));
            held.usage = Usage {
                cpu: rounded(sample.cpu),
                mem: rounded(sample.mem),
                fd: sample.fd,
                net: rate.copied().unwrap_or(held.usage.net),
                disk: held.usage.disk,
            };
            if now.boot_ms >= held.usage_told_boot_ms + report_ms && held.refresh_usage(now.unix) {
                held.usage_told_boot_ms = now.boot_ms;
                self.outbox.status_changed(*key);
            }
        }
    }

    /// Starts counting the bytes under every log path, if it is time, and under those of new runs in any case.
    pub(super) fn count_disk(&mut self) -> Option<DiskCount> {
        let now = clock::boot_ms();
        let all = now >= self.disk_due_boot_ms;
        if all {
            self.disk_due_boot_ms = now + self.options.count_disk_every.as_millis() as u64;
        }
        let mut paths: Vec<(Key, PathBuf, Rights)> = Vec::new();
        for (key, held) in &mut self.held {
            let log_path = &held.hold.spec.identity.log_path;
            let limited = held.hold.spec.runtime.log_bytes_max.is_some() && held.is_judged();
            if !log_path.is_empty() && (all || limited || !held.disk_counted) {
                // A user whom the host does not know has no files to count.
                let rights = Rights::of(&held.hold.spec.identity.user);
                paths.extend(rights.map(|rights| (*key, PathBuf::from(log_path), rights)));
            }
            held.disk_counted = true;
        }
        if paths.is_empty() {
            return None;
        }
        Some(tokio::task::spawn_blocking(move || {
            let mut counted: Vec<(PathBuf, Rights, Result<u64, String>)> = Vec::new();
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
                tracing::warn!(process = %held.hold.name, why, "its disk usage is not known");
            }
            held.disk_is_hidden = count.is_err();
            held.usage.disk = count.unwrap_or(0);
            // The first figure is worth telling by itself.
            if held.told.disk == 0 && held.refresh_usage(now) {
                self.outbox.status_changed(key);
            }
        }
    }
}

/// Two decimals are plenty, and change less often.
fn rounded(percent: f64) -> f32 {
    ((percent * 100.0).round() / 100.0) as f32
}
