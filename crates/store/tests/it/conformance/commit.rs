//! All or nothing, in order, without gaps.

use std::time::Duration;

use model::change::{Changes, ProcessId, Revision};
use model::config_template::{ConfigFileRow, TemplateChanges};
use model::topology::TopologyChanges;
use store::{AuditPage, Store, StoreError};

use crate::follower_state::FollowerState;
use crate::sample;
use crate::test_database::TestDatabase;

pub async fn each_commit_takes_the_next_revision(database: &TestDatabase) {
    let store = database.open().await;
    for n in 0..3 {
        let revision = store
            .commit(Revision(n), &Changes::default())
            .await
            .unwrap();
        assert_eq!(revision, Revision(n + 1));
        assert_eq!(store.head().await.unwrap(), revision);
    }
}

pub async fn a_commit_planned_against_another_revision_writes_nothing(database: &TestDatabase) {
    let store = database.open().await;
    store
        .commit(Revision(0), &sample::everything())
        .await
        .unwrap();
    let before = store.load().await.unwrap();
    for planned_at in [0, 2] {
        let mut changes = sample::asked(7, 3);
        changes.processes = vec![sample::process(99)];
        changes.audit = vec![sample::audit(1)];
        let refused = store
            .commit(Revision(planned_at), &changes)
            .await
            .unwrap_err();
        let StoreError::Moved { head } = refused else {
            panic!("{refused:?}");
        };
        assert_eq!(head, Revision(1));
    }
    assert_eq!(store.load().await.unwrap(), before);
    assert_eq!(audit_of(&store).await, []);
    assert_eq!(store.task(sample::task_id(7)).await.unwrap(), None);
}

async fn audit_of(store: &Store) -> Vec<store::AuditRow> {
    let page = AuditPage {
        limit: 10,
        ..AuditPage::default()
    };
    store.audit(&page).await.unwrap()
}

pub async fn writing_everything_twice_changes_nothing(database: &TestDatabase) {
    let store = database.open().await;
    store
        .commit(Revision(0), &sample::everything())
        .await
        .unwrap();
    store
        .commit(Revision(1), &sample::everything())
        .await
        .unwrap();
    assert_eq!(store.load().await.unwrap().changes, sample::everything());
}

pub async fn of_two_rows_with_one_key_the_later_counts(database: &TestDatabase) {
    let store = database.open().await;
    let mut later = sample::process(5);
    later.host = model::change::HostId(77);
    let changes = Changes {
        processes: vec![sample::process(5), sample::process(4), later],
        ..Changes::default()
    };
    store.commit(Revision(0), &changes).await.unwrap();
    let loaded = store.load().await.unwrap().changes;
    assert_eq!(loaded.processes, [sample::process(4), later]);
}

pub async fn deleted_rows_are_not_loaded(database: &TestDatabase) {
    let store = database.open().await;
    store
        .commit(Revision(0), &sample::everything())
        .await
        .unwrap();
    store.commit(Revision(1), &all_gone()).await.unwrap();
    let mut left = sample::everything();
    left.definitions.clear();
    left.processes.clear();
    left.groups.clear();
    left.apps.clear();
    left.users.clear();
    left.logins.clear();
    left.join_tokens.clear();
    left.webhooks.clear();
    left.topology = TopologyChanges {
        clouds: left.topology.clouds,
        ..TopologyChanges::default()
    };
    left.templates = TemplateChanges::default();
    assert_eq!(store.load().await.unwrap().changes, left);
}

/// Everything of [`sample::everything`] that can go.
pub fn all_gone() -> Changes {
    let all = sample::everything();
    Changes {
        definitions_gone: all.definitions.iter().map(|row| row.id).collect(),
        processes_gone: all.processes.iter().map(|row| row.id).collect(),
        groups: vec![sample::groups(1, 0)],
        apps_gone: all.apps.into_iter().map(|row| row.code).collect(),
        users_gone: all.users.into_iter().map(|row| row.name).collect(),
        logins_gone: all.logins.iter().map(|row| row.token_sha256).collect(),
        join_tokens_gone: all.join_tokens.into_iter().map(|row| row.id).collect(),
        webhooks_gone: all.webhooks.into_iter().map(|row| row.id).collect(),
        topology: topology_gone(&all.topology),
        templates: templates_gone(&all.templates),
        ..Changes::default()
    }
}

