//! Reads the files of `configmap`, beside the loop: they may be long, or lie on a slow disk.

use tokio::task::JoinHandle;

use super::{Key, Runner};
use crate::machine::{Event, Found};
use crate::os::{clock, md5};

pub(crate) type ConfigRead = JoinHandle<Vec<(Key, Vec<Found>)>>;

impl Runner {
    /// Starts reading the files of everyone, if it is time, and those of new runs and specs in any case.
    pub(super) fn read_configs(&mut self) -> Option<ConfigRead> {
        let now = clock::boot_ms();
        let all = now >= self.config_due_boot_ms;
        if all {
            self.config_due_boot_ms = now + self.options.check_config_every.as_millis() as u64;
        }
        let mut wanted: Vec<(Key, Vec<String>)> = Vec::new();
        for (key, held) in &mut self.held {
            let files = &held.hold.spec.configmap;
            if !files.is_empty() && (all || !held.config_checked) {
                let paths = files.iter().map(|file| file.path.clone()).collect();
                wanted.push((*key, paths));
            }
            held.config_checked = true;
        }
        if wanted.is_empty() {
            return None;
        }
        Some(tokio::task::spawn_blocking(move || {
            let found = |path: String| Found {
                md5: md5::of_file(&path),
                path,
            };
            let of =
                |(key, paths): (Key, Vec<String>)| (key, paths.into_iter().map(found).collect());
            wanted.into_iter().map(of).collect()
        }))
    }

    pub(super) fn configs_read(&mut self, all: Vec<(Key, Vec<Found>)>) {
        for (key, found) in all {
            self.drive(key, Event::ConfigRead(found));
        }
    }
}
