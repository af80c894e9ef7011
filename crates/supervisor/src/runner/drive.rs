//! Drives one machine: steps it, does its actions, then updates watches, timers and status to its new state.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use model::UnixMillis;
use model::status::Exit;

use super::oom::OomKills;
use super::output::OutputGrowth;
use super::side_command::StartError;
use super::signal::send;
use super::{Key, Runner, SupervisedProcess, Timer};
use crate::Registration;
use crate::journal::entry::Entry;
use crate::machine::{
    Action, Cmd, Depth, Event, Form, Observation, Phase, Role, Run, RunEnd, Sink,
};
use crate::os::family::WatchedRuns;
use crate::os::kept_runs::{KeptRuns, OpenRuns};
use crate::os::observe_error::ObserveError;
use crate::os::rights::OsRights;
use crate::os::spawn::Launch;
use crate::os::{check, clock, observe, pidfile, procfs, shortage, sink, spawn, user};

impl Runner {
    pub(super) fn drive(&mut self, key: Key, event: Event) {
        self.step(key, event);
        self.refresh(key);
    }

    pub(super) fn release_child(&mut self, key: Key, blocked_child: spawn::BlockedChild) {
        let run = blocked_child.run;
        let child = blocked_child.release();
        self.exits.watch_child(run, child.pidfd);
        self.exits.watch_execution(run, &child.failure_pipe);
        self.watchers.entry(run).or_default().push(key);
        if let Some(held) = self.held.get_mut(&key) {
            held.watched.push(run);
            held.failure_pipe = Some((run, child.failure_pipe));
        }
    }

    /// Writes the pid file of a foreground run if an agent was killed between journalling the start and writing it.
    pub(super) fn restore_pid_file(&mut self, key: Key) {
        let Some(held) = self.held.get(&key) else {
            return;
        };
        let Some((current, _)) = held.process.probed_run() else {
            return;
        };
        let alive = current.alive;
        let identity = &held.registration.spec.identity;
        let (pid, path, user) = (alive.pid(), identity.pid_path.as_ref(), &identity.user);
        let is_ours = match alive.form {
            Form::Foreground { .. } => true,
            Form::Daemon => false,
        };
        let lives = procfs::Stat::read(alive.run.pid).is_some_and(|stat| stat.run() == alive.run);
        if is_ours
            && lives
            && matches!(
                pidfile::read(path, user),
                Ok(pidfile::PidFileContent::Nothing(_))
            )
        {
            let refused = self.perform(key, Action::WritePidFile(pid));
            if let Some(refused) = refused {
                self.step(key, refused);
            }
        }
    }

