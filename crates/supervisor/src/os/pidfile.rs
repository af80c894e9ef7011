//! Pid files: read with distrust, written with the rights of the process's user.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use super::user::{self, User};

/// How much of a pid file is read: a pid, and whatever its program likes to add.
const MAX_READ: u64 = 256;

/// What a pid file says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Named {
    Pid(i32),
    /// In words, for the message.
    Nothing(String),
}

/// The first integer in its first bytes; what follows does not matter.
pub(crate) fn read(path: &Path) -> Named {
    let mut text = Vec::new();
    let opened = OpenOptions::new()
        .read(true)
        // A pipe or a device in its place must not stop us.
        .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open(path);
    let read = opened.and_then(|file| file.take(MAX_READ).read_to_end(&mut text));
    let shown = path.display();
    match read {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            Named::Nothing(format!("there is no pid file {shown}"))
        }
        Err(e) => Named::Nothing(format!("the pid file {shown} cannot be read: {e}")),
        Ok(_) => match first_integer(&text) {
            Some(pid) => Named::Pid(pid),
            None => Named::Nothing(format!("the pid file {shown} holds no pid")),
        },
    }
}

fn first_integer(text: &[u8]) -> Option<i32> {
    let begin = text.iter().position(u8::is_ascii_digit)?;
    let digits = text[begin..].iter().take_while(|b| b.is_ascii_digit());
    let digits: Vec<u8> = digits.copied().take(11).collect();
    let pid: i32 = std::str::from_utf8(&digits).ok()?.parse().ok()?;
    (pid > 1).then_some(pid)
}

/// Writes the pid of a foreground program. With the user's rights, or, where those do not reach (a directory of the
/// system's), with our own; never through a link in the last place.
pub(crate) fn write(path: &Path, pid: i32, user: &User) -> io::Result<()> {
    match user::with_rights_of(user, || write_once(path, pid)) {
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied && user::is_root() => {
            write_once(path, pid)
        }
        other => other,
    }
}

fn write_once(path: &Path, pid: i32) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o644)
        .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NONBLOCK)
        .open(path)
        .map_err(|error| match error.raw_os_error() {
            Some(libc::ELOOP) => io::Error::other("it is a symbolic link"),
            Some(_) | None => error,
        })?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    // Whatever our umask says. One that was there already may be somebody else's to change.
    let _ = file.set_permissions(fs::Permissions::from_mode(0o644));
    file.write_all(format!("{pid}\n").as_bytes())
}

/// Removes the pid file that we wrote, if it still says what we wrote.
pub(crate) fn remove(path: &Path, pid: i32) {
    if read(path) == Named::Pid(pid) {
        // Somebody else may be faster; gone is gone.
        let _ = fs::remove_file(path);
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
