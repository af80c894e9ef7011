//! "Is it running?": one look at the host.

use std::io;
use std::path::Path;

use model::spec::Probe;

use super::family::{Families, Known, Whose};
use super::table::{Mark as Marked, Proc, Table};
use super::unknown::Unknown;
use super::{clock, host};
use crate::machine::{Alive, Depth, Form, Look, Run};

#[derive(Clone, Copy)]
pub(crate) struct Others<'a>(pub(crate) &'a dyn Fn(Run) -> io::Result<Option<String>>);

impl std::fmt::Debug for Others<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Others")
    }
}

#[derive(Debug)]
pub(crate) struct Place<'a> {
    pub(crate) proc_name: &'a str,
    pub(crate) others: Others<'a>,
    pub(crate) pid_path: &'a str,
    pub(crate) user: &'a str,
    pub(crate) whose: Whose<'a>,
}

pub(crate) fn look(
    place: &Place<'_>,
    depth: Depth,
    _families: &mut Families,
    _known: Known<'_>,
) -> Result<Look, Unknown> {
    let named = host::call(|table| by_pid_file(table, place.pid_path, place.proc_name).cloned());
    let named = match named {
        Some(proc) => place.others.0(proc.run)?.is_none().then_some(proc),
        None => None,
    };
    Ok(host::call(|table| {
        let mut look = Look {
            alive: named.as_ref().map(|proc| daemon(table, proc)),
            ..Look::default()
        };
        let Some(root) = place.whose.root else {
            return look;
        };
        let command = table.live(root.pid).filter(|proc| proc.run == root);
        look.alive_is_commands = named.is_some_and(|proc| proc.run == root);
        match (command, depth) {
            (Some(command), _) if command.name == place.proc_name => {
                look.main = Some(command.run.pid);
                look.starting = true;
            }
            (Some(_), Depth::Deep) => look.starting = true,
            (None, Depth::Deep) if look.alive.is_none() => {
                look.starting = table.is_anyone_left(root, &Marked::of(&place.whose.mark.0));
            }
            (Some(_) | None, Depth::Shallow) | (None, Depth::Deep) => {}
        }
        look
    }))
}

pub(crate) fn came_from(pid: i32, root: Run) -> io::Result<bool> {
    let came = host::call(|table| table.live(pid).is_some_and(|proc| proc.run == root));
    Ok(came)
}

pub(crate) fn probe(probe: &Probe) -> Result<Option<Alive>, Unknown> {
    Ok(host::call(|table| {
        let found = by_pid_file(table, &probe.pid_path, &probe.proc_name)?;
        Some(daemon(table, found))
    }))
}

fn by_pid_file<'a>(table: &'a Table, pid_path: &str, proc_name: &str) -> Option<&'a Proc> {
    let pid = table.pid_files.get(Path::new(pid_path))?;
    table.live(*pid).filter(|proc| proc.name == proc_name)
}

fn daemon(table: &Table, proc: &Proc) -> Alive {
    let since_boot_ms = clock::ticks_to_boot_ms(proc.run.start);
    Alive {
        run: proc.run,
        form: Form::Daemon,
        since_boot_ms,
        started_at: table.boot_to_unix(since_boot_ms),
    }
}
