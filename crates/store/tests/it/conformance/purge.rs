//! Deleting old rows, and telling followers that need them.

use model::change::{Changes, Revision};
use model::{Code, UnixMillis};
use store::StoreError;

use super::commit::all_gone;
use crate::follower_state::FollowerState;
use crate::sample;
use crate::test_database::TestDatabase;

pub async fn old_tasks_are_purged_when_all_their_targets_have_ended(database: &TestDatabase) {
    let store = database.open().await;
    let steps = [
        sample::asked(1, 3),
        sample::asked(2, 3),
        sample::asked(3, 3),
        sample::asked(4, 0),
        sample::ended(1, 0..3, Code::OK),
        sample::ended(2, 0..2, Code::OK),
        sample::ended(3, 0..3, Code::OK),
    ];
    for (n, changes) in (0..).zip(&steps) {
        store.commit(Revision(n), changes).await.unwrap();
    }
    store.purge(sample::moment(3), Revision(0)).await.unwrap();
    let left = store.tasks(&sample::task_page(10)).await.unwrap();
    let left = Vec::from_iter(left.into_iter().map(|task| task.task));
    assert_eq!(left, [sample::task(4), sample::task(3), sample::task(2)]);
    assert_eq!(store.task(sample::task_id(1)).await.unwrap(), None);
    let (_, changes) = store.changes_since(Revision(0)).await.unwrap();
    let loaded = store.load().await.unwrap().changes;
    assert_eq!(FollowerState::of(&changes), FollowerState::of(&loaded));
}

pub async fn any_number_of_old_tasks_is_purged(database: &TestDatabase) {
    let store = database.open().await;
    let tasks = Changes {
        tasks: (0..2500).map(sample::task).collect(),
        ..Changes::default()
    };
    store.commit(Revision(0), &tasks).await.unwrap();
    store
        .purge(sample::moment(2400), Revision(0))
        .await
        .unwrap();
    assert_eq!(
        store.tasks(&sample::task_page(5000)).await.unwrap().len(),
        100
    );
}

pub async fn purged_log_entries_make_earlier_followers_load_again(database: &TestDatabase) {
    let store = database.open().await;
    store
        .commit(Revision(0), &sample::everything())
        .await
        .unwrap();
    store.commit(Revision(1), &all_gone()).await.unwrap();
    let later = Changes {
        processes: vec![sample::process(1)],
        ..Changes::default()
    };
    store.commit(Revision(2), &later).await.unwrap();
    let before = store.load().await.unwrap();

    store.purge(UnixMillis::NEVER, Revision(2)).await.unwrap();
    assert_eq!(store.load().await.unwrap(), before);
    assert_eq!(
        store.changes_since(Revision(2)).await.unwrap(),
        (Revision(3), later)
    );
    for since in [0, 1] {
        let refused = store.changes_since(Revision(since)).await.unwrap_err();
        assert!(matches!(refused, StoreError::TooOld { .. }), "{refused:?}");
    }
}

pub async fn later_log_entries_stay(database: &TestDatabase) {
    let store = database.open().await;
    store
        .commit(Revision(0), &sample::everything())
        .await
        .unwrap();
    store.commit(Revision(1), &all_gone()).await.unwrap();
    store.purge(UnixMillis::NEVER, Revision(1)).await.unwrap();
    let (_, changes) = store.changes_since(Revision(1)).await.unwrap();
    assert_eq!(changes, all_gone());
}

pub async fn a_purge_never_goes_beyond_the_head_nor_back(database: &TestDatabase) {
    let store = database.open().await;
    store
        .commit(Revision(0), &sample::everything())
        .await
        .unwrap();
    store
        .purge(UnixMillis::NEVER, Revision(u64::MAX >> 1))
        .await
        .unwrap();
    store.purge(UnixMillis::NEVER, Revision(0)).await.unwrap();
    store.commit(Revision(1), &all_gone()).await.unwrap();
    assert_eq!(
        store.changes_since(Revision(1)).await.unwrap().1,
        all_gone()
    );
    let refused = store.changes_since(Revision(0)).await.unwrap_err();
    assert!(matches!(refused, StoreError::TooOld { .. }), "{refused:?}");
}

pub async fn expired_logins_are_purged_and_events_stay(database: &TestDatabase) {
    let store = database.open().await;
    let changes = Changes {
        logins: (0..4).map(sample::login).collect(),
        events: (0..4).map(|n| sample::event(n, 1)).collect(),
        ..Changes::default()
    };
    store.commit(Revision(0), &changes).await.unwrap();
    store.purge(sample::moment(2), Revision(0)).await.unwrap();
    let left = store.load().await.unwrap().changes;
    assert_eq!(left.logins, [sample::login(2), sample::login(3)]);
    assert_eq!(store.events_after(0, 9).await.unwrap().len(), 4);
}
