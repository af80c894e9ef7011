//! "Is it running?": one look at the host.

use std::io;
use std::path::Path;

use model::spec::Probe;

use super::clock;
use super::family::{Families, Known, Whose};
use super::identity::bears_name;
use super::pidfile::{self, Named};
use super::procfs::{self, Stat};
use super::rights::Rights;
use super::unknown::Unknown;
use crate::machine::{Alive, Depth, Form, Look, Run};

/// How many processes below a command are looked at.
const MAX_BELOW: usize = 256;

/// Whose a run is, when it is known to be another process's.
#[derive(Clone, Copy)]
pub(crate) struct Others<'a>(pub(crate) &'a dyn Fn(Run) -> io::Result<Option<String>>);

impl std::fmt::Debug for Others<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Others")
    }
}

/// Where and for whom to look.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    pub(crate) proc_name: &'a str,
    pub(crate) others: Others<'a>,
    pub(crate) pid_path: &'a str,
    /// Who the process runs as.
    pub(crate) user: &'a str,
    /// The command under way or just over is the root.
    pub(crate) whose: Whose<'a>,
}

/// An error when it is not known what runs: nothing may be concluded from that.
pub(crate) fn look(
    place: &Place<'_>,
    depth: Depth,
    families: &mut Families,
    known: Known<'_>,
) -> Result<Look, Unknown> {
    let mut look = Look::default();
    let rights = Rights::of(place.user);
    let by_pid_file = || match &rights {
        Ok(rights) => by_pid_file(place, rights),
        Err(why) => Ok(Err(why.clone())),
    };
    match by_pid_file()? {
        Ok(stat) => look.alive = Some(daemon(&stat)),
        Err(note) => look.note = note,
    }
    let Some(root) = place.whose.root else {
        return Ok(look);
    };
    let command = Stat::find(root.pid)?.filter(|s| s.start == root.start && s.is_live());
    look.alive_is_commands = match look.alive {
        Some(alive) if alive.run == root => true,
        Some(alive) if depth == Depth::Deep => came_from(alive.run.pid, root)?,
        Some(_) | None => false,
    };
    match (command, depth) {
        (Some(command), _) if bears_name(&command, place.proc_name)? => {
            look.main = Some(command.pid);
            look.starting = true;
        }
        (Some(command), Depth::Deep) => {
            look.main = named_below(command.pid, place.proc_name)?;
            look.starting = true;
        }
        (None, Depth::Deep) if look.alive.is_none() => {
            look.starting = families.is_anyone_left(&place.whose, known)?;
            // A daemon that wiped its environment is no family, but it may have written its pid file meanwhile.
            if !look.starting
                && let Ok(stat) = by_pid_file()?
            {
                look.alive = Some(daemon(&stat));
            }
        }
        (Some(_) | None, Depth::Shallow) | (None, Depth::Deep) => {}
    }
    Ok(look)
}

/// Whether it is in the session of the command, or descends from it.
pub(crate) fn came_from(pid: i32, root: Run) -> io::Result<bool> {
    let mut pid = pid;
    // No tree of processes is deeper than this.
    for _ in 0..64 {
        let Some(stat) = Stat::find(pid)?.filter(|stat| stat.start >= root.start) else {
            return Ok(false);
        };
        if stat.pid == root.pid || stat.session == root.pid {
            return Ok(true);
        }
        pid = stat.ppid;
    }
    Ok(false)
}

/// The first process below this one that bears the name.
fn named_below(pid: i32, proc_name: &str) -> io::Result<Option<i32>> {
    let mut waiting = std::collections::VecDeque::from(procfs::children(pid)?);
    for _ in 0..MAX_BELOW {
        let Some(pid) = waiting.pop_front() else {
            return Ok(None);
        };
        if let Some(stat) = Stat::find(pid)?
            && stat.is_live()
            && bears_name(&stat, proc_name)?
        {
            return Ok(Some(pid));
        }
        waiting.extend(procfs::children(pid)?);
    }
    Ok(None)
}

fn by_pid_file(place: &Place<'_>, rights: &Rights) -> io::Result<Result<Stat, String>> {
    let stat = match named_by(place.pid_path, place.proc_name, rights)? {
        Ok(stat) => stat,
        Err(note) => return Ok(Err(note)),
    };
    Ok(match place.others.0(stat.run())? {
        Some(other) => Err(format!(
            "the pid file {} names {}, which is {other}",
            place.pid_path, stat.pid
        )),
        None => Ok(stat),
    })
}

/// The process that the pid file names, if it is alive, bears the name and is the user's; else why not. The user may
/// write any pid there: the owner is what tells the process from one of root's with the same name.
fn named_by(pid_path: &str, proc_name: &str, rights: &Rights) -> io::Result<Result<Stat, String>> {
    let pid = match pidfile::read_with(Path::new(pid_path), rights)? {
        Named::Pid(pid) => pid,
        Named::Nothing(note) => return Ok(Err(note)),
    };
    let Some(stat) = Stat::find(pid)?.filter(Stat::is_live) else {
        return Ok(Err(format!(
            "the pid file {pid_path} names {pid}, which does not run"
        )));
    };
    if !bears_name(&stat, proc_name)? {
        return Ok(Err(format!(
            "the pid file {pid_path} names {pid}, which is {} and not {proc_name}",
            String::from_utf8_lossy(stat.comm.as_bytes())
        )));
    }
    if !procfs::is_process(pid)? {
        return Ok(Err(format!(
            "the pid file {pid_path} names {pid}, which is a thread"
        )));
    }
    Ok(match rights.check_owner(pid)? {
        Ok(()) => Ok(stat),
        Err(why) => Err(format!(
            "the pid file {pid_path} names {pid}, which {why} (spec.identity.user)"
        )),
    })
}

/// Whether a process runs as this user entirely, if one is asked for.
fn runs_as(stat: &Stat, uid: Option<u32>) -> io::Result<bool> {
    Ok(match uid {
        Some(uid) => procfs::uids(stat.pid)? == Some([uid; 3]),
        None => true,
    })
}

/// A process that nobody registered: by its pid file, or by its name where none is given.
pub(crate) fn probe(probe: &Probe) -> Result<Option<Alive>, Unknown> {
    let rights = match probe.user.as_str() {
        "" => Rights::Agent,
        user => match Rights::of(user) {
            Ok(rights) => rights,
            Err(_) => return Ok(None),
        },
    };
    if !probe.pid_path.is_empty() {
        let named = named_by(&probe.pid_path, &probe.proc_name, &rights)?;
        return Ok(named.ok().map(|stat| daemon(&stat)));
    }
    if probe.proc_name.is_empty() {
        return Ok(None);
    }
    let uid = match probe.user.is_empty() {
        true => None,
        false => match super::user::find(&probe.user) {
            Ok(user) => Some(user.uid),
            Err(_) => return Ok(None),
        },
    };
    let me = std::process::id() as i32;
    let mut oldest: Option<Stat> = None;
    for stat in procfs::all()? {
        let is_older = oldest.is_none_or(|other| (stat.start, stat.pid) < (other.start, other.pid));
        if is_older
            && stat.is_live()
            && stat.pid != me
            && bears_name(&stat, &probe.proc_name)?
            && runs_as(&stat, uid)?
        {
            oldest = Some(stat);
        }
    }
    Ok(oldest.as_ref().map(daemon))
}

fn daemon(stat: &Stat) -> Alive {
    let since_boot_ms = clock::ticks_to_boot_ms(stat.start);
    Alive {
        run: stat.run(),
        form: Form::Daemon,
        since_boot_ms,
        started_at: clock::boot_to_unix(since_boot_ms),
    }
}
