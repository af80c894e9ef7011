//! Decides which tasks of a job start now: by priority, in batches, and not after too many failures. Pure.

use std::collections::BTreeMap;

use model::UnixMillis;
use model::job::{JobAction, JobOptions, JobStatus, JobTaskRow, PriorityOrder, TaskOrder};

/// What the order needs to know of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TaskBrief {
    pub(super) ordinal: u32,
    pub(super) status: JobStatus,
    pub(super) priority: i32,
    pub(super) unit: u32,
    pub(super) ended_at: UnixMillis,
    /// Its failure blocks later tasks.
    pub(super) blocks_others: bool,
}

/// The next step of a job.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Step {
    /// Start these.
    pub(super) begin: Vec<u32>,
    /// These fail without a start, because another task failed: (task, failed task).
    pub(super) blocked: Vec<(u32, u32)>,
    /// Check again at this time, even without a wake-up.
    pub(super) wake_at: Option<UnixMillis>,
    /// Every task has ended.
    pub(super) is_over: bool,
}

impl TaskBrief {
    /// Of a task as it is. Whether it blocks others depends on its job.
    pub(super) fn of(task: &JobTaskRow) -> Self {
        Self {
            ordinal: task.ordinal,
            status: task.status,
            priority: task.priority,
            unit: task.unit,
            ended_at: task.ended_at,
            blocks_others: true,
        }
    }
}

/// The order in which the priorities of a job run. In an order that the caller chose, priorities are places in it.
pub(super) fn of(action: JobAction, options: &JobOptions) -> PriorityOrder {
    match &options.order {
        None | Some(TaskOrder::Priority) => action.order(),
        Some(TaskOrder::Host | TaskOrder::Label(_)) => PriorityOrder::LowFirst,
    }
}

/// The batch that a job is at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Batch {
    /// From 1; 0 before the first begins.
    pub number: u32,
    pub of: u32,
}

/// The batch that has begun last. Isolation units have batches of their own: this is that of the unit with the most.
pub(super) fn batch(tasks: &[TaskBrief], order: PriorityOrder, options: &JobOptions) -> Batch {
    /// Of one priority in one unit: all tasks, and those that have begun.
    #[derive(Default)]
    struct Rank {
        all: u32,
        begun: u32,
    }
    let mut units: BTreeMap<u32, BTreeMap<i64, Rank>> = BTreeMap::new();
    for task in tasks {
        let rank = units.entry(task.unit).or_default();
        let rank = rank.entry(rank_of(task, order)).or_default();
        rank.all += 1;
        rank.begun += u32::from(task.status != JobStatus::Pending);
    }
    let size = |rank: &Rank| options.batch_size.unwrap_or(rank.all).max(1);
    // The canary is a batch of its own, at the beginning of the first rank.
    let count = |n_tasks: u32, place: usize, rank: &Rank| {
        let canary = options
            .canary
            .filter(|_| place == 0)
            .map_or(0, |n| n.max(1));
        let after = n_tasks.saturating_sub(canary).div_ceil(size(rank));
        after + u32::from(canary > 0 && n_tasks > 0)
    };
    let batches = units.values().map(|ranks| {
        let ranks = || ranks.values().enumerate();
        Batch {
            number: ranks()
                .map(|(place, rank)| count(rank.begun, place, rank))
                .sum(),
            of: ranks()
                .map(|(place, rank)| count(rank.all, place, rank))
                .sum(),
        }
    });
    let longest = batches.max_by_key(|batch| (batch.of, batch.number));
    longest.unwrap_or_default()
}

pub(super) fn next(
    tasks: &[TaskBrief],
    order: PriorityOrder,
    options: &JobOptions,
    now: UnixMillis,
) -> Step {
    let mut units: BTreeMap<u32, Vec<&TaskBrief>> = BTreeMap::new();
    for task in tasks {
        units.entry(task.unit).or_default().push(task);
    }
    let mut step = Step::default();
    for unit in units.values() {
        next_of_unit(unit, order, options, now, &mut step);
    }
    let left = |task: &TaskBrief| !task.status.is_over();
    step.is_over = tasks.iter().filter(|task| left(task)).count() == step.blocked.len();
    step
}

