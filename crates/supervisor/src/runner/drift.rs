//! Reads the files of `configmap` on a blocking thread: they may be large, or on a slow disk.

use tokio::task::JoinHandle;

use super::{Key, Runner};
use crate::machine::{ConfigFileDigest, Event};
use crate::os::rights::OsRights;
use crate::os::{clock, md5, shortage};

pub(crate) type ConfigRead = JoinHandle<Vec<(Key, Vec<ConfigFileDigest>)>>;

impl Runner {
    /// Starts reading the files of every process when that is due, and those of new runs and specs at once.
    pub(super) fn read_configs(&mut self) -> Option<ConfigRead> {
        let now = clock::boot_ms();
        let all = now >= self.config_due_boot_ms;
        if all {
            self.config_due_boot_ms = now + self.options.check_config_every.as_millis() as u64;
        }
        let mut wanted: Vec<(Key, Result<OsRights, String>, Vec<String>)> = Vec::new();
        for (key, held) in &mut self.held {
            if all || !held.config_checked {
                let files = held.registration.spec.configmap.iter();
                // An entry may be an md5 alone.
                let files = files.filter(|file| !file.path.is_empty());
                let paths: Vec<String> = files.map(|file| file.path.clone()).collect();
                if !paths.is_empty() {
                    let rights = OsRights::of(&held.registration.spec.identity.user);
                    wanted.push((*key, rights, paths));
                }
            }
            held.config_checked = true;
        }
        if wanted.is_empty() {
            return None;
        }
        Some(tokio::task::spawn_blocking(move || {
            let of = |(key, rights, paths): (Key, Result<OsRights, String>, Vec<String>)| {
                let md5 = |path: &str| md5::of_file(path, rights.as_ref().map_err(Clone::clone)?);
                let found = paths.into_iter().map(|path| ConfigFileDigest {
                    md5: md5(&path),
                    path,
                });
                (key, found.collect())
            };
            // Stop when descriptors run short: a file that could not be opened has not changed.
            let readable = wanted.into_iter();
            let readable = readable.take_while(|_| shortage::require_room().is_ok());
            readable.map(of).collect()
        }))
    }

    pub(super) fn configs_read(&mut self, all: Vec<(Key, Vec<ConfigFileDigest>)>) {
        for (key, found) in all {
            self.drive(key, Event::ConfigRead(found));
        }
    }
}
