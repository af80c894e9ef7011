//! Where commands write: files, never pipes, so that a command neither dies nor blocks when the agent does.
//!
//! - A start command of a process with `log_path` writes into its log: the process may stay in the foreground, and cannot
//!   change its output later. The log is opened with the rights of its user. The command's own output begins at the offset
//!   at which the log ended before.
//! - Every other start command writes into an output of its own ([`super::kept_runs`]), which is kept after its end.
//! - Every other command writes into a spool ([`super::spools`]), which is removed when no operation needs it.
//!
//! The runner checks the size of outputs and spools every five seconds, every second while they grow, ten times a second
//! while they grow fast, and once a minute while their process uses no CPU. What lies before the last half of the limit is
//! freed by punching a hole, or by truncating the file if the file system cannot do that (every writer appends).
#![allow(unsafe_code)]

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use model::operation::MAX_OUTPUT;
use rustix::fs::OFlags;

use super::file_name::bounded;
use super::regular;
use super::rights::OsRights;
use crate::headline::headline_of;
use crate::machine::Sink;

/// Output that grows by this between two checks is checked more often.
pub(crate) const MUCH: u64 = 64 * 1024;
/// Output that grows by this between two checks is checked ten times a second.
pub(crate) const FLOOD: u64 = 8 * 1024 * 1024;
/// A file that is longer, holes included, begins again: file systems limit the length of files.
const MAX_LENGTH: u64 = 1 << 40;
/// How much of the output is searched for the line that names the error.
const HEADLINE_WITHIN: usize = 8 * 1024;

/// The longest process name in the name of its log, in bytes: `.log` and a rotation number follow it.
const MAX_LOG_NAME: usize = 240;

/// The file that `log_path` means: a file in it when it is a directory or looks like one, else itself.
pub(crate) fn log_file(log_path: &str, name: &str, rights: &OsRights) -> PathBuf {
    let path = Path::new(log_path);
    let is_dir = || rights.with(|| Ok(path.is_dir())).unwrap_or(false);
    match log_path.ends_with('/') || is_dir() {
        true => path.join(format!("{}.log", bounded(name, MAX_LOG_NAME))),
        false => path.to_owned(),
    }
}

/// Opens the process's log with the rights of its user. Creates the directory that should hold it, if only that is missing.
pub(crate) fn open_log(
    log_path: &str,
    name: &str,
    rights: &OsRights,
) -> Result<(Sink, OwnedFd), String> {
    let path = log_file(log_path, name, rights);
    let opened = rights.with(|| {
        if log_path.ends_with('/')
            && let Some(dir) = path.parent()
        {
            // It exists already, or opening the log reports why it cannot be created.
            let _ = fs::create_dir(dir)
                .and_then(|()| fs::set_permissions(dir, fs::Permissions::from_mode(0o755)));
        }
        open_log_file(&path)
    });
    opened.map_err(|error| {
        let (path, who, why) = (path.display(), rights.shown(), super::plain(&error));
        format!("log_path: cannot open {path}{who}: {why}; output is kept by the agent only")
    })
}

/// Resolves links, so that the log is read and bounded at its real path.
fn open_log_file(path: &Path) -> io::Result<(Sink, OwnedFd)> {
    let (path, is_new) = match fs::canonicalize(path) {
        Ok(path) => (path, false),
        Err(_) => (path.to_owned(), true),
    };
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW;
    let file = regular::open(&path, flags, 0o644).map_err(|error| match error.raw_os_error() {
        Some(libc::ELOOP) => io::Error::other("it is a symbolic link that leads nowhere"),
        Some(_) | None => error,
    })?;
    rustix::fs::fcntl_setfl(&file, OFlags::APPEND)?;
    let found = file.metadata()?;
    if is_new {
        // Independent of the agent's umask.
        let _ = file.set_permissions(fs::Permissions::from_mode(0o644));
    }
    let sink = Sink {
        path,
        offset: found.len(),
        spool: false,
        instead_of_log: String::new(),
    };
    Ok((sink, file.into()))
}

/// The last part of the output since the sink's offset. A log is read with the rights of its process's user, who may have
/// replaced it or its folder by a link; if these do not suffice, the text says so.
pub(crate) fn tail(sink: &Sink, max: usize, rights: &OsRights) -> String {
    match tail_bytes(sink, max.min(MAX_OUTPUT), rights) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) if sink.spool || error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => {
            let (path, who, why) = (sink.path.display(), rights.shown(), super::plain(&error));
            format!("log_path: cannot read {path}{who}: {why}")
        }
    }
}

/// The line that names the error, see [`crate::headline`].
pub(crate) fn headline(sink: &Sink, rights: &OsRights) -> String {
    headline_of(&tail(sink, HEADLINE_WITHIN, rights)).into_owned()
}

/// The rights that a sink is read with: the agent's for its own spools.
pub(crate) fn rights(sink: &Sink, user: &str) -> Result<OsRights, String> {
    match sink.spool {
        true => Ok(OsRights::Agent),
        false => OsRights::of(user),
    }
}

fn tail_bytes(sink: &Sink, max: usize, rights: &OsRights) -> io::Result<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW;
    let file = rights.with(|| regular::open(&sink.path, flags, 0))?;
    let size = file.metadata()?.len();
    // A log that was truncated meanwhile begins again.
    let begin = if size < sink.offset { 0 } else { sink.offset };
    let begin = begin.max(size.saturating_sub(max as u64));
    regular::read_at(&file, begin, max)
}

