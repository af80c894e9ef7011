//! Jobs: loading, counts, lists, purges.

use model::change::{Changes, Revision};
use model::job::{JobAction, JobId, JobStatus, JobTaskRow};
use model::topology::BusinessId;
use store::{JobCounts, JobPage, JobSummary, Store, StoredJob};

use crate::follower_state::FollowerState;
use crate::sample;
use crate::test_database::TestDatabase;

async fn commit(store: &Store, changes: &Changes) {
    let head = store.head().await.unwrap();
    store.commit(head, changes).await.unwrap();
}

/// A job in this status.
fn becomes(n: u32, status: JobStatus) -> Changes {
    Changes {
        jobs: vec![sample::job(n, status)],
        ..Changes::default()
    }
}

fn task(job: u32, ordinal: u32, status: JobStatus) -> JobTaskRow {
    JobTaskRow {
        status,
        ..sample::job_task(job, ordinal)
    }
}

pub async fn a_finished_job_is_not_loaded_but_still_readable(database: &TestDatabase) {
    let store = database.open().await;
    commit(&store, &sample::started(1, 300)).await;
    commit(&store, &sample::started(2, 3)).await;
    commit(&store, &becomes(1, JobStatus::Failed)).await;
    assert_eq!(store.load().await.unwrap().changes, sample::started(2, 3));
    let expected = StoredJob {
        job: sample::job(1, JobStatus::Failed),
        tasks: sample::started(1, 300).job_tasks,
    };
    assert_eq!(store.job(JobId(1)).await.unwrap(), Some(expected));
    assert_eq!(store.job(JobId(3)).await.unwrap(), None);
}

pub async fn a_reopened_job_is_followed_with_all_its_tasks(database: &TestDatabase) {
    let store = database.open().await;
    commit(&store, &sample::started(1, 300)).await;
    commit(&store, &becomes(1, JobStatus::Failed)).await;
    let again = Changes {
        job_tasks: vec![task(1, 7, JobStatus::Running)],
        ..becomes(1, JobStatus::Running)
    };
    commit(&store, &again).await;
    let mut expected = sample::started(1, 300);
    expected.job_tasks[7] = task(1, 7, JobStatus::Running);
    assert_eq!(store.load().await.unwrap().changes, expected);
    let (_, changes) = store.changes_since(Revision(2)).await.unwrap();
    assert_eq!(changes, expected);
    // A job that was open before is followed with its changed tasks only.
    commit(&store, &again).await;
    let (_, changes) = store.changes_since(Revision(3)).await.unwrap();
    assert_eq!(changes, again);
}

pub async fn tasks_are_counted_by_status_however_often_they_are_written(database: &TestDatabase) {
    let store = database.open().await;
    commit(&store, &sample::started(1, 2000)).await;
    commit(&store, &sample::started(2, 3)).await;
    commit(&store, &sample::started(1, 2000)).await;
    let ended = Changes {
        job_tasks: [
            task(1, 5, JobStatus::Failed),
            task(1, 5, JobStatus::Succeeded),
            task(1, 6, JobStatus::Failed),
            task(1, 7, JobStatus::Ignored),
            task(2, 0, JobStatus::Running),
        ]
        .into(),
        ..Changes::default()
    };
    commit(&store, &ended).await;
    commit(&store, &ended).await;
    let jobs = store.jobs(&all()).await.unwrap();
    let counts = Vec::from_iter(jobs.iter().map(|job| job.counts));
    let first = JobCounts {
        pending: 1997,
        running: 0,
        succeeded: 1,
        failed: 1,
        ignored: 1,
    };
    let second = JobCounts {
        pending: 2,
        running: 1,
        ..JobCounts::default()
    };
    assert_eq!(counts, [second, first]);
}

pub async fn a_task_without_a_job_is_dropped(database: &TestDatabase) {
    let store = database.open().await;
    let stranger = Changes {
        job_tasks: sample::started(9, 3).job_tasks,
        ..sample::started(1, 0)
    };
    commit(&store, &stranger).await;
    let (_, changes) = store.changes_since(Revision(0)).await.unwrap();
    assert_eq!(changes, sample::started(1, 0));
}

