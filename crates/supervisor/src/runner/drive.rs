//! Drives one machine: steps it, does what it says, and then watches, wakes and tells as its new state wants.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use model::Spec;
use model::status::Exit;
use rustix::process::Signal as KernelSignal;

use super::side::NotStarted;
use super::{Due, Held, Key, Runner};
use crate::journal::entry::Entry;
use crate::machine::{Action, Alive, Cmd, Depth, Event, Form, Look, Phase, Role, Run, Signal};
use crate::os::family::Known;
use crate::os::rights::Rights;
use crate::os::spawn::Launch;
use crate::os::unknown::Unknown;
use crate::os::{check, clock, kill, look, pidfile, procfs, shortage, sink, spawn, user};

impl Runner {
    pub(super) fn drive(&mut self, key: Key, event: Event) {
        self.step(key, event);
        self.attend(key);
    }

    pub(super) fn let_go(&mut self, key: Key, gated: spawn::Gated) {
        let run = gated.run;
        let child = gated.open();
        self.exits.watch_child(run, child.pidfd);
        self.watchers.entry(run).or_default().push(key);
        if let Some(held) = self.held.get_mut(&key) {
            held.watched.push(run);
            held.complaints = Some((run, child.complaints));
        }
    }

    /// An agent that was killed between writing down a start and writing its pid file left none.
    pub(super) fn mend_pid_file(&mut self, key: Key) {
        let Some(held) = self.held.get(&key) else {
            return;
        };
        let Phase::Up { current } = &held.process.phase else {
            return;
        };
        let alive = current.alive;
        let identity = &held.hold.spec.identity;
        let (pid, path, user) = (alive.pid(), identity.pid_path.as_ref(), &identity.user);
        let is_ours = match alive.form {
            Form::Foreground { .. } => true,
            Form::Daemon => false,
        };
        let lives = procfs::Stat::read(alive.run.pid).is_some_and(|stat| stat.run() == alive.run);
        if is_ours && lives && matches!(pidfile::read(path, user), Ok(pidfile::Named::Nothing(_))) {
            let refused = self.perform(key, Action::WritePidFile(pid));
            if let Some(refused) = refused {
                self.step(key, refused);
            }
        }
    }

    /// Does one action; what it shows comes back.
    pub(super) fn perform(&mut self, key: Key, action: Action) -> Option<Event> {
        let held = self.held.get_mut(&key)?;
        match action {
            Action::Look(depth) => self.look(key, depth),
            // A check without descriptors would blame the spec.
            Action::Check(role) => Some(match shortage::require_room() {
                Ok(()) => Event::Checked(check::check(&held.hold.spec, role)),
                Err(error) => self.lacks(key, shortage::words(&error)),
            }),
            Action::Spawn(role) => Some(match self.spawn(key, role) {
                Ok(cmd) => Event::Spawned(cmd),
                Err(NotStarted::Refused(why)) => Event::SpawnFailed(why),
                Err(NotStarted::Shortage(why)) => self.lacks(key, why),
            }),
            Action::Signal(alive, signal) => Some(match send(alive, signal, &held.hold.spec) {
                Ok(()) => Event::Signalled,
                Err(why) => Event::SignalRefused(why),
            }),
            Action::Kill(run) => self.begin_ending(key, Some(run)),
            Action::Sweep => self.begin_ending(key, None),
            Action::WritePidFile(pid) => {
                let identity = &held.hold.spec.identity;
                pidfile::write(identity.pid_path.as_ref(), pid, &identity.user)
                    .err()
                    .map(Event::PidFileRefused)
            }
            Action::RemovePidFile(pid) => {
                let identity = &held.hold.spec.identity;
                pidfile::remove(identity.pid_path.as_ref(), pid, &identity.user);
                None
            }
            Action::Inspect => self.inspect(key),
            Action::FindVersion => {
                self.find_version(key);
                None
            }
            Action::Forgotten => {
                self.forget(key);
                None
            }
            // Written down with the step.
            Action::End(_) | Action::Emit(_) => None,
        }
    }

    fn lacks(&self, key: Key, why: String) -> Event {
        // Said once, not at every attempt.
        if let Some(held) = self.held.get(&key)
            && !held.process.message.contains(&why)
        {
            tracing::error!(process = %held.hold.name, why, "cannot start a command: tried again later");
        }
        Event::Shortage(why)
    }

    fn look(&mut self, key: Key, depth: Depth) -> Option<Event> {
        let root = self.held.get(&key)?.process.root();
        let look = self.look_from(key, depth, root)?;
        let held = self.held.get_mut(&key)?;
        let why = match look {
            Ok(look) => {
                held.not_looked.clear();
                return Some(Event::Looked(look));
            }
            Err(unknown) => unknown.words(),
        };
        if let Some(why) = &why
            && held.not_looked != *why
        {
            tracing::error!(process = %held.hold.name, why, "not known whether it runs");
            held.not_looked.clone_from(why);
        }
        Some(Event::NotLooked(why))
    }

