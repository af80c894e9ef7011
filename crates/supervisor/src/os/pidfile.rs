//! Pid files: read, written and removed with the rights of the process's user, who can write anything into them.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::OFlags;

use super::regular;
use super::rights::OsRights;
use super::shortage::is_shortage;

/// How much of a pid file is read: a pid, and what its program adds.
const MAX_READ: u64 = 256;

/// The content of a pid file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PidFileContent {
    Pid(i32),
    /// Why it names no pid, for the message.
    Nothing(String),
}

/// Reads the first integer; the rest is ignored. An error means that the content is not known: a shortage, or the disk
/// failed.
pub(crate) fn read(path: &Path, user: &str) -> io::Result<PidFileContent> {
    let shown = path.display();
    match OsRights::of(user) {
        Ok(rights) => read_with(path, &rights),
        Err(why) => Ok(PidFileContent::Nothing(format!(
            "the pid file {shown} cannot be read: {why}"
        ))),
    }
}

pub(super) fn read_with(path: &Path, rights: &OsRights) -> io::Result<PidFileContent> {
    let mut text = Vec::new();
    let opened = rights.with(|| regular::open(path, OFlags::RDONLY, 0));
    let read = opened.and_then(|file| file.take(MAX_READ).read_to_end(&mut text));
    let shown = path.display();
    Ok(match read {
        Err(e) if is_shortage(&e) || e.raw_os_error() == Some(libc::EIO) => return Err(e),
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            PidFileContent::Nothing(format!("there is no pid file {shown}"))
        }
        Err(e) => {
            let (who, why) = (rights.shown(), super::plain(&e));
            PidFileContent::Nothing(format!("the pid file {shown} cannot be read{who}: {why}"))
        }
        Ok(_) => match first_integer(&text) {
            Some(pid) => PidFileContent::Pid(pid),
            None => PidFileContent::Nothing(format!("the pid file {shown} holds no pid")),
        },
    })
}

fn first_integer(text: &[u8]) -> Option<i32> {
    let begin = text.iter().position(u8::is_ascii_digit)?;
    let digits = text[begin..].iter().take_while(|b| b.is_ascii_digit());
    let digits: Vec<u8> = digits.copied().take(11).collect();
    let pid: i32 = std::str::from_utf8(&digits).ok()?.parse().ok()?;
    (pid > 1).then_some(pid)
}

/// Writes the pid of a foreground program, without following a link at the end of the path. If the user may not write
/// there, there is no pid file: with the agent's rights, a link in place of its folder could overwrite files of root.
pub(crate) fn write(path: &Path, pid: i32, user: &str) -> Result<(), String> {
    let rights = OsRights::of(user)?;
    rights.with(|| write_once(path, pid)).map_err(|error| {
        let (path, who, why) = (path.display(), rights.shown(), super::plain(&error));
        format!("pid_path: cannot write {path}{who}: {why}; only this agent knows the pid")
    })
}

fn write_once(path: &Path, pid: i32) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW;
    let mut file =
        regular::open(path, flags, 0o644).map_err(|error| match error.raw_os_error() {
            Some(libc::ELOOP) => io::Error::other("it is a symbolic link"),
            Some(_) | None => error,
        })?;
    // Independent of the agent's umask. Fails for a file of another user, which stays as it is.
    let _ = file.set_permissions(fs::Permissions::from_mode(0o644));
    file.write_all(format!("{pid}\n").as_bytes())
}

/// Removes the pid file that the agent wrote, if its content is unchanged.
pub(crate) fn remove(path: &Path, pid: i32, user: &str) {
    let Ok(rights) = OsRights::of(user) else {
        return;
    };
    if !matches!(read_with(path, &rights), Ok(PidFileContent::Pid(named)) if named == pid) {
        return;
    }
    match rights.with(|| fs::remove_file(path)) {
        // It may be removed already.
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            let (path, who) = (path.display(), rights.shown());
            tracing::warn!(%error, "cannot remove the pid file {path}{who}");
        }
        Ok(()) | Err(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_integer_counts_and_what_follows_does_not() {
        for (text, pid) in [
            ("123\n", Some(123)),
            ("  77 running since monday 5\n", Some(77)),
            ("pid=42;", Some(42)),
            ("", None),
            ("none\n", None),
            ("1\n", None),
            ("0", None),
            ("99999999999999999999", None),
        ] {
            assert_eq!(first_integer(text.as_bytes()), pid, "{text:?}");
        }
    }
}