/// Bounds a spool to `max` bytes on disk; returns the size of the file.
pub(crate) fn bound(sink: &Sink, max: u64, rights: &OsRights) -> io::Result<u64> {
    match sink.spool {
        true => cut_if_long(&sink.path, max),
        false => Ok(rights.with(|| fs::symlink_metadata(&sink.path))?.len()),
    }
}

/// Cuts a file of the agent to its last part if it takes more than `max` bytes on disk; returns its size.
pub(crate) fn cut_if_long(path: &Path, max: u64) -> io::Result<u64> {
    let found = fs::symlink_metadata(path)?;
    if found.blocks() * 512 > max {
        let file = regular::open(path, OFlags::WRONLY | OFlags::NOFOLLOW, 0)?;
        cut(&file, found.len(), max)?;
    }
    Ok(found.len())
}

/// The same for an output that was deleted while this process has it open: without a name it would fill the disk unseen.
pub(crate) fn cut_deleted(path: &Path, pid: i32, max: u64) -> io::Result<()> {
    for number in [1, 2] {
        let link = format!("/proc/{pid}/fd/{number}");
        let shown = fs::read_link(&link)?;
        if shown.as_os_str().as_encoded_bytes()
            != [path.as_os_str().as_encoded_bytes(), b" (deleted)"].concat()
        {
            continue;
        }
        // The process may show a file of another mount namespace under this name: ours is private to the agent.
        let found = fs::metadata(&link)?;
        let is_ours = found.is_file()
            && found.uid() == rustix::process::geteuid().as_raw()
            && found.mode() & 0o777 == 0o600
            && found.nlink() == 0;
        if is_ours && found.blocks() * 512 > max {
            // A link of `/proc`, on purpose: it leads to the file that the process has open.
            let file = fs::OpenOptions::new().write(true).open(&link)?;
            cut(&file, found.len(), max)?;
        }
    }
    Ok(())
}

fn cut(file: &fs::File, size: u64, max: u64) -> io::Result<()> {
    if size > MAX_LENGTH {
        return file.set_len(0);
    }
    // Only whole blocks can be freed.
    let gone = size.saturating_sub(max / 2) & !0xFFF;
    // SAFETY: a plain system call on a descriptor that we hold.
    let punched = unsafe {
        libc::fallocate(
            file.as_raw_fd(),
            libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE,
            0,
            gone as libc::off_t,
        )
    };
    match punched {
        0 => Ok(()),
        _ => file.set_len(0),
    }
}

#[cfg(test)]
mod tests {
    use crate::os::spools::Spools;

    use std::fs::File;
    use std::io::Write;

    use super::*;

    const MAX_SPOOL: u64 = 1024 * 1024;

    #[test]
    fn an_output_that_was_deleted_is_bounded_through_the_process_that_has_it_open() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("output");
        let output = File::create(&path).unwrap();
        output
            .set_permissions(fs::Permissions::from_mode(0o600))
            .unwrap();
        let mut writer = std::process::Command::new("sh")
            .args(["-c", "head -c 3000000 /dev/zero; cat"])
            .stdin(std::process::Stdio::piped())
            .stdout(output.try_clone().unwrap())
            .spawn()
            .unwrap();
        testing::wait::until("the output", || {
            (output.metadata().unwrap().len() == 3_000_000).then_some(())
        });
        fs::remove_file(&path).unwrap();
        cut_deleted(&path, writer.id() as i32, MAX_SPOOL).unwrap();
        let found = output.metadata().unwrap();
        assert!(found.blocks() * 512 <= MAX_SPOOL, "{}", found.blocks());
        let other = dir.path().join("other");
        cut_deleted(&other, writer.id() as i32, 0).unwrap();
        assert!(output.metadata().unwrap().blocks() > 0, "another file");
        drop(writer.stdin.take());
        assert!(writer.wait().unwrap().success());
    }

    #[test]
    fn a_spool_keeps_its_last_part_and_little_more_on_disk() {
        let dir = tempfile::tempdir().unwrap();
        let (sink, fd) = Spools::in_dir(dir.path().to_owned()).open().unwrap();
        let mut file = File::from(fd);
        for round in 0..40 {
            file.write_all(&vec![b'a' + round % 26; 64 * 1024]).unwrap();
            bound(&sink, MAX_SPOOL, &OsRights::Agent).unwrap();
        }
        file.write_all(b"\nthe end\n").unwrap();
        let on_disk = fs::metadata(&sink.path).unwrap().blocks() * 512;
        assert!(on_disk <= 2 * MAX_SPOOL, "{on_disk}");
        let tail = tail(&sink, MAX_OUTPUT, &OsRights::Agent);
        assert_eq!(tail.len(), MAX_OUTPUT);
        assert!(tail.ends_with("the end\n"));
        assert_eq!(headline(&sink, &OsRights::Agent), "the end");
    }

    #[test]
    fn a_tail_begins_where_its_command_began() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        fs::write(&path, "before\n").unwrap();
        let rights = OsRights::Agent;
        let (sink, fd) = open_log(path.to_str().unwrap(), "p", &rights).unwrap();
        File::from(fd).write_all(b"ours\n").unwrap();
        assert_eq!(tail(&sink, 100, &rights), "ours\n");
        fs::write(&path, "new\n").unwrap();
        assert_eq!(tail(&sink, 100, &rights), "new\n", "cut meanwhile");
    }
}