fn next_of_unit(
    tasks: &[&TaskBrief],
    order: PriorityOrder,
    options: &JobOptions,
    now: UnixMillis,
    step: &mut Step,
) {
    let with = |status| tasks.iter().filter(move |task| task.status == status);
    if with(JobStatus::Running).next().is_some() {
        return;
    }
    let Some(first) =
        with(JobStatus::Pending).min_by_key(|task| (rank_of(task, order), task.ordinal))
    else {
        return;
    };
    if let Some(cause) = limit_broken_by(tasks, order, options) {
        let pending = with(JobStatus::Pending);
        step.blocked
            .extend(pending.map(|task| (task.ordinal, cause.ordinal)));
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
    let same_rank =
        with(JobStatus::Pending).filter(|task| rank_of(task, order) == rank_of(first, order));
    let mut batch: Vec<u32> = same_rank.map(|task| task.ordinal).collect();
    batch.sort_unstable();
    let is_first = tasks.iter().all(|task| task.status == JobStatus::Pending);
    let size = options.canary.filter(|_| is_first).or(options.batch_size);
    if let Some(size) = size {
        batch.truncate(size.max(1) as usize);
    }
    step.begin.extend(batch);
}

/// Whether more tasks have failed than the job may have, or one of its canary.
pub(super) fn is_past_limit(
    tasks: &[TaskBrief],
    order: PriorityOrder,
    options: &JobOptions,
) -> bool {
    let mut units: BTreeMap<u32, Vec<&TaskBrief>> = BTreeMap::new();
    for task in tasks {
        units.entry(task.unit).or_default().push(task);
    }
    let mut units = units.values();
    units.any(|unit| limit_broken_by(unit, order, options).is_some())
}

/// The task whose failure ends the unit: the first that failed, if they are too many or one of the canary failed.
fn limit_broken_by<'a>(
    tasks: &[&'a TaskBrief],
    order: PriorityOrder,
    options: &JobOptions,
) -> Option<&'a TaskBrief> {
    let failed = || {
        let failed = |task: &&&TaskBrief| task.status == JobStatus::Failed && task.blocks_others;
        tasks.iter().filter(failed)
    };
    let cause = failed().min_by_key(|task| (task.ended_at, task.ordinal))?;
    let canary = canary(tasks, order, options);
    let canary_failed = failed().any(|task| canary.contains(&task.ordinal));
    let is_broken = canary_failed || failed().count() > options.max_failures as usize;
    is_broken.then_some(*cause)
}

/// The tasks of the first batch, where the job has a canary: the first of the first rank.
fn canary(tasks: &[&TaskBrief], order: PriorityOrder, options: &JobOptions) -> Vec<u32> {
    let Some(size) = options.canary else {
        return Vec::new();
    };
    let first = tasks.iter().map(|task| rank_of(task, order)).min();
    let of_first = tasks
        .iter()
        .filter(|task| Some(rank_of(task, order)) == first);
    let mut ordinals: Vec<u32> = of_first.map(|task| task.ordinal).collect();
    ordinals.sort_unstable();
    ordinals.truncate(size.max(1) as usize);
    ordinals
}

