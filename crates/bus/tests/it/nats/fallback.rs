//! NATS down for all or for one replica: mail takes over, and NATS again afterwards.

use std::time::{Duration, Instant};

use bus::{Bus, BusError, Message, NatsOptions, Received, ReplicaId, Subscription};
use engines::Nats;
use testing::wait::until_async as until;

use super::PATIENCE;
use crate::conformance::{committed, respond};
use crate::memory_mailbox::MemoryMailboxes;

async fn join(url: String, mailboxes: &MemoryMailboxes, replica: u64) -> Bus {
    let replica = ReplicaId(replica);
    let mut options = NatsOptions::new(vec![url], "test", replica);
    options.mailbox = Some(mailboxes.mailbox(replica));
    Bus::nats(options).await.unwrap()
}

/// The numbers of all messages that arrive, up to the last one. Some may be lost.
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

/// Messages and requests work in both directions.
async fn check_connected(one: &Bus, two: &Bus) {
    let begun = Instant::now();
    for (here, there) in [(one, two), (two, one)] {
        respond(there, "yes");
        while here.request(there.replica(), vec![]).await != Ok(b"yes".to_vec()) {
            assert!(begun.elapsed() < PATIENCE);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        for message in [Message::Soft("all".into()), Message::Soft("one".into())] {
            let mut subscription = there.subscribe();
            let Message::Soft(payload) = &message else {
                unreachable!("they are all soft")
            };
            let send = || match &**payload {
                b"all" => here.publish(message.clone()),
                _ => here.tell(there.replica(), payload.to_vec()),
            };
            // A message is lost while a replica has not noticed yet that the other one has no NATS.
            let expected = Received::Message(here.replica(), message.clone());
            let arrived = async {
                while subscription.recv().await != expected {
                    assert!(begun.elapsed() < PATIENCE);
                }
            };
            let sending = async {
                loop {
                    send();
                    tokio::time::sleep(Duration::from_millis(500)).await;
                }
            };
            tokio::select! {
                () = arrived => {}
                () = sending => {}
                () = tokio::time::sleep(PATIENCE) => panic!("waited in vain"),
            }
        }
    }
}

#[tokio::test]
async fn mail_takes_over_while_nats_is_down() {
    let mut nats = Nats::start().unwrap();
    let mailboxes = MemoryMailboxes::default();
    let one = join(nats.url(), &mailboxes, 1).await;
    let two = join(nats.url(), &mailboxes, 2).await;
    check_connected(&one, &two).await;
    let n_messages = mailboxes.n_messages();
    nats.kill().unwrap();
    until("both notice", || !one.is_up() && !two.is_up()).await;
    check_connected(&one, &two).await;
    assert!(mailboxes.n_messages() > n_messages);
    nats.start_again().unwrap();
    until("both are back", || one.is_up() && two.is_up()).await;
    check_connected(&one, &two).await;
    until_no_mail_is_sent(&mailboxes, &[&one, &two]).await;
    let n_messages = mailboxes.n_messages();
    assert!(one.request(two.replica(), vec![]).await.is_ok());
    assert_eq!(mailboxes.n_messages(), n_messages, "it went by mail");
}

/// Waits until none of them sends what it publishes by mail, too.
async fn until_no_mail_is_sent(mailboxes: &MemoryMailboxes, replicas: &[&Bus]) {
    let begun = Instant::now();
    loop {
        let n_messages = mailboxes.n_messages();
        replicas.iter().for_each(|one| one.publish(committed(1)));
        // Longer than the pause between two batches of mail.
        tokio::time::sleep(Duration::from_millis(300)).await;
        if mailboxes.n_messages() == n_messages {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "they still send mail");
    }
}

#[tokio::test]
async fn messages_by_two_transports_arrive_once_and_in_order() {
    let mut nats = Nats::start().unwrap();
    let mailboxes = MemoryMailboxes::default();
    let one = join(nats.url(), &mailboxes, 1).await;
    let two = join(nats.url(), &mailboxes, 2).await;
    check_connected(&one, &two).await;
    let mut subscription = two.subscribe();
    let sender = one.clone();
    let sending = tokio::spawn(async move {
        for n in 1..=400 {
            sender.publish(committed(n));
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    for _ in 0..2 {
        nats.kill().unwrap();
        until("it is noticed", || !one.is_up()).await;
        nats.start_again().unwrap();
        until("both are back", || one.is_up() && two.is_up()).await;
    }
    sending.await.unwrap();
    one.publish(committed(401));
    let numbers = numbers(&mut subscription, 401).await;
    assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
    assert!(numbers.len() > 200, "{numbers:?}");
}

#[tokio::test]
async fn a_replica_without_nats_is_reached_by_mail() {
    let (nats, mut gone) = (Nats::start().unwrap(), Nats::start().unwrap());
    gone.kill().unwrap();
    let mailboxes = MemoryMailboxes::default();
    let one = join(nats.url(), &mailboxes, 1).await;
    let cut_off = join(gone.url(), &mailboxes, 2).await;
    let three = join(nats.url(), &mailboxes, 3).await;
    assert!(one.is_up() && three.is_up() && !cut_off.is_up());
    check_connected(&one, &cut_off).await;
    check_connected(&three, &cut_off).await;
    check_connected(&one, &three).await;
    // Once it has NATS, no replica sends mail any more.
    gone.start_again().unwrap();
    until("it has NATS", || cut_off.is_up()).await;
    until_no_mail_is_sent(&mailboxes, &[&one, &cut_off, &three]).await;
    let replica = cut_off.replica();
    let answer = one.request(replica, vec![]).await;
    assert_eq!(answer, Err(BusError::NoResponder { replica }));
}

#[tokio::test]
async fn mail_is_polled_rarely_while_nats_is_up() {
    let nats = Nats::start().unwrap();
    let mailboxes = MemoryMailboxes::default();
    let one = join(nats.url(), &mailboxes, 1).await;
    one.publish(committed(1));
    let next_poll = async || {
        let n_polls = mailboxes.n_polls();
        until("mail is polled", || mailboxes.n_polls() > n_polls).await;
    };
    next_poll().await;
    let begun = Instant::now();
    next_poll().await;
    assert!(begun.elapsed() > Duration::from_secs(1));
}
