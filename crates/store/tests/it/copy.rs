//! Copies from one store to another.

use model::UnixMillis;
use model::change::{Changes, Revision};
use store::{AuditPage, CopyError, CopyStep, EventPage, JobPage, Loaded, Store, TimelinePage};
use testing::Random;

use crate::random::random_changes;
use crate::sample;
use crate::test_database::TestDatabase;

/// Rows of all kinds, and deleted ones.
async fn populate(store: &Store) {
    let mut random = Random::new(7);
    let mut head = store
        .commit(Revision(0), &sample::everything())
        .await
        .unwrap();
    for n in 1..30 {
        let mut changes = random_changes(&mut random, n);
        changes.audit = vec![sample::audit(n)];
        changes.timeline = vec![sample::timeline(n)];
        changes.events = (0..4).map(|host| sample::event(host, n.into())).collect();
        head = store.commit(head, &changes).await.unwrap();
    }
    // The last event is purged, but its id is not reused.
    let last = Changes {
        events: vec![sample::event(9, 9)],
        ..Changes::default()
    };
    store.commit(head, &last).await.unwrap();
    let (_, last) = store.changes_since(head).await.unwrap();
    let end = UnixMillis(last.events[0].event.at.0 + 1);
    store.purge_events(end).await.unwrap();
    store.purge(UnixMillis(0), Revision(5)).await.unwrap();
    store.put_setting_if_absent("key", &[0, 255]).await.unwrap();
    store.save_status(&[(3, vec![7; 300_000])]).await.unwrap();
}

/// Everything that a store can be queried for.
async fn everything(store: &Store) -> (Loaded, [String; 6]) {
    let audit = AuditPage {
        limit: 999,
        ..AuditPage::default()
    };
    let events = EventPage {
        limit: 999,
        ..EventPage::default()
    };
    let jobs = JobPage {
        limit: 999,
        ..JobPage::default()
    };
    let timeline = TimelinePage {
        limit: 999,
        ..TimelinePage::default()
    };
    let rest = [
        format!("{:?}", store.timeline(&timeline).await.unwrap()),
        format!("{:?}", store.tasks(&sample::task_page(999)).await.unwrap()),
        format!("{:?}", store.audit(&audit).await.unwrap()),
        format!("{:?}", store.events(&events).await.unwrap()),
        format!("{:?}", store.jobs(&jobs).await.unwrap()),
        format!("{:?}", store.changes_since(Revision(6)).await.unwrap()),
    ];
    (store.load().await.unwrap(), rest)
}

async fn copies_everything(from: &TestDatabase, to: &TestDatabase) {
    let source = from.open().await;
    populate(&source).await;
    let expected = everything(&source).await;
    source.close().await;

    let mut steps = Vec::new();
    let (from_url, to_url) = (from.url(), to.url());
    let mut tell = |progress: store::CopyProgress<'_>| {
        steps.push((progress.step, progress.table.to_owned(), progress.n_rows));
    };
    let copied = store::copy(&from_url, &to_url, &mut tell).await.unwrap();
    let processes = copied.iter().find(|it| it.table == "processes").unwrap();
    for step in [CopyStep::Copying, CopyStep::Checking] {
        assert!(steps.contains(&(step, "processes".to_owned(), processes.n_rows)));
    }
    assert_eq!(processes.sha256.len(), 64);

    let target = to.open().await;
    assert_eq!(everything(&target).await, expected);
    assert_eq!(target.setting("key").await.unwrap(), Some(vec![0, 255]));

    // Both continue with the same ids, after the largest ones ever used.
    let source = from.open().await;
    let head = source.head().await.unwrap();
    let next = Changes {
        events: vec![sample::event(9, 10)],
        audit: vec![sample::audit(10)],
        timeline: vec![sample::timeline(10)],
        ..Changes::default()
    };
    for store in [&source, &target] {
        store.commit(head, &next).await.unwrap();
    }
    assert_eq!(everything(&target).await, everything(&source).await);
    let last_job = source.last_job_id().await.unwrap();
    assert_eq!(target.last_job_id().await.unwrap(), last_job);

    let refused = store::copy(&from_url, &to_url, &mut |_| {})
        .await
        .unwrap_err();
    assert!(matches!(refused, CopyError::NotEmpty { .. }), "{refused:?}");
    assert_eq!(everything(&target).await, everything(&source).await);
}

#[tokio::test]
async fn everything_is_copied_from_sqlite_to_postgres() {
    copies_everything(&TestDatabase::sqlite(), &TestDatabase::postgres()).await;
}

#[tokio::test]
async fn everything_is_copied_from_postgres_to_sqlite() {
    copies_everything(&TestDatabase::postgres(), &TestDatabase::sqlite()).await;
}

#[tokio::test]
async fn a_missing_store_is_neither_copied_nor_created() {
    let (from, to) = (TestDatabase::sqlite(), TestDatabase::sqlite());
    let refused = store::copy(&from.url(), &to.url(), &mut |_| {}).await;
    assert!(matches!(refused, Err(CopyError::NoSource { .. })));
    assert!(!from.file().exists() && !to.file().exists());
}
