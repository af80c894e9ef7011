//! The gate of a rolling job: after its operation a process must stay up, or ready, for some time before its task has
//! succeeded and the next batch begins. Pure.

use model::job::{Gate, GateProgress, GateRun, GateState, JobOptions, JobStatus, JobTaskRow};
use model::{Code, ProcessState, UnixMillis};

/// The process did not stay as the gate asks.
pub(crate) const NOT_STEADY: Code = Code(4_103_005);

/// A status that is older than the result of the operation may be told after it, by another replica: one that says that the
/// process is down does not count before this.
const STALE_FOR_MILLIS: i64 = 5_000;
/// How long a process may take, beyond the time of the gate, to come into its state.
const PATIENCE_MILLIS: i64 = 60_000;

/// What the fleet shows of the process of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Observed {
    /// Unknown while its agent is away.
    pub(super) state: ProcessState,
    pub(super) pid: i32,
    pub(super) restarts: u32,
    /// Its spec has a ready probe: it is ready only in that state.
    pub(super) has_ready_probe: bool,
    /// How its last run ended, or why its check fails; may be empty.
    pub(super) detail: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    Passed,
    Waits {
        progress: GateProgress,
        check_at: UnixMillis,
    },
    Failed(String),
}

/// A task whose operation has ended, before the gate where there is one.
pub(super) fn entered(task: JobTaskRow, options: &JobOptions, now: UnixMillis) -> JobTaskRow {
    match options.gate {
        Some(_) if task.status == JobStatus::Succeeded => JobTaskRow {
            status: JobStatus::Running,
            ended_at: UnixMillis::NEVER,
            gate: Some(GateProgress {
                from: now,
                seen: None,
            }),
            ..task
        },
        Some(_) | None => task,
    }
}

/// Judges the process of a task. `observed` is None once it is no longer registered.
pub(super) fn judge(
    gate: Gate,
    progress: GateProgress,
    observed: Option<&Observed>,
    now: UnixMillis,
) -> Verdict {
    let Some(observed) = observed else {
        return Verdict::Failed("it is no longer registered".to_owned());
    };
    // After a clock that was moved back, the time counts from now.
    let progress = GateProgress {
        from: progress.from.min(now),
        seen: progress.seen.map(|run| GateRun {
            since: run.since.min(now),
            ..run
        }),
    };
    let wanted = gate.state.as_str();
    let window = i64::from(gate.secs) * 1000;
    let failed = |how: &str| {
        let detail = match observed.detail.as_str() {
            "" => String::new(),
            detail => format!(": {detail}"),
        };
        Verdict::Failed(format!(
            "it did not stay {wanted} for {} s: {how}{detail}",
            gate.secs
        ))
    };
    let is_trusted = progress.seen.is_some() || now >= progress.from.plus_millis(STALE_FOR_MILLIS);
    let is_good = match observed.state {
        ProcessState::Ready => true,
        ProcessState::Running => match gate.state {
            GateState::Ready if !observed.has_ready_probe => true,
            GateState::Ready if progress.seen.is_some() => {
                return failed("it is not ready any more");
            }
            GateState::Ready => false,
            GateState::Up => true,
        },
        ProcessState::Unhealthy => match gate.state {
            GateState::Up => true,
            GateState::Ready if progress.seen.is_some() => return failed("it became unhealthy"),
            GateState::Ready => false,
        },
        // It has done what it is for.
        ProcessState::Completed | ProcessState::Scheduled if is_trusted => return Verdict::Passed,
        ProcessState::Backoff | ProcessState::Failed | ProcessState::Stopped if is_trusted => {
            return failed(&format!("it is {}", observed.state.as_str()));
        }
        ProcessState::Completed
        | ProcessState::Scheduled
        | ProcessState::Backoff
        | ProcessState::Failed
        | ProcessState::Stopped
        | ProcessState::Starting
        | ProcessState::Unknown => false,
    };
    if !is_good {
        let give_up_at = progress.from.plus_millis(window + PATIENCE_MILLIS);
        if now >= give_up_at {
            let secs = now.0.saturating_sub(progress.from.0) / 1000;
            return Verdict::Failed(format!(
                "it was not {wanted} within {secs} s: it is {}",
                observed.state.as_str()
            ));
        }
        return Verdict::Waits {
            progress,
            check_at: give_up_at,
        };
    }
    let seen = match progress.seen {
        Some(run) if run.pid == observed.pid && run.restarts == observed.restarts => run,
        Some(run) if observed.restarts > run.restarts => {
            return failed("its agent started it again");
        }
        // The first status was older than the operation, or the process was operated meanwhile.
        Some(_) | None => GateRun {
            since: now,
            pid: observed.pid,
            restarts: observed.restarts,
        },
    };
    let passes_at = seen.since.plus_millis(window);
    match now >= passes_at {
        true => Verdict::Passed,
        false => Verdict::Waits {
            progress: GateProgress {
                seen: Some(seen),
                ..progress
            },
            check_at: passes_at,
        },
    }
}

