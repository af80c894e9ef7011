//! Whether a pid has the name of a process.

use std::io;
use std::path::Path;

use super::procfs::{self, Stat};

/// A task name is cut to this by the kernel.
const COMM_LEN: usize = 15;

/// The base name of its binary, its task name, or, for scripts and interpreters, the base name of argv[0] or argv[1]
/// is `proc_name`. Every process has the empty name.
pub(crate) fn has_name(stat: &Stat, proc_name: &str) -> io::Result<bool> {
    if proc_name.is_empty() {
        return Ok(true);
    }
    let name = proc_name.as_bytes();
    let cut = &name[..name.len().min(COMM_LEN)];
    if stat.comm.as_bytes() == cut || exe_name(stat.pid).is_some_and(|exe| exe == proc_name) {
        return Ok(true);
    }
    let arguments = argument_names(stat.pid)?;
    Ok(arguments.iter().any(|argument| argument == name))
}

fn exe_name(pid: i32) -> Option<String> {
    let target = std::fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    let target = target.to_string_lossy();
    // The binary was replaced on disk while it runs.
    let target = target.strip_suffix(" (deleted)").unwrap_or(&target);
    let name = Path::new(target).file_name()?;
    Some(name.to_string_lossy().into_owned())
}

fn argument_names(pid: i32) -> io::Result<Vec<Vec<u8>>> {
    let cmdline = procfs::cmdline(pid, 8192)?;
    let arguments = cmdline.split(|b| *b == 0).take(2);
    let names = arguments.map(|argument| {
        let base = argument.rsplit(|b| *b == b'/').next().unwrap_or_default();
        base.to_vec()
    });
    Ok(names.collect())
}
