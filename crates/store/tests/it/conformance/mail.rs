//! Mail between replicas.

use std::time::Duration;

use store::Store;

use crate::test_database::TestDatabase;

pub async fn mail_is_read_by_all_but_its_sender_in_order(database: &TestDatabase) {
    let (one, other) = (database.open().await, database.open().await);
    assert_eq!(one.last_mail().await.unwrap(), 0);
    let bodies = [b"a".to_vec(), Vec::new(), vec![0, 255]];
    one.send_mail(1, &bodies).await.unwrap();
    other.send_mail(u64::MAX, &[b"d".to_vec()]).await.unwrap();
    one.send_mail(1, &[]).await.unwrap();
    assert_eq!(other.last_mail().await.unwrap(), 4);
    let all = other.mail_after(0, 2, 99).await.unwrap();
    let [a, b, c] = bodies;
    let d = (4, u64::MAX, b"d".to_vec());
    assert_eq!(all, [(1, 1, a), (2, 1, b), (3, 1, c), d.clone()]);
    assert_eq!(one.mail_after(0, 1, 99).await.unwrap(), [d]);
    assert_eq!(one.mail_after(1, 2, 2).await.unwrap(), all[1..3]);
    assert_eq!(one.mail_after(4, 2, 99).await.unwrap(), []);
}

pub async fn readers_miss_no_mail_of_racing_senders(database: &TestDatabase) {
    const N_SENDERS: u64 = 4;
    const N_MESSAGES: u64 = 40;
    let store = database.open().await;
    let senders = Vec::from_iter((0..N_SENDERS).map(|sender| {
        let store = store.clone();
        tokio::spawn(async move {
            for n in 0..N_MESSAGES {
                let bodies = vec![vec![0; n as usize]; 1 + n as usize % 3];
                store.send_mail(sender, &bodies).await.unwrap();
            }
        })
    }));
    let per_sender: u64 = (0..N_MESSAGES).map(|n| 1 + n % 3).sum();
    let reading = read_through(&store, N_SENDERS * per_sender);
    let seen = tokio::time::timeout(Duration::from_secs(60), reading);
    let seen = seen.await.expect("no message is missed");
    assert_eq!(seen, Vec::from_iter(1..=N_SENDERS * per_sender));
    for sender in senders {
        sender.await.unwrap();
    }
}

/// Continues after the last message that it read, as a replica does.
async fn read_through(store: &Store, last: u64) -> Vec<u64> {
    let mut seen = Vec::new();
    while seen.last() != Some(&last) {
        let after = seen.last().copied().unwrap_or(0);
        let messages = store.mail_after(after, u64::MAX, 7).await.unwrap();
        seen.extend(messages.into_iter().map(|(id, _, _)| id));
    }
    seen
}

pub async fn old_mail_is_purged_and_its_ids_are_not_reused(database: &TestDatabase) {
    let store = database.open().await;
    store.send_mail(1, &[vec![1], vec![2]]).await.unwrap();
    store.purge_mail(Duration::from_secs(3600)).await.unwrap();
    assert_eq!(store.mail_after(0, 9, 9).await.unwrap().len(), 2);
    // All messages are older than zero from the next millisecond on.
    while !store.mail_after(0, 9, 9).await.unwrap().is_empty() {
        store.purge_mail(Duration::ZERO).await.unwrap();
    }
    store.send_mail(1, &[vec![3]]).await.unwrap();
    assert_eq!(store.mail_after(0, 9, 9).await.unwrap(), [(3, 1, vec![3])]);
}
