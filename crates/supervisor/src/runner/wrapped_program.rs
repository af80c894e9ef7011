//! Programs under a wrapper that stays in the foreground and restarts them: which process is the program now.

use super::{Key, Runner, SupervisedProcess};
use crate::machine::{Depth, Event, Form, Phase};
use crate::os::clock;
use crate::os::procfs::Stat;

impl SupervisedProcess {
    /// Whether its run is in the foreground, and another program below it is the process, or may become it.
    pub(crate) fn may_be_wrapper(&self) -> bool {
        let Some(alive) = self.process.alive() else {
            return false;
        };
        match alive.form {
            Form::Daemon => false,
            Form::Foreground { main } => {
                main != alive.run.pid || self.lacks_main == Some(alive.run)
            }
        }
    }
}

impl Runner {
    /// Once a period, for each process that may be a wrapper.
    pub(super) fn find_wrapped_program(&mut self, key: Key) {
        let lacked = self.held.get(&key).and_then(|held| held.lacks_main);
        let found = self.find_main(key);
        let lacks = self.held.get(&key).and_then(|held| held.lacks_main);
        // A shell exits a moment after its last program: report it as alone only at the second check.
        if let Some(event) = found.filter(|_| lacks.is_none() || lacks == lacked) {
            self.drive(key, event);
        }
    }

    /// Looks for the program if the known one is gone. While there is none, the wrapper stands for it.
    pub(super) fn find_main(&mut self, key: Key) -> Option<Event> {
        let held = self.held.get(&key)?;
        let Phase::Up { current } = &held.process.phase else {
            return None;
        };
        let alive = current.alive;
        let is_there = match alive.form {
            Form::Daemon => true,
            Form::Foreground { main } if main == alive.run.pid => {
                held.lacks_main != Some(alive.run)
            }
            Form::Foreground { main } => match Stat::find(main) {
                Ok(stat) => stat.is_some_and(|stat| stat.is_live()),
                // An error does not mean that it is gone.
                Err(_) => true,
            },
        };
        if is_there {
            return None;
        }
        let look = self.observe_from(key, Depth::Deep, Some(alive.run))?.ok()?;
        let named = look.alive.filter(|_| look.alive_is_commands);
        let found = named.map(|named| named.run.pid).or(look.main);
        // A short-lived child of a script is not the program, whatever its name.
        let found = found.filter(|pid| self.has_lasted(*pid));
        self.held.get_mut(&key)?.lacks_main = found.is_none().then_some(alive.run);
        let main = found.unwrap_or(alive.run.pid);
        Some(Event::MainIs(main, look.alive.is_some()))
    }

    fn has_lasted(&self, pid: i32) -> bool {
        let least_ms = self.options.sample_every.as_millis() as u64;
        Stat::read(pid).is_some_and(|stat| {
            let since = clock::ticks_to_boot_ms(stat.start);
            clock::boot_ms() >= since + least_ms
        })
    }
}
