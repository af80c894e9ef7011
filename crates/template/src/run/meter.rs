//! Counts the work and memory of a rendering, and fails when a limit is exceeded.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;

use crate::error::{ErrorKind, Problem, Result};
use crate::limits::Limits;

/// How many steps are taken between two reads of the clock.
const STEPS_PER_CLOCK_READ: u64 = 1000;

#[derive(Debug)]
pub(crate) struct Meter {
    deadline: Instant,
    deadline_text: String,
    steps: Cell<u64>,
    used: Cell<usize>,
    most: usize,
}

impl Meter {
    pub(crate) fn new(limits: &Limits) -> Meter {
        let now = Instant::now();
        Meter {
            deadline: now.checked_add(limits.deadline).unwrap_or(now),
            deadline_text: format!("{:?}", limits.deadline),
            steps: Cell::new(0),
            used: Cell::new(0),
            most: limits.memory_bytes,
        }
    }

    /// Counts one step of work, plus `work` for large ones.
    pub(crate) fn step(&self, work: u64) -> Result<()> {
        let steps = self.steps.get() + work + 1;
        if steps < STEPS_PER_CLOCK_READ {
            self.steps.set(steps);
            return Ok(());
        }
        self.steps.set(0);
        if Instant::now() < self.deadline {
            return Ok(());
        }
        Err(Problem::new(
            ErrorKind::TooLong,
            format!("rendering took longer than {}", self.deadline_text),
        ))
    }

    /// Counts work on this many bytes.
    pub(crate) fn step_bytes(&self, bytes: usize) -> Result<()> {
        self.step(bytes as u64 / 64)
    }

    /// Fails if this many more bytes exceed the limit.
    pub(crate) fn fits(&self, bytes: usize) -> Result<()> {
        if bytes <= self.most.saturating_sub(self.used.get()) {
            return Ok(());
        }
        Err(Problem::new(
            ErrorKind::TooLarge,
            format!(
                "the values of this template need more than {} bytes",
                self.most
            ),
        ))
    }
}

/// Memory that is reserved for one value, and released on drop.
#[derive(Debug)]
pub(crate) struct Reservation {
    meter: Rc<Meter>,
    bytes: Cell<usize>,
}

impl Reservation {
    pub(crate) fn new(meter: &Rc<Meter>, bytes: usize) -> Result<Reservation> {
        let reserved = Reservation {
            meter: Rc::clone(meter),
            bytes: Cell::new(0),
        };
        reserved.grow(bytes)?;
        Ok(reserved)
    }

    pub(crate) fn grow(&self, bytes: usize) -> Result<()> {
        self.meter.fits(bytes)?;
        self.meter.used.set(self.meter.used.get() + bytes);
        self.bytes.set(self.bytes.get() + bytes);
        Ok(())
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let used = self.meter.used.get().saturating_sub(self.bytes.get());
        self.meter.used.set(used);
    }
}

/// A text under construction that stays within the memory limit.
pub(crate) struct BoundedText<'a> {
    meter: &'a Meter,
    text: String,
}

impl<'a> BoundedText<'a> {
    pub(crate) fn new(meter: &'a Meter) -> BoundedText<'a> {
        BoundedText {
            meter,
            text: String::new(),
        }
    }

    pub(crate) fn push(&mut self, text: &str) -> Result<()> {
        self.meter.step_bytes(text.len())?;
        self.meter.fits(self.text.len() + text.len())?;
        self.text.push_str(text);
        Ok(())
    }

    /// Appends a character `count` times.
    pub(crate) fn fill(&mut self, c: char, count: usize) -> Result<()> {
        let bytes = count.saturating_mul(c.len_utf8());
        self.meter.step_bytes(bytes)?;
        self.meter.fits(self.text.len().saturating_add(bytes))?;
        self.text.extend(std::iter::repeat_n(c, count));
        Ok(())
    }

    pub(crate) fn finish(self) -> String {
        self.text
    }
}
