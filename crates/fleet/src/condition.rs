//! What is reported of a process beyond the three states of the GSE dialects, in 13 bytes of a block.
//!
//! Times are whole seconds, counts saturate. The result of a health check and the memory of a run that the kernel killed are
//! kept beside the columns: few processes have them.

use model::status::{Exit, HealthResult, LastExit, ProbeResults};
use model::{ProcessState, Status, UnixMillis};

use crate::to_secs;

/// State and `restart_needed`, restarts, last exit, and the next time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Condition {
    pub(crate) marks: Marks,
    pub(crate) restarts: u16,
    pub(crate) exit: PackedExit,
    pub(crate) exit_at: u32,
    pub(crate) next_at: u32,
}

impl Condition {
    pub(crate) const NONE: Self = Self {
        marks: Marks(0),
        restarts: 0,
        exit: PackedExit(0),
        exit_at: 0,
        next_at: 0,
    };

    pub(crate) fn of(status: &Status) -> Self {
        let state = status.process_state.or_from(status.state);
        let last = status.last_exit;
        Self {
            marks: Marks::new(state, status.restart_needed),
            restarts: u16::try_from(status.restarts).unwrap_or(u16::MAX),
            exit: last.map_or(PackedExit(0), PackedExit::of),
            exit_at: last.map_or(0, |last| to_secs(last.at)),
            next_at: to_secs(status.next_at),
        }
    }

    /// What a status without a condition says.
    pub(crate) fn of_state(state: model::State) -> Self {
        Self {
            marks: Marks::new(ProcessState::Unknown.or_from(state), false),
            ..Self::NONE
        }
    }

    /// Without its memory, which is kept beside the columns.
    pub(crate) fn last_exit(&self) -> Option<LastExit> {
        self.exit.unpack(from_secs(self.exit_at))
    }

    pub(crate) fn next_at(&self) -> UnixMillis {
        from_secs(self.next_at)
    }
}

/// The state in the lower half of the byte, `restart_needed` in the highest bit. A process that is ready is running with the
/// bit below that one: earlier versions read it as running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Marks(pub(crate) u8);

impl Marks {
    const STATE: u8 = 0x0F;
    const READY: u8 = 0x40;
    const RESTART_NEEDED: u8 = 0x80;
    pub(crate) const N_STATES: usize = ProcessState::ALL.len();

    fn new(state: ProcessState, restart_needed: bool) -> Self {
        let state = match state {
            ProcessState::Ready => ProcessState::Running.number() | Self::READY,
            other => other.number(),
        };
        match restart_needed {
            true => Self(state | Self::RESTART_NEEDED),
            false => Self(state),
        }
    }

    pub(crate) fn is_ready(self) -> bool {
        self.0 & Self::READY != 0 && self.0 & Self::STATE == ProcessState::Running.number()
    }

    pub(crate) fn state(self) -> ProcessState {
        match self.is_ready() {
            true => ProcessState::Ready,
            false => ProcessState::from_number(self.0 & Self::STATE),
        }
    }

    /// The number of [`Self::state`], without a search for it.
    pub(crate) fn state_number(self) -> usize {
        match usize::from(self.0 & Self::STATE) {
            _ if self.is_ready() => usize::from(ProcessState::Ready.number()),
            number if number < Self::N_STATES => number,
            _ => 0,
        }
    }

    pub(crate) fn restart_needed(self) -> bool {
        self.0 & Self::RESTART_NEEDED != 0
    }
}

/// An exit in two bytes: its value in the lower one, which the kernel does not exceed; its kind, `oom` and
/// `host_restarted` in the upper one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PackedExit(pub(crate) u16);

impl PackedExit {
    const CODE: u16 = 1 << 8;
    const SIGNAL: u16 = 2 << 8;
    const UNSEEN: u16 = 3 << 8;
    const KIND: u16 = 3 << 8;
    const HOST_RESTARTED: u16 = 1 << 14;
    const OOM: u16 = 1 << 15;

    fn of(last: LastExit) -> Self {
        let packed = match last.exit {
            Exit::Code(code) => Self::CODE | (code & 0xFF) as u16,
            Exit::Signal(signal) => Self::SIGNAL | (signal & 0xFF) as u16,
            Exit::Unseen => Self::UNSEEN,
        };
        let oom = if last.oom { Self::OOM } else { 0 };
        let host_restarted = if last.host_restarted {
            Self::HOST_RESTARTED
        } else {
            0
        };
        Self(packed | oom | host_restarted)
    }

