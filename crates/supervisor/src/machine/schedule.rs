//! Periodic processes: when the next run is due, and what becomes of a time that has come.
//!
//! A time that comes while a run is still going is skipped, not caught up on; so is one that passes while the agent is
//! away.

use chrono::{DateTime, TimeZone, Utc};
use croner::Cron;
use croner::parser::CronParser;
use model::UnixMillis;
use model::event::EventKind;
use model::spec::AutoType;
use model::status::Exit;

use super::keep::emit;
use super::{Action, Cause, Context, Depth, Phase, Process, Work, words};

/// A `crontab_rule` that was read once.
#[derive(Debug, Clone)]
pub(crate) struct Schedule {
    rule: String,
    cron: Option<Cron>,
    next: Option<UnixMillis>,
}

impl Schedule {
    pub(crate) fn new(rule: &str) -> Self {
        Self {
            rule: rule.to_owned(),
            // The server has refused what is no rule; what comes all the same never is due.
            cron: CronParser::new().parse(rule).ok(),
            next: None,
        }
    }

    pub(crate) fn is_of(&self, rule: &str) -> bool {
        self.rule == rule
    }

    /// When the next run is due.
    pub(crate) fn next(&self) -> Option<UnixMillis> {
        self.next
    }

    /// Sets the next time: the first after `now`, by the clock on the wall of this zone.
    pub(crate) fn advance<Z: TimeZone>(&mut self, now: UnixMillis, zone: &Z) {
        // Whole seconds: what is left over would be carried into the next time.
        let begin = Utc.timestamp_opt(now.secs(), 0).single();
        self.next = begin.zip(self.cron.as_ref()).and_then(|(begin, cron)| {
            let begin = begin.with_timezone(zone);
            let next = cron.find_next_occurrence(&begin, false).ok()?;
            Some(UnixMillis(next.timestamp_millis()))
        });
    }
}

/// A time as the clock on the wall shows it, with its distance from UTC.
pub(crate) fn wall_time<Z: TimeZone>(at: UnixMillis, zone: &Z) -> String {
    let time: Option<DateTime<Utc>> = Utc.timestamp_millis_opt(at.0).single();
    time.map_or_else(
        || at.to_rfc3339(),
        |time| {
            let local = time.with_timezone(zone).fixed_offset();
            local.to_rfc3339_opts(chrono::SecondsFormat::Secs, true)
        },
    )
}

impl Process {
    /// Whether its schedule counts.
    pub(crate) fn is_scheduled(&self, cx: &Context<'_>) -> bool {
        let periodic = match cx.policy().auto_type {
            AutoType::Periodic => true,
            AutoType::Resident | AutoType::OneShot => false,
        };
        periodic && self.is_wanted()
    }

    /// A time of its schedule has come; `shown` is that time as people read it.
    pub(super) fn scheduled(&mut self, shown: &str, cx: &Context<'_>, out: &mut Vec<Action>) {
        if !self.is_scheduled(cx) {
            return;
        }
        match &self.phase {
            Phase::Unseen | Phase::Down | Phase::Backoff { .. } => {
                self.phase = run_of_schedule(cx, out);
            }
            Phase::Up { .. } | Phase::Lost { .. } | Phase::Working(_) => {
                self.message =
                    format!("the run due at {shown} was skipped: the one before it still goes on");
            }
        }
    }
}

impl Process {
    /// A run of its schedule did not come up, or ended at once and not well.
    pub(super) fn scheduled_run_failed(
        &mut self,
        said: &str,
        exit: Option<Exit>,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) {
        let said = words::quote(said);
        let (kind, said) = match exit {
            Some(_) => (EventKind::ProcessExit, said),
            None => (EventKind::ProcessRestartFailed, format!("failed: {said}")),
        };
        let reason = self.of_run(&said, cx);
        out.push(emit(kind, &reason, exit));
        self.rest(reason);
    }
}

/// Begins a run of the schedule, with a look: it may run already.
pub(super) fn run_of_schedule(cx: &Context<'_>, out: &mut Vec<Action>) -> Phase {
    out.push(Action::Look(Depth::Shallow));
    Phase::Working(Box::new(Work::new(Cause::Schedule, cx)))
}

#[cfg(test)]
mod tests {
    use chrono::FixedOffset;

    use super::*;

    fn millis(text: &str) -> UnixMillis {
        let time: DateTime<FixedOffset> = text.parse().unwrap();
        UnixMillis(time.timestamp_millis())
    }

    #[test]
    fn the_next_time_is_the_first_after_now_by_the_clock_on_the_wall() {
        let east = FixedOffset::east_opt(8 * 3600).unwrap();
        for (rule, now, next) in [
            (
                "*/5 * * * *",
                "2026-11-15T12:00:00Z",
                "2026-11-15T20:05:00+08:00",
            ),
            (
                "*/5 * * * *",
                "2026-11-15T12:04:59.999Z",
                "2026-11-15T20:05:00+08:00",
            ),
            (
                "0 3 * * *",
                "2026-11-15T12:00:00Z",
                "2026-11-16T03:00:00+08:00",
            ),
            (
                "0 0 * * 1",
                "2026-11-15T12:00:00Z",
                "2026-11-16T00:00:00+08:00",
            ),
            (
                "0 0 29 2 *",
                "2026-11-15T12:00:00Z",
                "2028-02-29T00:00:00+08:00",
            ),
            (
                "@hourly",
                "2026-11-15T12:00:00Z",
                "2026-11-15T21:00:00+08:00",
            ),
        ] {
            let mut schedule = Schedule::new(rule);
            schedule.advance(millis(now), &east);
            assert_eq!(schedule.next(), Some(millis(next)), "{rule} after {now}");
            assert_eq!(wall_time(millis(next), &east), next);
        }
    }

    #[test]
    fn a_clock_that_was_set_is_followed_and_nothing_is_caught_up_on() {
        let mut schedule = Schedule::new("0 3 * * *");
        schedule.advance(millis("2026-11-15T12:00:00Z"), &Utc);
        for (set_to, next) in [
            ("2026-11-20T12:00:00Z", "2026-11-21T03:00:00Z"),
            ("2026-11-01T02:59:59Z", "2026-11-01T03:00:00Z"),
        ] {
            schedule.advance(millis(set_to), &Utc);
            assert_eq!(schedule.next(), Some(millis(next)), "set to {set_to}");
        }
    }

    #[test]
    fn what_is_no_rule_is_never_due() {
        let mut schedule = Schedule::new("now and then");
        schedule.advance(millis("2026-11-15T12:00:00Z"), &Utc);
        assert_eq!(schedule.next(), None);
    }
}
