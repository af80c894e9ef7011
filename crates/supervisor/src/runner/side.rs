//! Commands beside the machine: they change nothing, so they are in no journal, and are bounded.

use std::cmp::Reverse;

use model::spec::Probe;
use model::status::Exit;
use model::{FullName, OpId, Outcome};

use super::{Due, Key, Runner};
use crate::machine::{Event, Run, Sink};
use crate::os::kill::{self, Mark};
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
    asks: Asks,
}

#[derive(Debug)]
enum Asks {
    Version(Key),
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
        let probe = Probe::from(&*held.hold.spec);
        let name = held.hold.name.clone();
        self.ask(&name, &probe, Asks::Version(key))
    }

    pub(super) fn ask_stranger_version(
        &mut self,
        id: OpId,
        name: &FullName,
        probe: &Probe,
    ) -> bool {
        self.ask(name, probe, Asks::Stranger(id, Box::new(probe.clone())))
    }

    fn ask(&mut self, name: &FullName, probe: &Probe, asks: Asks) -> bool {
        if probe.version_cmd.trim().is_empty() {
            return false;
        }
        let Ok(user) = user::find(&probe.user) else {
            return false;
        };
        let spool = self.spool_path();
        let Ok((sink, output)) = sink::open_spool(spool) else {
            return false;
        };
        let mark = Mark::new(&self.agent, name);
        let directory = match probe.setup_path.as_str() {
            "" => "/",
            path => path,
        };
        let gated = spawn::spawn(&Launch {
            command: &probe.version_cmd,
            directory,
            user: &user,
            environment: &spawn::environment(&user, &mark.0),
            output: &output,
        });
        let run_child = gated.map(|gated| (gated.run, gated.open()));
        let watched = run_child.and_then(|(run, child)| {
            self.exits.watch_child(run, child.pidfd)?;
            Ok(run)
        });
        match watched {
            Ok(run) => {
                let patience_ms = match asks {
                    Asks::Version(_) => VERSION_MS,
                    Asks::Stranger(..) => QUERY_MS,
                };
                let until_boot_ms = clock::boot_ms() + patience_ms;
                self.timers
                    .push(Reverse((until_boot_ms, Due::Side(run.pid))));
                let side = Side {
                    run,
                    sink,
                    until_boot_ms,
                    asks,
                };
                self.sides.insert(run.pid, side);
                true
            }
            Err(error) => {
                tracing::warn!(process = %name, %error, "cannot ask for a version");
                let _ = std::fs::remove_file(&sink.path);
                false
            }
        }
    }

    pub(super) fn side_timed_out(&mut self, pid: i32) {
        if let Some(side) = self.sides.remove(&pid) {
            // Whether it may be killed or not, nobody waits for it any more.
            let _ = kill::kill_family(side.run, &Mark::none(), &[]);
            self.exits.forget(side.run);
            self.side_ended(side, Exit::Unseen);
        }
    }

    pub(super) fn side_ended(&mut self, side: Side, exit: Exit) {
        let version = exit
            .is_success()
            .then(|| version_in(&sink::tail(&side.sink, 16 * 1024)));
        let _ = std::fs::remove_file(&side.sink.path);
        match side.asks {
            Asks::Version(key) => self.version_found(key, version),
            Asks::Stranger(id, probe) => {
                let now = clock::unix();
                let version = version.unwrap_or_default();
                let instance = self.instance_of(look::probe(&probe), None, &version, now);
                let mut outcome = Outcome::plain(model::Code::OK, "success", now);
                outcome.instance = Some(Box::new(instance));
                self.end_now(id, outcome);
            }
        }
    }

    /// A program that did not tell is of the version that it last told.
    fn version_found(&mut self, key: Key, version: Option<String>) {
        let Some(held) = self.held.get_mut(&key) else {
            return;
        };
        held.version = version.unwrap_or_else(|| std::mem::take(&mut held.version));
        match held.process.query.is_some() {
            true => self.answer_query(key),
            false => self.drive(key, Event::Proceed),
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