/// The task after its gate was judged; None while it waits without a change.
pub(super) fn judged(task: &JobTaskRow, verdict: Verdict, now: UnixMillis) -> Option<JobTaskRow> {
    let row = match verdict {
        Verdict::Waits { progress, .. } if task.gate == Some(progress) => return None,
        Verdict::Waits { progress, .. } => JobTaskRow {
            gate: Some(progress),
            ..task.clone()
        },
        Verdict::Passed => JobTaskRow {
            status: JobStatus::Succeeded,
            ended_at: now,
            gate: None,
            ..task.clone()
        },
        Verdict::Failed(reason) => JobTaskRow {
            status: JobStatus::Failed,
            code: NOT_STEADY,
            reason,
            ended_at: now,
            gate: None,
            ..task.clone()
        },
    };
    Some(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FROM: UnixMillis = UnixMillis(1_000_000);

    fn gate(text: &str) -> Gate {
        Gate::parse(text).unwrap()
    }

    fn at(secs: i64) -> UnixMillis {
        FROM.plus_millis(secs * 1000)
    }

    fn observed(state: ProcessState, pid: i32, restarts: u32) -> Observed {
        Observed {
            state,
            pid,
            restarts,
            has_ready_probe: false,
            detail: String::new(),
        }
    }

    /// Judges what is seen at each second; returns the verdict that ends it, and when.
    fn run(gate: Gate, seen: &[(i64, Observed)]) -> (i64, Verdict) {
        let mut progress = GateProgress {
            from: FROM,
            seen: None,
        };
        let mut last = None;
        for (secs, observed) in seen {
            match judge(gate, progress, Some(observed), at(*secs)) {
                Verdict::Waits { progress: next, .. } => {
                    progress = next;
                    last = Some((
                        *secs,
                        Verdict::Waits {
                            progress,
                            check_at: FROM,
                        },
                    ));
                }
                verdict => return (*secs, verdict),
            }
        }
        last.unwrap()
    }

    fn reason(verdict: &Verdict) -> &str {
        match verdict {
            Verdict::Failed(reason) => reason,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_process_that_stays_up_passes_when_the_time_is_over() {
        let up = |pid| observed(ProcessState::Running, pid, 0);
        let (secs, verdict) = run(gate("up:10s"), &[(0, up(7)), (9, up(7)), (10, up(7))]);
        assert_eq!((secs, verdict), (10, Verdict::Passed));
        let (secs, verdict) = run(gate("up:0s"), &[(0, up(7))]);
        assert_eq!((secs, verdict), (0, Verdict::Passed));
        // The time counts from when it was seen up.
        let starting = observed(ProcessState::Starting, -1, 0);
        let (secs, verdict) = run(
            gate("ready:10s"),
            &[(0, starting), (4, up(7)), (13, up(7)), (14, up(7))],
        );
        assert_eq!((secs, verdict), (14, Verdict::Passed));
    }

    #[test]
    fn a_process_that_dies_fails_with_how_it_ended() {
        let up = observed(ProcessState::Running, 7, 0);
        let mut down = observed(ProcessState::Backoff, -1, 0);
        down.detail = "exited with code 3".to_owned();
        let (secs, verdict) = run(gate("up:10s"), &[(0, up.clone()), (2, down)]);
        assert_eq!(secs, 2);
        assert_eq!(
            reason(&verdict),
            "it did not stay up for 10 s: it is backoff: exited with code 3"
        );
        // Restarted between two looks.
        let again = observed(ProcessState::Running, 8, 1);
        let (_, verdict) = run(gate("up:10s"), &[(0, up), (2, again)]);
        assert!(reason(&verdict).contains("its agent started it again"));
    }

    #[test]
    fn a_status_from_before_the_operation_fails_nothing() {
        let old = observed(ProcessState::Running, 5, 4);
        let stopped = observed(ProcessState::Stopped, -1, 0);
        let new = observed(ProcessState::Running, 7, 0);
        for first in [old, stopped.clone()] {
            let seen = [
                (0, first),
                (1, new.clone()),
                (10, new.clone()),
                (11, new.clone()),
            ];
            assert_eq!(run(gate("up:10s"), &seen), (11, Verdict::Passed));
        }
        // A status that stays is believed.
        let (secs, verdict) = run(
            gate("up:10s"),
            &[(0, stopped.clone()), (4, stopped.clone()), (5, stopped)],
        );
        assert_eq!(secs, 5);
        assert!(reason(&verdict).contains("it is stopped"));
    }

    #[test]
    fn ready_needs_health_and_up_does_not() {
        let sick = observed(ProcessState::Unhealthy, 7, 0);
        let well = observed(ProcessState::Running, 7, 0);
        let seen = [(0, sick.clone()), (10, sick.clone())];
        assert_eq!(run(gate("up:10s"), &seen), (10, Verdict::Passed));
        let seen = [(0, sick.clone()), (3, well.clone()), (13, well.clone())];
        assert_eq!(run(gate("ready:10s"), &seen), (13, Verdict::Passed));
        let (_, verdict) = run(gate("ready:10s"), &[(0, well), (5, sick.clone())]);
        assert!(reason(&verdict).contains("it became unhealthy"));
        let (secs, verdict) = run(gate("ready:10s"), &[(69, sick.clone()), (70, sick)]);
        assert_eq!(secs, 70);
        assert_eq!(
            reason(&verdict),
            "it was not ready within 70 s: it is unhealthy"
        );
    }

    #[test]
    fn ready_needs_the_ready_probe_where_the_spec_has_one() {
        let probed = |state| Observed {
            has_ready_probe: true,
            ..observed(state, 7, 0)
        };
        let (up, ready) = (probed(ProcessState::Running), probed(ProcessState::Ready));
        let seen = [(0, up.clone()), (10, up.clone())];
        assert_eq!(run(gate("up:10s"), &seen), (10, Verdict::Passed));
        let seen = [(0, up.clone()), (3, ready.clone()), (13, ready.clone())];
        assert_eq!(run(gate("ready:10s"), &seen), (13, Verdict::Passed));
        assert_eq!(
            run(gate("up:10s"), &[(0, ready.clone()), (10, up.clone())]),
            (10, Verdict::Passed)
        );
        let (_, verdict) = run(gate("ready:10s"), &[(0, ready), (5, up.clone())]);
        assert!(reason(&verdict).contains("it is not ready any more"));
        let (secs, verdict) = run(gate("ready:10s"), &[(69, up.clone()), (70, up)]);
        assert_eq!(secs, 70);
        assert_eq!(
            reason(&verdict),
            "it was not ready within 70 s: it is running"
        );
    }

    #[test]
    fn an_agent_that_is_away_is_waited_for() {
        let up = observed(ProcessState::Running, 7, 0);
        let away = observed(ProcessState::Unknown, 7, 0);
        let seen = [
            (0, up.clone()),
            (5, away.clone()),
            (9, away.clone()),
            (12, up),
        ];
        assert_eq!(run(gate("up:10s"), &seen), (12, Verdict::Passed));
        let (secs, verdict) = run(gate("up:10s"), &[(0, away.clone()), (70, away)]);
        assert_eq!(secs, 70);
        assert!(reason(&verdict).contains("it is unknown"));
    }

    #[test]
    fn a_clock_that_is_moved_back_delays_a_gate_by_its_own_time_at_most() {
        let up = observed(ProcessState::Running, 7, 0);
        let seen = [(0, up.clone()), (-5000, up.clone()), (-4990, up)];
        assert_eq!(run(gate("up:10s"), &seen), (-4990, Verdict::Passed));
        let away = observed(ProcessState::Unknown, 7, 0);
        let (secs, _) = run(gate("up:10s"), &[(-5000, away.clone()), (-4930, away)]);
        assert_eq!(secs, -4930);
    }

    #[test]
    fn a_one_shot_that_is_done_passes() {
        let done = observed(ProcessState::Completed, -1, 0);
        assert_eq!(
            run(gate("up:10s"), &[(0, done.clone()), (5, done)]).1,
            Verdict::Passed
        );
    }

    #[test]
    fn what_is_no_longer_registered_fails() {
        let progress = GateProgress {
            from: FROM,
            seen: None,
        };
        let verdict = judge(gate("up:1s"), progress, None, FROM);
        assert_eq!(reason(&verdict), "it is no longer registered");
    }
}
