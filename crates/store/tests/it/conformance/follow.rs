//! How replicas follow.

use model::change::{Changes, DefinitionId, Revision};
use model::{Code, UnixMillis};
use store::StoreError;
use testing::Random;

use super::commit::all_gone;
use crate::follower_state::FollowerState;
use crate::random::random_changes;
use crate::sample;
use crate::test_database::TestDatabase;

pub async fn a_follower_gets_exactly_the_new_changes(database: &TestDatabase) {
    let store = database.open().await;
    let mut all = sample::everything();
    all.events = vec![sample::event(1, 1)];
    store.commit(Revision(0), &all).await.unwrap();
    assert_eq!(
        store.changes_since(Revision(0)).await.unwrap(),
        (Revision(1), all)
    );

    store.commit(Revision(1), &all_gone()).await.unwrap();
    let (head, changes) = store.changes_since(Revision(1)).await.unwrap();
    assert_eq!((head, changes), (Revision(2), all_gone()));
}

pub async fn a_follower_at_the_head_gets_nothing(database: &TestDatabase) {
    let store = database.open().await;
    store
        .commit(Revision(0), &sample::everything())
        .await
        .unwrap();
    let nothing = (Revision(1), Changes::default());
    assert_eq!(store.changes_since(Revision(1)).await.unwrap(), nothing);
}

pub async fn a_follower_ahead_of_the_store_must_load_again(database: &TestDatabase) {
    let store = database.open().await;
    let refused = store.changes_since(Revision(5)).await.unwrap_err();
    assert!(
        matches!(refused, StoreError::TooOld { since: Revision(5) }),
        "{refused:?}"
    );
}

pub async fn an_outcome_of_an_earlier_target_is_followed(database: &TestDatabase) {
    let store = database.open().await;
    store
        .commit(Revision(0), &sample::asked(1, 3))
        .await
        .unwrap();
    let ended = sample::ended(1, 1..3, Code::OK);
    store.commit(Revision(1), &ended).await.unwrap();
    assert_eq!(store.changes_since(Revision(1)).await.unwrap().1, ended);
}

pub async fn a_repeated_event_is_not_followed(database: &TestDatabase) {
    let store = database.open().await;
    let first = Changes {
        events: vec![sample::event(1, 1), sample::event(1, 2)],
        ..Changes::default()
    };
    let mut again = first.clone();
    again.events[0].event.reason = "another".into();
    again.events.push(sample::event(1, 3));
    store.commit(Revision(0), &first).await.unwrap();
    store.commit(Revision(1), &again).await.unwrap();
    let (_, news) = store.changes_since(Revision(1)).await.unwrap();
    assert_eq!(news.events, [sample::event(1, 3)]);
    let (_, all) = store.changes_since(Revision(0)).await.unwrap();
    assert_eq!(all.events[..2], first.events);
}

pub async fn a_row_that_is_written_and_deleted_later_is_gone(database: &TestDatabase) {
    let store = database.open().await;
    let rows = Changes {
        processes: vec![sample::process(1), sample::process(2)],
        apps: vec![sample::app(1)],
        ..Changes::default()
    };
    let gone = Changes {
        processes_gone: vec![sample::process(1).id],
        apps_gone: vec![sample::app(1).code],
        ..Changes::default()
    };
    for (n, changes) in [&rows, &gone, &rows, &gone].into_iter().enumerate() {
        store.commit(Revision(n as u64), changes).await.unwrap();
    }
    let (_, news) = store.changes_since(Revision(0)).await.unwrap();
    let expected = Changes {
        processes: vec![sample::process(2)],
        ..gone
    };
    assert_eq!(news, expected);
}

pub async fn a_commit_larger_than_a_part_of_the_log_is_followed(database: &TestDatabase) {
    let store = database.open().await;
    let changes = Changes {
        hosts: (0..60_000).map(sample::host).collect(),
        events: (0..3000).map(|n| sample::event(n, 1)).collect(),
        ..Changes::default()
    };
    store.commit(Revision(0), &changes).await.unwrap();
    store
        .commit(Revision(1), &sample::asked(1, 3))
        .await
        .unwrap();
    assert!(store.changes_since(Revision(0)).await.unwrap().1.hosts == changes.hosts);
    assert_eq!(store.events_of(Revision(1)).await.unwrap().len(), 3000);
    assert_eq!(store.events_of(Revision(2)).await.unwrap(), []);
}

