//! Commits whose answer is lost: acknowledged ones happened, refused ones did not, and none happened twice.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use engines::{Postgres, PostgresOptions};
use model::change::{Changes, Revision};
use store::{AuditPage, Store, StoreError};

use super::proxy::{Fault, Proxy};
use crate::sample;
use crate::test_database::TestDatabase;

#[tokio::test]
async fn a_commit_with_a_lost_answer_is_acknowledged() {
    let mut database = TestDatabase::postgres();
    let proxy = Proxy::to(database.server().port()).await;
    let store = Store::open(&proxy.url()).await.unwrap();
    proxy.set(Fault::LoseAnswer);
    let revision = store.commit(Revision(0), &one(1)).await.unwrap();
    assert_eq!((revision, proxy.fault()), (Revision(1), Fault::None));
    assert_eq!(store.commit(revision, &one(2)).await.unwrap(), Revision(2));
    assert_eq!(written(&store).await, BTreeMap::from([(1, 1), (2, 1)]));
}

#[tokio::test]
async fn a_commit_that_never_arrived_is_refused_and_can_be_retried() {
    let mut database = TestDatabase::postgres();
    let proxy = Proxy::to(database.server().port()).await;
    let store = Store::open(&proxy.url()).await.unwrap();
    proxy.set(Fault::LoseCommit);
    let refused = store.commit(Revision(0), &one(1)).await.unwrap_err();
    assert!(
        matches!(refused, StoreError::Unavailable { .. }),
        "{refused:?}"
    );
    assert_eq!(store.head().await.unwrap(), Revision(0));
    store.commit(Revision(0), &one(1)).await.unwrap();
    assert_eq!(written(&store).await, BTreeMap::from([(1, 1)]));
}

#[tokio::test]
async fn a_commit_that_arrives_late_is_waited_for() {
    let mut database = TestDatabase::postgres();
    let proxy = Proxy::to(database.server().port()).await;
    let store = Store::open(&proxy.url()).await.unwrap();
    proxy.set(Fault::DelayCommit(Duration::from_millis(700)));
    assert_eq!(
        store.commit(Revision(0), &one(1)).await.unwrap(),
        Revision(1)
    );
    assert_eq!(written(&store).await, BTreeMap::from([(1, 1)]));
}

#[tokio::test]
async fn a_commit_is_in_doubt_while_the_server_is_unreachable() {
    let mut database = TestDatabase::postgres();
    let proxy = Proxy::to(database.server().port()).await;
    let store = Store::open(&proxy.url()).await.unwrap();
    proxy.set(Fault::LoseAnswerAndFallSilent);
    let doubtful = store.commit(Revision(0), &one(1)).await.unwrap_err();
    assert!(
        matches!(doubtful, StoreError::InDoubt { .. }),
        "{doubtful:?}"
    );
    proxy.set(Fault::None);
    assert_eq!(store.head().await.unwrap(), Revision(1));
    let again = store.commit(Revision(0), &one(1)).await.unwrap_err();
    assert!(
        matches!(again, StoreError::Moved { head: Revision(1) }),
        "{again:?}"
    );
    assert_eq!(written(&store).await, BTreeMap::from([(1, 1)]));
}

#[tokio::test]
async fn a_commit_without_its_log_entry_is_in_doubt() {
    let mut database = TestDatabase::postgres();
    let proxy = Proxy::to(database.server().port()).await;
    let store = Store::open(&proxy.url()).await.unwrap();
    let forget = "CREATE RULE forget AS ON INSERT TO commit_log DO INSTEAD NOTHING";
    database.server().execute(forget).unwrap();
    proxy.set(Fault::LoseAnswer);
    let doubtful = store.commit(Revision(0), &one(1)).await.unwrap_err();
    assert!(
        matches!(doubtful, StoreError::InDoubt { .. }),
        "{doubtful:?}"
    );
    assert_eq!(written(&store).await, BTreeMap::from([(1, 1)]));
}

/// The whole server is killed repeatedly during commits of two replicas.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_server_loses_and_repeats_no_commit() {
    const N_KILLS: u32 = 4;
    let options = PostgresOptions {
        fsync: true,
        ..PostgresOptions::default()
    };
    let mut database = TestDatabase::on(Postgres::start_with(options).unwrap());
    let stop = Arc::new(AtomicBool::new(false));
    let n_acknowledged = Arc::new(AtomicU32::new(0));
    let mut replicas = Vec::new();
    for n in [0, 1] {
        let store = database.open().await;
        let (stop, count) = (stop.clone(), n_acknowledged.clone());
        replicas.push(tokio::spawn(commit_until(stop, store, n, count)));
    }
    for n in 0..N_KILLS {
        let goal = n_acknowledged.load(Ordering::SeqCst) + 20 + n * 7;
        while n_acknowledged.load(Ordering::SeqCst) < goal {
            tokio::time::sleep(Duration::from_micros(300)).await;
        }
        let server = database.server();
        server.kill().unwrap();
        server.start_again().unwrap();
    }
    stop.store(true, Ordering::SeqCst);
    let mut acknowledged = Vec::new();
    for replica in replicas {
        acknowledged.extend(replica.await.unwrap());
    }
    let store = database.open().await;
    let expected = acknowledged.iter().map(|n| (*n, 1)).collect();
    assert_eq!(written(&store).await, expected);
    assert_eq!(store.head().await.unwrap().0, acknowledged.len() as u64);
}

/// Commits each number until it is acknowledged; answers them all.
async fn commit_until(
    stop: Arc<AtomicBool>,
    store: Store,
    first: u32,
    n_acknowledged: Arc<AtomicU32>,
) -> Vec<u32> {
    let mut head = Revision(0);
    let mut acknowledged = Vec::new();
    for n in (0..).map(|n| first + n * 2) {
        if stop.load(Ordering::SeqCst) {
            break;
        }
        loop {
            match store.commit(head, &one(n)).await {
                Ok(revision) => {
                    head = revision;
                    break;
                }
                Err(StoreError::Moved { head: moved }) => head = moved,
                Err(StoreError::Unavailable { .. }) => {}
                Err(other) => panic!("{other:?}"),
            }
        }
        acknowledged.push(n);
        n_acknowledged.fetch_add(1, Ordering::SeqCst);
    }
    acknowledged
}

/// A change that is counted each time it is written.
fn one(n: u32) -> Changes {
    let mut audit = sample::audit(n);
    audit.object = n.to_string();
    Changes {
        processes: vec![sample::process(n)],
        audit: vec![audit],
        ..Changes::default()
    }
}

/// How often each number was written.
async fn written(store: &Store) -> BTreeMap<u32, u32> {
    let page = AuditPage {
        limit: u32::MAX,
        ..AuditPage::default()
    };
    let mut written = BTreeMap::new();
    for (_, audit) in store.audit(&page).await.unwrap() {
        *written.entry(audit.object.parse().unwrap()).or_default() += 1;
    }
    written
}
