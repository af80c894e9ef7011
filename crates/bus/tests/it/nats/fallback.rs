//! NATS away for all or for one: mail takes over, and gives back.

use std::time::{Duration, Instant};

use bus::{Bus, BusError, Message, NatsOptions, Received, ReplicaId, Subscription};
use engines::Nats;
use testing::wait::until_async as until;

use super::PATIENCE;
use crate::conformance::{committed, respond};
use crate::post_office::PostOffice;

async fn join(url: String, office: &PostOffice, replica: u64) -> Bus {
    let replica = ReplicaId(replica);
    let mut options = NatsOptions::new(vec![url], "test", replica);
    options.mailbox = Some(office.mailbox(replica));
    Bus::nats(options).await.unwrap()
}

/// Each message of the other that arrives, until the last of them; losing some is fine, hearing one twice is not.
async fn numbers(subscription: &mut Subscription, last: u64) -> Vec<u64> {
    let mut numbers = Vec::new();
    let hear = async {
        while numbers.last() != Some(&last) {
            match subscription.recv().await {
                Received::Message(_, Message::Committed(revision)) => numbers.push(revision.0),
                Received::Message(_, Message::Soft(_)) | Received::Lagged => {}
            }
        }
    };
    let heard = tokio::time::timeout(PATIENCE, hear).await;
    assert!(heard.is_ok(), "{last} is not among {numbers:?}");
    numbers
}

/// They hear, tell and ask each other.
async fn are_in_touch(one: &Bus, two: &Bus) {
    let begun = Instant::now();
    for (here, there) in [(one, two), (two, one)] {
        respond(there, "yes");
        while here.request(there.replica(), vec![]).await != Ok(b"yes".to_vec()) {
            assert!(begun.elapsed() < PATIENCE);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        for message in [
            Message::Soft(b"all".to_vec()),
            Message::Soft(b"one".to_vec()),
        ] {
            let mut subscription = there.subscribe();
            let Message::Soft(payload) = &message else {
                unreachable!("they are all soft")
            };
            let say = || match &**payload {
                b"all" => here.publish(message.clone()),
                _ => here.tell(there.replica(), payload.clone()),
            };
            // Somebody may not have noticed yet that the other is cut off.
            let expected = Received::Message(here.replica(), message.clone());
            let heard = async {
                while subscription.recv().await != expected {
                    assert!(begun.elapsed() < PATIENCE);
                }
            };
            let speak = async {
                loop {
                    say();
                    tokio::time::sleep(Duration::from_millis(500)).await;
                }
            };
            tokio::select! {
                () = heard => {}
                () = speak => {}
                () = tokio::time::sleep(PATIENCE) => panic!("waited in vain"),
            }
        }
    }
}

#[tokio::test]
async fn mail_takes_over_while_nats_is_away_and_gives_back() {
    let mut nats = Nats::start().unwrap();
    let office = PostOffice::default();
    let one = join(nats.url(), &office, 1).await;
    let two = join(nats.url(), &office, 2).await;
    are_in_touch(&one, &two).await;
    let n_letters = office.n_letters();
    nats.kill().unwrap();
    until("both notice", || !one.is_up() && !two.is_up()).await;
    are_in_touch(&one, &two).await;
    assert!(office.n_letters() > n_letters);
    nats.start_again().unwrap();
    until("both are back", || one.is_up() && two.is_up()).await;
    are_in_touch(&one, &two).await;
    let by_nats = async {
        loop {
            let n_letters = office.n_letters();
            assert!(one.request(two.replica(), vec![]).await.is_ok());
            // A request by mail leaves a letter.
            if office.n_letters() == n_letters {
                break;
            }
        }
    };
    let switched = tokio::time::timeout(PATIENCE, by_nats).await;
    assert!(switched.is_ok(), "requests go on by mail");
}

#[tokio::test]
async fn messages_stay_in_order_and_come_once_whichever_ways_they_take() {
    let mut nats = Nats::start().unwrap();
    let office = PostOffice::default();
    let one = join(nats.url(), &office, 1).await;
    let two = join(nats.url(), &office, 2).await;
    are_in_touch(&one, &two).await;
    let mut subscription = two.subscribe();
    let speaker = one.clone();
    let speak = tokio::spawn(async move {
        for n in 1..=400 {
            speaker.publish(committed(n));
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    for _ in 0..2 {
        nats.kill().unwrap();
        until("it is noticed", || !one.is_up()).await;
        nats.start_again().unwrap();
        until("both are back", || one.is_up() && two.is_up()).await;
    }
    speak.await.unwrap();
    one.publish(committed(401));
    let numbers = numbers(&mut subscription, 401).await;
    assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
    assert!(numbers.len() > 200, "{numbers:?}");
}

#[tokio::test]
async fn one_that_alone_has_no_nats_is_reached_by_mail() {
    let (nats, mut gone) = (Nats::start().unwrap(), Nats::start().unwrap());
    gone.kill().unwrap();
    let office = PostOffice::default();
    let one = join(nats.url(), &office, 1).await;
    let cut_off = join(gone.url(), &office, 2).await;
    let three = join(nats.url(), &office, 3).await;
    assert!(one.is_up() && three.is_up() && !cut_off.is_up());
    are_in_touch(&one, &cut_off).await;
    are_in_touch(&three, &cut_off).await;
    are_in_touch(&one, &three).await;
    // Once it has NATS, nobody writes letters any more.
    gone.start_again().unwrap();
    until("it has NATS", || cut_off.is_up()).await;
    let quiet = Duration::from_secs(4);
    let begun = Instant::now();
    loop {
        let n_letters = office.n_letters();
        one.publish(committed(1));
        tokio::time::sleep(quiet).await;
        if office.n_letters() == n_letters {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "they go on writing letters");
    }
    let replica = cut_off.replica();
    let answer = one.request(replica, vec![]).await;
    assert_eq!(answer, Err(BusError::NoResponder { replica }));
}

#[tokio::test]
async fn while_nats_is_there_mail_is_looked_for_now_and_then_only() {
    let nats = Nats::start().unwrap();
    let office = PostOffice::default();
    let one = join(nats.url(), &office, 1).await;
    let (n_looks, begun) = (office.n_looks(), Instant::now());
    one.publish(committed(1));
    until("three further polls", || office.n_looks() >= n_looks + 3).await;
    // Two seconds apart, except perhaps the first; it would be half a second if mail were needed.
    assert!(begun.elapsed() > Duration::from_millis(1800));
}
