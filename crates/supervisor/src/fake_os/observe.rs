//! Observes on the fake host whether a process runs.

use std::io;
use std::path::Path;

use model::spec::Probe;

use super::family::{Families, WatchedRuns};
use super::observe_error::ObserveError;
pub(crate) use super::observe_target::{OtherRuns, Target};
use super::process_table::{FakeProcess, Mark as Marked, ProcessTable};
use super::{clock, host};
use crate::machine::{Depth, Form, LiveRun, Observation, Run};

pub(crate) fn observe(
    target: &Target<'_>,
    depth: Depth,
    _families: &mut Families,
    _known: WatchedRuns<'_>,
) -> Result<Observation, ObserveError> {
    let named = host::call(|table| by_pid_file(table, target.pid_path, target.proc_name).cloned());
    let named = match named {
        Some(proc) => target.others.0(proc.run)?.is_none().then_some(proc),
        None => None,
    };
    Ok(host::call(|table| {
        let mut observed = Observation {
            alive: named.as_ref().map(|proc| daemon(table, proc)),
            ..Observation::default()
        };
        let Some(root) = target.family.root else {
            return observed;
        };
        let command = table.live(root.pid).filter(|proc| proc.run == root);
        observed.command_lives = command.is_some();
        observed.alive_is_commands = named.is_some_and(|proc| proc.run == root);
        match (command, depth) {
            (Some(command), _) if command.name == target.proc_name => {
                observed.main = Some(command.run.pid);
                observed.starting = true;
            }
            (Some(_), Depth::Deep) => observed.starting = true,
            (None, Depth::Deep) if observed.alive.is_none() => {
                observed.starting = table.is_anyone_left(root, &Marked::of(&target.family.mark.0));
            }
            (Some(_) | None, Depth::Shallow) | (None, Depth::Deep) => {}
        }
        observed
    }))
}

pub(crate) fn came_from(pid: i32, root: Run) -> io::Result<bool> {
    let came = host::call(|table| table.live(pid).is_some_and(|proc| proc.run == root));
    Ok(came)
}

pub(crate) fn probe(probe: &Probe) -> Result<Option<LiveRun>, ObserveError> {
    Ok(host::call(|table| {
        let found = by_pid_file(table, &probe.pid_path, &probe.proc_name)?;
        Some(daemon(table, found))
    }))
}

fn by_pid_file<'a>(
    table: &'a ProcessTable,
    pid_path: &str,
    proc_name: &str,
) -> Option<&'a FakeProcess> {
    let pid = table.pid_files.get(Path::new(pid_path))?;
    table.live(*pid).filter(|proc| proc.name == proc_name)
}

fn daemon(table: &ProcessTable, proc: &FakeProcess) -> LiveRun {
    let since_boot_ms = clock::ticks_to_boot_ms(proc.run.start);
    LiveRun {
        run: proc.run,
        form: Form::Daemon,
        since_boot_ms,
        started_at: table.boot_to_unix(since_boot_ms),
    }
}
