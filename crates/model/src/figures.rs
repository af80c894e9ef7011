//! Figures of a process over the last hour, as its agent keeps them.
//!
//! A process costs what its figures change, and only from its first run on: some hundred bytes if it is idle.

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
///
/// Only the step under way is kept as figures. The others are the differences from one step to the next, because the
/// figures of most processes hardly change: an hour of an idle one takes some ten bytes, and one whose CPU usage varies
/// takes two or three bytes for each step.
///
/// ```text
/// coded    = change | repeat
/// change   = which figures differ: bits 0 to 2 of a byte, not all zero; then the difference of each: varint of zigzag
/// repeat   = so many steps like the one before: bits 3 to 7 of a byte, plus one; bits 0 to 2 are zero
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FigureRing {
    coded: Vec<u8>,
    /// How many steps are coded.
    n_coded: u16,
    /// The figures before the first coded step.
    before: Figures,
    /// The figures of the last step, which is not coded yet.
    current: Figures,
    /// The number of the last step with a figure.
    last: u64,
    /// How many samples the last step has; 0 before the first.
    n_samples: u16,
    /// The coded steps end with a repeat.
    ends_with_repeat: bool,
}

/// CPU, memory and descriptors of one step, packed.
type Figures = [u16; 3];

const NONE: u16 = u16::MAX;
const EMPTY: Figures = [NONE; 3];
/// Marks a number of descriptors in units of [`MANY_UNIT`].
const MANY: u16 = 0x8000;
const MANY_UNIT: u32 = 64;
/// The bits of a coded byte that say which figures differ.
const CHANGES: u8 = 0b111;
const MAX_REPEATS: u8 = 32;

impl FigureRing {
    /// Adds a sample of this step. Steps in between have no figure; a step of the past is ignored.
    pub fn add(&mut self, step: u64, cpu: f32, mem: f32, fd: u32) {
        if step < self.last {
            return;
        }
        if self.is_over(step) {
            *self = Self::default();
        }
        if self.n_samples == 0 {
            (self.last, self.current) = (step, EMPTY);
        }
        if step > self.last {
            self.code(self.current);
            for _ in (self.last + 1)..step {
                self.code(EMPTY);
            }
            (self.last, self.n_samples, self.current) = (step, 0, EMPTY);
        }
        self.n_samples = self.n_samples.saturating_add(1);
        let cpu = match self.current[0] {
            NONE => cpu,
            before => {
                let before = unpack_percent(before);
                before + (cpu - before) / f32::from(self.n_samples)
            }
        };
        self.current = [pack_percent(cpu), pack_percent(mem), pack_fd(fd)];
    }

    /// Whether the last figure is more than an hour before this step.
    pub fn is_over(&self, step: u64) -> bool {
        step.saturating_sub(self.last) >= N_STEPS as u64
    }

    /// The hour that ends with this step.
    pub fn series(&self, step: u64) -> FigureSeries {
        let mut slots = vec![None; N_STEPS];
        // The last place is that of `step`.
        let mut put = |of: u64, figures: Figures| {
            let ago = step
                .checked_sub(of)
                .and_then(|ago| usize::try_from(ago).ok());
            let place = ago.and_then(|ago| (N_STEPS - 1).checked_sub(ago));
            if let Some(place) = place.filter(|_| figures != EMPTY) {
                slots[place] = Some(figures);
            }
        };
        if self.n_samples > 0 {
            put(self.last, self.current);
            let first = self.last - u64::from(self.n_coded);
            for (of, figures) in (first..).zip(self.decoded()) {
                put(of, figures);
            }
        }
        let percents = |at: usize| {
            let percent = move |slot: &Option<Figures>| slot.map(|slot| unpack_percent(slot[at]));
            slots.iter().map(percent).collect()
        };
        FigureSeries {
            step_secs: STEP_SECS,
            cpu: percents(0),
            mem: percents(1),
            fd: slots
                .iter()
                .map(|slot| slot.map(|slot| unpack_fd(slot[2])))
                .collect(),
        }
    }

    /// Adds a step behind the last coded one, and drops the oldest if the hour is full.
    fn code(&mut self, figures: Figures) {
        // One of the hour is the step under way.
        if usize::from(self.n_coded) == N_STEPS - 1 {
            self.drop_first();
        }
        self.n_coded += 1;
        let before = self.last_coded();
        if figures == before {
            match self.coded.last_mut() {
                Some(repeat) if self.ends_with_repeat && *repeat >> 3 < MAX_REPEATS - 1 => {
                    *repeat += 1 << 3;
                }
                Some(_) | None => self.push(&[0]),
            }
            self.ends_with_repeat = true;
            return;
        }
        let mut change = vec![0_u8];
        for (at, (new, old)) in figures.into_iter().zip(before).enumerate() {
            if new != old {
                change[0] |= 1 << at;
                push_varint(zigzag(i32::from(new) - i32::from(old)), &mut change);
            }
        }
        self.push(&change);
        self.ends_with_repeat = false;
    }

