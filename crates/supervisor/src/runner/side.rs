//! Commands beside the machine: they change nothing, so they are in no journal, and are bounded.

use std::cmp::Reverse;
use std::io;
use std::sync::Arc;

use model::spec::{Probe, Runtime};
use model::status::Exit;
use model::{FullName, OpId, Spec};

use super::{Due, Key, Runner};
use crate::machine::{Event, Run, Sink};
use crate::os::family::Mark;
use crate::os::rights::Rights;
use crate::os::shortage::{self, is_shortage};
use crate::os::spawn::Launch;
use crate::os::{clock, look, sink, spawn, user};

/// How long a program may take to tell its version.
const VERSION_MS: u64 = 10_000;
/// How long a query waits for that.
const QUERY_MS: u64 = 3_000;
/// The longest version that is kept.
const MAX_VERSION: usize = 128;

#[derive(Debug)]
pub(crate) struct Side {
    pub(crate) run: Run,
    pub(crate) sink: Sink,
    pub(crate) until_boot_ms: u64,
    /// It was made in the control group of commands.
    pub(crate) is_in_group: bool,
    asks: Asks,
}

/// How a command beside the machine runs.
#[derive(Debug)]
struct Place<'a> {
    directory: &'a str,
    user: &'a str,
    runtime: &'a Runtime,
}

impl<'a> Place<'a> {
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
pub(super) enum NotStarted {
    /// For a reason that lies with the process: its spec, its user, its files.
    Refused(String),
    /// The agent or the host lacks descriptors, memory or processes.
    Shortage(String),
}

impl NotStarted {
    pub(super) fn because(error: &io::Error) -> Self {
        Self::new(error, || error.to_string())
    }

    /// `refused` says what is wrong where it is no shortage.
    pub(super) fn new(error: &io::Error, refused: impl FnOnce() -> String) -> Self {
        match is_shortage(error) {
            true => Self::Shortage(shortage::words(error)),
            false => Self::Refused(refused()),
        }
    }
}

impl From<String> for NotStarted {
    fn from(why: String) -> Self {
        Self::Refused(why)
    }
}

#[derive(Debug)]
enum Asks {
    Version(Key),
    /// Whether this run is well.
    Health(Key, Run),
    /// For a query about a process that is not held.
    Stranger(OpId, Box<Probe>),
}

impl Runner {
    /// Lets the query of a process wait for the version, but not for long.
    pub(super) fn await_version(&mut self, key: Key) {
        if let Some(held) = self.held.get_mut(&key) {
            let until_boot_ms = clock::boot_ms() + QUERY_MS;
            held.query_until_boot_ms = Some(until_boot_ms);
            self.timers.push(Reverse((until_boot_ms, Due::Query(key))));
        }
    }

    /// Asks a held program for its version. False when there is no way to ask.
    pub(super) fn find_version(&mut self, key: Key) -> bool {
        let Some(held) = self.held.get(&key) else {
            return false;
        };
        let asked = |side: &Side| matches!(side.asks, Asks::Version(of) if of == key);
        if self.sides.values().any(asked) {
            return true;
        }
        let spec = Arc::clone(&held.hold.spec);
        let name = held.hold.name.clone();
        let place = Place::of(&spec);
        self.ask(&name, &place, &spec.control.version_cmd, Asks::Version(key))
            .is_ok()
    }

    /// Asks whether a held program is well; an error when it cannot be asked.
    pub(super) fn check_health(&mut self, key: Key) -> Result<(), NotStarted> {
        let Some((held, run)) = self
            .held
            .get(&key)
            .and_then(|held| Some((held, held.health_of?)))
        else {
            return Ok(());
        };
        let asked = |side: &Side| matches!(side.asks, Asks::Health(of, _) if of == key);
        if self.sides.values().any(asked) {
            return Ok(());
        }
        let spec = Arc::clone(&held.hold.spec);
        let name = held.hold.name.clone();
        let place = Place::of(&spec);
        self.ask(
            &name,
            &place,
            &spec.control.health_cmd,
            Asks::Health(key, run),
        )
    }

    pub(super) fn ask_stranger_version(
        &mut self,
        id: OpId,
        name: &FullName,
        probe: &Probe,
    ) -> bool {
        let place = Place {
            directory: &probe.setup_path,
            user: &probe.user,
            runtime: &Runtime::default(),
        };
        let asks = Asks::Stranger(id, Box::new(probe.clone()));
        self.ask(name, &place, &probe.version_cmd, asks).is_ok()
    }

