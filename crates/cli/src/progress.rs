//! One line with the progress of a task: redrawn on a terminal, repeated every few seconds elsewhere.

use std::time::{Duration, Instant};

use api::Counts;

use crate::format::{count, lasted};
use crate::out::Out;

/// How often progress is written where a line cannot be redrawn.
const REMARK_EVERY: Duration = Duration::from_secs(10);
const MAX_BAR: usize = 40;

#[derive(Debug)]
pub struct Progress<'a> {
    out: &'a Out,
    started: Instant,
    remarked: Instant,
    last: Option<Counts>,
    is_drawn: bool,
}

impl<'a> Progress<'a> {
    pub fn new(out: &'a Out) -> Self {
        let now = Instant::now();
        Self {
            out,
            started: now,
            remarked: now,
            last: None,
            is_drawn: false,
        }
    }

    pub fn show(&mut self, counts: Counts) {
        if self.out.is_live() {
            let line = line(counts, self.started.elapsed(), self.out.live_width());
            self.out.redraw(&line);
            self.is_drawn = true;
        } else if self.last != Some(counts) && self.remarked.elapsed() >= REMARK_EVERY {
            self.out.note(remark(counts));
            self.remarked = Instant::now();
            self.last = Some(counts);
        }
    }

    /// Removes the line, so that other text can be written.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.is_drawn) {
            self.out.redraw("");
        }
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        self.clear();
    }
}

pub fn remark(counts: Counts) -> String {
    let failed = match counts.failed {
        0 => String::new(),
        failed => format!(", {} failed", count(failed)),
    };
    format!(
        "{} of {} ended{failed}",
        count(counts.ended),
        count(counts.total)
    )
}

/// `[######----]  60%  6,012 of 10,000 ended, 2 failed  12s`
fn line(counts: Counts, elapsed: Duration, width: usize) -> String {
    let percent = match counts.total {
        0 => 0,
        total => counts.ended.min(total) * 100 / total,
    };
    let words = format!("{percent:>3}%  {}  {}", remark(counts), lasted(elapsed));
    let room = width.saturating_sub(words.len() + 5).min(MAX_BAR);
    if room < 5 {
        return words.chars().take(width.saturating_sub(1)).collect();
    }
    let full = room * percent / 100;
    format!("[{}{}] {words}", "#".repeat(full), "-".repeat(room - full))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_fits_the_terminal() {
        let counts = Counts {
            total: 10_000,
            ended: 6_012,
            ok: 6_010,
            failed: 2,
            running: 3_988,
        };
        assert_eq!(
            line(counts, Duration::from_secs(12), 62),
            "[#########------]  60%  6,012 of 10,000 ended, 2 failed  12s"
        );
        for width in [1, 10, 45, 80, 300] {
            assert!(
                line(counts, Duration::from_secs(12), width).len() < width.max(2),
                "{width}"
            );
        }
        assert!(line(Counts::default(), Duration::ZERO, 80).contains("  0%"));
    }
}
