//! Counts what a rendering uses, and ends it when that is too much.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;

use crate::error::{ErrorKind, Problem};
use crate::limits::Limits;

/// How many steps are taken between two looks at the clock.
const STEPS_PER_LOOK: u64 = 1000;

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

    /// Every piece of work goes through here, large ones with their size.
    pub(crate) fn step(&self, work: u64) -> Result<(), Problem> {
        let steps = self.steps.get() + work + 1;
        if steps < STEPS_PER_LOOK {
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

    /// Work on so many bytes.
    pub(crate) fn step_bytes(&self, bytes: usize) -> Result<(), Problem> {
        self.step(bytes as u64 / 64)
    }

    /// Fails if so many more bytes would be too many.
    pub(crate) fn fits(&self, bytes: usize) -> Result<(), Problem> {
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

/// Memory in use by one value, given back when it goes.
#[derive(Debug)]
pub(crate) struct Held {
    meter: Rc<Meter>,
    bytes: Cell<usize>,
}

impl Held {
    pub(crate) fn new(meter: &Rc<Meter>, bytes: usize) -> Result<Held, Problem> {
        let held = Held {
            meter: Rc::clone(meter),
            bytes: Cell::new(0),
        };
        held.grow(bytes)?;
        Ok(held)
    }

    pub(crate) fn grow(&self, bytes: usize) -> Result<(), Problem> {
        self.meter.fits(bytes)?;
        self.meter.used.set(self.meter.used.get() + bytes);
        self.bytes.set(self.bytes.get() + bytes);
        Ok(())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let used = self.meter.used.get().saturating_sub(self.bytes.get());
        self.meter.used.set(used);
    }
}

/// A text in the making, which cannot become larger than there is room.
pub(crate) struct Build<'a> {
    meter: &'a Meter,
    text: String,
}

impl<'a> Build<'a> {
    pub(crate) fn new(meter: &'a Meter) -> Build<'a> {
        Build {
            meter,
            text: String::new(),
        }
    }

    pub(crate) fn push(&mut self, text: &str) -> Result<(), Problem> {
        self.meter.step_bytes(text.len())?;
        self.meter.fits(self.text.len() + text.len())?;
        self.text.push_str(text);
        Ok(())
    }

    /// The same character many times, as padding is.
    pub(crate) fn fill(&mut self, c: char, count: usize) -> Result<(), Problem> {
        let bytes = count.saturating_mul(c.len_utf8());
        self.meter.step_bytes(bytes)?;
        self.meter.fits(self.text.len().saturating_add(bytes))?;
        self.text.extend(std::iter::repeat_n(c, count));
        Ok(())
    }

    pub(crate) fn done(self) -> String {
        self.text
    }
}
