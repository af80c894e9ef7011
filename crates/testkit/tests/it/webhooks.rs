//! A webhook with a selector of labels: a real server posts events of real processes to a real receiver.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use testing::wait::PATIENCE;
use testkit::{Cluster, wait};

use crate::command_line::muster;

const HOSTS: [&str; 2] = ["10.1.1.1", "10.1.1.2"];

/// Takes posts on a thread that ends with the test program.
struct Receiver {
    address: SocketAddr,
    events: mpsc::Receiver<Value>,
}

impl Receiver {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, events) = mpsc::channel();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if sender.send(post(stream.unwrap())).is_err() {
                    return;
                }
            }
        });
        Self { address, events }
    }

    /// `web/front@0:10.1.1.2` of the next event.
    #[track_caller]
    fn next(&self) -> String {
        let event = self.events.recv_timeout(PATIENCE).unwrap();
        let text = |key: &str| event[key].as_str().unwrap().to_owned();
        format!("{}@{}", text("process"), text("host"))
    }
}

/// Answers one post, and returns its body.
fn post(mut stream: TcpStream) -> Value {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut n_bytes = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let line = line.trim().to_lowercase();
        if let Some(length) = line.strip_prefix("content-length:") {
            n_bytes = length.trim().parse().unwrap();
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; n_bytes];
    reader.read_exact(&mut body).unwrap();
    stream
        .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        .unwrap();
    serde_json::from_slice(&body).unwrap()
}

fn pid(cluster: &Cluster, name: &str, host: &str) -> Option<i64> {
    let ran = muster(cluster, &["ps", name, "--host", host, "-o", "json"]).fine();
    ran.json()["processes"][0]["pid"].as_i64()
}

/// Ends a process as a crash does, and waits until the server has its event and its next run.
fn crash(cluster: &Cluster, name: &str, host: &str) {
    let n_events = |cluster: &Cluster| {
        let args = [
            "events",
            "-n",
            "web",
            "--kind",
            "process_exit",
            "-o",
            "json",
        ];
        let ran = muster(cluster, &args).fine();
        ran.json()["events"].as_array().unwrap().len()
    };
    let before = n_events(cluster);
    let first = wait::until(&format!("{name} to run on {host}"), || {
        pid(cluster, name, host)
    });
    let raw = Pid::from_raw(i32::try_from(first).unwrap()).unwrap();
    kill_process(raw, Signal::KILL).unwrap();
    wait::until(&format!("the event of {name} on {host}"), || {
        n_events(cluster) > before
    });
    wait::until(&format!("the next run of {name} on {host}"), || {
        pid(cluster, name, host).is_some_and(|next| next != first)
    });
}

#[test]
fn a_webhook_gets_the_events_that_its_labels_select() {
    let cluster = Cluster::start();
    let _agents = HOSTS.map(|host| cluster.agent(host));
    for (host, zone) in HOSTS.iter().zip(["zone=a", "zone=b"]) {
        muster(&cluster, &["hosts", "label", host, zone]).fine();
    }
    let folder = cluster.path().display().to_string();
    // web/own says its zone itself, against that of its hosts.
    for (name, labels) in [
        ("web/front", "tier=front"),
        ("web/back", "tier=back"),
        ("web/own", "tier=front,zone=c"),
    ] {
        for host in HOSTS {
            let own = format!("{folder}/{host}-{}", name.replace('/', "-"));
            std::fs::create_dir(&own).unwrap();
            let mut args = vec![
                "register",
                name,
                "--host",
                host,
                "--start",
                "exec sleep 1000",
            ];
            args.extend([
                "--setup-path",
                &own,
                "--start-check",
                "1",
                "--restart-delay",
                "1",
                "--user",
                "root",
            ]);
            args.extend(labels.split(',').flat_map(|label| ["--label", label]));
            muster(&cluster, &args).fine();
        }
    }
    muster(&cluster, &["start", "web/*", "--all"]).fine();
    let (of_process, of_host) = (Receiver::start(), Receiver::start());
    for (receiver, labels) in [
        (&of_process, "tier=front,zone in (b,c)"),
        (&of_host, "zone=b"),
    ] {
        let url = format!("http://{}/hook", receiver.address);
        let args = [
            "webhook",
            "create",
            &url,
            "-k",
            "process_exit",
            "-l",
            labels,
        ];
        muster(&cluster, &args).fine();
    }
    // Events are delivered in their order, so one that is not selected would arrive before the last one, which is.
    for name in ["web/back", "web/own", "web/front"] {
        for host in HOSTS {
            crash(&cluster, name, host);
        }
    }
    let own = HOSTS.map(|host| format!("web/own@0:{host}"));
    let front = format!("web/front@0:{}", HOSTS[1]);
    assert_eq!([of_process.next(), of_process.next()], own);
    assert_eq!(of_process.next(), front);
    assert_eq!(of_host.next(), format!("web/back@0:{}", HOSTS[1]));
    assert_eq!(of_host.next(), front);

    // A label that a host gets later counts from then on.
    muster(
        &cluster,
        &["hosts", "label", HOSTS[0], "zone=b", "--overwrite"],
    )
    .fine();
    crash(&cluster, "web/front", HOSTS[0]);
    let front = format!("web/front@0:{}", HOSTS[0]);
    assert_eq!((of_process.next(), of_host.next()), (front.clone(), front));
}