    /// Grows by little: a vector would double its room.
    fn push(&mut self, bytes: &[u8]) {
        if self.coded.capacity() - self.coded.len() < bytes.len() {
            self.coded.reserve_exact(bytes.len().max(16));
        }
        self.coded.extend_from_slice(bytes);
    }

    fn last_coded(&self) -> Figures {
        self.decoded().last().unwrap_or(self.before)
    }

    fn drop_first(&mut self) {
        self.n_coded -= 1;
        match self.coded.first_mut() {
            Some(repeat) if *repeat & CHANGES == 0 && *repeat > 0 => *repeat -= 1 << 3,
            Some(_) => {
                let mut decoded = self.decoded();
                let first = decoded.next().unwrap_or(EMPTY);
                let length = self.coded.len() - decoded.rest.len();
                self.before = first;
                self.coded.drain(..length);
                self.ends_with_repeat &= !self.coded.is_empty();
            }
            None => {}
        }
    }

    fn decoded(&self) -> Decoded<'_> {
        Decoded {
            rest: &self.coded,
            figures: self.before,
            n_repeats: 0,
        }
    }
}

/// The coded steps, oldest first.
struct Decoded<'a> {
    rest: &'a [u8],
    figures: Figures,
    /// How often the last ones are still repeated.
    n_repeats: u8,
}

impl Iterator for Decoded<'_> {
    type Item = Figures;

    fn next(&mut self) -> Option<Figures> {
        if self.n_repeats > 0 {
            self.n_repeats -= 1;
            return Some(self.figures);
        }
        let (first, mut rest) = self.rest.split_first()?;
        if first & CHANGES == 0 {
            self.n_repeats = first >> 3;
        }
        for (at, figure) in self.figures.iter_mut().enumerate() {
            if first & (1 << at) != 0 {
                let difference = unzigzag(take_varint(&mut rest)?);
                *figure = (i32::from(*figure) + difference) as u16;
            }
        }
        self.rest = rest;
        Some(self.figures)
    }
}

fn zigzag(number: i32) -> u32 {
    ((number << 1) ^ (number >> 31)) as u32
}

fn unzigzag(number: u32) -> i32 {
    (number >> 1) as i32 ^ -((number & 1) as i32)
}

fn push_varint(mut number: u32, to: &mut Vec<u8>) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

fn take_varint(from: &mut &[u8]) -> Option<u32> {
    let mut number = 0;
    let mut shift = 0;
    loop {
        let (byte, rest) = from.split_first()?;
        *from = rest;
        number |= u32::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
        shift += 7;
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
    }

    /// The figures as they were before they were coded, for comparison.
    fn of_hour(all: &[(u64, Figures)], step: u64) -> Vec<Option<Figures>> {
        let hour = (0..N_STEPS as u64).rev().map(|ago| step.checked_sub(ago));
        let known = |at: u64| all.iter().find(|(of, _)| *of == at).map(|(_, one)| *one);
        hour.map(|at| at.and_then(known)).collect()
    }

    #[test]
    fn coded_figures_are_read_back_whatever_they_are() {
        let mut seed = 0x9E37_79B9_u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % below
        };
        for round in 0..60 {
            let mut ring = FigureRing::default();
            let mut all: Vec<(u64, Figures)> = Vec::new();
            let (mut step, mut slot) = (1000, [0, 500, 7]);
            for _ in 0..random(700) {
                step += match random(20) {
                    0 => 1 + random(300),
                    _ => 1,
                };
                // From idle to changing all the time.
                if random(60) < round {
                    let bits = random(16);
                    slot[random(3) as usize] = random(1 << bits) as u16;
                }
                slot[2] = slot[2].min(MANY - 1);
                slot[0] = slot[0].min(NONE - 1);
                slot[1] = slot[1].min(NONE - 1);
                let [cpu, mem] = [slot[0], slot[1]].map(unpack_percent);
                ring.add(step, cpu, mem, unpack_fd(slot[2]));
                all.push((step, slot));
            }
            for later in [0, 1, 100, 239, 240, 1000] {
                let series = ring.series(step + later);
                let expected = of_hour(&all, step + later);
                let cpu: Vec<_> = expected
                    .iter()
                    .map(|slot| slot.map(|slot| unpack_percent(slot[0])))
                    .collect();
                let fd: Vec<_> = expected
                    .iter()
                    .map(|slot| slot.map(|slot| unpack_fd(slot[2])))
                    .collect();
                assert_eq!((series.cpu, series.fd), (cpu, fd), "{round} {later}");
            }
        }
    }

    #[test]
    fn an_hour_of_an_idle_process_takes_few_bytes() {
        let (mut idle, mut busy) = (FigureRing::default(), FigureRing::default());
        for step in 0..1000 {
            idle.add(step, 0.0, 0.25, 12);
            busy.add(step, 5.0 + (step % 60) as f32 / 10.0, 3.0, 12);
        }
        assert!(idle.coded.capacity() < 64, "{}", idle.coded.capacity());
        assert!(busy.coded.capacity() < 900, "{}", busy.coded.capacity());
    }
}
