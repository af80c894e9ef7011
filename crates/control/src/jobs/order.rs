//! Which tasks of a job begin now: by priority, in batches, and not behind too many failures. Pure.

use std::collections::BTreeMap;

use model::UnixMillis;
use model::job::{JobOptions, JobStatus, PriorityOrder};

/// What the order goes by of one task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Brief {
    pub(super) ordinal: u32,
    pub(super) status: JobStatus,
    pub(super) priority: i32,
    pub(super) unit: u32,
    pub(super) ended_at: UnixMillis,
    /// It failed in a way that holds up what would come later.
    pub(super) holds_up: bool,
}

/// What is to be done about a job now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Step {
    /// Begin these.
    pub(super) begin: Vec<u32>,
    /// These will not begin, because of the failure of another: (task, culprit).
    pub(super) held_up: Vec<(u32, u32)>,
    /// Look again then, even if nothing happens.
    pub(super) wake_at: Option<UnixMillis>,
    /// Every task has ended.
    pub(super) is_over: bool,
}

pub(super) fn next(
    tasks: &[Brief],
    order: PriorityOrder,
    options: &JobOptions,
    now: UnixMillis,
) -> Step {
    let mut units: BTreeMap<u32, Vec<&Brief>> = BTreeMap::new();
    for task in tasks {
        units.entry(task.unit).or_default().push(task);
    }
    let mut step = Step::default();
    for unit in units.values() {
        next_of_unit(unit, order, options, now, &mut step);
    }
    let left = |task: &Brief| !task.status.is_over();
    step.is_over = tasks.iter().filter(|task| left(task)).count() == step.held_up.len();
    step
}

fn next_of_unit(
    tasks: &[&Brief],
    order: PriorityOrder,
    options: &JobOptions,
    now: UnixMillis,
    step: &mut Step,
) {
    let with = |status| tasks.iter().filter(move |task| task.status == status);
    if with(JobStatus::Running).next().is_some() {
        return;
    }
    let Some(first) = with(JobStatus::Pending).min_by_key(|task| (rank(task, order), task.ordinal))
    else {
        return;
    };
    // The task that failed first is told as the culprit.
    let failed = || with(JobStatus::Failed).filter(|task| task.holds_up);
    let culprit = failed().min_by_key(|task| (task.ended_at, task.ordinal));
    let n_failed = failed().count();
    if let Some(culprit) = culprit
        && n_failed > options.max_failures as usize
    {
        let pending = with(JobStatus::Pending);
        step.held_up
            .extend(pending.map(|task| (task.ordinal, culprit.ordinal)));
        return;
    }
    let last_end = tasks
        .iter()
        .filter(|task| task.status.is_over())
        .map(|task| task.ended_at)
        .max();
    if let Some(last_end) = last_end.filter(|_| options.pause_secs > 0) {
        let resume_at = last_end.plus_millis(i64::from(options.pause_secs) * 1000);
        if resume_at > now {
            let wake_at = step.wake_at.map_or(resume_at, |at| at.min(resume_at));
            step.wake_at = Some(wake_at);
            return;
        }
    }
    let same_rank = with(JobStatus::Pending).filter(|task| rank(task, order) == rank(first, order));
    let mut batch: Vec<u32> = same_rank.map(|task| task.ordinal).collect();
    batch.sort_unstable();
    if let Some(size) = options.batch_size {
        batch.truncate(size.max(1) as usize);
    }
    step.begin.extend(batch);
}

