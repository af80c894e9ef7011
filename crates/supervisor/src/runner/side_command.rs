//! Side commands: `version_cmd`, `health_cmd` and the commands of probes, which run beside the machine.
//!
//! They change no state, so they are not journalled; each has a time-out.

use std::cmp::Reverse;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use model::spec::{Probe, ProbeKind, Runtime};
use model::status::Exit;
use model::{FullName, OpId, Spec};

use super::{Key, Runner, Timer};
use crate::machine::{Event, Run, Sink};
use crate::os::family::Mark;
use crate::os::rights::OsRights;
use crate::os::shortage::{self, is_shortage};
use crate::os::spawn::Launch;
use crate::os::{clock, observe, sink, spawn, user};

/// How long `version_cmd` may take.
const VERSION_MS: u64 = 10_000;
/// How long a query waits for it.
const QUERY_MS: u64 = 3_000;
/// The longest version that is kept.
const MAX_VERSION: usize = 128;

#[derive(Debug)]
pub(crate) struct SideCommand {
    pub(crate) run: Run,
    pub(crate) sink: Sink,
    pub(crate) until_boot_ms: u64,
    /// It was created in the control group of commands.
    pub(crate) is_in_group: bool,
    purpose: SidePurpose,
}

/// Where and as which user a side command runs.
#[derive(Debug)]
struct CommandSetting<'a> {
    directory: &'a str,
    user: &'a str,
    runtime: &'a Runtime,
}

impl<'a> CommandSetting<'a> {
    fn of(spec: &'a Spec) -> Self {
        Self {
            directory: &spec.identity.setup_path,
            user: &spec.identity.user,
            runtime: &spec.runtime,
        }
    }
}

/// Why a command was not started.
#[derive(Debug)]
pub(super) enum StartError {
    /// Because of the process: its spec, its user, its files.
    Refused(String),
    /// The agent or the host lacks descriptors, memory or processes.
    Shortage(String),
}

impl StartError {
    pub(super) fn because(error: &io::Error) -> Self {
        Self::new(error, || error.to_string())
    }

    /// `refused` is the message if it is no shortage.
    pub(super) fn new(error: &io::Error, refused: impl FnOnce() -> String) -> Self {
        match is_shortage(error) {
            true => Self::Shortage(shortage::words(error)),
            false => Self::Refused(refused()),
        }
    }
}

impl From<String> for StartError {
    fn from(why: String) -> Self {
        Self::Refused(why)
    }
}

#[derive(Debug)]
enum SidePurpose {
    Version(Key),
    /// The health of this run.
    Health(Key, Run),
    Probe {
        key: Key,
        kind: ProbeKind,
        run: Run,
        timeout_ms: u64,
    },
    /// The version for a query about a process that is not held.
    UnheldVersion(OpId, Box<Probe>),
}

impl Runner {
    /// Lets a query wait for the version, with a time-out.
    pub(super) fn await_version(&mut self, key: Key) {
        if let Some(held) = self.held.get_mut(&key) {
            let until_boot_ms = clock::boot_ms() + QUERY_MS;
            held.query_until_boot_ms = Some(until_boot_ms);
            self.timers
                .push(Reverse((until_boot_ms, Timer::Query(key))));
        }
    }

    /// Runs `version_cmd` of a held process; false if it cannot be run.
    pub(super) fn find_version(&mut self, key: Key) -> bool {
        let Some(held) = self.held.get(&key) else {
            return false;
        };
        let is_running =
            |side: &SideCommand| matches!(side.purpose, SidePurpose::Version(of) if of == key);
        if self.sides.values().any(is_running) {
            return true;
        }
        let spec = Arc::clone(&held.registration.spec);
        let name = held.registration.name.clone();
        let setting = CommandSetting::of(&spec);
        self.start_side_command(
            &name,
            &setting,
            &spec.control.version_cmd,
            SidePurpose::Version(key),
        )
        .is_ok()
    }

