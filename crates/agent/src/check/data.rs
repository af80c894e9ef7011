//! The data folder: does it exist, may the agent write there, and is there room?

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use model::host_check::HostCheck;
use rustix::fs::{Access, AtFlags, CWD, StatVfsMountFlags, accessat, statvfs};

const MIB: u64 = 1024 * 1024;
/// Journal and output of a few processes need more.
const MIN_FREE: u64 = 16 * MIB;
const LITTLE_FREE: u64 = 256 * MIB;
const MIN_INODES: u64 = 100;
const FEW_INODES: u64 = 2_000;

const NAME: &str = "data";

pub(super) fn check(data: &Path) -> Vec<HostCheck> {
    vec![folder(data), room(data)]
}

fn folder(data: &Path) -> HostCheck {
    let shown = data.display();
    let me = rustix::process::geteuid().as_raw();
    let found = existing(data);
    if let Some(found) = &found
        && !found.is_dir()
    {
        let message = format!("{} is not a folder", found.display());
        return HostCheck::no(NAME, message, "give the agent another --data");
    }
    let Some(found) = found else {
        return HostCheck::no(
            NAME,
            format!("{shown} cannot be reached"),
            "give an absolute path as --data",
        );
    };
    if found == data
        && let Ok(metadata) = std::fs::metadata(data)
        && metadata.uid() != me
    {
        let message = format!(
            "{shown} belongs to user {}, and this is user {me}",
            metadata.uid()
        );
        let hint = format!(
            "the agent must own its folder: chown -R {me} {shown}; or run this check as the user of the agent"
        );
        return HostCheck::no(NAME, message, hint);
    }
    let rights = Access::WRITE_OK | Access::EXEC_OK;
    if let Err(errno) = accessat(CWD, &found, rights, AtFlags::EACCESS) {
        let message = format!("{} cannot be written: {}", found.display(), plain(errno));
        return HostCheck::no(
            NAME,
            message,
            "give the agent a folder that it may write, with --data",
        );
    }
    match found == data {
        true => HostCheck::ok(NAME, format!("{shown} can be written")),
        false => HostCheck::ok(
            NAME,
            format!(
                "{shown} does not exist yet; the agent can create it in {}",
                found.display()
            ),
        ),
    }
}

fn room(data: &Path) -> HostCheck {
    let name = "disk";
    let Some(found) = existing(data) else {
        return HostCheck::no(
            name,
            format!("{} cannot be reached", data.display()),
            "give an absolute path as --data",
        );
    };
    match statvfs(&found) {
        Ok(stat) => judge(&Room {
            at: found,
            free: stat.f_bavail.saturating_mul(stat.f_frsize),
            // Some file systems have no fixed number.
            inodes: (stat.f_files > 0).then_some(stat.f_favail),
            read_only: stat.f_flag.contains(StatVfsMountFlags::RDONLY),
        }),
        Err(errno) => {
            let message = format!("{}: {}", found.display(), plain(errno));
            HostCheck::no(
                name,
                message,
                "the file system of the data folder does not answer",
            )
        }
    }
}

struct Room {
    at: PathBuf,
    free: u64,
    inodes: Option<u64>,
    read_only: bool,
}

fn judge(room: &Room) -> HostCheck {
    let name = "disk";
    let at = room.at.display();
    let inodes = room.inodes.unwrap_or(u64::MAX);
    let found = match room.inodes {
        Some(inodes) => format!("{} free and {inodes} inodes at {at}", bytes(room.free)),
        None => format!("{} free at {at}", bytes(room.free)),
    };
    let more = "free space there, or give the agent a folder on another disk with --data";
    if room.read_only {
        return HostCheck::no(
            name,
            format!("{at} is mounted read-only"),
            "mount it with rw",
        );
    }
    if room.free < MIN_FREE || inodes < MIN_INODES {
        let hint =
            format!("the agent stops taking operations when its journal cannot be written: {more}");
        return HostCheck::no(name, found, hint);
    }
    if room.free < LITTLE_FREE || inodes < FEW_INODES {
        let hint = format!("output of processes may fill it: {more}");
        return HostCheck::degraded(name, found, hint);
    }
    HostCheck::ok(name, found)
}

/// The path itself, or the nearest folder above it that exists.
fn existing(path: &Path) -> Option<PathBuf> {
    let path = match path.is_absolute() {
        true => path.to_owned(),
        false => std::env::current_dir().ok()?.join(path),
    };
    let above = path
        .ancestors()
        .find(|above| above.symlink_metadata().is_ok());
    above.map(Path::to_owned)
}

fn plain(errno: rustix::io::Errno) -> String {
    let text = std::io::Error::from(errno).to_string();
    text.split(" (os error")
        .next()
        .unwrap_or_default()
        .to_owned()
}

fn bytes(n: u64) -> String {
    match n / MIB {
        mib @ 0..10_240 => format!("{mib} MiB"),
        mib => format!("{} GiB", mib / 1024),
    }
}

#[cfg(test)]
mod tests {
    use model::host_check::CheckResult;

    use super::*;

    fn of(free: u64, inodes: Option<u64>, read_only: bool) -> CheckResult {
        let at = "/data".into();
        let check = judge(&Room {
            at,
            free,
            inodes,
            read_only,
        });
        assert_eq!(
            check.hint.is_empty(),
            check.result == CheckResult::Ok,
            "{check:?}"
        );
        check.result
    }

    #[test]
    fn a_full_disk_is_one_without_bytes_or_inodes() {
        assert_eq!(of(1024 * MIB, Some(1_000_000), false), CheckResult::Ok);
        assert_eq!(of(1024 * MIB, None, false), CheckResult::Ok);
        assert_eq!(of(100 * MIB, Some(1_000_000), false), CheckResult::Degraded);
        assert_eq!(of(1024 * MIB, Some(500), false), CheckResult::Degraded);
        assert_eq!(of(MIB, Some(1_000_000), false), CheckResult::No);
        assert_eq!(of(1024 * MIB, Some(3), false), CheckResult::No);
        assert_eq!(of(1024 * MIB, None, true), CheckResult::No);
    }

    #[test]
    fn a_folder_that_does_not_exist_is_judged_by_the_one_above_and_not_created() {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("a/b");
        let check = folder(&data);
        assert_eq!(check.result, CheckResult::Ok, "{check:?}");
        assert!(check.message.contains("does not exist yet"), "{check:?}");
        assert!(!dir.path().join("a").exists());
        std::fs::write(dir.path().join("a"), "").unwrap();
        let check = folder(&data);
        assert_eq!(check.result, CheckResult::No, "{check:?}");
    }
}
