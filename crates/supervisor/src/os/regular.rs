//! Opens regular files by paths that another user may have prepared. Call it within [`super::rights::OsRights::with`].
//!
//! A pipe or a device in place of the file is refused without waiting for it. Ordinary links are followed: the caller's
//! rights bound where they lead. The magic links of `/proc` are not: `/proc/self/fd/7` would lead to a file that the
//! agent has open, past folders that the user cannot enter.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, fstat, ftruncate, openat, openat2, stat};
use rustix::io::Errno;

/// Opens a regular file with these flags; a new one gets `mode`, less the umask.
pub(crate) fn open(path: &Path, flags: OFlags, mode: u32) -> io::Result<File> {
    let flags = flags | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    regular(open_at_path(path, flags, Mode::from_raw_mode(mode)))
}

/// Opens a regular file in a folder, without following a link.
pub(crate) fn open_in(folder: &OwnedFd, name: &Path, flags: OFlags, mode: u32) -> io::Result<File> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    regular(openat(folder, name, flags, Mode::from_raw_mode(mode)))
}

/// Opens a folder, for operations relative to it.
pub(crate) fn open_folder(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(open_at_path(path, flags, Mode::empty())?)
}

/// Reads from an offset on, at most `max` bytes or to the end.
pub(crate) fn read_at(file: &File, offset: u64, max: usize) -> io::Result<Vec<u8>> {
    let there = file.metadata()?.len().saturating_sub(offset);
    let mut bytes = vec![0; max.min(usize::try_from(there).unwrap_or(usize::MAX))];
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read_at(&mut bytes[filled..], offset + filled as u64)? {
            0 => break,
            count => filled += count,
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

fn regular(opened: rustix::io::Result<OwnedFd>) -> io::Result<File> {
    let no_file = || Err(io::Error::other("it is not a file"));
    let file = match opened {
        Ok(file) => File::from(file),
        // A pipe without a reader.
        Err(Errno::NXIO) => return no_file(),
        Err(error) => return Err(error.into()),
    };
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => no_file(),
    }
}

fn open_at_path(path: &Path, flags: OFlags, mode: Mode) -> rustix::io::Result<OwnedFd> {
    match openat2(CWD, path, flags, mode, ResolveFlags::NO_MAGICLINKS) {
        // A kernel before 5.6, or a seccomp filter that does not know it.
        Err(Errno::NOSYS | Errno::PERM) => open_and_compare(path, flags, mode),
        opened => opened,
    }
}

/// The same without `openat2`: the open file must be the one at the path that the kernel reports for it. Only then is it cut.
fn open_and_compare(path: &Path, flags: OFlags, mode: Mode) -> rustix::io::Result<OwnedFd> {
    let opened = openat(CWD, path, flags.difference(OFlags::TRUNC), mode)?;
    let number = opened.as_raw_fd();
    let real = rustix::fs::readlink(format!("/proc/self/fd/{number}"), Vec::new())?;
    let (here, there) = (fstat(&opened)?, stat(real)?);
    if (here.st_dev, here.st_ino) != (there.st_dev, there.st_ino) {
        return Err(Errno::LOOP);
    }
    if flags.contains(OFlags::TRUNC) {
        ftruncate(&opened, 0)?;
    }
    Ok(opened)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;
    use crate::os::rights::OsRights;

    #[test]
    fn a_magic_link_to_an_open_file_of_the_agent_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let mode = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        mode(dir.path(), 0o755);
        let vault = dir.path().join("vault");
        fs::create_dir(&vault).unwrap();
        fs::write(vault.join("file"), "secret").unwrap();
        // The folder alone keeps others out.
        mode(&vault.join("file"), 0o666);
        mode(&vault, 0o700);
        let agents = File::open(vault.join("file")).unwrap();
        let link = dir.path().join("link");
        symlink(format!("/proc/self/fd/{}", agents.as_raw_fd()), &link).unwrap();
        let nobody = OsRights::of("nobody").unwrap();
        assert_ne!(nobody, OsRights::Agent, "this test needs root");
        let own = openat2(CWD, "/", OFlags::PATH, Mode::empty(), ResolveFlags::empty());
        let has_openat2 = own.is_ok();
        for flags in [OFlags::RDONLY, OFlags::WRONLY | OFlags::TRUNC] {
            let opened = nobody.with(|| open(&link, flags, 0)).unwrap_err();
            let expected = match has_openat2 {
                true => libc::ELOOP,
                false => libc::EACCES,
            };
            assert_eq!(opened.raw_os_error(), Some(expected), "{opened}");
        }
        let compared = nobody.with(|| {
            let opened = open_and_compare(&link, OFlags::RDONLY, Mode::empty());
            Ok(opened.unwrap_err())
        });
        assert_eq!(compared.unwrap(), Errno::ACCESS);
        assert_eq!(fs::read_to_string(vault.join("file")).unwrap(), "secret");
    }

    #[test]
    fn an_ordinary_link_is_followed_with_and_without_openat2() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("file"), "text").unwrap();
        let link = dir.path().join("link");
        symlink("file", &link).unwrap();
        let opened = open(&link, OFlags::RDONLY, 0).unwrap();
        assert_eq!(io::read_to_string(opened).unwrap(), "text");
        let opened = open_and_compare(&link, OFlags::RDONLY, Mode::empty()).unwrap();
        assert_eq!(io::read_to_string(File::from(opened)).unwrap(), "text");
    }

    #[test]
    fn pipes_devices_and_directories_are_refused_without_blocking() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        for path in [pipe.as_path(), Path::new("/dev/null")] {
            for flags in [OFlags::RDONLY, OFlags::WRONLY] {
                let error = open(path, flags, 0).unwrap_err();
                assert_eq!(error.to_string(), "it is not a file", "{path:?} {flags:?}");
            }
        }
        let error = open(dir.path(), OFlags::RDONLY, 0).unwrap_err();
        assert_eq!(error.to_string(), "it is not a file");
    }
}
