//! NATS servers that restart, die, hang, or start late.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bus::{Bus, BusError, MAX_LAG, Message, REQUEST_TIMEOUT, Received, ReplicaId};
use engines::{Nats, NatsCluster};
use testing::wait::until_async as until;
use tokio::sync::watch::{self, Receiver};

use super::{join, receive};
use crate::conformance::{committed, meet, respond};

#[tokio::test]
async fn after_a_restart_of_nats_subscribers_lag_once() {
    let mut nats = Nats::start().unwrap();
    let urls = vec![nats.url()];
    let [one, two] = [join(urls.clone(), 1).await, join(urls, 2).await];
    meet(&[one.clone(), two.clone()]).await;
    let mut subscription = two.subscribe();
    nats.kill().unwrap();
    until("both notice", || !one.is_up() && !two.is_up()).await;
    let replica = two.replica();
    let answer = one.request(replica, vec![]).await;
    assert_eq!(answer, Err(BusError::NoResponder { replica }));
    nats.start_again().unwrap();
    until("both are back", || one.is_up() && two.is_up()).await;
    assert_eq!(subscription.recv().await, Received::Lagged);
    one.publish(committed(1));
    let expected = Received::Message(one.replica(), committed(1));
    assert_eq!(subscription.recv().await, expected);
    respond(&two, "");
    assert_eq!(one.request(replica, vec![]).await, Ok(vec![]));
}

#[tokio::test]
async fn a_server_that_starts_later_is_used() {
    let mut nats = Nats::start().unwrap();
    nats.stop().unwrap();
    let one = join(vec![nats.url()], 1).await;
    assert!(!one.is_up());
    one.publish(committed(1));
    nats.start_again().unwrap();
    let two = join(vec![nats.url()], 2).await;
    until("both are there", || one.is_up() && two.is_up()).await;
    meet(&[one, two]).await;
}

/// Sends requests until `end`, and counts the responses. Each request ends in time.
async fn load(one: Bus, to: ReplicaId, n_answered: Arc<AtomicUsize>, mut end: Receiver<bool>) {
    while !*end.borrow_and_update() {
        let begun = Instant::now();
        let answer = one.request(to, vec![1]).await;
        assert!(begun.elapsed() < REQUEST_TIMEOUT + Duration::from_secs(2));
        match answer {
            Ok(answer) => {
                assert_eq!(answer, [1]);
                n_answered.fetch_add(1, Ordering::Relaxed);
            }
            Err(BusError::NoResponder { .. } | BusError::TimedOut { .. }) => {}
            Err(BusError::TooLarge { .. }) => panic!("{answer:?}"),
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_of_three_servers_is_killed_and_restarted_under_load() {
    let mut cluster = NatsCluster::start(3).unwrap();
    let [one, two] = [join(cluster.urls(), 1).await, join(cluster.urls(), 2).await];
    meet(&[one.clone(), two.clone()]).await;
    respond(&two, "");
    let mut subscription = one.subscribe();
    let (end, is_ended) = watch::channel(false);
    let n_answered = Arc::new(AtomicUsize::new(0));
    let loads = (0..8).map(|_| {
        let (n_answered, is_ended) = (Arc::clone(&n_answered), is_ended.clone());
        tokio::spawn(load(one.clone(), two.replica(), n_answered, is_ended))
    });
    let loads = Vec::from_iter(loads);
    until("answers come", || n_answered.load(Ordering::Relaxed) > 100).await;
    for n in 0..3 {
        tokio::task::block_in_place(|| cluster.node(n).kill()).unwrap();
        let begun = Instant::now();
        while one.request(two.replica(), vec![]).await != Ok(vec![]) {
            assert!(begun.elapsed() < super::PATIENCE);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let message = committed(n);
        // A message is lost while a replica is not connected again.
        let again = async {
            loop {
                two.publish(message.clone());
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        tokio::select! {
            _ = receive(&mut subscription, &two, &message) => {}
            () = again => {}
        }
        tokio::task::block_in_place(|| cluster.start_again(n)).unwrap();
    }
    end.send(true).unwrap();
    for load in loads {
        load.await.unwrap();
    }
}

#[tokio::test]
async fn a_hanging_server_blocks_no_publisher_and_no_queue_grows() {
    let nats = Nats::start().unwrap();
    let urls = vec![nats.url()];
    let [one, two] = [join(urls.clone(), 1).await, join(urls, 2).await];
    meet(&[one.clone(), two.clone()]).await;
    let mut subscription = two.subscribe();
    nats.pause();
    let begun = Instant::now();
    let n_messages = 5 * MAX_LAG;
    for n in 0..n_messages {
        one.publish(Message::Soft(vec![0; 4096].into()));
        if n % 64 == 0 {
            tokio::task::yield_now().await;
        }
    }
    one.publish(committed(1));
    assert!(begun.elapsed() < Duration::from_secs(10));
    let answer = one.request(two.replica(), vec![]).await;
    assert!(answer.is_err());
    until("it counts as gone", || !one.is_up()).await;
    assert!(one.n_dropped() > 0);
    nats.resume();
    assert!(receive(&mut subscription, &one, &committed(1)).await > 0);
}