fn all() -> JobPage {
    JobPage {
        limit: 100,
        ..JobPage::default()
    }
}

pub async fn jobs_are_listed_newest_first_in_pages(database: &TestDatabase) {
    let store = database.open().await;
    for n in [3, 1, 5, 2, 4] {
        commit(&store, &sample::started(n, n)).await;
    }
    let mut page = JobPage { limit: 2, ..all() };
    let mut seen = Vec::new();
    loop {
        let jobs = store.jobs(&page).await.unwrap();
        let Some(last) = jobs.last() else { break };
        page.before = Some(last.job.id);
        seen.extend(jobs);
    }
    let expected = [5, 4, 3, 2, 1].map(|n| JobSummary {
        job: sample::job(n, JobStatus::Running),
        counts: JobCounts {
            pending: n,
            ..JobCounts::default()
        },
    });
    assert_eq!(seen, expected);
}

pub async fn jobs_are_filtered_by_everything_at_once(database: &TestDatabase) {
    let store = database.open().await;
    for n in 1..=60 {
        let status = [JobStatus::Running, JobStatus::Failed][n as usize / 30 % 2];
        commit(&store, &becomes(n, status)).await;
    }
    let found = async |page: JobPage| {
        let jobs = store.jobs(&page).await.unwrap();
        Vec::from_iter(jobs.into_iter().map(|job| job.job.id.0))
    };
    let mut page = all();
    page.business = Some(BusinessId(1));
    assert_eq!(found(page.clone()).await.len(), 30);
    page.action = Some(JobAction::ALL[5]);
    let of_action = |n: &u32| n % 2 == 1 && *n as usize % JobAction::ALL.len() == 5;
    let expected = Vec::from_iter((1..=60).rev().filter(of_action));
    assert_eq!(found(page.clone()).await, expected);
    page.status = Some(JobStatus::Failed);
    let failed = Vec::from_iter(expected.iter().copied().filter(|n| n / 30 % 2 == 1));
    assert_eq!(found(page.clone()).await, failed);
    let user = failed[0] % 3;
    page.user = Some(format!("üser{user}"));
    let of_user = Vec::from_iter(failed.iter().copied().filter(|n| n % 3 == user));
    assert_eq!(found(page.clone()).await, of_user);
    page.before = Some(JobId(*of_user.last().unwrap()));
    assert_eq!(found(page).await, [0; 0]);
}

pub async fn old_finished_jobs_are_purged_and_their_ids_are_not_reused(database: &TestDatabase) {
    let store = database.open().await;
    assert_eq!(store.last_job_id().await.unwrap(), JobId(0));
    // More tasks than one transaction deletes.
    for (n, n_tasks) in [(1, 12_000), (2, 3), (3, 3), (4, 0)] {
        commit(&store, &sample::started(n, n_tasks)).await;
    }
    for n in [1, 3, 4] {
        commit(&store, &becomes(n, JobStatus::Succeeded)).await;
    }
    store.purge_jobs(sample::moment(4)).await.unwrap();
    let left = store.jobs(&all()).await.unwrap();
    let left = Vec::from_iter(left.iter().map(|job| job.job.id.0));
    assert_eq!(left, [4, 2]);
    assert_eq!(store.job(JobId(1)).await.unwrap(), None);
    let (_, changes) = store.changes_since(Revision(0)).await.unwrap();
    let loaded = store.load().await.unwrap().changes;
    assert_eq!(FollowerState::of(&changes), FollowerState::of(&loaded));

    store.purge_jobs(sample::moment(99)).await.unwrap();
    assert_eq!(store.jobs(&all()).await.unwrap().len(), 1);
    assert_eq!(store.last_job_id().await.unwrap(), JobId(4));
    assert_eq!(store.load().await.unwrap().changes, sample::started(2, 3));
}