    /// Does one action; returns its event.
    pub(super) fn perform(&mut self, key: Key, action: Action) -> Option<Event> {
        let held = self.held.get_mut(&key)?;
        match action {
            Action::Observe(depth) => self.observe(key, depth),
            // Without descriptors the check would blame the spec.
            Action::Check(role) => Some(match shortage::require_room() {
                Ok(()) => Event::Checked(check::check(&held.registration.spec, role)),
                Err(error) => self.lacks(key, shortage::words(&error)),
            }),
            Action::Spawn(role) => Some(match self.spawn(key, role) {
                Ok(cmd) => Event::Spawned(cmd),
                Err(StartError::Refused(why)) => Event::SpawnFailed(why),
                Err(StartError::Shortage(why)) => self.lacks(key, why),
            }),
            Action::Signal(alive, signal) => {
                Some(match send(alive, signal, &held.registration.spec) {
                    Ok(()) => Event::Signalled,
                    Err(why) => Event::SignalRefused(why),
                })
            }
            Action::Kill(run) => self.begin_kill(key, Some(run)),
            Action::Sweep => self.begin_kill(key, None),
            Action::WritePidFile(pid) => {
                let identity = &held.registration.spec.identity;
                pidfile::write(identity.pid_path.as_ref(), pid, &identity.user)
                    .err()
                    .map(Event::PidFileRefused)
            }
            Action::RemovePidFile(pid) => {
                let identity = &held.registration.spec.identity;
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
            // Journalled with the step.
            Action::End(_) | Action::Emit(_) => None,
        }
    }

    fn lacks(&self, key: Key, why: String) -> Event {
        // Logged once, not at every attempt.
        if let Some(held) = self.held.get(&key)
            && !held.process.message.contains(&why)
        {
            tracing::error!(process = %held.registration.name, why, "cannot start a command: tried again later");
        }
        Event::Shortage(why)
    }

    fn observe(&mut self, key: Key, depth: Depth) -> Option<Event> {
        let root = self.held.get(&key)?.process.root();
        let look = self.observe_from(key, depth, root)?;
        let held = self.held.get_mut(&key)?;
        let why = match look {
            Ok(look) => {
                held.not_observed.clear();
                return Some(Event::Observed(look));
            }
            Err(unknown) => unknown.words(),
        };
        if let Some(why) = &why
            && held.not_observed != *why
        {
            tracing::error!(process = %held.registration.name, why, "not known whether it runs");
            held.not_observed.clone_from(why);
        }
        Some(Event::NotObserved(why))
    }

    /// Observes a process whose family has this root.
    pub(super) fn observe_from(
        &mut self,
        key: Key,
        depth: Depth,
        root: Option<Run>,
    ) -> Option<Result<Observation, ObserveError>> {
        let held = self.held.get(&key)?;
        let identity = &held.registration.spec.identity;
        let target = observe::Target {
            proc_name: &identity.proc_name,
            others: observe::OtherRuns(&|run| anothers(&self.held, key, run)),
            pid_path: &identity.pid_path,
            user: &identity.user,
            family: held.family(root, &self.cgroups),
        };
        let known = WatchedRuns {
            exits: &self.exits,
            is_of_another: &|run| is_watched_by_another(&self.watchers, key, run),
        };
        Some(observe::observe(&target, depth, &mut self.families, known))
    }

    /// Creates the child, which blocks until the next step is journalled.
    fn spawn(&mut self, key: Key, role: Role) -> Result<Cmd, StartError> {
        shortage::require_room().map_err(|error| StartError::because(&error))?;
        if matches!(role, Role::Start | Role::Restart) {
            self.kill_leftovers(key).map_err(StartError::Shortage)?;
        }
        let held = self.held.get_mut(&key);
        let held = held.ok_or_else(|| "it is not held any more".to_owned())?;
        let spec = &held.registration.spec;
        let text = role.command(&spec.control);
        let user = user::find(&spec.identity.user)?;
        let now = clock::now();
        let Output {
            sink,
            file: output,
            runs,
        } = match role {
            Role::Start | Role::Restart => {
                let rights = OsRights::of_user(Arc::clone(&user));
                run_output(
                    &held.registration,
                    &rights,
                    &self.runs,
                    now.unix,
                    &held.open_runs,
                )
            }
            Role::Stop | Role::Reload | Role::Kill => {
                self.spools.open().map(|(sink, file)| Output {
                    sink,
                    file,
                    runs: None,
                })
            }
        }
        .map_err(|error| {
            StartError::new(&error, || {
                format!("the agent has no place for the command's output: {error}")
            })
        })?;
        let groups = match role {
            Role::Start | Role::Restart => self
                .cgroups
                .for_process(&held.registration.name, &spec.runtime),
            Role::Stop | Role::Reload | Role::Kill => self.cgroups.for_command(),
        };
        let spawned = spawn::spawn(&Launch {
            command: &check::shell_text(text),
            directory: &spec.identity.setup_path,
            user: &user,
            environment: &spawn::environment(&user, &spec.runtime.env, &held.mark.0),
            runtime: &spec.runtime,
            output: &output,
            groups: &groups,
        });
        let blocked_child = match spawned {
            Ok(blocked_child) => blocked_child,
            Err(error) => {
                match runs.and_then(|runs| runs.newest) {
                    Some(run) => self.runs.take_back(&held.registration.name, run),
                    None => self.spools.give_back(&sink.path),
                }
                return Err(StartError::new(&error, || {
                    format!("{} could not be executed: {error}", role.field())
                }));
            }
        };
        match (blocked_child.is_in_group, role) {
            (true, Role::Start | Role::Restart) => held.group_membership.entered(blocked_child.run),
            (true, Role::Stop | Role::Reload | Role::Kill) => {
                held.group_membership.commanded(blocked_child.run)
            }
            (false, _) => self.cgroups.found_stray(&held.registration.name),
        }
        match role {
            Role::Start | Role::Restart => {
                held.started = Some(blocked_child.run);
                // Its group was created again, or goes on counting.
                let kills = self.cgroups.oom_kills(&held.registration.name);
                held.oom_kills = OomKills::from_start(kills);
                held.log_is_hidden = false;
                held.open_runs = runs.unwrap_or_default();
                held.output = OutputGrowth::begins_at(sink.offset);
            }
            Role::Stop | Role::Reload | Role::Kill => {}
        }
        let cmd = Cmd {
            run: blocked_child.run,
            role,
            text: text.to_owned(),
            began_boot_ms: now.boot_ms,
            began_at: now.unix,
            sink,
            launch_digest: held.launch_digest,
        };
        held.blocked_child = Some(blocked_child);
        Ok(cmd)
    }

    fn forget(&mut self, key: Key) {
        let Some(held) = self.held.remove(&key) else {
            return;
        };
        for run in held.watched {
            self.unwatch(key, run);
        }
        self.cgroups.forget(&held.registration.name);
        self.runs.forget(&held.registration.name);
        self.write(&[Entry::Forget(held.registration.name.clone())]);
        self.outbox.must_sync();
        self.names.remove(&held.registration.name);
        self.order.remove(key, &held.registration.spec.after);
        self.order.has_changed(&held.registration.name);
    }

    /// A command of a process was executed: it has its name from here on.
    pub(super) fn executed(&mut self, key: Key, run: Run) {
        if let Some(held) = self.held.get_mut(&key) {
            // Open, it would take a descriptor as long as the run lives.
            held.failure_pipe.take_if(|(of, _)| *of == run);
        }
        self.drive(key, Event::Tick);
    }

    /// A run or command of a process ended.
    pub(super) fn ended(&mut self, key: Key, run: Run, exit: Exit) {
        let Some(held) = self.held.get_mut(&key) else {
            return;
        };
        held.watched.retain(|watched| *watched != run);
        let failure = held
            .failure_pipe
            .take_if(|(of, _)| *of == run)
            .and_then(|(_, failure_pipe)| failure_pipe.read());
        let event = match failure {
            Some(failure) if failure.is_shortage => self.lacks(key, failure.why),
            Some(failure) => Event::SpawnFailed(failure.why),
            None => {
                let sink = held.process.sink_of(run);
                let last_line = match exit.is_success() {
                    true => String::new(),
                    false => sink.map_or_else(String::new, |sink| {
                        let rights = sink::rights(sink, &held.registration.spec.identity.user);
                        rights.map_or_else(|why| why, |rights| sink::headline(sink, &rights))
                    }),
                };
                let oom = held.oom_memory(run, exit, &self.cgroups, &mut self.kernel_log);
                Event::Exited(
                    run,
                    RunEnd {
                        exit,
                        last_line,
                        oom,
                    },
                )
            }
        };
        self.drive(key, event);
    }

    /// After its steps: updates watched runs, timers and status to the machine's state.
    pub(super) fn refresh(&mut self, key: Key) {
        loop {
            let Some(held) = self.held.get_mut(&key) else {
                return;
            };
            // Called again when the family is killed.
            if held.family_kill.is_some() {
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
                Some((run, exit)) => self.step(key, Event::Exited(run, exit.into())),
                None => break,
            }
        }
        self.drop_failure_pipe(key);
        self.update_schedule(key);
        self.update_health_timer(key);
        self.update_probe_timers(key);
        self.update_groups(key);
        let now = clock::now();
        let Some(held) = self.held.get_mut(&key) else {
            return;
        };
        let due = held.process.due(&held.context(now));
        if due != held.armed {
            held.armed = due;
            if let Some(at) = due {
                self.timers.push(Reverse((at, Timer::Process(key))));
            }
        }
        if held.refresh(now.unix) {
            self.outbox.status_changed(key);
        }
        self.note_change(key);
    }

    /// Closes the failure pipe of a run that is up: it would take a descriptor as long as the run lives.
    fn drop_failure_pipe(&mut self, key: Key) {
        if let Some(held) = self.held.get_mut(&key)
            && matches!(held.process.phase, Phase::Up { .. })
        {
            held.failure_pipe.take_if(|(_, pipe)| pipe.is_closed());
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

/// Where a command writes.
struct Output {
    sink: Sink,
    file: OwnedFd,
    /// The kept runs of its process, with this one.
    runs: Option<OpenRuns>,
}

/// The log of a run, or an output that the agent keeps.
fn run_output(
    registration: &Registration,
    rights: &OsRights,
    runs: &KeptRuns,
    now: UnixMillis,
    known: &OpenRuns,
) -> io::Result<Output> {
    let (name, log_path) = (
        &registration.name,
        registration.spec.identity.log_path.as_str(),
    );
    let keep = registration.spec.schedule.history;
    let kept = |instead_of_log: String| {
        let (sink, file, runs) = runs.begin(name, now, known, keep)?;
        Ok(Output {
            sink: Sink {
                instead_of_log,
                ..sink
            },
            file,
            runs: Some(runs),
        })
    };
    if log_path.is_empty() {
        return kept(String::new());
    }
    match sink::open_log(log_path, name.name.as_str(), rights) {
        Ok((sink, file)) => {
            // Without this record the run has its log all the same; only the run before it is not found.
            let runs = runs.begin_log(name, now, known, keep, &sink).ok();
            Ok(Output { sink, file, runs })
        }
        Err(why) => {
            // After a shortage the run would lack its log as long as it lasts: fail instead.
            shortage::require_room()?;
            tracing::warn!(process = %name, why, "the log is not used");
            kept(why)
        }
    }
}

/// The other held process that has this run, although this one's pid file names it: a stale pid file whose number is in
/// use again. A run that the agent started for this process is its own in any case, and two processes with the same pid
/// file are one program under two names.
fn anothers(
    all: &HashMap<Key, Box<SupervisedProcess>>,
    key: Key,
    run: Run,
) -> io::Result<Option<String>> {
    let Some(this) = all.get(&key) else {
        return Ok(None);
    };
    let is_it = |held: &&SupervisedProcess| {
        let alive = held.process.alive();
        alive.is_some_and(|alive| alive.run == run || alive.pid() == run.pid)
            && held.registration.spec.identity.pid_path != this.registration.spec.identity.pid_path
    };
    let others = all.iter().filter(|(other, _)| **other != key);
    let Some(other) = others.map(|(_, held)| held.as_ref()).find(is_it) else {
        return Ok(None);
    };
    let is_ours = procfs::has_environment(run.pid, &this.mark.0)?;
    Ok((!is_ours).then(|| other.registration.name.to_string()))
}

pub(super) fn is_watched_by_another(watchers: &HashMap<Run, Vec<Key>>, key: Key, run: Run) -> bool {
    let watchers = watchers.get(&run);
    watchers.is_some_and(|keys| keys.iter().any(|other| *other != key))
}