/// Tasks with a smaller rank start earlier.
fn rank_of(task: &TaskBrief, order: PriorityOrder) -> i64 {
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

    fn task(ordinal: u32, priority: i32, unit: u32, status: JobStatus) -> TaskBrief {
        let ended_at = match status.is_over() {
            true => UnixMillis(NOW.0 - 1000),
            false => UnixMillis::NEVER,
        };
        TaskBrief {
            ordinal,
            status,
            priority,
            unit,
            ended_at,
            blocks_others: true,
        }
    }

    fn pending(priorities: &[i32]) -> Vec<TaskBrief> {
        let tasks = priorities.iter().enumerate();
        tasks
            .map(|(ordinal, priority)| task(ordinal as u32, *priority, 0, JobStatus::Pending))
            .collect()
    }

    /// Runs a job to its end; returns the waves that it started, and the blocked tasks.
    fn run(
        mut tasks: Vec<TaskBrief>,
        order: PriorityOrder,
        options: &JobOptions,
        fails: &[u32],
    ) -> (Vec<Vec<u32>>, Vec<(u32, u32)>) {
        let (mut waves, mut blocked) = (Vec::new(), Vec::new());
        let mut now = NOW;
        for _ in 0..100 {
            let step = next(&tasks, order, options, now);
            for (ordinal, _) in &step.blocked {
                tasks[*ordinal as usize].status = JobStatus::Failed;
                tasks[*ordinal as usize].ended_at = now;
            }
            blocked.extend(step.blocked.iter().copied());
            if step.is_over {
                return (waves, blocked);
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
    fn a_failure_blocks_later_tasks_and_is_named() {
        let options = JobOptions::default();
        let (waves, blocked) = run(
            pending(&[0, 0, 1, 2]),
            PriorityOrder::LowFirst,
            &options,
            &[1],
        );
        assert_eq!(waves, [vec![0, 1]]);
        assert_eq!(blocked, [(2, 1), (3, 1)]);
    }

    #[test]
    fn a_failure_of_one_process_alone_blocks_nothing() {
        let mut tasks = pending(&[0, 1]);
        tasks[0] = TaskBrief {
            blocks_others: false,
            ..task(0, 0, 0, JobStatus::Failed)
        };
        let step = next(&tasks, PriorityOrder::LowFirst, &JobOptions::default(), NOW);
        assert_eq!((step.begin, step.blocked), (vec![1], vec![]));
    }

    #[test]
    fn a_wrong_clock_blocks_nothing_without_a_pause() {
        let mut tasks = pending(&[0, 1]);
        tasks[0] = TaskBrief {
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
        let (waves, blocked) = run(pending(&[0; 7]), PriorityOrder::LowFirst, &options, &[0, 4]);
        assert_eq!(waves, [vec![0, 1], vec![2, 3], vec![4, 5]]);
        assert_eq!(blocked, [(6, 0)]);
    }

    #[test]
    fn a_failed_canary_blocks_the_rest_whatever_may_fail() {
        let options = JobOptions {
            batch_size: Some(3),
            max_failures: 5,
            canary: Some(2),
            ..JobOptions::default()
        };
        let order = PriorityOrder::LowFirst;
        let (waves, blocked) = run(pending(&[0; 7]), order, &options, &[1]);
        assert_eq!(waves, [vec![0, 1]]);
        assert_eq!(blocked, [(2, 1), (3, 1), (4, 1), (5, 1), (6, 1)]);
        // A later failure counts as usual.
        let (waves, blocked) = run(pending(&[0; 7]), order, &options, &[2]);
        assert_eq!(waves, [vec![0, 1], vec![2, 3, 4], vec![5, 6]]);
        assert_eq!(blocked, []);
        // A canary is not larger than the first priority, and each unit has its own.
        let mut tasks = pending(&[0, 1, 1, 0]);
        tasks[3].unit = 1;
        let (waves, _) = run(tasks, order, &options, &[]);
        assert_eq!(waves, [vec![0, 3], vec![1, 2]]);
    }

    #[test]
    fn a_canary_is_a_batch_of_its_own() {
        let options = JobOptions {
            batch_size: Some(2),
            canary: Some(1),
            ..JobOptions::default()
        };
        let mut tasks = pending(&[0, 0, 0, 0, 1]);
        let at = |tasks: &[TaskBrief]| {
            let batch = batch(tasks, PriorityOrder::LowFirst, &options);
            (batch.number, batch.of)
        };
        assert_eq!(at(&tasks), (0, 4));
        for (begun, number) in [(1, 1), (3, 2), (4, 3), (5, 4)] {
            for task in &mut tasks[..begun] {
                task.status = JobStatus::Running;
            }
            assert_eq!(at(&tasks), (number, 4), "{begun} have begun");
        }
    }

    #[test]
    fn units_do_not_wait_for_each_other() {
        let mut tasks = pending(&[0, 1, 0, 1]);
        tasks[2].unit = 1;
        tasks[3].unit = 1;
        let options = JobOptions::default();
        let (waves, blocked) = run(tasks, PriorityOrder::LowFirst, &options, &[0]);
        assert_eq!(waves, [vec![0, 2], vec![3]]);
        assert_eq!(blocked, [(1, 0)]);
    }

    #[test]
    fn a_pause_separates_batches() {
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
    fn batches_are_counted_within_priorities_and_units() {
        let options = JobOptions {
            batch_size: Some(2),
            ..JobOptions::default()
        };
        let order = PriorityOrder::LowFirst;
        let mut tasks = pending(&[0, 0, 0, 1, 1]);
        let at = |tasks: &[TaskBrief]| {
            let batch = batch(tasks, order, &options);
            (batch.number, batch.of)
        };
        assert_eq!(at(&tasks), (0, 3));
        tasks[0].status = JobStatus::Running;
        tasks[1].status = JobStatus::Failed;
        assert_eq!(at(&tasks), (1, 3));
        tasks[2].status = JobStatus::Running;
        assert_eq!(at(&tasks), (2, 3));
        tasks[3].status = JobStatus::Running;
        tasks[4].status = JobStatus::Running;
        assert_eq!(at(&tasks), (3, 3));
        // Another unit with fewer batches changes nothing.
        tasks.push(task(5, 0, 7, JobStatus::Pending));
        assert_eq!(at(&tasks), (3, 3));
        let all = batch(&tasks, PriorityOrder::AllAtOnce, &JobOptions::default());
        assert_eq!((all.number, all.of), (1, 1));
        assert_eq!(at(&[]), (0, 0));
    }

    #[test]
    fn every_job_ends() {
        for n in 0..5 {
            for fails in 0..(1_u32 << n) {
                for (batch_size, canary) in [
                    (None, None),
                    (Some(1), None),
                    (Some(3), Some(1)),
                    (None, Some(2)),
                ] {
                    let options = JobOptions {
                        batch_size,
                        canary,
                        max_failures: fails % 3,
                        ..JobOptions::default()
                    };
                    let tasks = pending(&[3, 1, 2, 1, 0][..n]);
                    let failing: Vec<u32> =
                        (0..n as u32).filter(|bit| fails >> bit & 1 == 1).collect();
                    let (waves, blocked) = run(tasks, PriorityOrder::HighFirst, &options, &failing);
                    let begun: usize = waves.iter().map(Vec::len).sum();
                    assert_eq!(begun + blocked.len(), n, "each began once or was held up");
                }
            }
        }
    }
}
