//! Periodic processes: when the next run is due, and how it begins and fails.
//!
//! `spec.schedule` says what happens to a run that is due while the one before is still running, and to one that was due while
//! the agent was away: both are skipped without it.

use chrono::{DateTime, TimeZone, Utc};
use croner::Cron;
use croner::parser::CronParser;
use model::UnixMillis;
use model::digest::text_hash;
use model::event::EventKind;
use model::spec::AutoType;
use model::spec::schedule::Overlap;
use model::status::Exit;

use super::restart::emit;
use super::{Action, Cause, Context, Depth, Phase, Process, Resting, Work, messages};

/// A parsed `crontab_rule`.
#[derive(Debug, Clone)]
pub(crate) struct Schedule {
    rule: String,
    cron: Option<Cron>,
    /// Runs begin up to this much later, by the hash of this text and their time.
    jitter_secs: u32,
    seed: String,
    next: Option<UnixMillis>,
}

impl Schedule {
    /// `seed` differs between processes and hosts.
    pub(crate) fn new(rule: &str, jitter_secs: u32, seed: String) -> Self {
        Self {
            jitter_secs,
            seed,
            rule: rule.to_owned(),
            // The server refuses invalid rules; one that arrives all the same is never due.
            cron: CronParser::new().parse(rule).ok(),
            next: None,
        }
    }

    pub(crate) fn is_of(&self, rule: &str, jitter_secs: u32) -> bool {
        self.rule == rule && self.jitter_secs == jitter_secs
    }

    /// When the next run is due.
    pub(crate) fn next(&self) -> Option<UnixMillis> {
        self.next
    }

    /// Sets the next time: the first after `now`, by the wall clock of this zone.
    pub(crate) fn advance<Z: TimeZone>(&mut self, now: UnixMillis, zone: &Z) {
        // Whole seconds: a fraction would be carried into the next time.
        let begin = Utc.timestamp_opt(now.secs(), 0).single();
        self.next = begin.zip(self.cron.as_ref()).and_then(|(begin, cron)| {
            let begin = begin.with_timezone(zone);
            let next = cron.find_next_occurrence(&begin, false).ok()?;
            let next = UnixMillis(next.timestamp_millis());
            Some(next.plus_millis(self.jitter_ms(next)))
        });
    }

    /// How much later than its time a run begins.
    fn jitter_ms(&self, due: UnixMillis) -> i64 {
        let hash = text_hash(&format!("{} {}", self.seed, due.0));
        (hash % (u64::from(self.jitter_secs) * 1000 + 1)) as i64
    }
}

pub(super) fn is_never(at: &UnixMillis) -> bool {
    *at == UnixMillis::NEVER
}

/// A time by the wall clock, with its offset from UTC.
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
    /// Whether its schedule applies.
    pub(crate) fn is_scheduled(&self, cx: &Context<'_>) -> bool {
        let periodic = match cx.policy().auto_type {
            AutoType::Periodic => true,
            AutoType::Resident | AutoType::OneShot => false,
        };
        periodic && self.is_desired_running()
    }

    /// Its schedule is due; `shown` is that time as the status shows it.
    pub(super) fn scheduled(&mut self, shown: &str, cx: &Context<'_>, out: &mut Vec<Action>) {
        if !self.is_scheduled(cx) {
            return;
        }
        self.schedule_seen = cx.now.unix;
        match &self.phase {
            Phase::Unobserved | Phase::Down | Phase::Backoff { .. } => {
                self.phase = run_of_schedule(cx, out);
            }
            Phase::Up { .. } | Phase::Lost { .. } | Phase::Working(_) => {
                self.overlapped(shown, cx, out);
            }
        }
    }

    /// Its schedule is due while a run goes on.
    fn overlapped(&mut self, shown: &str, cx: &Context<'_>, out: &mut Vec<Action>) {
        match (cx.spec.schedule.overlap, &mut self.phase) {
            (Overlap::Skip, _) => {
                self.message =
                    format!("the run due at {shown} was skipped: the one before it still goes on");
            }
            (Overlap::Kill, Phase::Up { current }) => {
                self.waiting_run = shown.to_owned();
                // A kill for a limit goes on.
                if current.facts.kill_reason.is_empty() {
                    let reason = format!("killed: the next run was due at {shown}");
                    out.push(emit(EventKind::ProcessExit, &reason, None));
                    current.facts.kill_reason = reason;
                    out.push(Action::Kill(current.alive.run));
                }
            }
            // What is not up yet cannot be told from an operation's work, so it is waited for.
            (Overlap::Wait | Overlap::Kill, _) => {
                self.message =
                    format!("the run due at {shown} waits for the end of the one before it");
                self.waiting_run = shown.to_owned();
            }
        }
    }

    /// Begins a run that waited for the end of the one before, and notes from when on its schedule applies.
    pub(super) fn follow_schedule(&mut self, cx: &Context<'_>, out: &mut Vec<Action>) {
        if !self.is_scheduled(cx) {
            self.schedule_seen = UnixMillis::NEVER;
            self.waiting_run.clear();
            return;
        }
        if self.schedule_seen == UnixMillis::NEVER {
            self.schedule_seen = cx.now.unix;
        }
        if self.phase == Phase::Down && !self.waiting_run.is_empty() {
            self.waiting_run.clear();
            self.phase = run_of_schedule(cx, out);
        }
    }
}

impl Process {
    /// A scheduled run did not start, or failed at once.
    pub(super) fn scheduled_run_failed(
        &mut self,
        message: &str,
        exit: Option<Exit>,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) {
        let message = messages::quote(message);
        let (kind, message) = match exit {
            Some(_) => (EventKind::ProcessExit, message),
            None => (
                EventKind::ProcessRestartFailed,
                format!("failed: {message}"),
            ),
        };
        let reason = self.of_run(&message, cx);
        out.push(emit(kind, &reason, exit));
        self.come_to_rest(Resting::Failed, reason);
    }
}

/// Begins a scheduled run with an observation: it may run already.
pub(super) fn run_of_schedule(cx: &Context<'_>, out: &mut Vec<Action>) -> Phase {
    out.push(Action::Observe(Depth::Shallow));
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
    fn the_next_time_is_the_first_after_now_by_the_wall_clock() {
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
            let mut schedule = Schedule::new(rule, 0, String::new());
            schedule.advance(millis(now), &east);
            assert_eq!(schedule.next(), Some(millis(next)), "{rule} after {now}");
            assert_eq!(wall_time(millis(next), &east), next);
        }
    }

    #[test]
    fn a_set_clock_is_followed_without_catching_up() {
        let mut schedule = Schedule::new("0 3 * * *", 0, String::new());
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
    fn runs_are_spread_over_the_jitter_and_each_at_the_same_moment_again() {
        let hour = millis("2026-11-15T13:00:00Z");
        let due = |seed: u32| {
            let mut schedule = Schedule::new("@hourly", 600, seed.to_string());
            schedule.advance(millis("2026-11-15T12:00:00Z"), &Utc);
            schedule.next().unwrap().0 - hour.0
        };
        let all: Vec<i64> = (0..100).map(due).collect();
        assert!(all.iter().all(|late| (0..=600_000).contains(late)));
        assert!(all.iter().any(|late| *late < 150_000));
        assert!(all.iter().any(|late| *late > 450_000));
        assert_eq!(due(7), due(7));
    }

    #[test]
    fn an_invalid_rule_is_never_due() {
        let mut schedule = Schedule::new("now and then", 0, String::new());
        schedule.advance(millis("2026-11-15T12:00:00Z"), &Utc);
        assert_eq!(schedule.next(), None);
    }
}