    /// Runs `health_cmd` of a held process.
    pub(super) fn check_health(&mut self, key: Key) -> Result<(), StartError> {
        let Some((held, run)) = self
            .held
            .get(&key)
            .and_then(|held| Some((held, held.health_of?)))
        else {
            return Ok(());
        };
        let is_running =
            |side: &SideCommand| matches!(side.purpose, SidePurpose::Health(of, _) if of == key);
        if self.sides.values().any(is_running) {
            return Ok(());
        }
        let spec = Arc::clone(&held.registration.spec);
        let name = held.registration.name.clone();
        let setting = CommandSetting::of(&spec);
        self.start_side_command(
            &name,
            &setting,
            &spec.control.health_cmd,
            SidePurpose::Health(key, run),
        )
    }

    /// Runs the command of a probe of a held process.
    pub(super) fn start_probe_command(
        &mut self,
        key: Key,
        kind: ProbeKind,
        run: Run,
        command: &str,
        timeout_ms: u64,
    ) -> Result<(), StartError> {
        let Some(held) = self.held.get(&key) else {
            return Ok(());
        };
        let spec = Arc::clone(&held.registration.spec);
        let name = held.registration.name.clone();
        let purpose = SidePurpose::Probe {
            key,
            kind,
            run,
            timeout_ms,
        };
        self.start_side_command(&name, &CommandSetting::of(&spec), command, purpose)
    }

    pub(super) fn ask_unheld_version(&mut self, id: OpId, name: &FullName, probe: &Probe) -> bool {
        let setting = CommandSetting {
            directory: &probe.setup_path,
            user: &probe.user,
            runtime: &Runtime::default(),
        };
        let purpose = SidePurpose::UnheldVersion(id, Box::new(probe.clone()));
        self.start_side_command(name, &setting, &probe.version_cmd, purpose)
            .is_ok()
    }

    fn start_side_command(
        &mut self,
        name: &FullName,
        setting: &CommandSetting<'_>,
        command: &str,
        purpose: SidePurpose,
    ) -> Result<(), StartError> {
        if command.trim().is_empty() {
            return Err("there is no command".to_owned().into());
        }
        shortage::require_room().map_err(|error| StartError::because(&error))?;
        let user = user::find(setting.user)?;
        let (sink, output) = self.spools.open().map_err(|error| {
            StartError::new(&error, || {
                format!("the agent has no place for the command's output: {error}")
            })
        })?;
        let mark = Mark::new(&self.agent, name);
        let directory = match setting.directory {
            "" => "/",
            path => path,
        };
        let blocked_child = spawn::spawn(&Launch {
            command,
            directory,
            user: &user,
            environment: &spawn::environment(&user, &setting.runtime.env, &mark.0),
            runtime: setting.runtime,
            output: &output,
            groups: &self.cgroups.for_command(),
        });
        match blocked_child {
            Ok(blocked_child) => {
                let (run, is_in_group) = (blocked_child.run, blocked_child.is_in_group);
                self.exits.watch_child(run, blocked_child.release().pidfd);
                if !is_in_group {
                    self.cgroups.found_stray(name);
                }
                let patience_ms = match purpose {
                    SidePurpose::Version(_) => VERSION_MS,
                    SidePurpose::Health(..) => self.options.health_timeout.as_millis() as u64,
                    SidePurpose::Probe { timeout_ms, .. } => timeout_ms,
                    SidePurpose::UnheldVersion(..) => QUERY_MS,
                };
                let until_boot_ms = clock::boot_ms() + patience_ms;
                self.timers
                    .push(Reverse((until_boot_ms, Timer::SideCommand(run.pid))));
                let side = SideCommand {
                    run,
                    sink,
                    until_boot_ms,
                    is_in_group,
                    purpose,
                };
                self.sides.insert(run.pid, side);
                Ok(())
            }
            Err(error) => {
                tracing::warn!(process = %name, %error, "cannot run a command beside the process");
                self.spools.give_back(&sink.path);
                Err(StartError::new(&error, || {
                    format!("it could not be executed: {error}")
                }))
            }
        }
    }

    pub(super) fn side_timed_out(&mut self, pid: i32) {
        if let Some(side) = self.sides.remove(&pid) {
            self.kill_side(&side);
            self.exits.forget(side.run);
            self.side_ended(side, None);
        }
    }

    /// Kills every side command: the runner stops and would not read their results.
    pub(super) fn kill_sides(&mut self) {
        for side in std::mem::take(&mut self.sides).into_values() {
            self.kill_side(&side);
            self.spools.give_back(&side.sink.path);
        }
    }

