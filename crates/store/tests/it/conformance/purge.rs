//! Deleting old rows, and telling followers that need them.

use model::change::{Changes, Revision};
use model::{Code, UnixMillis};
use store::StoreError;

use super::commit::all_gone;
use crate::picture::Picture;
use crate::place::Place;
use crate::some;

pub async fn old_tasks_go_when_all_their_targets_have_ended(place: &Place) {
    let store = place.open().await;
    let steps = [
        some::asked(1, 3),
        some::asked(2, 3),
        some::asked(3, 3),
        some::asked(4, 0),
        some::ended(1, 0..3, Code::OK),
        some::ended(2, 0..2, Code::OK),
        some::ended(3, 0..3, Code::OK),
    ];
    for (n, changes) in (0..).zip(&steps) {
        store.commit(Revision(n), changes).await.unwrap();
    }
    store.purge(some::moment(3), Revision(0)).await.unwrap();
    let left = store.tasks(10, None).await.unwrap();
    let left = Vec::from_iter(left.into_iter().map(|task| task.task));
    assert_eq!(left, [some::task(4), some::task(3), some::task(2)]);
    assert_eq!(store.task(some::task_id(1)).await.unwrap(), None);
    let (_, changes) = store.changes_since(Revision(0)).await.unwrap();
    let loaded = store.load().await.unwrap().changes;
    assert_eq!(Picture::of(&changes), Picture::of(&loaded));
}

pub async fn any_number_of_old_tasks_goes_at_once(place: &Place) {
    let store = place.open().await;
    let tasks = Changes {
        tasks: (0..2500).map(some::task).collect(),
        ..Changes::default()
    };
    store.commit(Revision(0), &tasks).await.unwrap();
    store.purge(some::moment(2400), Revision(0)).await.unwrap();
    assert_eq!(store.tasks(5000, None).await.unwrap().len(), 100);
}

pub async fn purged_log_entries_make_earlier_followers_load_again(place: &Place) {
    let store = place.open().await;
    store
        .commit(Revision(0), &some::everything())
        .await
        .unwrap();
    store.commit(Revision(1), &all_gone()).await.unwrap();
    let later = Changes {
        processes: vec![some::process(1)],
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

pub async fn later_log_entries_stay(place: &Place) {
    let store = place.open().await;
    store
        .commit(Revision(0), &some::everything())
        .await
        .unwrap();
    store.commit(Revision(1), &all_gone()).await.unwrap();
    store.purge(UnixMillis::NEVER, Revision(1)).await.unwrap();
    let (_, changes) = store.changes_since(Revision(1)).await.unwrap();
    assert_eq!(changes, all_gone());
}

pub async fn a_purge_never_goes_beyond_the_head_nor_back(place: &Place) {
    let store = place.open().await;
    store
        .commit(Revision(0), &some::everything())
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

pub async fn expired_logins_go_and_events_stay(place: &Place) {
    let store = place.open().await;
    let changes = Changes {
        logins: (0..4).map(some::login).collect(),
        events: (0..4).map(|n| some::event(n, 1)).collect(),
        ..Changes::default()
    };
    store.commit(Revision(0), &changes).await.unwrap();
    store.purge(some::moment(2), Revision(0)).await.unwrap();
    let left = store.load().await.unwrap().changes;
    assert_eq!(left.logins, [some::login(2), some::login(3)]);
    assert_eq!(store.events_after(0, 9).await.unwrap().len(), 4);
}
