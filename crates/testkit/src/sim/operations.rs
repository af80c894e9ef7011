//! Operations of one simulated agent: pending for their duration, ended, and kept until their acknowledgement.

use std::sync::Arc;
use std::time::Duration;

use model::operation::CommandRun;
use model::status::Exit;
use model::{Code, Flag, Op, OpId, Outcome, UnixMillis};
use testing::Random;
use tokio::time::Instant;
use wire::up::OpRef;
use wire::{Command, ResultFrame};

use super::names::{Names, SharedName};
use super::processes::Processes;
use super::shared::Shared;
use super::{Chance, Span};

#[derive(Debug, Default)]
pub(super) struct Operations {
    under_way: Vec<PendingOperation>,
    ended: Vec<EndedOperation>,
}

#[derive(Debug)]
struct PendingOperation {
    id: OpRef,
    name: Arc<SharedName>,
    op: Op,
    takes_ms: u64,
    ends_at: Instant,
}

#[derive(Debug)]
struct EndedOperation {
    id: OpRef,
    outcome: Outcome,
    is_sent: bool,
}

impl Operations {
    /// Takes a command; one that has ended already is answered again.
    pub(super) fn take(
        &mut self,
        command: &Command,
        names: &Names,
        delay: Span,
        random: &mut Random,
    ) {
        let Some(id) = command.op else {
            return;
        };
        if self.under_way.iter().any(|known| known.id == id) {
            return;
        }
        if let Some(ended) = self.ended.iter_mut().find(|ended| ended.id == id) {
            ended.is_sent = false;
            return;
        }
        let name = command.name.as_ref().and_then(|name| name.full_name().ok());
        let (Some(name), Some(op)) = (name, Op::from_number(i64::from(command.op_type))) else {
            return;
        };
        let takes = delay.least + (delay.most - delay.least).mul_f64(random.fraction());
        self.under_way.push(PendingOperation {
            id,
            name: names.keep(name),
            op,
            takes_ms: takes.as_millis() as u64,
            ends_at: Instant::now() + takes,
        });
    }

    /// When the next one ends.
    pub(super) fn due(&self) -> Option<Instant> {
        self.under_way.iter().map(|one| one.ends_at).min()
    }

    /// Ends operations whose time is up.
    pub(super) fn end(
        &mut self,
        now: Instant,
        now_ms: i64,
        processes: &mut Processes,
        fail: Chance,
        random: &mut Random,
    ) {
        let ended = self.under_way.extract_if(.., |one| one.ends_at <= now);
        for one in ended {
            let outcome = one.outcome(now_ms, processes, fail, random);
            self.ended.push(EndedOperation {
                id: one.id,
                outcome,
                is_sent: false,
            });
        }
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.ended.iter().any(|ended| !ended.is_sent)
    }

    /// The next result to send; it stays until it is acknowledged.
    pub(super) fn next_result(&mut self) -> Option<ResultFrame> {
        let ended = self.ended.iter_mut().find(|ended| !ended.is_sent)?;
        ended.is_sent = true;
        Some(ResultFrame::new(ended.id.into(), &ended.outcome))
    }

    /// Operations that the server does not need to send again.
    pub(super) fn held(&self) -> Vec<OpRef> {
        let under_way = self.under_way.iter().map(|one| one.id);
        under_way
            .chain(self.ended.iter().map(|one| one.id))
            .collect()
    }

    /// Makes every result unsent, for a new connection.
    pub(super) fn rewind(&mut self) {
        self.ended
            .iter_mut()
            .for_each(|ended| ended.is_sent = false);
    }

    pub(super) fn acknowledge(&mut self, results: &[OpRef], now_ms: i64, shared: &Shared) {
        for id in results {
            let known = self.ended.iter().position(|ended| ended.id == *id);
            if let Some(at) = known {
                self.ended.swap_remove(at);
                shared.counters.results.add(1);
                let took = u64::try_from(now_ms - made_at(*id)).unwrap_or(0);
                shared.counters.targets.add(Duration::from_millis(took));
            }
        }
    }
}

/// When a task was created, in milliseconds: the upper bits of its number.
fn made_at(id: OpRef) -> i64 {
    const RANDOM_BITS: u32 = 21;
    (OpId::from(id).task.number() >> RANDOM_BITS) as i64
}

impl PendingOperation {
    fn outcome(
        &self,
        now_ms: i64,
        processes: &mut Processes,
        fail: Chance,
        random: &mut Random,
    ) -> Outcome {
        let at = UnixMillis(now_ms);
        let has_failed = random.fraction() < fail.0 || processes.fails(&self.name, self.op, random);
        let ran = |code| CommandRun {
            command: format!("./{}.sh", self.op),
            exit: Some(Exit::Code(code)),
            duration_ms: self.takes_ms,
            output: String::new(),
        };
        if has_failed {
            let message = format!("./{}.sh ended with 1 (simulated)", self.op);
            return Outcome {
                ran: Some(ran(1)),
                ..Outcome::plain(Code::COMMAND_FAILED, message, at)
            };
        }
        let Some((flag, managed)) = processes.operate(&self.name, self.op, now_ms, random) else {
            return Outcome::plain(Code::NOT_REGISTERED, "no such process here", at);
        };
        Outcome {
            flag: Flag::try_from(flag).ok(),
            managed: Some(managed),
            ran: Some(ran(0)),
            ..Outcome::plain(Code::OK, "success", at)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use model::TaskId;

    use super::*;

    #[test]
    fn the_number_of_a_task_contains_its_creation_time() {
        let at = UnixMillis(1_800_000_000_123);
        let id = OpId {
            task: TaskId::new(at, u32::MAX),
            ordinal: 7,
        };
        assert_eq!(made_at(id.into()), at.0);
    }

    #[test]
    fn a_command_is_executed_once_and_answered_until_it_is_acknowledged() {
        let (names, mut random) = (Names::default(), Random::new(3));
        let (mut operations, mut processes) = (Operations::default(), Processes::default());
        let id = OpRef {
            task: 1 << 30,
            ordinal: 0,
        };
        let command = Command {
            op: Some(id),
            name: Some(wire::down::NameRef {
                namespace: "gse".into(),
                name: "a".into(),
            }),
            op_type: 0,
            ..Default::default()
        };
        let delay = Span {
            least: Duration::ZERO,
            most: Duration::ZERO,
        };
        operations.take(&command, &names, delay, &mut random);
        operations.take(&command, &names, delay, &mut random);
        let now = Instant::now() + Duration::from_millis(1);
        operations.end(now, 5, &mut processes, Chance(0.0), &mut random);
        let outcome = operations.next_result().unwrap().outcome().unwrap();
        assert_eq!(outcome.code, Code::NOT_REGISTERED);
        assert!(operations.next_result().is_none());

        operations.rewind();
        assert_eq!(operations.held(), [id]);
        assert!(operations.next_result().is_some());
        operations.take(&command, &names, delay, &mut random);
        assert!(
            operations.is_waiting(),
            "a repeated command is answered again"
        );
    }
}
