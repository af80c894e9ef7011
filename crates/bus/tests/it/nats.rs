//! The conformance tests by real NATS servers, and what happens when those fail.

mod failure;
mod fallback;
mod secured;

use std::time::Duration;

use bus::{Bus, Message, NatsOptions, Received, ReplicaId};
use engines::{Nats, NatsCluster};

use crate::conformance::{conformance_tests, meet};

/// Longer than any test here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

async fn join(urls: Vec<String>, replica: u64) -> Bus {
    let options = NatsOptions::new(urls, "test", ReplicaId(replica));
    Bus::nats(options).await.unwrap()
}

async fn three(urls: [String; 3]) -> [Bus; 3] {
    let [one, two, three] = urls;
    let replicas = [
        join(vec![one], 1).await,
        join(vec![two], 2).await,
        join(vec![three], 3).await,
    ];
    meet(&replicas).await;
    replicas
}

/// Waits for this message; answers how often the subscriber lagged before.
async fn receive(subscription: &mut bus::Subscription, from: &Bus, message: &Message) -> usize {
    let mut n_lagged = 0;
    let receive = async {
        loop {
            match subscription.recv().await {
                Received::Lagged => n_lagged += 1,
                Received::Message(sender, it) if sender == from.replica() && it == *message => {
                    break;
                }
                Received::Message(..) => {}
            }
        }
    };
    let received = tokio::time::timeout(PATIENCE, receive).await;
    assert!(received.is_ok(), "waited in vain for {message:?}");
    n_lagged
}

mod one_server {
    use super::{Bus, Nats, conformance_tests, three};

    async fn replicas() -> (Nats, [Bus; 3]) {
        let nats = Nats::start().unwrap();
        let urls = [nats.url(), nats.url(), nats.url()];
        (nats, three(urls).await)
    }

    conformance_tests!(in real time, replicas().await);
}

mod three_servers {
    use super::{Bus, NatsCluster, conformance_tests, three};

    async fn replicas() -> (NatsCluster, [Bus; 3]) {
        let cluster = NatsCluster::start(3).unwrap();
        let urls = cluster.urls().try_into().unwrap();
        (cluster, three(urls).await)
    }

    conformance_tests!(in real time, replicas().await);
}
