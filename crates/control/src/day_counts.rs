//! How many processes were in each state over the last day, by namespace.
//!
//! Each replica counts for itself, since each has the whole fleet. The one that leads saves the counts beside the snapshot of
//! statuses, so that a restart does not lose the day.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use locks::{Mutex, MutexGuard};
use model::access::{AccessArea, Caller, Permission};
use model::{Namespace, ProcessState, UnixMillis};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::core::Core;
use crate::{ControlError, Registry, Replicas, stopped};

/// How far apart two counts are.
pub const STEP_SECS: i64 = 300;
/// How many counts are kept: one day.
const N_STEPS: usize = 288;
/// How many namespaces are counted by themselves, those with most processes first; the others are counted together.
const MAX_NAMESPACES: usize = 200;
/// Where the store keeps the counts: no block of statuses has this number.
pub(crate) const SHARD: u32 = u32::MAX;
/// The first byte, which no other shard has.
const FORMAT: u8 = 0xDC;
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How many processes are in each state, in the order of [`ProcessState::ALL`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Vec<u32>")]
struct StateCounts([u32; ProcessState::ALL.len()]);

impl From<Vec<u32>> for StateCounts {
    /// A version before `ready` wrote one number less. Any other length gives some counts, never a failure.
    fn from(mut written: Vec<u32>) -> Self {
        if written.len() + 1 == ProcessState::ALL.len() {
            let ready = ProcessState::ALL
                .iter()
                .position(|state| *state == ProcessState::Ready);
            written.insert(ready.unwrap_or(0), 0);
        }
        let mut counts = Self::default();
        for (count, written) in counts.0.iter_mut().zip(written) {
            *count = written;
        }
        counts
    }
}

#[derive(Debug, Default)]
pub(crate) struct DayCounts(Mutex<Day>);

/// The counts, the oldest first.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Day {
    steps: VecDeque<Step>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Step {
    /// The time in steps.
    number: i64,
    counts: Vec<(Arc<str>, StateCounts)>,
    /// Of namespaces that are not counted by themselves.
    others: StateCounts,
}

/// Counts over time, for each state in the order of [`ProcessState::ALL`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatesOverTime {
    pub until: UnixMillis,
    /// The oldest first; none where no server ran.
    pub states: Vec<Vec<Option<u64>>>,
}

impl DayCounts {
    fn day(&self) -> MutexGuard<'_, Day> {
        self.0.lock()
    }

    /// What another program, or a later version, wrote is ignored.
    pub(crate) fn restore(&self, bytes: &[u8]) {
        if let Some((&FORMAT, json)) = bytes.split_first()
            && let Ok(day) = serde_json::from_slice(json)
        {
            *self.day() = day;
        }
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![FORMAT];
        let written = serde_json::to_writer(&mut bytes, &*self.day());
        written.expect("counts have only string keys, and memory takes them");
        bytes
    }
}

impl Day {
    fn add(&mut self, step: Step) {
        // Names are shared between steps.
        let mut step = step;
        if let Some(last) = self.steps.back() {
            for (name, _) in &mut step.counts {
                if let Some((known, _)) = last.counts.iter().find(|(known, _)| known == name) {
                    *name = known.clone();
                }
            }
        }
        // A clock that was set back counts again.
        self.steps.retain(|known| known.number < step.number);
        self.steps.push_back(step);
        while self.steps.len() > N_STEPS {
            self.steps.pop_front();
        }
    }

    fn read(
        &self,
        until: i64,
        n_steps: usize,
        visible: Option<&[Namespace]>,
    ) -> Vec<Vec<Option<u64>>> {
        let mut states = vec![Vec::with_capacity(n_steps); ProcessState::ALL.len()];
        for number in (until - n_steps as i64 + 1)..=until {
            let step = self.steps.iter().find(|step| step.number == number);
            let sums = step.map(|step| step.sums(visible));
            for (at, counts) in states.iter_mut().enumerate() {
                counts.push(sums.map(|sums| sums[at]));
            }
        }
        states
    }
}

impl Step {
    fn sums(&self, visible: Option<&[Namespace]>) -> [u64; ProcessState::ALL.len()] {
        let mut sums = [0; ProcessState::ALL.len()];
        let mut add = |counts: &StateCounts| {
            for (sum, count) in sums.iter_mut().zip(&counts.0) {
                *sum += u64::from(*count);
            }
        };
        for (name, counts) in &self.counts {
            let is_seen = |visible: &[Namespace]| visible.iter().any(|one| one.as_str() == &**name);
            if visible.is_none_or(is_seen) {
                add(counts);
            }
        }
        if visible.is_none() {
            add(&self.others);
        }
        sums
    }
}