    /// A look that knows the command from which it all came.
    pub(super) fn look_from(
        &mut self,
        key: Key,
        depth: Depth,
        root: Option<Run>,
    ) -> Option<Result<Look, Unknown>> {
        let held = self.held.get(&key)?;
        let identity = &held.hold.spec.identity;
        let place = look::Place {
            proc_name: &identity.proc_name,
            others: look::Others(&|run| anothers(&self.held, key, run)),
            pid_path: &identity.pid_path,
            user: &identity.user,
            whose: held.family(root, &self.cgroups),
        };
        let known = Known {
            exits: &self.exits,
            is_anothers: &|run| is_watched_by_another(&self.watchers, key, run),
        };
        Some(look::look(&place, depth, &mut self.families, known))
    }

    /// Makes the child, which waits until the step that follows is written down.
    fn spawn(&mut self, key: Key, role: Role) -> Result<Cmd, NotStarted> {
        shortage::require_room().map_err(|error| NotStarted::because(&error))?;
        if matches!(role, Role::Start | Role::Restart) {
            self.end_leftovers(key).map_err(NotStarted::Shortage)?;
        }
        let held = self.held.get_mut(&key);
        let held = held.ok_or_else(|| "it is not held any more".to_owned())?;
        let spec = &held.hold.spec;
        let text = match role {
            Role::Start => &spec.control.start_cmd,
            Role::Stop => &spec.control.stop_cmd,
            Role::Restart => &spec.control.restart_cmd,
            Role::Reload => &spec.control.reload_cmd,
            Role::Kill => &spec.control.kill_cmd,
        };
        let user = user::find(&spec.identity.user)?;
        let log_path = match role {
            Role::Start | Role::Restart => spec.identity.log_path.as_str(),
            Role::Stop | Role::Reload | Role::Kill => "",
        };
        let name = held.hold.name.name.as_str();
        let (sink, output) = match log_path {
            "" => self.spools.open(),
            log_path => sink::open_log(log_path, name, &Rights::of_user(Arc::clone(&user)))
                .or_else(|why| {
                    // For want of a descriptor the run would be without its log for as long as it lasts.
                    shortage::require_room()?;
                    tracing::warn!(process = %held.hold.name, why, "the log is not used");
                    let (mut sink, output) = self.spools.open()?;
                    sink.instead_of_log = why;
                    Ok((sink, output))
                }),
        }
        .map_err(|error| {
            NotStarted::new(&error, || {
                format!("the agent has no place for the command's output: {error}")
            })
        })?;
        let groups = match role {
            Role::Start | Role::Restart => self.cgroups.for_process(&held.hold.name, &spec.runtime),
            Role::Stop | Role::Reload | Role::Kill => self.cgroups.for_command(),
        };
        let gated = spawn::spawn(&Launch {
            command: &check::shell_text(text),
            directory: &spec.identity.setup_path,
            user: &user,
            environment: &spawn::environment(&user, &spec.runtime.env, &held.mark.0),
            runtime: &spec.runtime,
            output: &output,
            groups: &groups,
        })
        .map_err(|error| {
            NotStarted::new(&error, || {
                format!("{} could not be executed: {error}", role.field())
            })
        })?;
        match (gated.was_made_in_group, role) {
            (true, Role::Start | Role::Restart) => held.grouped.entered(gated.run),
            (true, Role::Stop | Role::Reload | Role::Kill) => held.grouped.commanded(gated.run),
            (false, _) => self.cgroups.found_stray(&held.hold.name),
        }
        match role {
            Role::Start | Role::Restart => {
                held.started = Some(gated.run);
                held.log_is_hidden = false;
            }
            Role::Stop | Role::Reload | Role::Kill => {}
        }
        let now = clock::now();
        let cmd = Cmd {
            run: gated.run,
            role,
            text: text.clone(),
            began_boot_ms: now.boot_ms,
            began_at: now.unix,
            sink,
        };
        held.gated = Some(gated);
        Ok(cmd)
    }

    fn forget(&mut self, key: Key) {
        let Some(held) = self.held.remove(&key) else {
            return;
        };
        for run in held.watched {
            self.unwatch(key, run);
        }
        self.cgroups.forget(&held.hold.name);
        self.write(&[Entry::Forget(held.hold.name.clone())]);
        self.outbox.must_sync();
        self.names.remove(&held.hold.name);
    }

