//! Kills families round by round: SIGKILL, a pause for the kernel, another search.
//!
//! The runner never blocks on killed processes. Until the family is gone, the machine's remaining actions stay in
//! `SupervisedProcess::todo` and its events in `later`; other processes go on meanwhile.

use std::cmp::Reverse;
use std::time::Duration;

use super::side_command::SideCommand;
use super::{Key, Runner, Timer};
use crate::machine::{Event, Run};
use crate::os::clock;
use crate::os::family::{FamilyQuery, KillError, KillProgress, Mark, SearchScope, WatchedRuns};

/// A family that is being killed.
#[derive(Debug)]
pub(crate) struct FamilyKill {
    /// `None`: everything that any run or command of the process started.
    root: Option<Run>,
    killing: KillProgress,
    pub(crate) due_boot_ms: u64,
}

/// A side command that is being killed.
#[derive(Debug)]
pub(crate) struct SideKill {
    run: Run,
    is_in_group: bool,
    killing: KillProgress,
    pub(crate) due_boot_ms: u64,
}

impl Runner {
    /// Begins to kill a family of this process, or all of them. Returns an event if that has failed already.
    pub(super) fn begin_kill(&mut self, key: Key, root: Option<Run>) -> Option<Event> {
        self.kill_round_of(
            key,
            FamilyKill {
                root,
                killing: KillProgress::default(),
                due_boot_ms: 0,
            },
        )
    }

    fn kill_round_of(&mut self, key: Key, mut ending: FamilyKill) -> Option<Event> {
        let Some(ended) = self.kill_round(key, ending.root, &mut ending.killing) else {
            ending.due_boot_ms = clock::boot_ms() + ending.killing.pause_ms();
            self.timers
                .push(Reverse((ending.due_boot_ms, Timer::FamilyKill(key))));
            self.held.get_mut(&key)?.family_kill = Some(Box::new(ending));
            return None;
        };
        let held = self.held.get_mut(&key)?;
        let why = match ended {
            Ok(()) => {
                if ending.root.is_none() {
                    self.cgroups.no_strays_any_more(&held.registration.name);
                }
                return None;
            }
            Err(KillError::Refused(why)) => why,
            Err(KillError::Unknown(unknown)) => {
                held.unkilled = Some(ending.root);
                let why = unknown.words().unwrap_or_else(|| {
                    "the processes that are to be killed change faster than the agent can look"
                        .to_owned()
                });
                tracing::error!(process = %held.registration.name, why, "cannot find what is to be killed");
                why
            }
        };
        ending.root.map(|_| Event::SignalRefused(why))
    }

    /// Waits for every kill under way; called before the runner takes its first request.
    pub(super) async fn await_family_kills(&mut self) {
        loop {
            let endings = self.held.iter().filter_map(|(key, held)| {
                let ending = held.family_kill.as_ref()?;
                Some((ending.due_boot_ms, *key))
            });
            let Some((due, key)) = endings.min() else {
                return;
            };
            sleep_until(due).await;
            self.family_kill_timer_fired(key);
        }
    }

    /// Waits for every side command that is being killed; called after the runner took its last request.
    pub(super) async fn await_side_kills(&mut self) {
        loop {
            let sides = self.side_kills.values();
            let Some((due, pid)) = sides.map(|side| (side.due_boot_ms, side.run.pid)).min() else {
                return;
            };
            sleep_until(due).await;
            self.side_kill_timer_fired(pid);
        }
    }

    /// Kills the family that could not be found earlier; an error if it still cannot. Nothing may be started before.
    pub(super) fn kill_leftovers(&mut self, key: Key) -> Result<(), String> {
        let held = self.held.get_mut(&key);
        let Some(root) = held.and_then(|held| held.unkilled.take()) else {
            return Ok(());
        };
        match self.kill_round(key, root, &mut KillProgress::default()) {
            Some(Ok(()) | Err(KillError::Refused(_))) => Ok(()),
            Some(Err(KillError::Unknown(_))) | None => {
                if let Some(held) = self.held.get_mut(&key) {
                    held.unkilled = Some(root);
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
        killing: &mut KillProgress,
    ) -> Option<Result<(), KillError>> {
        let Some(held) = self.held.get(&key) else {
            return Some(Ok(()));
        };
        let known = WatchedRuns {
            exits: &self.exits,
            // Runs of other held processes are spared, whatever started them.
            is_of_another: &|run| super::drive::is_watched_by_another(&self.watchers, key, run),
        };
        let query = held.family(root, &self.cgroups);
        self.families.kill_round(&query, known, killing)
    }

    /// Runs the next round; after the last one, the machine goes on.
    pub(super) fn family_kill_timer_fired(&mut self, key: Key) {
        let held = self.held.get_mut(&key);
        let Some(ending) = held.and_then(|held| held.family_kill.take()) else {
            return;
        };
        let event = self.kill_round_of(key, *ending);
        let held = self.held.get_mut(&key);
        if held.is_some_and(|held| held.family_kill.is_none()) {
            self.go_on(key, event);
            self.refresh(key);
        }
    }

    /// Kills a side command with its family, without waiting for the end.
    pub(super) fn kill_side(&mut self, side: &SideCommand) {
        self.side_round(SideKill {
            run: side.run,
            is_in_group: side.is_in_group,
            killing: KillProgress::default(),
            due_boot_ms: 0,
        });
    }

    fn side_round(&mut self, mut side: SideKill) {
        let query = FamilyQuery {
            root: Some(side.run),
            is_ours: true,
            runs: &[],
            mark: &Mark::none(),
            own: None,
            among: match self.cgroups.commands() {
                Some(commands) if side.is_in_group => SearchScope::Group(commands),
                Some(_) | None => SearchScope::Host,
            },
            found_for: None,
        };
        let known = WatchedRuns {
            exits: &self.exits,
            is_of_another: &|run| self.watchers.contains_key(&run),
        };
        let ended = self.families.kill_round(&query, known, &mut side.killing);
        if ended.is_none() {
            side.due_boot_ms = clock::boot_ms() + side.killing.pause_ms();
            let due = Timer::SideKill(side.run.pid);
            self.timers.push(Reverse((side.due_boot_ms, due)));
            self.side_kills.insert(side.run.pid, side);
        }
    }

    pub(super) fn side_kill_timer_fired(&mut self, pid: i32) {
        if let Some(side) = self.side_kills.remove(&pid) {
            self.side_round(side);
        }
    }
}

async fn sleep_until(boot_ms: u64) {
    let wait_ms = boot_ms.saturating_sub(clock::boot_ms());
    tokio::time::sleep(Duration::from_millis(wait_ms)).await;
}
