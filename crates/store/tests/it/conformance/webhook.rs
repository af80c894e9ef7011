//! Webhooks and their positions.

use model::change::{Changes, Revision};
use store::Store;

use crate::sample;
use crate::test_database::TestDatabase;

async fn put(store: &Store, at: u64, changes: Changes) {
    store.commit(Revision(at), &changes).await.unwrap();
}

fn events(numbers: std::ops::Range<u64>) -> Changes {
    Changes {
        events: numbers.map(|n| sample::event(1, n)).collect(),
        ..Changes::default()
    }
}

fn webhook(n: u32) -> Changes {
    Changes {
        webhooks: vec![sample::webhook(n)],
        ..Changes::default()
    }
}

pub async fn a_webhook_begins_after_the_existing_events(database: &TestDatabase) {
    let store = database.open().await;
    put(&store, 0, webhook(1)).await;
    put(&store, 1, events(0..3)).await;
    put(&store, 2, webhook(2)).await;
    put(&store, 3, events(3..5)).await;
    for (id, n_new) in [("hook1", 5), ("hook2", 2)] {
        let from = store.delivered(id).await.unwrap().unwrap();
        let new = store.events_after(from, 100).await.unwrap();
        assert_eq!(new.len(), n_new, "{id}");
    }
    assert_eq!(store.delivered("unknown").await.unwrap(), None);
}

pub async fn a_position_moves_only_forward_and_survives_changes_of_its_webhook(
    database: &TestDatabase,
) {
    let store = database.open().await;
    put(&store, 0, webhook(1)).await;
    put(&store, 1, events(0..5)).await;
    for (save, shows) in [(3, 3), (2, 3), (4, 4)] {
        store.save_delivered("hook1", save).await.unwrap();
        assert_eq!(store.delivered("hook1").await.unwrap(), Some(shows));
    }
    put(&store, 2, webhook(1)).await;
    store.close().await;
    let store = database.open().await;
    assert_eq!(store.delivered("hook1").await.unwrap(), Some(4));

    let gone = Changes {
        webhooks_gone: vec!["hook1".into()],
        ..Changes::default()
    };
    put(&store, 3, gone).await;
    store.save_delivered("hook1", 9).await.unwrap();
    assert_eq!(store.delivered("hook1").await.unwrap(), None);
    put(&store, 4, webhook(1)).await;
    let ids = store.events_after(0, 100).await.unwrap();
    let last = ids.last().map(|stored| stored.id);
    assert_eq!(store.delivered("hook1").await.unwrap(), last);
}