fn topology_gone(all: &TopologyChanges) -> TopologyChanges {
    TopologyChanges {
        businesses_gone: all.businesses.iter().map(|row| row.id).collect(),
        sets_gone: all.sets.iter().map(|row| row.id).collect(),
        modules_gone: all.modules.iter().map(|row| row.id).collect(),
        machines_gone: all.machines.iter().map(|row| row.id).collect(),
        services_gone: all.services.iter().map(|row| row.id).collect(),
        programs_gone: all.programs.iter().map(|row| row.id).collect(),
        processes_gone: all.processes.iter().map(|row| row.id).collect(),
        ..TopologyChanges::default()
    }
}

fn templates_gone(all: &TemplateChanges) -> TemplateChanges {
    let without_states = |row: &ConfigFileRow| ConfigFileRow {
        generated: None,
        released: None,
        ..row.clone()
    };
    TemplateChanges {
        templates_gone: all.templates.iter().map(|row| row.id).collect(),
        versions_gone: all.versions.iter().map(|row| row.id).collect(),
        files: all.files.iter().map(without_states).collect(),
        ..TemplateChanges::default()
    }
}

pub async fn an_id_is_reused_after_its_deletion(database: &TestDatabase) {
    let store = database.open().await;
    store
        .commit(Revision(0), &sample::everything())
        .await
        .unwrap();
    store.commit(Revision(1), &all_gone()).await.unwrap();
    store
        .commit(Revision(2), &sample::everything())
        .await
        .unwrap();
    assert_eq!(store.load().await.unwrap().changes, sample::everything());
    let (_, changes) = store.changes_since(Revision(1)).await.unwrap();
    assert_eq!(
        changes.processes.len(),
        sample::everything().processes.len()
    );
    assert_eq!(changes.processes_gone, []);
}

pub async fn an_id_deleted_and_written_in_one_commit_exists(database: &TestDatabase) {
    let store = database.open().await;
    store
        .commit(Revision(0), &sample::everything())
        .await
        .unwrap();
    let changes = Changes {
        processes_gone: vec![ProcessId(3)],
        processes: vec![sample::process(3)],
        apps_gone: vec![sample::app(1).code],
        apps: vec![sample::app(1)],
        ..Changes::default()
    };
    store.commit(Revision(1), &changes).await.unwrap();
    assert_eq!(store.load().await.unwrap().changes, sample::everything());
}

pub async fn any_number_of_rows_is_written(database: &TestDatabase) {
    let store = database.open().await;
    let mut revision = Revision(0);
    let mut n_rows = 0;
    for size in [1, 2, 3, 5, 63, 255, 257, 1023, 1024, 1025, 3333] {
        let changes = Changes {
            processes: (n_rows..n_rows + size).map(sample::process).collect(),
            ..Changes::default()
        };
        revision = store.commit(revision, &changes).await.unwrap();
        n_rows += size;
    }
    let loaded = FollowerState::of(&store.load().await.unwrap().changes);
    assert_eq!(loaded.process_ids(), Vec::from_iter(0..n_rows));
    let gone = Changes {
        processes_gone: (0..n_rows - 1).map(ProcessId).collect(),
        ..Changes::default()
    };
    store.commit(revision, &gone).await.unwrap();
    let left = store.load().await.unwrap().changes;
    assert_eq!(left.processes, [sample::process(n_rows - 1)]);
}

pub async fn the_largest_ids_are_stored(database: &TestDatabase) {
    let store = database.open().await;
    let changes = Changes {
        hosts: vec![sample::host(u32::MAX)],
        events: vec![sample::event(u32::MAX, u64::MAX)],
        ..Changes::default()
    };
    store.commit(Revision(0), &changes).await.unwrap();
    assert_eq!(store.changes_since(Revision(0)).await.unwrap().1, changes);
}

pub async fn committers_that_race_leave_no_gap(database: &TestDatabase) {
    let (one, other) = (database.open().await, database.open().await);
    let committers = (0..8).map(|n| {
        let store = [&one, &other][n as usize % 2].clone();
        tokio::spawn(commit_ten(store, n))
    });
    let mut revisions = Vec::new();
    for committer in Vec::from_iter(committers) {
        revisions.extend(committer.await.unwrap());
    }
    revisions.sort();
    assert_eq!(revisions, Vec::from_iter((1..=80).map(Revision)));
    let loaded = FollowerState::of(&one.load().await.unwrap().changes);
    assert_eq!(loaded.process_ids(), Vec::from_iter(0..80));
}

