//! Stops by `spec.stop`: one signal after the other, each with its grace, then SIGKILL to the process and its descendants.
//!
//! A stop command, if there is one, comes first and has the first grace. `op_timeout` ends the waiting early: the next step
//! is SIGKILL. Without `spec.stop` the agent sends SIGTERM once and kills nothing.

use model::Spec;
use serde::{Deserialize, Serialize};

use super::messages::seconds;
use super::{Action, Cmd, Context, Depth, LiveRun, Phase, Process, Signal, Step, Work, messages};

/// How long the kernel may take to end what was killed.
const KILL_WAIT_MS: u64 = 10_000;

/// How far a stop has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stopping {
    /// How many signals were sent.
    sent: u32,
    /// The next step is due then.
    pub(super) next_boot_ms: u64,
    /// SIGKILL was the last step.
    #[serde(default)]
    killed: bool,
}

/// The next step of a stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NextStep {
    Wait,
    Signal(Signal),
    Kill,
    /// Even SIGKILL did not end it.
    Fail,
}

impl Stopping {
    /// A stop that begins with a command, or that has sent so many signals.
    fn after(sent: u32, spec: &Spec, now_boot_ms: u64) -> Option<Self> {
        (!spec.stop.is_default()).then(|| Self {
            sent,
            next_boot_ms: now_boot_ms + grace_ms(spec),
            killed: false,
        })
    }

    /// What to do at this time with a process that is still there; `late`: `op_timeout` has passed.
    fn next(&self, spec: &Spec, now_boot_ms: u64, late: bool) -> NextStep {
        let is_due = now_boot_ms >= self.next_boot_ms;
        match (self.killed, late || is_due) {
            (true, _) if is_due => NextStep::Fail,
            (true, _) | (false, false) => NextStep::Wait,
            (false, true) if late => NextStep::Kill,
            (false, true) => match spec.stop.sequence().get(self.sent as usize) {
                Some(signal) => NextStep::Signal(Signal::Stop(*signal)),
                None => NextStep::Kill,
            },
        }
    }

    /// Why it was killed; empty if it was not.
    fn warning(&self, spec: &Spec) -> String {
        if !self.killed {
            return String::new();
        }
        let sent = spec.stop.sequence().iter().take(self.sent as usize);
        let sent: Vec<&str> = sent.map(|signal| signal.as_str()).collect();
        match sent.as_slice() {
            [] => "it did not stop and was killed (SIGKILL)".to_owned(),
            sent => format!(
                "it did not stop within {} of {} and was killed (SIGKILL)",
                seconds(grace_ms(spec)),
                sent.join(", ")
            ),
        }
    }
}

fn grace_ms(spec: &Spec) -> u64 {
    u64::from(spec.stop.grace_secs()) * 1000
}

impl Work {
    /// Sends the first signal of a stop.
    pub(super) fn send_first_signal(
        &mut self,
        alive: LiveRun,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) {
        self.stopping = Stopping::after(1, cx.spec, cx.now.boot_ms);
        let signal = match (&self.stopping, cx.spec.stop.sequence().first()) {
            (Some(_), Some(first)) => Signal::Stop(*first),
            (Some(_) | None, _) => Signal::Terminate,
        };
        self.send_signal(alive, signal, out);
    }

    /// The stop command has ended. True if signals follow where it did not help, so that its failure decides nothing.
    pub(super) fn stop_command_ended(&mut self, cx: &Context<'_>) -> bool {
        self.stopping = Stopping::after(0, cx.spec, cx.now.boot_ms);
        self.stopping.is_some()
    }

    /// What the caller of a stop should know.
    pub(super) fn stop_warning(&self, cx: &Context<'_>) -> String {
        self.stopping
            .map_or_else(String::new, |stopping| stopping.warning(cx.spec))
    }
}

