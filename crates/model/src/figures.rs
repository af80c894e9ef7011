//! Figures of a process over the last hour, as its agent keeps them.
//!
//! Each figure is a number of two bytes, so that a process costs about 1.5 KB, and only from its first run on.

use serde::{Deserialize, Serialize};

/// How far apart two figures are.
pub const STEP_SECS: u64 = 15;
/// How many figures are kept: one hour.
pub const N_STEPS: usize = 240;

/// The figures of one process: the oldest first, the last one of the step under way. Null where it did not run, or was not
/// sampled.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FigureSeries {
    pub step_secs: u64,
    /// Percent of the whole machine, mean of the step.
    pub cpu: Vec<Option<f32>>,
    /// Percent of the whole machine.
    pub mem: Vec<Option<f32>>,
    /// Open descriptors; above 32,767 rounded to multiples of 64.
    pub fd: Vec<Option<u32>>,
}

/// The last hour of one process, in steps that are counted from any moment on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FigureRing {
    steps: Box<[[u16; 3]; N_STEPS]>,
    /// The number of the last step with a figure.
    last: u64,
    /// How many samples the last step has.
    n_samples: u16,
}

const NONE: u16 = u16::MAX;
const EMPTY: [u16; 3] = [NONE; 3];
/// Marks a number of descriptors in units of [`MANY_UNIT`].
const MANY: u16 = 0x8000;
const MANY_UNIT: u32 = 64;

impl Default for FigureRing {
    fn default() -> Self {
        Self {
            steps: Box::new([EMPTY; N_STEPS]),
            last: 0,
            n_samples: 0,
        }
    }
}

impl FigureRing {
    /// Adds a sample of this step. Steps in between have no figure; a step of the past is ignored.
    pub fn add(&mut self, step: u64, cpu: f32, mem: f32, fd: u32) {
        if step < self.last {
            return;
        }
        if step > self.last {
            let gap = (step - self.last).min(N_STEPS as u64);
            for passed in (step - gap + 1)..=step {
                self.steps[place(passed)] = EMPTY;
            }
            (self.last, self.n_samples) = (step, 0);
        }
        self.n_samples = self.n_samples.saturating_add(1);
        let slot = &mut self.steps[place(step)];
        let cpu = match slot[0] {
            NONE => cpu,
            before => {
                let before = unpack_percent(before);
                before + (cpu - before) / f32::from(self.n_samples)
            }
        };
        *slot = [pack_percent(cpu), pack_percent(mem), pack_fd(fd)];
    }

    /// Whether the last figure is more than an hour before this step.
    pub fn is_over(&self, step: u64) -> bool {
        step.saturating_sub(self.last) >= N_STEPS as u64
    }

    /// The hour that ends with this step.
    pub fn series(&self, step: u64) -> FigureSeries {
        let steps = (0..N_STEPS as u64).rev().map(|ago| {
            let step = step.checked_sub(ago)?;
            let is_kept = step <= self.last && step + N_STEPS as u64 > self.last;
            let slot = self.steps[place(step)];
            (is_kept && slot != EMPTY).then_some(slot)
        });
        let steps: Vec<Option<[u16; 3]>> = steps.collect();
        let percents = |at: usize| {
            let percent = move |slot: &Option<[u16; 3]>| slot.map(|slot| unpack_percent(slot[at]));
            steps.iter().map(percent).collect()
        };
        FigureSeries {
            step_secs: STEP_SECS,
            cpu: percents(0),
            mem: percents(1),
            fd: steps
                .iter()
                .map(|slot| slot.map(|slot| unpack_fd(slot[2])))
                .collect(),
        }
    }
}

impl FigureSeries {
    /// Of a process that has not run within the hour.
    pub fn empty() -> Self {
        Self {
            step_secs: STEP_SECS,
            cpu: vec![None; N_STEPS],
            mem: vec![None; N_STEPS],
            fd: vec![None; N_STEPS],
        }
    }

    /// Cuts what an agent sent to what a server shows.
    pub fn bound(mut self) -> Self {
        self.step_secs = self.step_secs.clamp(1, 3600);
        self.cpu.truncate(N_STEPS);
        self.mem.truncate(N_STEPS);
        self.fd.truncate(N_STEPS);
        self
    }
}

fn place(step: u64) -> usize {
    (step % N_STEPS as u64) as usize
}

/// Hundredths of a percent; more than 655 % is cut.
fn pack_percent(percent: f32) -> u16 {
    (percent * 100.0).round().clamp(0.0, f32::from(NONE - 1)) as u16
}

fn unpack_percent(packed: u16) -> f32 {
    f32::from(packed) / 100.0
}

fn pack_fd(fd: u32) -> u16 {
    match u16::try_from(fd) {
        Ok(fd) if fd < MANY => fd,
        _ => {
            let units = (fd / MANY_UNIT).min(u32::from(NONE - MANY - 1));
            MANY | units as u16
        }
    }
}

fn unpack_fd(packed: u16) -> u32 {
    match packed < MANY {
        true => packed.into(),
        false => u32::from(packed - MANY) * MANY_UNIT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_shown_where_they_were_sampled() {
        let mut ring = FigureRing::default();
        ring.add(1000, 1.0, 5.0, 10);
        ring.add(1000, 3.0, 6.0, 12);
        ring.add(1003, 9.5, 7.25, 40_000);
        let series = ring.series(1004);
        assert_eq!(series.cpu.len(), N_STEPS);
        assert_eq!(
            series.cpu[N_STEPS - 5..],
            [Some(2.0), None, None, Some(9.5), None]
        );
        assert_eq!(series.mem[N_STEPS - 5], Some(6.0));
        assert_eq!(series.fd[N_STEPS - 2], Some(40_000));
        assert!(series.cpu[..N_STEPS - 5].iter().all(Option::is_none));
    }

    #[test]
    fn an_hour_is_kept_and_no_more() {
        let mut ring = FigureRing::default();
        for step in 5000..5000 + 2 * N_STEPS as u64 {
            ring.add(step, (step % 7) as f32, 0.0, 0);
        }
        let last = 5000 + 2 * N_STEPS as u64 - 1;
        let series = ring.series(last);
        for (index, cpu) in series.cpu.iter().enumerate() {
            let step = last - (N_STEPS - 1 - index) as u64;
            assert_eq!(*cpu, Some((step % 7) as f32));
        }
        assert!(!ring.is_over(last + N_STEPS as u64 - 1) && ring.is_over(last + N_STEPS as u64));
        assert_eq!(ring.series(last + N_STEPS as u64), FigureSeries::empty());
        // A jump leaves nothing of before.
        ring.add(last + 10_000, 1.0, 1.0, 1);
        let series = ring.series(last + 10_000);
        assert_eq!(series.cpu.iter().flatten().count(), 1);
    }

    #[test]
    fn extremes_are_cut_and_not_taken_for_none() {
        let mut ring = FigureRing::default();
        ring.add(1, 1e9, 1e9, u32::MAX);
        let series = ring.series(1);
        assert!(series.cpu.last().unwrap().unwrap() > 600.0);
        assert!(series.fd.last().unwrap().unwrap() > 2_000_000);
        assert_eq!(size_of::<[[u16; 3]; N_STEPS]>(), 1440);
    }
}
