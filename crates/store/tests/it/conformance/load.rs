//! What a starting server loads.

use model::change::{Changes, Revision};
use store::{Loaded, Store};

use crate::sample;
use crate::test_database::TestDatabase;

pub async fn a_new_store_is_empty_and_at_revision_0(database: &TestDatabase) {
    let store = database.open().await;
    assert_eq!(store.load().await.unwrap(), Loaded::default());
    assert_eq!(store.head().await.unwrap(), Revision(0));
}

pub async fn replicas_that_open_a_new_store_at_once_share_it(database: &TestDatabase) {
    let opening = (0..6).map(|_| {
        let url = database.url();
        tokio::spawn(async move { Store::open(&url).await.unwrap() })
    });
    for (n, opening) in (0..).zip(Vec::from_iter(opening)) {
        let store = opening.await.unwrap();
        let revision = store.commit(Revision(n), &Changes::default()).await;
        assert_eq!(revision.unwrap(), Revision(n + 1));
    }
}

pub async fn everything_reads_back_as_it_was_written(database: &TestDatabase) {
    let store = database.open().await;
    let revision = store
        .commit(Revision(0), &sample::everything())
        .await
        .unwrap();
    let loaded = store.load().await.unwrap();
    assert_eq!(loaded.revision, revision);
    assert_eq!(loaded.changes, sample::everything());
}

pub async fn everything_survives_closing_and_opening(database: &TestDatabase) {
    let store = database.open().await;
    store
        .commit(Revision(0), &sample::everything())
        .await
        .unwrap();
    store.save_status(&[(3, vec![1])]).await.unwrap();
    let before = store.load().await.unwrap();
    store.close().await;
    assert_eq!(database.open().await.load().await.unwrap(), before);
}

pub async fn audit_and_events_are_not_loaded(database: &TestDatabase) {
    let store = database.open().await;
    let mut changes = sample::everything();
    changes.audit = vec![sample::audit(1)];
    changes.events = vec![sample::event(1, 1)];
    store.commit(Revision(0), &changes).await.unwrap();
    assert_eq!(store.load().await.unwrap().changes, sample::everything());
}

pub async fn the_last_status_of_each_shard_is_loaded(database: &TestDatabase) {
    let store = database.open().await;
    let save = async |shards: &[(u32, Vec<u8>)]| store.save_status(shards).await.unwrap();
    save(&[
        (1, vec![0, 255]),
        (u32::MAX, vec![2; 300_000]),
        (0, vec![3]),
    ])
    .await;
    save(&[(1, vec![4]), (0, vec![]), (9, vec![])]).await;
    let loaded = store.load().await.unwrap();
    assert_eq!(loaded.status, [(1, vec![4]), (u32::MAX, vec![2; 300_000])]);
    assert_eq!(loaded.revision, Revision(0), "status takes no revision");
}

pub async fn two_connections_read_what_one_reads(database: &TestDatabase) {
    let store = database.open().await;
    let everything = sample::everything();
    store.commit(Revision(0), &everything).await.unwrap();
    let (mut loaded, processes) = store.load_in_two().await.unwrap();
    assert_eq!(loaded.changes.processes, []);
    loaded.changes.processes = processes.rows().await.unwrap();
    assert_eq!(loaded, store.load().await.unwrap());
}

pub async fn two_connections_never_mix_two_revisions(database: &TestDatabase) {
    let store = database.open().await;
    let n_commits = 40;
    let committing = {
        let store = store.clone();
        tokio::spawn(async move {
            for n in 0..n_commits {
                let changes = Changes {
                    processes: vec![sample::process(n as u32)],
                    ..Changes::default()
                };
                store.commit(Revision(n), &changes).await.unwrap();
            }
        })
    };
    loop {
        let (loaded, processes) = store.load_in_two().await.unwrap();
        let rows = processes.rows().await.unwrap();
        assert_eq!(rows.len() as u64, loaded.revision.0);
        if loaded.revision == Revision(n_commits) {
            break;
        }
    }
    committing.await.unwrap();
}

pub async fn a_closed_store_is_unavailable(database: &TestDatabase) {
    let store = database.open().await;
    store.close().await;
    let refused = store.load().await.unwrap_err();
    assert!(
        matches!(refused, store::StoreError::Unavailable { .. }),
        "{refused:?}"
    );
}