impl Registry {
    /// How many processes were in each state, of what the caller may see, over the last `window`: up to a day.
    pub fn states_over_time(
        &self,
        caller: &Caller,
        window: Duration,
    ) -> Result<StatesOverTime, ControlError> {
        self.access
            .check(caller, Permission::View, AccessArea::Anything)?;
        let n_steps = (window.as_secs() as usize / STEP_SECS as usize).clamp(1, N_STEPS);
        let visible = caller.visible_namespaces();
        let day = self.core.day_counts.day();
        // Of the step under way there is no count before its first second is over.
        let now = self.core.now().secs() / STEP_SECS;
        let until = day
            .steps
            .back()
            .map_or(now, |last| last.number.max(now - 1));
        Ok(StatesOverTime {
            until: UnixMillis::from_secs(until * STEP_SECS),
            states: day.read(until, n_steps, visible.as_deref()),
        })
    }
}

impl Core {
    /// Counts the step under way, once. Says whether it did.
    fn count_states(&self) -> bool {
        let number = self.now().secs() / STEP_SECS;
        if self
            .day_counts
            .day()
            .steps
            .back()
            .is_some_and(|last| last.number == number)
        {
            return false;
        }
        let all = {
            let fleet = self.fleet();
            let mut sizes: Vec<(u64, Namespace)> = (fleet.namespaces())
                .filter(|(_, n_processes)| *n_processes > 0)
                .map(|(name, n_processes)| (n_processes, name.clone()))
                .collect();
            sizes.sort_by(|a, b| b.cmp(a));
            sizes.truncate(MAX_NAMESPACES);
            let counted = sizes.into_iter().map(|(_, name)| {
                let counts = fleet.process_counts(Some(std::slice::from_ref(&name)));
                (Arc::from(name.as_str()), narrowed(counts.states))
            });
            let counts: Vec<(Arc<str>, StateCounts)> = counted.collect();
            let mut others = narrowed(fleet.process_counts(None).states);
            for (other, at) in others.0.iter_mut().zip(0..) {
                let known: u32 = counts.iter().map(|(_, counts)| counts.0[at]).sum();
                *other = other.saturating_sub(known);
            }
            Step {
                number,
                counts,
                others,
            }
        };
        self.day_counts.day().add(all);
        true
    }
}

fn narrowed(counts: [u64; ProcessState::ALL.len()]) -> StateCounts {
    StateCounts(counts.map(|count| u32::try_from(count).unwrap_or(u32::MAX)))
}

pub(crate) async fn run(core: Arc<Core>, replicas: Arc<Replicas>, mut stop: watch::Receiver<bool>) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => {}
            () = stopped(&mut stop) => return,
        }
        if core.count_states() && replicas.leads() {
            let saved = [(SHARD, core.day_counts.encode())];
            if let Err(error) = core.store.save_status(&saved).await {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "the counts of states were not saved; the next ones will be"
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(number: i64, a: u32, b: u32) -> Step {
        let counts = |running: u32| {
            let mut counts = StateCounts::default();
            counts.0[0] = running;
            counts
        };
        Step {
            number,
            counts: vec![("a".into(), counts(a)), ("b".into(), counts(b))],
            others: counts(100),
        }
    }

    #[test]
    fn gaps_are_empty_and_a_day_is_kept() {
        let mut day = Day::default();
        for number in 0..N_STEPS as i64 + 10 {
            if number != 290 {
                day.add(step(number, number as u32, 1));
            }
        }
        assert_eq!(day.steps.len(), N_STEPS);
        let a = [Namespace::parse("a").unwrap()];
        let running = day.read(292, 4, Some(&a))[0].clone();
        assert_eq!(running, [Some(289), None, Some(291), Some(292)]);
        assert_eq!(day.read(292, 1, None)[0], [Some(292 + 1 + 100)]);
        assert_eq!(day.read(400, 1, None)[0], [None]);
        day.add(step(50, 1, 1));
        assert_eq!(
            day.steps.back().unwrap().number,
            50,
            "the clock was set back"
        );
    }

    #[test]
    fn counts_of_the_nine_states_of_an_earlier_version_are_restored() {
        let counts = DayCounts::default();
        let nine = "[5,1,2,3,4,6,7,8,9]";
        let json =
            format!(r#"{{"steps":[{{"number":7,"counts":[["a",{nine}]],"others":{nine}}}]}}"#);
        counts.restore(&[&[FORMAT], json.as_bytes()].concat());
        let day = counts.day();
        let read: Vec<_> = day
            .read(7, 1, None)
            .into_iter()
            .map(|count| count[0])
            .collect();
        let sums = [10, 0, 2, 4, 6, 8, 12, 14, 16, 18].map(Some);
        assert_eq!(read, sums, "no process was ready");
    }

    #[test]
    fn what_is_saved_is_restored_and_other_bytes_are_ignored() {
        let (before, after) = (DayCounts::default(), DayCounts::default());
        before.day().add(step(7, 1, 2));
        after.restore(&before.encode());
        assert_eq!(*before.day(), *after.day());
        for bytes in [&b""[..], b"\x01abc", b"\xDCabc"] {
            after.restore(bytes);
        }
        assert_eq!(*before.day(), *after.day());
    }
}
