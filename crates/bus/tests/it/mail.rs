//! The conformance tests by mail alone, and what is special about mail.

use std::time::Duration;

use bus::{Bus, BusError, Message, Received, ReplicaId};

use crate::conformance::{committed, conformance_tests, meet, respond};
use crate::memory_mailbox::MemoryMailboxes;

/// Longer than a replica may be silent before it counts as gone.
const LONG: Duration = Duration::from_secs(11);

async fn replicas() -> (MemoryMailboxes, [Bus; 3]) {
    let mailboxes = MemoryMailboxes::default();
    let replicas = [1, 2, 3].map(ReplicaId);
    let replicas = replicas.map(|replica| Bus::mailbox(mailboxes.mailbox(replica), replica));
    meet(&replicas).await;
    tokio::time::sleep(LONG).await;
    (mailboxes, replicas)
}

conformance_tests!(in simulated time, replicas().await);

#[tokio::test(start_paused = true)]
async fn a_message_takes_a_second_at_most() {
    let (_mailboxes, [one, two, _]) = replicas().await;
    let mut subscription = two.subscribe();
    respond(&two, "");
    let begun = tokio::time::Instant::now();
    one.publish(committed(1));
    let expected = Received::Message(one.replica(), committed(1));
    assert_eq!(subscription.recv().await, expected);
    assert!(begun.elapsed() <= Duration::from_secs(1));
    assert_eq!(one.request(two.replica(), vec![]).await, Ok(vec![]));
    assert!(begun.elapsed() <= Duration::from_secs(3));
}

#[tokio::test(start_paused = true)]
async fn a_failing_mailbox_loses_messages_and_reports_lag() {
    let (mailboxes, [one, two, _]) = replicas().await;
    let mut subscription = two.subscribe();
    assert!(one.is_up());
    mailboxes.close();
    one.publish(committed(1));
    let replica = two.replica();
    let answer = one.request(replica, vec![]).await;
    assert_eq!(answer, Err(BusError::TimedOut { replica }));
    assert!(!one.is_up());
    assert!(one.n_dropped() > 0);
    mailboxes.open();
    one.publish(committed(2));
    assert_eq!(subscription.recv().await, Received::Lagged);
    let expected = Received::Message(one.replica(), committed(2));
    assert_eq!(subscription.recv().await, expected);
    assert!(one.is_up());
}

#[tokio::test(start_paused = true)]
async fn requests_to_a_dead_replica_fail_at_once_after_a_while() {
    let (_mailboxes, [one, two, three]) = replicas().await;
    let replica = two.replica();
    drop(two);
    let answer = one.request(replica, vec![]).await;
    assert_eq!(answer, Err(BusError::TimedOut { replica }));
    tokio::time::sleep(LONG).await;
    let answer = one.request(replica, vec![]).await;
    assert_eq!(answer, Err(BusError::NoResponder { replica }));
    respond(&three, "");
    assert_eq!(one.request(three.replica(), vec![]).await, Ok(vec![]));
}

#[tokio::test(start_paused = true)]
async fn messages_that_cannot_be_decoded_are_ignored() {
    let (mailboxes, [one, two, _]) = replicas().await;
    let mut subscription = two.subscribe();
    let unknown = mailboxes.mailbox(ReplicaId(4));
    let noise = vec![vec![], vec![255; 9], b"hello".to_vec()];
    unknown.send(noise).await.unwrap();
    one.publish(Message::Soft(vec![1].into()));
    let expected = Received::Message(one.replica(), Message::Soft(vec![1].into()));
    assert_eq!(subscription.recv().await, expected);
}
