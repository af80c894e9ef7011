//! Replicas behind a relay.

use serde_json::json;
use testkit::{Relay, Replicas, Setup, wait};

use super::tasks::Daemons;

const IP: &str = "10.27.0.1";

#[test]
fn agents_behind_a_relay_survive_the_loss_of_a_replica() {
    let mut cluster = Replicas::start_with(Setup {
        n_replicas: 2,
        arguments: vec!["--relays".to_owned(), "127.0.0.1/32".to_owned()],
        ..Setup::default()
    });
    let relay = Relay::start(cluster.path(), "relay", &cluster.agents(), &[]);
    let agents = [cluster.start_agent_through(IP, &[&relay])];
    for victim in [0, 1] {
        let other = 1 - victim;
        let name = format!("slow-{victim}");
        let slow = Daemons::register_held(&cluster, victim, &name, &agents);
        let task = slow.operate(cluster.api(victim), 0);
        slow.wait_until_begun();
        cluster.kill(victim);
        slow.let_go();
        slow.ended(cluster.api(other), &task, 0);
        slow.wait_for_status(cluster.api(other), 1);
        slow.were_executed(1);
        cluster.start_one(victim);
        cluster.wait_for_agents(&agents);
        // Each replica knows the relay, whichever holds the agent.
        for n in [victim, other] {
            wait::until("the relay of the host", || {
                let path = format!("/api/v1/hosts/0:{IP}");
                let (_, row) = cluster.api(n).native("GET", &path, None);
                (row["relay"] == json!("127.0.0.1")).then_some(())
            });
        }
    }
}
