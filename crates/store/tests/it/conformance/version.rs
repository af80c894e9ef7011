//! Versions of processes: numbered with the commit that asked for them, read newest first, the oldest forgotten.

use std::sync::Arc;

use model::change::{Changes, NameId, Revision};
use model::digest::definition_hash;
use model::job::JobId;
use model::version::{KEPT_VERSIONS, VersionOrigin, VersionRow, VersionSource};
use store::{Store, StoredVersion};

use crate::sample;
use crate::test_database::TestDatabase;

/// A version of process `name` with definition `content`.
fn version(name: u32, content: u32) -> VersionRow {
    VersionRow {
        name: NameId(name),
        spec: Arc::new(sample::spec(content)),
        labels: Arc::new(sample::labels(content)),
        at: sample::moment(content),
        origin: VersionOrigin {
            job: (content % 2 == 1).then_some(JobId(content)),
            restores: (content % 3 == 1).then_some(content),
            ..VersionOrigin::new(
                VersionSource::ALL[content as usize % VersionSource::ALL.len()],
                "app",
                "ann",
            )
        },
    }
}

async fn commit(store: &Store, changes: Changes) {
    let head = store.head().await.unwrap();
    store.commit(head, &changes).await.unwrap();
}

async fn write(store: &Store, versions: Vec<VersionRow>) {
    let changes = Changes {
        versions,
        ..Changes::default()
    };
    commit(store, changes).await;
}

async fn numbers(store: &Store, name: u32) -> Vec<u32> {
    let stored: Vec<StoredVersion> = store.versions(NameId(name)).await.unwrap();
    stored.iter().map(|version| version.number).collect()
}

pub async fn versions_are_numbered_and_read_newest_first(database: &TestDatabase) {
    let store = database.open().await;
    // A name that the same commit creates, and one from before.
    let changes = Changes {
        names: vec![sample::name(1)],
        versions: vec![version(1, 7), version(2, 7)],
        ..Changes::default()
    };
    commit(&store, changes).await;
    write(&store, vec![version(1, 8), version(1, 9)]).await;
    let stored = store.versions(NameId(1)).await.unwrap();
    let expected = [(3, 9), (2, 8), (1, 7)];
    for (stored, (number, content)) in stored.iter().zip(expected) {
        let row = version(1, content);
        let labels = serde_json::to_string(&*row.labels).unwrap();
        let hash = definition_hash(&row.spec.to_json(), &labels);
        assert_eq!(*stored, StoredVersion { number, hash, row });
    }
    assert_eq!(stored.len(), expected.len());
    let hashes = store.version_hashes(NameId(1)).await.unwrap();
    let full = stored.iter().map(|version| (version.number, version.hash));
    assert_eq!(hashes, full.collect::<Vec<_>>());
    assert_eq!(numbers(&store, 2).await, [1]);
    assert_eq!(numbers(&store, 3).await, [0; 0]);
    store.close().await;
    assert_eq!(numbers(&database.open().await, 1).await, [3, 2, 1]);
}

pub async fn the_newest_version_again_adds_none(database: &TestDatabase) {
    let store = database.open().await;
    write(&store, vec![version(1, 5), version(1, 5)]).await;
    write(&store, vec![version(1, 5)]).await;
    assert_eq!(numbers(&store, 1).await, [1]);
    // An earlier one again is a version.
    write(&store, vec![version(1, 6), version(1, 5)]).await;
    assert_eq!(numbers(&store, 1).await, [3, 2, 1]);
}

pub async fn the_oldest_versions_are_forgotten_and_their_numbers_not_reused(
    database: &TestDatabase,
) {
    let store = database.open().await;
    write(&store, (1..=40).map(|n| version(1, n)).collect()).await;
    write(&store, (41..=60).map(|n| version(1, n)).collect()).await;
    let kept: Vec<u32> = (60 - KEPT_VERSIONS + 1..=60).rev().collect();
    assert_eq!(numbers(&store, 1).await, kept);
    write(&store, vec![version(1, 1)]).await;
    assert_eq!(numbers(&store, 1).await[0], 61);
}

pub async fn a_follower_gets_no_versions(database: &TestDatabase) {
    let store = database.open().await;
    let changes = Changes {
        names: vec![sample::name(1)],
        versions: vec![version(1, 1)],
        ..Changes::default()
    };
    commit(&store, changes.clone()).await;
    let followed = Changes {
        versions: Vec::new(),
        ..changes
    };
    let since = store.changes_since(Revision(0)).await.unwrap();
    assert_eq!(since, (Revision(1), followed));
}