/// What begins earlier has a smaller one.
fn rank(task: &Brief, order: PriorityOrder) -> i64 {
    match order {
        PriorityOrder::LowFirst => i64::from(task.priority),
        PriorityOrder::HighFirst => -i64::from(task.priority),
        PriorityOrder::AllAtOnce => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixMillis = UnixMillis(100_000);

    fn task(ordinal: u32, priority: i32, unit: u32, status: JobStatus) -> Brief {
        let ended_at = match status.is_over() {
            true => UnixMillis(NOW.0 - 1000),
            false => UnixMillis::NEVER,
        };
        Brief {
            ordinal,
            status,
            priority,
            unit,
            ended_at,
            holds_up: true,
        }
    }

    fn pending(priorities: &[i32]) -> Vec<Brief> {
        let tasks = priorities.iter().enumerate();
        tasks
            .map(|(ordinal, priority)| task(ordinal as u32, *priority, 0, JobStatus::Pending))
            .collect()
    }

    /// Runs a job to its end; the waves that it began, and who was held up.
    fn run(
        mut tasks: Vec<Brief>,
        order: PriorityOrder,
        options: &JobOptions,
        fails: &[u32],
    ) -> (Vec<Vec<u32>>, Vec<(u32, u32)>) {
        let (mut waves, mut held_up) = (Vec::new(), Vec::new());
        let mut now = NOW;
        for _ in 0..100 {
            let step = next(&tasks, order, options, now);
            for (ordinal, _) in &step.held_up {
                tasks[*ordinal as usize].status = JobStatus::Failed;
                tasks[*ordinal as usize].ended_at = now;
            }
            held_up.extend(step.held_up.iter().copied());
            if step.is_over {
                return (waves, held_up);
            }
            if step.begin.is_empty() {
                now = step.wake_at.expect("it waits for something");
                continue;
            }
            for ordinal in &step.begin {
                tasks[*ordinal as usize].status = JobStatus::Running;
            }
            assert!(
                next(&tasks, order, options, now).begin.is_empty(),
                "it waits for those under way"
            );
            for ordinal in &step.begin {
                let task = &mut tasks[*ordinal as usize];
                task.status = match fails.contains(ordinal) {
                    true => JobStatus::Failed,
                    false => JobStatus::Succeeded,
                };
                task.ended_at = now;
            }
            waves.push(step.begin);
        }
        panic!("the job does not end");
    }

    #[test]
    fn starts_go_from_low_to_high_and_stops_from_high_to_low() {
        let options = JobOptions::default();
        let tasks = || pending(&[0, 5, 1, 5, 0]);
        let (waves, _) = run(tasks(), PriorityOrder::LowFirst, &options, &[]);
        assert_eq!(waves, [vec![0, 4], vec![2], vec![1, 3]]);
        let (waves, _) = run(tasks(), PriorityOrder::HighFirst, &options, &[]);
        assert_eq!(waves, [vec![1, 3], vec![2], vec![0, 4]]);
        let (waves, _) = run(tasks(), PriorityOrder::AllAtOnce, &options, &[]);
        assert_eq!(waves, [vec![0, 1, 2, 3, 4]]);
    }

    #[test]
    fn a_failure_holds_up_what_would_come_later_and_is_named() {
        let options = JobOptions::default();
        let (waves, held_up) = run(
            pending(&[0, 0, 1, 2]),
            PriorityOrder::LowFirst,
            &options,
            &[1],
        );
        assert_eq!(waves, [vec![0, 1]]);
        assert_eq!(held_up, [(2, 1), (3, 1)]);
    }

    #[test]
    fn a_failure_that_is_nobody_elses_business_holds_up_nothing() {
        let mut tasks = pending(&[0, 1]);
        tasks[0] = Brief {
            holds_up: false,
            ..task(0, 0, 0, JobStatus::Failed)
        };
        let step = next(&tasks, PriorityOrder::LowFirst, &JobOptions::default(), NOW);
        assert_eq!((step.begin, step.held_up), (vec![1], vec![]));
    }

    #[test]
    fn a_clock_that_goes_wrong_holds_up_nothing_without_a_pause() {
        let mut tasks = pending(&[0, 1]);
        tasks[0] = Brief {
            ended_at: UnixMillis(NOW.0 + 1_000_000),
            ..task(0, 0, 0, JobStatus::Succeeded)
        };
        let step = next(&tasks, PriorityOrder::LowFirst, &JobOptions::default(), NOW);
        assert_eq!(step.begin, [1]);
    }

    #[test]
    fn some_failures_may_be_allowed() {
        let options = JobOptions {
            batch_size: Some(2),
            max_failures: 1,
            ..JobOptions::default()
        };
        let (waves, held_up) = run(pending(&[0; 7]), PriorityOrder::LowFirst, &options, &[0, 4]);
        assert_eq!(waves, [vec![0, 1], vec![2, 3], vec![4, 5]]);
        assert_eq!(held_up, [(6, 0)]);
    }

    #[test]
    fn units_do_not_wait_for_each_other() {
        let mut tasks = pending(&[0, 1, 0, 1]);
        tasks[2].unit = 1;
        tasks[3].unit = 1;
        let options = JobOptions::default();
        let (waves, held_up) = run(tasks, PriorityOrder::LowFirst, &options, &[0]);
        assert_eq!(waves, [vec![0, 2], vec![3]]);
        assert_eq!(held_up, [(1, 0)]);
    }

    #[test]
    fn between_two_batches_it_pauses() {
        let options = JobOptions {
            batch_size: Some(1),
            pause_secs: 30,
            ..JobOptions::default()
        };
        let mut tasks = pending(&[0, 0]);
        assert_eq!(
            next(&tasks, PriorityOrder::LowFirst, &options, NOW).begin,
            [0],
            "the first begins at once"
        );
        tasks[0] = task(0, 0, 0, JobStatus::Succeeded);
        let step = next(&tasks, PriorityOrder::LowFirst, &options, NOW);
        assert_eq!(step.begin, [0; 0]);
        assert_eq!(step.wake_at, Some(UnixMillis(NOW.0 - 1000 + 30_000)));
        let later = UnixMillis(NOW.0 + 29_000);
        assert_eq!(
            next(&tasks, PriorityOrder::LowFirst, &options, later).begin,
            [1]
        );
    }

    #[test]
    fn every_job_ends() {
        for n in 0..5 {
            for fails in 0..(1_u32 << n) {
                for batch_size in [None, Some(1), Some(3)] {
                    let options = JobOptions {
                        batch_size,
                        max_failures: fails % 3,
                        ..JobOptions::default()
                    };
                    let tasks = pending(&[3, 1, 2, 1, 0][..n]);
                    let failing: Vec<u32> =
                        (0..n as u32).filter(|bit| fails >> bit & 1 == 1).collect();
                    let (waves, held_up) = run(tasks, PriorityOrder::HighFirst, &options, &failing);
                    let begun: usize = waves.iter().map(Vec::len).sum();
                    assert_eq!(begun + held_up.len(), n, "each began once or was held up");
                }
            }
        }
    }
}
