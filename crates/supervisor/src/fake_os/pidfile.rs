//! Pid files of the fake host. They survive a reboot.

use std::io;
use std::path::Path;

use super::host;

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PidFileContent {
    Pid(i32),
    Nothing(String),
}

pub(crate) fn read(path: &Path, _user: &str) -> io::Result<PidFileContent> {
    let named = host::call(|table| table.pid_files.get(path).copied());
    Ok(named.map_or_else(
        || PidFileContent::Nothing(format!("there is no pid file {}", path.display())),
        PidFileContent::Pid,
    ))
}

pub(crate) fn write(path: &Path, pid: i32, _user: &str) -> Result<(), String> {
    host::call(|table| {
        table
            .log
            .push(format!("{} is written: {pid}", path.display()));
        table.pid_files.insert(path.to_owned(), pid);
    });
    Ok(())
}

pub(crate) fn remove(path: &Path, pid: i32, user: &str) {
    if matches!(read(path, user), Ok(PidFileContent::Pid(named)) if named == pid) {
        host::call(|table| {
            table.log.push(format!("{} is removed", path.display()));
            table.pid_files.remove(path);
        });
    }
}