    /// A run or command of a process ended.
    pub(super) fn ended(&mut self, key: Key, run: Run, exit: Exit) {
        let Some(held) = self.held.get_mut(&key) else {
            return;
        };
        held.watched.retain(|watched| *watched != run);
        let complaint = held
            .complaints
            .take_if(|(of, _)| *of == run)
            .and_then(|(_, complaints)| complaints.read());
        let event = match complaint {
            Some(complaint) if complaint.is_shortage => self.lacks(key, complaint.why),
            Some(complaint) => Event::SpawnFailed(complaint.why),
            None => {
                let sink = held.process.sink_of(run);
                let last_line = match exit.is_success() {
                    true => String::new(),
                    false => sink.map_or_else(String::new, |sink| {
                        let rights = sink::rights(sink, &held.hold.spec.identity.user);
                        rights.map_or_else(|why| why, |rights| sink::last_line(sink, &rights))
                    }),
                };
                Event::Exited(run, exit, last_line)
            }
        };
        self.drive(key, event);
    }

    /// After its steps: watches what the machine wants watched, sets its timer, tells its status.
    pub(super) fn attend(&mut self, key: Key) {
        loop {
            let Some(held) = self.held.get_mut(&key) else {
                return;
            };
            // Attended to again when the killed processes are gone: what becomes of it is told then.
            if held.ending.is_some() {
                return;
            }
            let wanted = held.process.watched();
            let old: Vec<Run> = held
                .watched
                .extract_if(.., |run| !wanted.contains(run))
                .collect();
            let new: Vec<Run> = wanted
                .into_iter()
                .filter(|run| !held.watched.contains(run))
                .collect();
            for run in old {
                self.unwatch(key, run);
            }
            let mut gone = None;
            for run in new {
                match self.exits.watch(run) {
                    None => {
                        self.watchers.entry(run).or_default().push(key);
                        if let Some(held) = self.held.get_mut(&key) {
                            held.watched.push(run);
                        }
                    }
                    Some(exit) => gone = Some((run, exit)),
                }
            }
            match gone {
                Some((run, exit)) => self.step(key, Event::Exited(run, exit, String::new())),
                None => break,
            }
        }
        self.drop_complaints(key);
        self.mind_schedule(key);
        self.mind_health(key);
        self.mind_groups(key);
        let now = clock::now();
        let Some(held) = self.held.get_mut(&key) else {
            return;
        };
        let due = held.process.due(&held.context(now));
        if due != held.armed {
            held.armed = due;
            if let Some(at) = due {
                self.timers.push(Reverse((at, Due::Process(key))));
            }
        }
        if held.refresh(now.unix) {
            self.outbox.status_changed(key);
        }
    }

    /// A run that is up has become its command and complains no more: its pipe would take a descriptor as long as it lives.
    fn drop_complaints(&mut self, key: Key) {
        if let Some(held) = self.held.get_mut(&key)
            && matches!(held.process.phase, Phase::Up { .. })
        {
            held.complaints.take_if(|(_, pipe)| pipe.are_over());
        }
    }

    fn unwatch(&mut self, key: Key, run: Run) {
        if let Some(keys) = self.watchers.get_mut(&run) {
            keys.retain(|watcher| *watcher != key);
            if keys.is_empty() {
                self.watchers.remove(&run);
                self.exits.forget(run);
            }
        }
    }
}

/// The other held process that a run is, although this one's pid file names it too: a file that was left behind, whose
/// number is in use again. What we started for this one is its own in any case, and two that share a pid file are one
/// program under two names.
fn anothers(all: &HashMap<Key, Box<Held>>, key: Key, run: Run) -> io::Result<Option<String>> {
    let Some(this) = all.get(&key) else {
        return Ok(None);
    };
    let is_it = |held: &&Held| {
        let alive = held.process.alive();
        alive.is_some_and(|alive| alive.run == run || alive.pid() == run.pid)
            && held.hold.spec.identity.pid_path != this.hold.spec.identity.pid_path
    };
    let others = all.iter().filter(|(other, _)| **other != key);
    let Some(other) = others.map(|(_, held)| held.as_ref()).find(is_it) else {
        return Ok(None);
    };
    let is_ours = procfs::has_environment(run.pid, &this.mark.0)?;
    Ok((!is_ours).then(|| other.hold.name.to_string()))
}

pub(super) fn is_watched_by_another(watchers: &HashMap<Run, Vec<Key>>, key: Key, run: Run) -> bool {
    let watchers = watchers.get(&run);
    watchers.is_some_and(|keys| keys.iter().any(|other| *other != key))
}

/// A daemon was found by its pid file, which its user may write: it gets what they could send. What stays in the
/// foreground the agent has started itself.
fn send(alive: Alive, signal: Signal, spec: &Spec) -> Result<(), String> {
    let send = |signal| match alive.form {
        Form::Daemon => kill::signal(alive.run, signal, &spec.identity.user),
        Form::Foreground { .. } => kill::signal_group(alive.run, signal),
    };
    match signal {
        // One that was stopped in its tracks hears of it when it goes on.
        Signal::Terminate => send(KernelSignal::TERM).and_then(|()| send(KernelSignal::CONT)),
        Signal::HangUp => send(KernelSignal::HUP),
    }
}
