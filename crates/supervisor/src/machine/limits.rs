//! Soft limits: kills a managed process that is over a limit for several samples in a row, and one whose start waits for
//! its ready probe.
//!
//! Pure: the runner takes the samples and passes them in; a reason to kill comes out.

use model::Spec;
use model::event::EventKind;

use super::messages::seconds;
use super::restart::emit;
use super::{Action, Phase, Process, Step};

/// How many samples in a row must be over a limit.
pub(crate) const IN_A_ROW: u32 = 3;

/// What a run uses, by the last sample.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Usage {
    /// Percent of the whole machine.
    pub(crate) cpu: f32,
    pub(crate) mem: f32,
    pub(crate) fd: u32,
    /// Bytes under `log_path`.
    pub(crate) disk: u64,
    /// Bytes per second.
    pub(crate) net: u64,
}

/// How many samples in a row were over each limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LimitCounters([u32; 5]);

impl LimitCounters {
    /// Counts one sample. Returns the reason to kill when the count is reached; counting starts again then.
    pub(crate) fn sample(&mut self, usage: &Usage, spec: &Spec, every_ms: u64) -> Option<String> {
        let (limits, runtime) = (&spec.resource, &spec.runtime);
        let max = |limit: Option<u64>| limit.unwrap_or(0) as f64;
        let figures = [
            (f64::from(usage.cpu), limits.cpu, "cpu", Unit::Percent),
            (f64::from(usage.mem), limits.mem, "memory", Unit::Percent),
            (
                f64::from(usage.fd),
                max(runtime.fd_max),
                "open descriptors",
                Unit::Count,
            ),
            (
                usage.disk as f64,
                max(runtime.log_bytes_max),
                "disk under log_path",
                Unit::Bytes,
            ),
            (
                usage.net as f64,
                max(runtime.net_max),
                "net",
                Unit::BytesPerSecond,
            ),
        ];
        for (count, (used, limit, what, unit)) in self.0.iter_mut().zip(figures) {
            *count = match limit > 0.0 && used > limit {
                true => *count + 1,
                false => 0,
            };
            if *count >= IN_A_ROW {
                self.0 = [0; 5];
                let over = seconds(u64::from(IN_A_ROW) * every_ms);
                return Some(format!(
                    "killed: {what} {} over its limit {} for {over}",
                    unit.used(used),
                    unit.limit(limit),
                ));
            }
        }
        None
    }

    /// Starts counting again, for another run or when the limits no longer apply.
    pub(crate) fn clear(&mut self) {
        self.0 = [0; 5];
    }
}

impl Process {
    /// Whether soft limits apply: while it is up and managed, and while its start waits for its ready probe.
    pub(crate) fn is_limited(&self) -> bool {
        match &self.phase {
            Phase::Up { .. } => self.managed,
            Phase::Working(work) => {
                matches!(work.step, Step::AwaitReady { .. }) && work.before.is_some()
            }
            Phase::Unobserved | Phase::Down | Phase::Lost { .. } | Phase::Backoff { .. } => false,
        }
    }

    /// Kills a run that is over a limit. Its end counts like a crash, or fails the start that waits.
    pub(super) fn over_limit(&mut self, kind: EventKind, sentence: String, out: &mut Vec<Action>) {
        if !self.is_limited() || self.forgetting {
            return;
        }
        let Some(current) = self.current_mut() else {
            return;
        };
        let (run, facts) = (current.alive.run, &mut current.facts);
        if !facts.kill_reason.is_empty() || !facts.faults.limit.is_empty() {
            return;
        }
        out.push(emit(kind, &sentence, None));
        out.push(Action::Kill(run));
        facts.kill_reason = sentence;
        if let Phase::Working(work) = &mut self.phase {
            work.kill_target = Some(run);
        }
    }