impl Process {
    /// Takes the next step of a stop whose process is still there. None if it has no `spec.stop`, or has failed.
    pub(super) fn press_on(
        &mut self,
        mut work: Box<Work>,
        alive: LiveRun,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) -> Option<Box<Work>> {
        let Some(mut stopping) = work.stopping else {
            return Some(work);
        };
        let now = cx.now.boot_ms;
        let late = now >= work.began_boot_ms + cx.timeout_ms();
        match stopping.next(cx.spec, now, late) {
            NextStep::Wait => {}
            NextStep::Signal(signal) => {
                stopping.sent += 1;
                stopping.next_boot_ms = now + grace_ms(cx.spec);
                work.send_signal(alive, signal, out);
            }
            NextStep::Kill => {
                stopping.killed = true;
                stopping.next_boot_ms = now + KILL_WAIT_MS;
                work.unsent_signal = None;
                work.kill_target = Some(alive.run);
                out.push(Action::Kill(alive.run));
                out.push(Action::Observe(Depth::Shallow));
            }
            NextStep::Fail => {
                let because = format!(
                    "pid {} was there {} after SIGKILL",
                    alive.pid(),
                    seconds(KILL_WAIT_MS)
                );
                self.close(work, messages::not_down(cx, &because), out);
                return None;
            }
        }
        work.stopping = Some(stopping);
        Some(work)
    }

    /// The stop command did not end in time: kills it, and then the process as `spec.stop` asks.
    pub(super) fn stop_command_timed_out(
        &mut self,
        mut work: Box<Work>,
        cmd: &Cmd,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) {
        work.stop_command_ended(cx);
        work.step = Step::AwaitDown {
            from_boot_ms: cx.now.boot_ms,
            failed: false,
        };
        work.kill_target = Some(cmd.run);
        self.phase = Phase::Working(work);
        out.push(Action::Kill(cmd.run));
        out.push(Action::Observe(Depth::Shallow));
    }
}

#[cfg(test)]
mod tests {
    use model::spec::stop::StopSignal;

    use super::*;
    use crate::machine::tests_spec;

    fn spec(signals: &[StopSignal], grace: u32) -> Spec {
        let mut spec = tests_spec();
        spec.stop.signals = signals.to_vec();
        spec.stop.grace = Some(grace);
        spec
    }

    #[test]
    fn without_the_section_nothing_follows_the_first_signal() {
        assert_eq!(Stopping::after(1, &tests_spec(), 5), None);
    }

    #[test]
    fn each_signal_has_its_grace_and_sigkill_is_the_last() {
        let spec = spec(&[StopSignal::Quit, StopSignal::Term], 2);
        let stop = |sent, next_boot_ms, killed| Stopping {
            sent,
            next_boot_ms,
            killed,
        };
        assert_eq!(Stopping::after(0, &spec, 100), Some(stop(0, 2100, false)));
        let signal = |signal| NextStep::Signal(Signal::Stop(signal));
        for (stopping, now, late, expected) in [
            (stop(0, 100, false), 99, false, NextStep::Wait),
            (stop(0, 100, false), 100, false, signal(StopSignal::Quit)),
            (stop(1, 100, false), 100, false, signal(StopSignal::Term)),
            (stop(2, 100, false), 99, false, NextStep::Wait),
            (stop(2, 100, false), 100, false, NextStep::Kill),
            (stop(1, 100, false), 50, true, NextStep::Kill),
            (stop(2, 100, true), 99, true, NextStep::Wait),
            (stop(2, 100, true), 100, true, NextStep::Fail),
        ] {
            let next = stopping.next(&spec, now, late);
            assert_eq!(next, expected, "{stopping:?} at {now}, late: {late}");
        }
        let killed = stop(2, 100, true).warning(&spec);
        assert_eq!(
            killed,
            "it did not stop within 2 s of SIGQUIT, SIGTERM and was killed (SIGKILL)"
        );
        assert_eq!(stop(2, 100, false).warning(&spec), "");
    }
}