    /// A side command ended, or timed out (`None`).
    pub(super) fn side_ended(&mut self, side: SideCommand, exit: Option<Exit>) {
        match side.purpose {
            SidePurpose::Health(key, run) => return self.health_ended(&side, key, run, exit),
            SidePurpose::Probe {
                key,
                kind,
                run,
                timeout_ms,
            } => {
                let patience = Duration::from_millis(timeout_ms);
                let result = self.check_result(&side, exit, patience);
                return self.probe_ended(key, kind, run, result.map_err(StartError::Refused));
            }
            SidePurpose::Version(_) | SidePurpose::UnheldVersion(..) => {}
        }
        let version = exit
            .is_some_and(Exit::is_success)
            .then(|| version_in(&sink::tail(&side.sink, 16 * 1024, &OsRights::Agent)));
        self.spools.give_back(&side.sink.path);
        match side.purpose {
            SidePurpose::Version(key) => self.version_found(key, version),
            SidePurpose::Health(..) | SidePurpose::Probe { .. } => {}
            SidePurpose::UnheldVersion(id, probe) => {
                let version = version.unwrap_or_default();
                let outcome = self.unheld_outcome(observe::probe(&probe), &version);
                self.end_now(id, outcome);
            }
        }
    }

    fn health_ended(&mut self, side: &SideCommand, key: Key, run: Run, exit: Option<Exit>) {
        let result = self.check_result(side, exit, self.options.health_timeout);
        let held = self.held.get(&key);
        // The result of an earlier run says nothing about this one.
        if held.is_some_and(|held| held.health_of == Some(run)) {
            self.health_checked(key, result);
        }
    }

    /// Whether a check succeeded; else how it ended, with the line of its output that names the error.
    fn check_result(
        &mut self,
        side: &SideCommand,
        exit: Option<Exit>,
        patience: Duration,
    ) -> Result<(), String> {
        let last_line = sink::headline(&side.sink, &OsRights::Agent);
        self.spools.give_back(&side.sink.path);
        let result = match exit {
            Some(exit) if exit.is_success() => Ok(()),
            Some(exit) => Err(exit.to_string()),
            None => {
                let patience = patience.as_secs_f32();
                Err(format!("not done after {patience} s, and killed"))
            }
        };
        result.map_err(|why| match last_line.as_str() {
            "" => why,
            line => format!("{why}: {line}"),
        })
    }

    /// Without a new version the last known one stays.
    fn version_found(&mut self, key: Key, version: Option<String>) {
        let event = version.map_or(Event::Proceed, Event::VersionFound);
        self.drive(key, event);
        if let Some(held) = self.held.get(&key)
            && held.process.query.is_some()
        {
            self.answer_query(key);
        }
    }

    /// Answers the query under way with the current data.
    pub(super) fn answer_query(&mut self, key: Key) {
        if let Some(held) = self.held.get_mut(&key) {
            held.query_until_boot_ms = None;
            let instance = self.instance(key);
            self.drive(key, Event::Inspected(Box::new(instance)));
        }
    }
}

/// The first line with a dot between digits, else the first with a digit, else the first.
fn version_in(output: &str) -> String {
    let dotted = |line: &&str| {
        line.as_bytes()
            .windows(3)
            .any(|w| w[0].is_ascii_digit() && w[1] == b'.' && w[2].is_ascii_digit())
    };
    let lines = || {
        output
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
    };
    let line = lines().find(dotted);
    let line = line.or_else(|| lines().find(|line| line.bytes().any(|b| b.is_ascii_digit())));
    let line = line.or_else(|| lines().next()).unwrap_or_default();
    line.chars().take(MAX_VERSION).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_looks_like_a_version_is_taken() {
        for (output, version) in [
            ("1.2.3\n", "1.2.3"),
            (
                "loading\nnginx version: nginx/1.22.1\nbuilt 2023",
                "nginx version: nginx/1.22.1",
            ),
            ("v7\n", "v7"),
            ("unknown\n", "unknown"),
            ("\n\n", ""),
        ] {
            assert_eq!(version_in(output), version, "{output:?}");
        }
    }
}
