//! Events from a process that dies to the event list and to a webhook, also when the server is killed.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use testkit::{Api, Cluster, wait};

use crate::fixture::Fixture;

/// Receives webhook posts.
struct Receiver {
    url: String,
    /// By id: an event may be delivered twice.
    events: Arc<Mutex<BTreeMap<u64, Value>>>,
}

impl Receiver {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let events = Arc::new(Mutex::new(BTreeMap::new()));
        let taken = Arc::clone(&events);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let mut reader = BufReader::new(&stream);
                let mut length = 0;
                for line in reader.by_ref().lines().map_while(Result::ok) {
                    let line = line.to_ascii_lowercase();
                    if let Some(value) = line.strip_prefix("content-length: ") {
                        length = value.parse().unwrap();
                    }
                    if line.is_empty() {
                        break;
                    }
                }
                let mut body = vec![0; length];
                // A killed server may leave half a request.
                if reader.read_exact(&mut body).is_err() || body.is_empty() {
                    continue;
                }
                let event: Value = serde_json::from_slice(&body).unwrap();
                let id = event["id"].as_u64().unwrap();
                taken.lock().unwrap().insert(id, event);
                let answer = b"HTTP/1.1 204 No Content\r\n\r\n";
                // The server may be killed.
                let _ = (&stream).write_all(answer);
            }
        });
        Self { url, events }
    }

    fn taken(&self) -> Vec<Value> {
        self.events.lock().unwrap().values().cloned().collect()
    }
}

fn listed(api: &Api, query: &str) -> Vec<Value> {
    let (status, list) = api.native("GET", &format!("/api/v1/events?{query}"), None);
    assert_eq!(status, 200, "{list}");
    list["events"].as_array().unwrap().clone()
}

/// Kills the daemon and waits until it runs again.
fn die(daemon: &Fixture) {
    let first = daemon.pid().unwrap();
    kill_process(first, Signal::KILL).unwrap();
    wait::until("another run", || {
        daemon
            .pid()
            .filter(|pid| *pid != first && daemon.is_alive())
    });
}

#[test]
fn every_exit_is_listed_and_delivered_also_when_the_server_is_killed() {
    let mut cluster = Cluster::start();
    let _agent = cluster.agent("127.0.0.1");
    let receiver = Receiver::new();
    let body = json!({"url": receiver.url, "namespaces": ["e2e"]});
    let (status, made) = cluster.api.native("POST", "/api/v1/webhooks", Some(body));
    assert_eq!(status, 201, "{made}");

    let daemon = Fixture::daemon(cluster.path(), "127.0.0.1", "mortal");
    let cmd = daemon.daemon_cmd();
    let daemon = daemon.registered(&cluster.api, &cmd);
    assert_eq!(daemon.operate(&cluster.api, 0), (0, "success".into()));
    let of = |kind: &str| format!("namespace=e2e&name=mortal&host=127.0.0.1&kind={kind}");
    for n_deaths in 1..=3 {
        if n_deaths == 2 {
            cluster.kill_server();
        }
        die(&daemon);
        if n_deaths == 2 {
            cluster.restart_server();
        }
        // Before the start check has passed, an exit would be a failed restart.
        let what = format!("{n_deaths} restarts in the list");
        wait::until(&what, || {
            let restarts = listed(&cluster.api, &of("process_restart_success"));
            restarts.len() == n_deaths
        });
    }
    let exits = listed(&cluster.api, &of("process_exit"));
    assert_eq!(exits.len(), 3, "{exits:?}");
    assert_eq!(exits[0]["process"], "e2e/mortal");
    assert!(!exits[0]["reason"].as_str().unwrap().is_empty());
    wait::until("the webhook knows what the list shows", || {
        let mut all = listed(&cluster.api, "namespace=e2e");
        all.sort_by_key(|event| event["id"].as_u64());
        all == receiver.taken()
    });
}