    /// The agent may not kill it: the status says so.
    pub(super) fn kill_was_refused(&mut self, why: &str) {
        if let Some(current) = self.current_mut()
            && !std::mem::take(&mut current.facts.kill_reason).is_empty()
        {
            current.facts.faults.limit = format!("over its limit, and not killed: {why}");
            if let Phase::Working(work) = &mut self.phase {
                work.kill_target = None;
            }
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Unit {
    Percent,
    Count,
    Bytes,
    BytesPerSecond,
}

impl Unit {
    fn used(self, value: f64) -> String {
        match self {
            Self::Percent => format!("{value:.1} %"),
            Self::Count | Self::Bytes | Self::BytesPerSecond => self.limit(value),
        }
    }

    fn limit(self, value: f64) -> String {
        match self {
            Self::Percent => percent(value),
            Self::Count => format!("{value:.0}"),
            Self::Bytes => format!("{value:.0} bytes"),
            Self::BytesPerSecond => format!("{value:.0} bytes/s"),
        }
    }
}

/// `10 %`, `12.5 %`: as the spec has it.
pub(super) fn percent(value: f64) -> String {
    format!("{} %", (value * 100.0).round() / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(mem: f32) -> Usage {
        Usage {
            mem,
            ..Usage::default()
        }
    }

    fn limited(cpu: f64, mem: f64) -> Spec {
        let mut spec = crate::machine::tests_spec();
        (spec.resource.cpu, spec.resource.mem) = (cpu, mem);
        spec
    }

    #[test]
    fn three_samples_over_the_limit_in_a_row_kill() {
        let spec = limited(0.0, 10.0);
        for (samples, sentences) in [
            (vec![12.0, 12.0], 0),
            (vec![12.0, 12.0, 12.4], 1),
            (vec![12.0, 12.0, 9.0, 12.0, 12.0], 0),
            (vec![10.0; 9], 0),
            (vec![11.0; 6], 2),
        ] {
            let mut over = LimitCounters::default();
            let message: Vec<String> = samples
                .iter()
                .filter_map(|mem| over.sample(&memory(*mem), &spec, 5_000))
                .collect();
            assert_eq!(message.len(), sentences, "{samples:?}");
        }
        let mut over = LimitCounters::default();
        let message = (0..3).find_map(|_| over.sample(&memory(12.4), &spec, 5_000));
        let expected = "killed: memory 12.4 % over its limit 10 % for 15 s";
        assert_eq!(message.as_deref(), Some(expected));
    }

    #[test]
    fn each_limit_has_its_reason_and_zero_is_none() {
        let usage = Usage {
            cpu: 60.06,
            mem: 50.0,
            fd: 140,
            disk: 3000,
            net: 2000,
        };
        let with = |change: fn(&mut model::spec::Runtime)| {
            let mut spec = limited(0.0, 0.0);
            change(&mut spec.runtime);
            spec
        };
        let rows = [
            (
                limited(12.5, 0.0),
                "killed: cpu 60.1 % over its limit 12.5 % for 15 s",
            ),
            (
                with(|runtime| runtime.fd_max = Some(100)),
                "killed: open descriptors 140 over its limit 100 for 15 s",
            ),
            (
                with(|runtime| runtime.log_bytes_max = Some(10)),
                "killed: disk under log_path 3000 bytes over its limit 10 bytes for 15 s",
            ),
            (
                with(|runtime| runtime.net_max = Some(1000)),
                "killed: net 2000 bytes/s over its limit 1000 bytes/s for 15 s",
            ),
        ];
        for (spec, sentence) in rows {
            let mut over = LimitCounters::default();
            let message: Vec<_> = (0..3)
                .filter_map(|_| over.sample(&usage, &spec, 5_000))
                .collect();
            assert_eq!(message, [sentence]);
        }
        let none = limited(0.0, 0.0);
        let mut over = LimitCounters::default();
        assert!((0..9).all(|_| over.sample(&usage, &none, 5_000).is_none()));
    }

    #[test]
    fn reserved_limits_of_the_documents_never_kill() {
        let usage = Usage {
            fd: 140,
            disk: 3000,
            net: 2000,
            ..Usage::default()
        };
        let mut spec = limited(0.0, 0.0);
        (spec.resource.fd, spec.resource.disk, spec.resource.net) = (10, 100, 1);
        let mut over = LimitCounters::default();
        assert!((0..9).all(|_| over.sample(&usage, &spec, 5_000).is_none()));
    }
}