    fn ask(
        &mut self,
        name: &FullName,
        place: &Place<'_>,
        command: &str,
        asks: Asks,
    ) -> Result<(), NotStarted> {
        if command.trim().is_empty() {
            return Err("there is no command".to_owned().into());
        }
        shortage::require_room().map_err(|error| NotStarted::because(&error))?;
        let user = user::find(place.user)?;
        let (sink, output) = self.spools.open().map_err(|error| {
            NotStarted::new(&error, || {
                format!("the agent has no place for the command's output: {error}")
            })
        })?;
        let mark = Mark::new(&self.agent, name);
        let directory = match place.directory {
            "" => "/",
            path => path,
        };
        let gated = spawn::spawn(&Launch {
            command,
            directory,
            user: &user,
            environment: &spawn::environment(&user, &place.runtime.env, &mark.0),
            runtime: place.runtime,
            output: &output,
            groups: &self.cgroups.for_command(),
        });
        match gated {
            Ok(gated) => {
                let (run, is_in_group) = (gated.run, gated.was_made_in_group);
                self.exits.watch_child(run, gated.open().pidfd);
                if !is_in_group {
                    self.cgroups.found_stray(name);
                }
                let patience_ms = match asks {
                    Asks::Version(_) => VERSION_MS,
                    Asks::Health(..) => self.options.health_timeout.as_millis() as u64,
                    Asks::Stranger(..) => QUERY_MS,
                };
                let until_boot_ms = clock::boot_ms() + patience_ms;
                self.timers
                    .push(Reverse((until_boot_ms, Due::Side(run.pid))));
                let side = Side {
                    run,
                    sink,
                    until_boot_ms,
                    is_in_group,
                    asks,
                };
                self.sides.insert(run.pid, side);
                Ok(())
            }
            Err(error) => {
                tracing::warn!(process = %name, %error, "cannot run a command beside the process");
                self.spools.give_back(&sink.path);
                Err(NotStarted::new(&error, || {
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

    /// Nobody is left to hear what they say.
    pub(super) fn end_sides(&mut self) {
        for side in std::mem::take(&mut self.sides).into_values() {
            self.kill_side(&side);
            self.spools.give_back(&side.sink.path);
        }
    }

    /// A command beside the machine ended, or was not waited for any longer.
    pub(super) fn side_ended(&mut self, side: Side, exit: Option<Exit>) {
        if let Asks::Health(key, run) = side.asks {
            return self.health_ended(&side, key, run, exit);
        }
        let version = exit
            .is_some_and(Exit::is_success)
            .then(|| version_in(&sink::tail(&side.sink, 16 * 1024, &Rights::Agent)));
        self.spools.give_back(&side.sink.path);
        match side.asks {
            Asks::Version(key) => self.version_found(key, version),
            Asks::Health(..) => {}
            Asks::Stranger(id, probe) => {
                let version = version.unwrap_or_default();
                let outcome = self.stranger_outcome(look::probe(&probe), &version);
                self.end_now(id, outcome);
            }
        }
    }

    fn health_ended(&mut self, side: &Side, key: Key, run: Run, exit: Option<Exit>) {
        let last_line = sink::last_line(&side.sink, &Rights::Agent);
        self.spools.give_back(&side.sink.path);
        let result = match exit {
            Some(exit) if exit.is_success() => Ok(()),
            Some(exit) => Err(exit.to_string()),
            None => {
                let patience = self.options.health_timeout.as_secs_f32();
                Err(format!("not done after {patience} s, and killed"))
            }
        };
        let result = result.map_err(|why| match last_line.as_str() {
            "" => why,
            line => format!("{why}: {line}"),
        });
        let held = self.held.get(&key);
        // What was asked of an earlier run says nothing about this one.
        if held.is_some_and(|held| held.health_of == Some(run)) {
            self.drive(key, Event::HealthChecked(result));
        }
    }

    /// A program that did not tell is of the version that it last told.
    fn version_found(&mut self, key: Key, version: Option<String>) {
        let event = version.map_or(Event::Proceed, Event::VersionFound);
        self.drive(key, event);
        if let Some(held) = self.held.get(&key)
            && held.process.query.is_some()
        {
            self.answer_query(key);
        }
    }

    /// Answers the query under way with what is known now.
    pub(super) fn answer_query(&mut self, key: Key) {
        if let Some(held) = self.held.get_mut(&key) {
            held.query_until_boot_ms = None;
            let instance = self.instance(key);
            self.drive(key, Event::Inspected(Box::new(instance)));
        }
    }
}

/// The first line that looks like a version: one with a digit and a dot between digits, else the first line.
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
