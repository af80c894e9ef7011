//! The ends of families, from round to round: SIGKILL, a moment for the kernel, another look.
//!
//! The runner never waits for killed processes. The remaining actions of the machine stay in `Held::todo`, and events in
//! `Held::later`, until nobody of the family is left; other processes go on meanwhile.

use std::cmp::Reverse;
use std::time::Duration;

use super::side::Side;
use super::{Due, Key, Runner};
use crate::machine::{Event, Run};
use crate::os::clock;
use crate::os::family::{Among, Killing, Known, Mark, NotKilled, Whose};

/// A family that is being killed.
#[derive(Debug)]
pub(crate) struct Ending {
    /// Without one, everything that ever came from the process.
    root: Option<Run>,
    killing: Killing,
    pub(crate) due_boot_ms: u64,
}

/// A command beside the machine that is being killed.
#[derive(Debug)]
pub(crate) struct DyingSide {
    run: Run,
    is_in_group: bool,
    killing: Killing,
    pub(crate) due_boot_ms: u64,
}

impl Runner {
    /// Begins to end a family of this process, or all of them. An event when that is over already and failed.
    pub(super) fn begin_ending(&mut self, key: Key, root: Option<Run>) -> Option<Event> {
        self.end_round(
            key,
            Ending {
                root,
                killing: Killing::default(),
                due_boot_ms: 0,
            },
        )
    }

    fn end_round(&mut self, key: Key, mut ending: Ending) -> Option<Event> {
        let Some(ended) = self.kill_round(key, ending.root, &mut ending.killing) else {
            ending.due_boot_ms = clock::boot_ms() + ending.killing.pause_ms();
            self.timers
                .push(Reverse((ending.due_boot_ms, Due::Ending(key))));
            self.held.get_mut(&key)?.ending = Some(Box::new(ending));
            return None;
        };
        let held = self.held.get_mut(&key)?;
        let why = match ended {
            Ok(()) => {
                if ending.root.is_none() {
                    self.cgroups.no_strays_any_more(&held.hold.name);
                }
                return None;
            }
            Err(NotKilled::Refused(why)) => why,
            Err(NotKilled::Unknown(unknown)) => {
                held.not_ended = Some(ending.root);
                let why = unknown.words().unwrap_or_else(|| {
                    "the processes that are to be killed change faster than the agent can look"
                        .to_owned()
                });
                tracing::error!(process = %held.hold.name, why, "cannot find what is to be killed");
                why
            }
        };
        ending.root.map(|_| Event::SignalRefused(why))
    }

    /// Waits until no family is being killed any more: before the runner takes its first request.
    pub(super) async fn await_endings(&mut self) {
        loop {
            let endings = self.held.iter().filter_map(|(key, held)| {
                let ending = held.ending.as_ref()?;
                Some((ending.due_boot_ms, *key))
            });
            let Some((due, key)) = endings.min() else {
                return;
            };
            sleep_until(due).await;
            self.ending_rings(key);
        }
    }

    /// Waits until no command beside the machine is being killed any more: after the runner took its last request.
    pub(super) async fn await_dying_sides(&mut self) {
        loop {
            let sides = self.dying_sides.values();
            let Some((due, pid)) = sides.map(|side| (side.due_boot_ms, side.run.pid)).min() else {
                return;
            };
            sleep_until(due).await;
            self.dying_side_rings(pid);
        }
    }

    /// Ends what could not be looked for earlier; an error when it still cannot. Nothing may be started beside it.
    pub(super) fn end_leftovers(&mut self, key: Key) -> Result<(), String> {
        let held = self.held.get_mut(&key);
        let Some(root) = held.and_then(|held| held.not_ended.take()) else {
            return Ok(());
        };
        match self.kill_round(key, root, &mut Killing::default()) {
            Some(Ok(()) | Err(NotKilled::Refused(_))) => Ok(()),
            Some(Err(NotKilled::Unknown(_))) | None => {
                if let Some(held) = self.held.get_mut(&key) {
                    held.not_ended = Some(root);
                }
                Err(
                    "the agent could not find out whether anything of the run before is left"
                        .to_owned(),
                )
            }
        }
    }

    fn kill_round(
        &mut self,
        key: Key,
        root: Option<Run>,
        killing: &mut Killing,
    ) -> Option<Result<(), NotKilled>> {
        let Some(held) = self.held.get(&key) else {
            return Some(Ok(()));
        };
        let known = Known {
            exits: &self.exits,
            // Whoever started them, they are not this one's to end.
            is_anothers: &|run| super::drive::is_watched_by_another(&self.watchers, key, run),
        };
        let whose = held.family(root, &self.cgroups);
        self.families.kill_round(&whose, known, killing)
    }

    /// The next round; when it was the last, the machine goes on.
    pub(super) fn ending_rings(&mut self, key: Key) {
        let held = self.held.get_mut(&key);
        let Some(ending) = held.and_then(|held| held.ending.take()) else {
            return;
        };
        let event = self.end_round(key, *ending);
        let held = self.held.get_mut(&key);
        if held.is_some_and(|held| held.ending.is_none()) {
            self.go_on(key, event);
            self.attend(key);
        }
    }

    /// Kills a command beside the machine with all that came from it. Nobody waits for it.
    pub(super) fn kill_side(&mut self, side: &Side) {
        self.side_round(DyingSide {
            run: side.run,
            is_in_group: side.is_in_group,
            killing: Killing::default(),
            due_boot_ms: 0,
        });
    }

    fn side_round(&mut self, mut side: DyingSide) {
        let whose = Whose {
            root: Some(side.run),
            is_ours: true,
            runs: &[],
            mark: &Mark::none(),
            own: None,
            among: match self.cgroups.commands() {
                Some(commands) if side.is_in_group => Among::Group(commands),
                Some(_) | None => Among::Host,
            },
            found_for: None,
        };
        let known = Known {
            exits: &self.exits,
            is_anothers: &|run| self.watchers.contains_key(&run),
        };
        let ended = self.families.kill_round(&whose, known, &mut side.killing);
        if ended.is_none() {
            side.due_boot_ms = clock::boot_ms() + side.killing.pause_ms();
            let due = Due::DyingSide(side.run.pid);
            self.timers.push(Reverse((side.due_boot_ms, due)));
            self.dying_sides.insert(side.run.pid, side);
        }
    }

    pub(super) fn dying_side_rings(&mut self, pid: i32) {
        if let Some(side) = self.dying_sides.remove(&pid) {
            self.side_round(side);
        }
    }
}

async fn sleep_until(boot_ms: u64) {
    let wait_ms = boot_ms.saturating_sub(clock::boot_ms());
    tokio::time::sleep(Duration::from_millis(wait_ms)).await;
}