/// Commits ten processes of its own, and plans again whenever another replica was first.
async fn commit_ten(store: Store, n: u32) -> Vec<Revision> {
    let mut head = Revision(0);
    let mut revisions = Vec::new();
    for id in n * 10..n * 10 + 10 {
        let changes = Changes {
            processes: vec![sample::process(id)],
            ..Changes::default()
        };
        head = loop {
            match store.commit(head, &changes).await {
                Ok(revision) => break revision,
                Err(StoreError::Moved { head: moved }) => head = moved,
                Err(e) => panic!("{e:?}"),
            }
        };
        revisions.push(head);
    }
    revisions
}

pub async fn a_commit_that_is_abandoned_half_way_is_whole_or_absent(database: &TestDatabase) {
    let store = database.open().await;
    for n in 0..40 {
        let head = store.head().await.unwrap();
        let changes = Changes {
            processes: (0..5000).map(sample::process).collect(),
            names: vec![sample::name(n)],
            ..Changes::default()
        };
        let patience = Duration::from_micros(u64::from(n) * 300);
        let _ = tokio::time::timeout(patience, store.commit(head, &changes)).await;
    }
    // A commit under way ends before the next one begins.
    let head = loop {
        let head = store.head().await.unwrap();
        match store.commit(head, &Changes::default()).await {
            Ok(head) => break head,
            Err(StoreError::Moved { .. }) => {}
            Err(other) => panic!("{other:?}"),
        }
    };
    for revision in 0..head.0 {
        store.changes_since(Revision(revision)).await.unwrap();
    }
    let loaded = store.load().await.unwrap().changes;
    assert!(matches!(loaded.processes.len(), 0 | 5000));
    // Each commit wrote one name, except the last one.
    assert_eq!(loaded.names.len() as u64, head.0 - 1);
}

pub async fn a_turn_reads_what_was_committed_before_it_and_commits_next(database: &TestDatabase) {
    let (one, other) = (database.open().await, database.open().await);
    let changes = Changes {
        processes: vec![sample::process(7)],
        ..Changes::default()
    };
    other.commit(Revision(0), &changes).await.unwrap();
    let mut turn = one.turn().await.unwrap();
    assert_eq!(turn.planned_at(), Revision(1));
    assert_eq!(turn.changes_since(Revision(0)).await.unwrap(), changes);
    let nothing = turn.changes_since(Revision(1)).await.unwrap();
    assert_eq!(nothing, Changes::default());
    let ahead = turn.changes_since(Revision(2)).await.unwrap_err();
    assert!(matches!(ahead, StoreError::TooOld { since: Revision(2) }));
    let next = Changes {
        processes: vec![sample::process(8)],
        ..Changes::default()
    };
    assert_eq!(turn.commit(&next).await.unwrap(), Revision(2));
    let followed = other.changes_since(Revision(1)).await.unwrap();
    assert_eq!(followed, (Revision(2), next));
}

pub async fn a_turn_that_is_released_or_dropped_commits_nothing(database: &TestDatabase) {
    let store = database.open().await;
    store.turn().await.unwrap().release().await.unwrap();
    drop(store.turn().await.unwrap());
    assert_eq!(store.head().await.unwrap(), Revision(0));
    let revision = store.commit(Revision(0), &Changes::default()).await;
    assert_eq!(revision.unwrap(), Revision(1));
}

pub async fn a_plan_in_its_turn_is_never_in_vain(database: &TestDatabase) {
    let (one, other) = (database.open().await, database.open().await);
    let committers = (0..8).map(|n| {
        let store = [&one, &other][n as usize % 2].clone();
        tokio::spawn(async move {
            let mut known = Revision(0);
            for id in n * 10..n * 10 + 10 {
                let mut turn = store.turn().await.unwrap();
                // Complete, because the head stays where it is.
                let missed = turn.changes_since(known).await.unwrap();
                assert_eq!(missed.processes.len() as u64, turn.planned_at().0 - known.0);
                let changes = Changes {
                    processes: vec![sample::process(id)],
                    ..Changes::default()
                };
                known = turn.commit(&changes).await.unwrap();
            }
        })
    });
    for committer in Vec::from_iter(committers) {
        committer.await.unwrap();
    }
    assert_eq!(one.head().await.unwrap(), Revision(80));
    let loaded = FollowerState::of(&one.load().await.unwrap().changes);
    assert_eq!(loaded.process_ids(), Vec::from_iter(0..80));
}
