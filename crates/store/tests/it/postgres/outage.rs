//! A server that is down, hangs, or restarts.

use std::time::{Duration, Instant};

use model::change::{Changes, Revision};
use store::{Store, StoreError};

use super::proxy::{Fault, Proxy};
use crate::test_database::TestDatabase;

/// Five seconds, with a margin for a busy machine.
const IN_TIME: Duration = Duration::from_secs(8);

#[tokio::test]
async fn calls_fail_in_time_while_the_server_is_down_and_recover() {
    let mut database = TestDatabase::postgres();
    let store = database.open().await;
    let (head, url) = (store.head().await.unwrap(), database.url());
    database.server().kill().unwrap();
    all_unavailable(&store).await;
    let begun = Instant::now();
    let refused = Store::open(&url).await.unwrap_err();
    assert!(
        matches!(refused, StoreError::Unavailable { .. }),
        "{refused:?}"
    );
    assert!(begun.elapsed() < IN_TIME);
    database.server().start_again().unwrap();
    // At once: connections from before the outage are not used.
    assert_eq!(store.head().await.unwrap(), head);
    store.commit(head, &Changes::default()).await.unwrap();
}

#[tokio::test]
async fn calls_fail_in_time_while_the_server_hangs_and_recover() {
    let mut database = TestDatabase::postgres();
    let proxy = Proxy::to(database.server().port()).await;
    let store = Store::open(&proxy.url()).await.unwrap();
    store
        .commit(Revision(0), &Changes::default())
        .await
        .unwrap();
    proxy.set(Fault::Silence);
    all_unavailable(&store).await;
    proxy.set(Fault::None);
    assert_eq!(store.head().await.unwrap(), Revision(1));
    store
        .commit(Revision(1), &Changes::default())
        .await
        .unwrap();
}

#[tokio::test]
async fn a_restart_of_the_server_between_calls_is_not_noticed() {
    let mut database = TestDatabase::postgres();
    let store = database.open().await;
    for n in 0..3 {
        let head = store.head().await.unwrap();
        store.commit(head, &Changes::default()).await.unwrap();
        store.load().await.unwrap();
        store.tasks(&crate::sample::task_page(1)).await.unwrap();
        database.server().stop().unwrap();
        database.server().start_again().unwrap();
        store.tasks(&crate::sample::task_page(1)).await.unwrap();
        assert_eq!(store.head().await.unwrap(), Revision(n + 1));
    }
}

/// A replica that stops in the middle of a commit, with the lock that all commits need.
#[tokio::test]
async fn a_replica_that_hangs_in_a_commit_is_cut_off() {
    let mut database = TestDatabase::postgres();
    let proxy = Proxy::to(database.server().port()).await;
    let hanging = Store::open(&proxy.url()).await.unwrap();
    let store = database.open().await;
    proxy.set(Fault::DelayCommit(Duration::from_secs(3600)));
    let stuck = tokio::spawn(async move { hanging.commit(Revision(0), &Changes::default()).await });
    while proxy.fault() != Fault::None {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    // Reads do not wait.
    assert_eq!(store.load().await.unwrap().revision, Revision(0));
    let committed = store.commit(Revision(0), &Changes::default()).await;
    assert_eq!(committed.unwrap(), Revision(1));
    stuck.await.unwrap().unwrap_err();
}

/// Each call, all at once.
async fn all_unavailable(store: &Store) {
    let begun = Instant::now();
    let (nothing, newest) = (Changes::default(), crate::sample::task_page(1));
    let (head, load, commit, lease, task) = tokio::join!(
        store.head(),
        store.load(),
        store.commit(Revision(0), &nothing),
        store.take_lease("work", 1, Duration::from_secs(1)),
        store.tasks(&newest),
    );
    let took = begun.elapsed();
    for refused in [
        head.map(drop),
        load.map(drop),
        commit.map(drop),
        lease.map(drop),
        task.map(drop),
    ] {
        let refused = refused.unwrap_err();
        assert!(
            matches!(refused, StoreError::Unavailable { .. }),
            "{refused:?}"
        );
    }
    assert!(took < IN_TIME, "{took:?}");
}