pub async fn a_reader_sees_one_state_while_others_commit(database: &TestDatabase) {
    let (writer, reader) = (database.open().await, database.open().await);
    let at = |moment: i64| Changes {
        definitions: vec![sample::definition(moment as u32)],
        processes: Vec::from_iter((0..200).map(|n| {
            let mut process = sample::process(n);
            process.registered_at = UnixMillis(moment);
            process.definition = DefinitionId(moment as u32);
            process
        })),
        ..Changes::default()
    };
    writer.commit(Revision(0), &at(1)).await.unwrap();
    let writing = tokio::spawn(async move {
        for n in 1..100 {
            writer.commit(Revision(n), &at(n as i64 + 1)).await.unwrap();
        }
    });
    let mut n_looks = 0;
    while !writing.is_finished() || n_looks == 0 {
        let loaded = reader.load().await.unwrap();
        check_one_state(&loaded.changes, loaded.revision);
        let since = Revision(loaded.revision.0 - 1);
        let (head, changes) = reader.changes_since(since).await.unwrap();
        check_one_state(&changes, head);
        n_looks += 1;
    }
    writing.await.unwrap();
}

fn check_one_state(changes: &Changes, revision: Revision) {
    let moments = changes
        .processes
        .iter()
        .map(|row| row.registered_at.0 as u64);
    assert_eq!(Vec::from_iter(moments), vec![revision.0; 200]);
    let newest = changes.definitions.iter().map(|row| row.id.0).max();
    assert_eq!(newest, Some(revision.0 as u32));
}

pub async fn changes_folded_onto_an_earlier_load_equal_a_fresh_load(database: &TestDatabase) {
    let store = database.open().await;
    let mut random = Random::new(0x5eed);
    let mut expected = FollowerState::default();
    let mut earlier = vec![(Revision(0), FollowerState::default())];
    for n in 0..150 {
        let changes = random_changes(&mut random, n as u32);
        let revision = store.commit(Revision(n), &changes).await.unwrap();
        let changes = with_targets_only(&store, changes).await;
        expected.fold(&with_all_tasks(&store, changes).await);

        let loaded = store.load().await.unwrap();
        assert_eq!(loaded.revision, revision);
        let fresh = FollowerState::of(&loaded.changes);
        assert!(
            fresh == expected,
            "after {revision}: {fresh:#?}\n{expected:#?}"
        );

        let (since, state) = &earlier[random.below(earlier.len() as u32) as usize];
        let mut folded = state.clone();
        let (head, changes) = store.changes_since(*since).await.unwrap();
        folded.fold(&changes);
        assert_eq!(head, revision);
        assert!(
            folded == fresh,
            "from {since}: {folded:#?}
{fresh:#?}"
        );
        earlier.push((revision, fresh));
    }
}

/// Without the outcomes that the store drops because they have no target.
async fn with_targets_only(store: &store::Store, mut changes: Changes) -> Changes {
    let mut known = Vec::new();
    for row in &changes.outcomes {
        let task = store.task(row.op_id.task).await.unwrap();
        let mut ids = task
            .iter()
            .flat_map(|task| &task.targets)
            .map(|(target, _)| target.op_id);
        if ids.any(|id| id == row.op_id) {
            known.push(row.clone());
        }
    }
    changes.outcomes = known;
    changes
}

/// With all tasks of reopened jobs, which the expected state has dropped.
async fn with_all_tasks(store: &store::Store, mut changes: Changes) -> Changes {
    for row in changes.jobs.iter().filter(|row| !row.status.is_over()) {
        let job = store.job(row.id).await.unwrap().unwrap();
        if job.job == *row {
            changes.job_tasks.extend(job.tasks);
        }
    }
    changes
}
