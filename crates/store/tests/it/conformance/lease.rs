//! Leases.

use std::time::Duration;

use crate::test_database::TestDatabase;

const LONG: Duration = Duration::from_secs(3600);
const OVER_AT_ONCE: Duration = Duration::ZERO;

pub async fn one_replica_at_a_time_holds_a_lease(database: &TestDatabase) {
    let (one, other) = (database.open().await, database.open().await);
    assert!(one.take_lease("work", 1, LONG).await.unwrap());
    assert!(!other.take_lease("work", u64::MAX, LONG).await.unwrap());
    assert!(one.take_lease("work", 1, LONG).await.unwrap());
    assert!(
        other
            .take_lease("other work", u64::MAX, LONG)
            .await
            .unwrap()
    );
    assert!(!one.take_lease("other work", 1, LONG).await.unwrap());
}

pub async fn an_expired_or_released_lease_can_be_taken(database: &TestDatabase) {
    let store = database.open().await;
    assert!(store.take_lease("work", 1, OVER_AT_ONCE).await.unwrap());
    assert!(store.take_lease("work", 2, LONG).await.unwrap());
    assert!(!store.take_lease("work", 1, LONG).await.unwrap());
    store.release_lease("work", 1).await.unwrap();
    assert!(!store.take_lease("work", 1, LONG).await.unwrap());
    store.release_lease("work", 2).await.unwrap();
    assert!(store.take_lease("work", 1, Duration::MAX).await.unwrap());
    assert!(!store.take_lease("work", 2, LONG).await.unwrap());
}

pub async fn one_of_many_racing_replicas_gets_a_lease(database: &TestDatabase) {
    let (one, other) = (database.open().await, database.open().await);
    let racers = Vec::from_iter((0..8).map(|holder| {
        let store = [&one, &other][holder as usize % 2].clone();
        tokio::spawn(async move { store.take_lease("work", holder, LONG).await.unwrap() })
    }));
    let mut n_holders = 0;
    for racer in racers {
        n_holders += usize::from(racer.await.unwrap());
    }
    assert_eq!(n_holders, 1);
}
