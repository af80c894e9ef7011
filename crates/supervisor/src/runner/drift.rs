//! Reads the files of `configmap`, beside the loop: they may be long, or lie on a slow disk.

use tokio::task::JoinHandle;

use super::{Key, Runner};
use crate::machine::{Event, Found};
use crate::os::rights::Rights;
use crate::os::{clock, md5, shortage};

pub(crate) type ConfigRead = JoinHandle<Vec<(Key, Vec<Found>)>>;

impl Runner {
    /// Starts reading the files of everyone, if it is time, and those of new runs and specs in any case.
    pub(super) fn read_configs(&mut self) -> Option<ConfigRead> {
        let now = clock::boot_ms();
        let all = now >= self.config_due_boot_ms;
        if all {
            self.config_due_boot_ms = now + self.options.check_config_every.as_millis() as u64;
        }
        let mut wanted: Vec<(Key, Result<Rights, String>, Vec<String>)> = Vec::new();
        for (key, held) in &mut self.held {
            if all || !held.config_checked {
                let files = held.hold.spec.configmap.iter();
                // An entry may be an md5 alone.
                let files = files.filter(|file| !file.path.is_empty());
                let paths: Vec<String> = files.map(|file| file.path.clone()).collect();
                if !paths.is_empty() {
                    let rights = Rights::of(&held.hold.spec.identity.user);
                    wanted.push((*key, rights, paths));
                }
            }
            held.config_checked = true;
        }
        if wanted.is_empty() {
            return None;
        }
        Some(tokio::task::spawn_blocking(move || {
            let of = |(key, rights, paths): (Key, Result<Rights, String>, Vec<String>)| {
                let md5 = |path: &str| md5::of_file(path, rights.as_ref().map_err(Clone::clone)?);
                let found = paths.into_iter().map(|path| Found {
                    md5: md5(&path),
                    path,
                });
                (key, found.collect())
            };
            // Without descriptors nothing is read: a file that could not be opened has not changed.
            let readable = wanted.into_iter();
            let readable = readable.take_while(|_| shortage::require_room().is_ok());
            readable.map(of).collect()
        }))
    }

    pub(super) fn configs_read(&mut self, all: Vec<(Key, Vec<Found>)>) {
        for (key, found) in all {
            self.drive(key, Event::ConfigRead(found));
        }
    }
}
