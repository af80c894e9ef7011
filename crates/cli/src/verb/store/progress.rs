//! How far a long copy is, in a line that is redrawn on a terminal and written now and then elsewhere.

use std::time::{Duration, Instant};

use crate::out::Out;

/// How often progress is redrawn, and how often it is written where a line cannot be redrawn.
const REDRAW_EVERY: Duration = Duration::from_millis(100);
const REMARK_EVERY: Duration = Duration::from_secs(5);

pub(super) struct Progress<'a> {
    out: &'a Out,
    shown: Option<Instant>,
    is_drawn: bool,
}

impl<'a> Progress<'a> {
    pub(super) fn new(out: &'a Out) -> Self {
        Self {
            out,
            // A short copy needs no word.
            shown: Some(Instant::now()),
            is_drawn: false,
        }
    }

    /// Shows the line, unless one was shown a moment ago.
    pub(super) fn show(&mut self, line: impl FnOnce() -> String) {
        let pause = if self.out.is_live() {
            REDRAW_EVERY
        } else {
            REMARK_EVERY
        };
        if self.shown.is_some_and(|shown| shown.elapsed() < pause) {
            return;
        }
        self.shown = Some(Instant::now());
        match self.out.is_live() {
            true => {
                self.out.redraw(&line());
                self.is_drawn = true;
            }
            false => self.out.note(line()),
        }
    }

    pub(super) fn clear(&mut self) {
        if std::mem::take(&mut self.is_drawn) {
            self.out.redraw("");
        }
    }
}
