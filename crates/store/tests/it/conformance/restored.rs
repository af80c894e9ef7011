//! A store that was restored from a backup.

use model::change::{Changes, Revision};
use model::job::JobStatus;
use model::{Code, UnixMillis};
use store::StoreError;

use crate::sample;
use crate::test_database::TestDatabase;

const NOW: UnixMillis = UnixMillis(1_700_000_000_000);

pub async fn numbers_continue_far_above_those_that_were_used(database: &TestDatabase) {
    let store = database.open().await;
    let everything = Changes {
        events: vec![sample::event(1, 1)],
        ..sample::everything()
    };
    let before = store.commit(Revision(0), &everything).await.unwrap();
    let last_job = store.last_job_id().await.unwrap();
    let events = store.events_after(0, 1000).await.unwrap();
    let last_event = events.last().unwrap().id;
    let restored = store.begin_anew(NOW).await.unwrap();
    assert!(restored.revision.0 > before.0 + (1 << 31), "{restored:?}");
    assert_eq!(store.head().await.unwrap(), restored.revision);
    assert!(store.last_job_id().await.unwrap().0 >= last_job.0 + 1000);
    // A follower of the store before must load everything; one that has, follows.
    let followed = store.changes_since(before).await;
    assert!(
        matches!(followed, Err(StoreError::TooOld { .. })),
        "{followed:?}"
    );
    let next = Changes {
        events: vec![sample::event(1, 9_999)],
        ..Changes::default()
    };
    let head = store.commit(restored.revision, &next).await.unwrap();
    assert_eq!(head, restored.revision.next());
    let (_, changes) = store.changes_since(restored.revision).await.unwrap();
    assert_eq!(changes.events.len(), 1);
    let newer = store.events_after(last_event, 10).await.unwrap();
    assert!(newer[0].id > last_event + (1 << 31), "{newer:?}");
}

pub async fn what_was_under_way_is_ended_or_paused(database: &TestDatabase) {
    let store = database.open().await;
    let mut head = Revision(0);
    let begun = [
        sample::asked(1, 5),
        sample::ended(1, 1..4, Code::OK),
        sample::started(2, 3),
        sample::started(3, 3),
        Changes {
            jobs: vec![sample::job(4, JobStatus::Failed)],
            ..Changes::default()
        },
    ];
    for changes in &begun {
        head = store.commit(head, changes).await.unwrap();
    }
    let restored = store.begin_anew(NOW).await.unwrap();
    // The sample's jobs with an odd number are paused already.
    assert_eq!((restored.ended_operations, restored.paused_jobs), (2, 1));
    let task = store.task(sample::task_id(1)).await.unwrap().unwrap();
    let codes: Vec<Code> = task
        .targets
        .iter()
        .map(|(_, outcome)| outcome.as_ref().unwrap().code)
        .collect();
    let (ok, unknown) = (Code::OK, Code::TERMINATED);
    assert_eq!(codes, [unknown, ok, ok, ok, unknown]);
    let loaded = store.load().await.unwrap().changes;
    assert!(loaded.tasks.is_empty(), "no operation is open");
    let paused: Vec<&str> = loaded
        .jobs
        .iter()
        .map(|job| job.paused_by.as_str())
        .collect();
    assert_eq!(paused, ["muster store restore", "üser"]);
    // Nothing is left to do.
    let again = store.begin_anew(NOW).await.unwrap();
    assert_eq!((again.ended_operations, again.paused_jobs), (0, 0));
}
