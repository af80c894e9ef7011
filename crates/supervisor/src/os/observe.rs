//! Observes on the host whether a process runs.

use std::io;
use std::path::Path;

use model::spec::Probe;

use super::clock;
use super::family::{Families, WatchedRuns};
use super::identity::has_name;
use super::observe_error::ObserveError;
pub(crate) use super::observe_target::{OtherRuns, Target};
use super::pidfile::{self, PidFileContent};
use super::procfs::{self, Stat};
use super::rights::OsRights;
use crate::machine::{Depth, Form, LiveRun, Observation, Run};

/// How many descendants of a command are checked.
const MAX_BELOW: usize = 256;

/// Programs that may execute another one in their place.
const LAUNCHERS: [&str; 17] = [
    "sh",
    "bash",
    "dash",
    "ash",
    "ksh",
    "zsh",
    "busybox",
    "env",
    "nice",
    "nohup",
    "setsid",
    "su",
    "sudo",
    "runuser",
    "setpriv",
    "start-stop-daem",
    "tini",
];

/// Observes a process. After an error nothing is known: the caller must conclude nothing from it.
pub(crate) fn observe(
    target: &Target<'_>,
    depth: Depth,
    families: &mut Families,
    known: WatchedRuns<'_>,
) -> Result<Observation, ObserveError> {
    let mut observed = Observation::default();
    let rights = OsRights::of(target.user);
    let by_pid_file = || match &rights {
        Ok(rights) => by_pid_file(target, rights),
        Err(why) => Ok(Err(why.clone())),
    };
    match by_pid_file()? {
        Ok(stat) => observed.alive = Some(daemon(&stat)),
        Err(note) => observed.note = note,
    }
    let Some(root) = target.family.root else {
        return Ok(observed);
    };
    if let (None, Depth::Deep, Ok(rights)) = (observed.alive, depth, &rights) {
        observed.misnamed_since_boot_ms = misnamed(target, root, rights)?;
    }
    let command = Stat::find(root.pid)?.filter(|s| s.start == root.start && s.is_live());
    observed.command_lives = command.is_some();
    observed.alive_is_commands = match observed.alive {
        Some(alive) if alive.run == root => true,
        Some(alive) if depth == Depth::Deep => came_from(alive.run.pid, root)?,
        Some(_) | None => false,
    };
    match (command, depth) {
        (Some(command), _) if has_name(&command, target.proc_name)? => {
            observed.main = Some(command.pid);
            observed.starting = true;
        }
        (Some(command), Depth::Deep) => {
            observed.main = named_below(command.pid, target.proc_name)?;
            observed.starting = true;
        }
        (None, Depth::Deep) if observed.alive.is_none() => {
            observed.starting = families.is_anyone_left(&target.family, known)?;
            // A daemon that cleared its environment is not found as family, but it may have written its pid file meanwhile.
            if !observed.starting
                && let Ok(stat) = by_pid_file()?
            {
                observed.alive = Some(daemon(&stat));
            }
        }
        (Some(_) | None, Depth::Shallow) | (None, Depth::Deep) => {}
    }
    Ok(observed)
}

/// Whether a process is in the session of the command, or descends from it.
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

/// The first descendant with this name.
fn named_below(pid: i32, proc_name: &str) -> io::Result<Option<i32>> {
    let mut waiting = std::collections::VecDeque::from(procfs::children(pid)?);
    for _ in 0..MAX_BELOW {
        let Some(pid) = waiting.pop_front() else {
            return Ok(None);
        };
        if let Some(stat) = Stat::find(pid)?
            && stat.is_live()
            && has_name(&stat, proc_name)?
        {
            return Ok(Some(pid));
        }
        waiting.extend(procfs::children(pid)?);
    }
    Ok(None)
}

fn by_pid_file(target: &Target<'_>, rights: &OsRights) -> io::Result<Result<Stat, String>> {
    let stat = match named_by(target.pid_path, target.proc_name, rights)? {
        Ok(stat) => stat,
        Err(note) => return Ok(Err(note)),
    };
    Ok(match target.others.0(stat.run())? {
        Some(other) => Err(format!(
            "the pid file {} names {}, which is {other}",
            target.pid_path, stat.pid
        )),
        None => Ok(stat),
    })
}

/// When the process began that the pid file names, if it has another name and comes from this command. A shell may still
/// execute the program.
fn misnamed(target: &Target<'_>, root: Run, rights: &OsRights) -> io::Result<Option<u64>> {
    let pid = match pidfile::read_with(Path::new(target.pid_path), rights)? {
        PidFileContent::Pid(pid) => pid,
        PidFileContent::Nothing(_) => return Ok(None),
    };
    let Some(stat) = Stat::find(pid)?.filter(|stat| stat.is_live() && stat.start >= root.start)
    else {
        return Ok(None);
    };
    let name = stat.comm.as_bytes();
    if LAUNCHERS.iter().any(|launcher| launcher.as_bytes() == name)
        || has_name(&stat, target.proc_name)?
    {
        return Ok(None);
    }
    // Another program may have been given this pid.
    let is_ours = procfs::has_environment(pid, &target.family.mark.0).unwrap_or(false);
    Ok(is_ours.then(|| clock::ticks_to_boot_ms(stat.start)))
}

/// The process that the pid file names, if it lives, has the name and belongs to the user; else why not. The user can
/// write any pid there: the owner distinguishes the process from one of root's with the same name.
fn named_by(
    pid_path: &str,
    proc_name: &str,
    rights: &OsRights,
) -> io::Result<Result<Stat, String>> {
    let pid = match pidfile::read_with(Path::new(pid_path), rights)? {
        PidFileContent::Pid(pid) => pid,
        PidFileContent::Nothing(note) => return Ok(Err(note)),
    };
    let Some(stat) = Stat::find(pid)?.filter(Stat::is_live) else {
        return Ok(Err(format!(
            "the pid file {pid_path} names {pid}, which does not run"
        )));
    };
    if !has_name(&stat, proc_name)? {
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

/// Whether all uids of a process are this one, if one is given.
fn runs_as(stat: &Stat, uid: Option<u32>) -> io::Result<bool> {
    Ok(match uid {
        Some(uid) => procfs::uids(stat.pid)? == Some([uid; 3]),
        None => true,
    })
}

/// Finds a process that is not held: by its pid file, or by its name if no pid file is given.
pub(crate) fn probe(probe: &Probe) -> Result<Option<LiveRun>, ObserveError> {
    let rights = match probe.user.as_str() {
        "" => OsRights::Agent,
        user => match OsRights::of(user) {
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
            && has_name(&stat, &probe.proc_name)?
            && runs_as(&stat, uid)?
        {
            oldest = Some(stat);
        }
    }
    Ok(oldest.as_ref().map(daemon))
}

fn daemon(stat: &Stat) -> LiveRun {
    let since_boot_ms = clock::ticks_to_boot_ms(stat.start);
    LiveRun {
        run: stat.run(),
        form: Form::Daemon,
        since_boot_ms,
        started_at: clock::boot_to_unix(since_boot_ms),
    }
}
