//! How often the agent samples processes: less often when that takes more CPU than `cpu_max`.
//!
//! Only the sampling period is stretched, because its cost grows with the number of processes. Exits, operations, timers
//! and log bounds keep their pace.

use std::time::Duration;

use crate::os::clock;

/// The longest period, in ordinary ones.
const MAX_STRETCH: u32 = 12;

#[derive(Debug)]
pub(super) struct Pace {
    every: Duration,
    /// Percent of one core; none is no limit.
    cpu_max: Option<u32>,
    stretch: u32,
    /// CPU time of this process, and the time of the boot, at the last turn.
    last_ms: Option<(u64, u64)>,
}

impl Pace {
    pub(super) fn new(every: Duration, cpu_max: Option<u32>) -> Self {
        Self {
            every,
            cpu_max,
            stretch: 1,
            last_ms: None,
        }
    }

    pub(super) fn period(&self) -> Duration {
        self.every * self.stretch
    }

    /// Called at the end of a period; true when the next one has another length.
    pub(super) fn turn(&mut self) -> bool {
        let Some(cpu_max) = self.cpu_max else {
            return false;
        };
        let (cpu, boot) = (clock::own_cpu_ms(), clock::boot_ms());
        let Some((cpu_before, boot_before)) = self.last_ms.replace((cpu, boot)) else {
            return false;
        };
        let elapsed = boot.saturating_sub(boot_before).max(1);
        let used = cpu.saturating_sub(cpu_before) as f64 / elapsed as f64 * 100.0;
        let before = self.stretch;
        self.stretch = next_stretch(before, used, cpu_max);
        let period = self.period();
        match (before, self.stretch) {
            (1, 2..) => tracing::warn!(
                used_percent = used.round(),
                cpu_max,
                ?period,
                "the agent uses more of the CPU than cpu_max: it looks at processes less often"
            ),
            (2.., 1) => tracing::info!(cpu_max, ?period, "the agent looks as often as usual again"),
            _ => {}
        }
        self.stretch != before
    }
}

/// The next stretch after a period with this CPU usage. It shrinks only if twice the work would be within the limit, so
/// that it does not oscillate.
fn next_stretch(stretch: u32, used: f64, cpu_max: u32) -> u32 {
    let cpu_max = f64::from(cpu_max);
    if used > cpu_max {
        (stretch * 2).min(MAX_STRETCH)
    } else if used * 2.0 < cpu_max {
        (stretch / 2).max(1)
    } else {
        stretch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_period_is_stretched_up_to_a_bound() {
        let mut stretches = vec![1];
        for used in [60.0, 60.0, 51.0, 60.0, 60.0, 50.0, 25.0] {
            stretches.push(next_stretch(*stretches.last().unwrap(), used, 50));
        }
        assert_eq!(stretches, [1, 2, 4, 8, 12, 12, 12, 12]);
    }

    #[test]
    fn the_period_shrinks_only_when_there_is_room_for_twice_the_work() {
        assert_eq!(next_stretch(12, 25.0, 50), 12);
        assert_eq!(next_stretch(12, 24.9, 50), 6);
        assert_eq!(next_stretch(3, 0.0, 50), 1);
        assert_eq!(next_stretch(1, 0.0, 50), 1);
    }

    #[test]
    fn the_stretch_settles_below_the_limit() {
        // As much as 110 % of a core at the ordinary pace, and 5 % whatever the pace.
        let used = |stretch: u32| 5.0 + 105.0 / f64::from(stretch);
        let mut stretch = 1;
        let mut seen = Vec::new();
        for _ in 0..8 {
            stretch = next_stretch(stretch, used(stretch), 50);
            seen.push(stretch);
        }
        assert_eq!(seen, [2, 4, 4, 4, 4, 4, 4, 4]);
        assert!(used(stretch) < 50.0);
    }
}
