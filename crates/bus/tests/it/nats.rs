//! Replicas that meet at real NATS servers keep every promise, through all that happens to those.

mod failure;
mod fallback;
mod secured;

use std::time::Duration;

use bus::{Bus, Message, NatsOptions, Received, ReplicaId};
use engines::{Nats, NatsCluster};

use crate::conformance::{keeps_every_promise, meet};

/// Longer than anything here takes on a busy machine.
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

/// Waits for this message; answers how often something was lost before.
async fn hear(subscription: &mut bus::Subscription, from: &Bus, message: &Message) -> usize {
    let mut n_lagged = 0;
    let hear = async {
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
    let heard = tokio::time::timeout(PATIENCE, hear).await;
    assert!(heard.is_ok(), "waited in vain for {message:?}");
    n_lagged
}

mod one_server {
    use super::{Bus, Nats, keeps_every_promise, three};

    async fn replicas() -> (Nats, [Bus; 3]) {
        let nats = Nats::start().unwrap();
        let urls = [nats.url(), nats.url(), nats.url()];
        (nats, three(urls).await)
    }

    keeps_every_promise!(in real time, replicas().await);
}

mod three_servers {
    use super::{Bus, NatsCluster, keeps_every_promise, three};

    async fn replicas() -> (NatsCluster, [Bus; 3]) {
        let cluster = NatsCluster::start(3).unwrap();
        let urls = cluster.urls().try_into().unwrap();
        (cluster, three(urls).await)
    }

    keeps_every_promise!(in real time, replicas().await);
}