    fn unpack(self, at: UnixMillis) -> Option<LastExit> {
        let value = i32::from(self.0 & 0xFF);
        let exit = match self.0 & Self::KIND {
            Self::CODE => Exit::Code(value),
            Self::SIGNAL => Exit::Signal(value),
            Self::UNSEEN => Exit::Unseen,
            _ => return None,
        };
        Some(LastExit {
            oom: self.0 & Self::OOM != 0,
            host_restarted: self.0 & Self::HOST_RESTARTED != 0,
            ..LastExit::new(exit, at)
        })
    }
}

/// The last result of a health check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Health {
    pub(crate) ok: bool,
    pub(crate) checked_at: u32,
    pub(crate) message: Box<str>,
}

impl Health {
    pub(crate) fn of(result: HealthResult) -> Self {
        Self {
            ok: result.ok,
            checked_at: to_secs(result.checked_at),
            message: result.message.into(),
        }
    }

    pub(crate) fn to_result(&self) -> HealthResult {
        HealthResult {
            ok: self.ok,
            checked_at: from_secs(self.checked_at),
            message: self.message.to_string(),
        }
    }

    /// Whether more than the time differs.
    pub(crate) fn differs(old: Option<&Self>, new: Option<&Self>) -> bool {
        match (old, new) {
            (None, None) => false,
            (Some(old), Some(new)) => (old.ok, &old.message) != (new.ok, &new.message),
            (Some(_), None) | (None, Some(_)) => true,
        }
    }
}

/// The last result of each probe.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ProbeHealth {
    pub(crate) ready: Option<Health>,
    pub(crate) live: Option<Health>,
}

impl ProbeHealth {
    /// None without any result.
    pub(crate) fn of(results: ProbeResults) -> Option<Box<Self>> {
        let is_empty = results.is_empty();
        let health = Self {
            ready: results.ready.map(Health::of),
            live: results.live.map(Health::of),
        };
        (!is_empty).then(|| Box::new(health))
    }

    pub(crate) fn to_results(&self) -> ProbeResults {
        ProbeResults {
            ready: self.ready.as_ref().map(Health::to_result),
            live: self.live.as_ref().map(Health::to_result),
        }
    }

    fn ready(&self) -> Option<&Health> {
        self.ready.as_ref()
    }

    fn live(&self) -> Option<&Health> {
        self.live.as_ref()
    }

    /// Whether more than the times differs.
    pub(crate) fn differs(old: Option<&Self>, new: Option<&Self>) -> bool {
        [Self::ready, Self::live]
            .into_iter()
            .any(|part| Health::differs(old.and_then(part), new.and_then(part)))
    }
}

fn from_secs(secs: u32) -> UnixMillis {
    match secs {
        0 => UnixMillis::NEVER,
        secs => UnixMillis::from_secs(i64::from(secs)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_keeps_what_it_was_given() {
        for state in ProcessState::ALL {
            for (exit, oom) in [
                (None, false),
                (Some(Exit::Code(255)), false),
                (Some(Exit::Signal(9)), true),
                (Some(Exit::Unseen), false),
            ] {
                let at = UnixMillis(7_000);
                let status = Status {
                    process_state: state,
                    restarts: 9,
                    next_at: UnixMillis(8_000),
                    last_exit: exit.map(|exit| LastExit {
                        oom,
                        host_restarted: exit == Exit::Unseen,
                        ..LastExit::new(exit, at)
                    }),
                    restart_needed: oom,
                    ..Status::default()
                };
                let condition = Condition::of(&status);
                assert_eq!(condition.marks.state(), state);
                assert_eq!(condition.marks.restart_needed(), oom);
                assert_eq!(condition.last_exit(), status.last_exit);
                assert_eq!(condition.next_at(), status.next_at);
                assert_eq!(condition.restarts, 9);
            }
        }
        let many = Status {
            restarts: u32::MAX,
            ..Status::default()
        };
        assert_eq!(Condition::of(&many).restarts, u16::MAX);
    }
}
