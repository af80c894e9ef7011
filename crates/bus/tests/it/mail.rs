//! Replicas that have only mail keep every promise, a little later.

use std::time::Duration;

use bus::{Bus, BusError, Message, Received, ReplicaId};

use crate::conformance::{committed, keeps_every_promise, meet, respond};
use crate::post_office::PostOffice;

/// Longer than silence has to last before it means something.
const LONG: Duration = Duration::from_secs(11);

async fn replicas() -> (PostOffice, [Bus; 3]) {
    let office = PostOffice::default();
    let replicas = [1, 2, 3].map(ReplicaId);
    let replicas = replicas.map(|replica| Bus::mailbox(office.mailbox(replica), replica));
    meet(&replicas).await;
    tokio::time::sleep(LONG).await;
    (office, replicas)
}

keeps_every_promise!(in simulated time, replicas().await);

#[tokio::test(start_paused = true)]
async fn a_message_takes_a_second_at_most() {
    let (_office, [one, two, _]) = replicas().await;
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
async fn a_mailbox_that_fails_loses_messages_and_says_so() {
    let (office, [one, two, _]) = replicas().await;
    let mut subscription = two.subscribe();
    assert!(one.is_up());
    office.close();
    one.publish(committed(1));
    let replica = two.replica();
    let answer = one.request(replica, vec![]).await;
    assert_eq!(answer, Err(BusError::TimedOut { replica }));
    assert!(!one.is_up());
    assert!(one.n_dropped() > 0);
    office.open();
    one.publish(committed(2));
    assert_eq!(subscription.recv().await, Received::Lagged);
    let expected = Received::Message(one.replica(), committed(2));
    assert_eq!(subscription.recv().await, expected);
    assert!(one.is_up());
}

#[tokio::test(start_paused = true)]
async fn a_replica_that_died_is_not_there_after_a_while() {
    let (_office, [one, two, three]) = replicas().await;
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
async fn letters_that_make_no_sense_are_ignored() {
    let (office, [one, two, _]) = replicas().await;
    let mut subscription = two.subscribe();
    let stranger = office.mailbox(ReplicaId(4));
    let noise = vec![vec![], vec![255; 9], b"hello".to_vec()];
    stranger.send(noise).await.unwrap();
    one.publish(Message::Soft(vec![1]));
    let expected = Received::Message(one.replica(), Message::Soft(vec![1]));
    assert_eq!(subscription.recv().await, expected);
}
