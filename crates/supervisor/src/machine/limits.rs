//! When a managed process has used too much: over a limit for several samples in a row.
//!
//! Pure: samples go in, a sentence comes out. Who reads them is not known here.

use model::Spec;
use model::event::EventKind;

use super::keep::emit;
use super::words::seconds;
use super::{Action, Phase, Process};

/// How many samples in a row must be over a limit.
pub(crate) const IN_A_ROW: u32 = 3;

/// What a run uses, as last read.
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
pub(crate) struct Over([u32; 5]);

impl Over {
    /// Takes one sample. A sentence when that is enough; counting begins anew then.
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

    /// Another run, or nobody to keep it within limits.
    pub(crate) fn clear(&mut self) {
        self.0 = [0; 5];
    }
}

impl Process {
    /// Kills a managed run that has used too much. Its end counts like any that nobody asked for.
    pub(super) fn sentenced(&mut self, kind: EventKind, sentence: String, out: &mut Vec<Action>) {
        let Phase::Up { current } = &mut self.phase else {
            return;
        };
        let facts = &mut current.facts;
        let was_tried = !facts.kill_reason.is_empty() || !facts.faults.limit.is_empty();
        if !self.managed || self.forgetting || was_tried {
            return;
        }
        out.push(emit(kind, &sentence, None));
        out.push(Action::Kill(current.alive.run));
        facts.kill_reason = sentence;
    }

    /// It may not be killed, so nothing comes of it but a message.
    pub(super) fn reprieved(&mut self, why: &str) {
        if let Some(current) = self.current_mut()
            && !std::mem::take(&mut current.facts.kill_reason).is_empty()
        {
            current.facts.faults.limit = format!("over its limit, and not killed: {why}");
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
    fn three_samples_in_a_row_are_enough_and_one_below_begins_anew() {
        let spec = limited(0.0, 10.0);
        for (samples, sentences) in [
            (vec![12.0, 12.0], 0),
            (vec![12.0, 12.0, 12.4], 1),
            (vec![12.0, 12.0, 9.0, 12.0, 12.0], 0),
            (vec![10.0; 9], 0),
            (vec![11.0; 6], 2),
        ] {
            let mut over = Over::default();
            let said: Vec<String> = samples
                .iter()
                .filter_map(|mem| over.sample(&memory(*mem), &spec, 5_000))
                .collect();
            assert_eq!(said.len(), sentences, "{samples:?}");
        }
        let mut over = Over::default();
        let said = (0..3).find_map(|_| over.sample(&memory(12.4), &spec, 5_000));
        let expected = "killed: memory 12.4 % over its limit 10 % for 15 s";
        assert_eq!(said.as_deref(), Some(expected));
    }

    #[test]
    fn each_limit_has_its_sentence_and_zero_is_none() {
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
            let mut over = Over::default();
            let said: Vec<_> = (0..3)
                .filter_map(|_| over.sample(&usage, &spec, 5_000))
                .collect();
            assert_eq!(said, [sentence]);
        }
        let none = limited(0.0, 0.0);
        let mut over = Over::default();
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
        let mut over = Over::default();
        assert!((0..9).all(|_| over.sample(&usage, &spec, 5_000).is_none()));
    }
}
