//! Agents that reach the server only through relays.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use testkit::api::{APP_CODE, APP_SECRET, with_credentials};
use testkit::{Api, Cluster, Network, Relay, precondition, program, wait};

use crate::fixture::Fixture;

const IP: &str = "10.9.0.1";
const RELAYS: [&str; 2] = ["--relays", "127.0.0.1"];

fn muster(cluster: &Cluster, words: &[&str]) -> Command {
    let mut command = Command::new(program::path("muster"));
    command
        .args(words)
        .env("MUSTER_URL", format!("http://{}", cluster.http()))
        .env("MUSTER_APP_CODE", APP_CODE)
        .env("MUSTER_APP_SECRET", APP_SECRET)
        .env("MUSTER_USER", "tester")
        .stdin(Stdio::null());
    command
}

fn output(cluster: &Cluster, words: &[&str]) -> String {
    let ran = muster(cluster, words).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{words:?}: {said}");
    String::from_utf8(ran.stdout).unwrap()
}

fn relay_of(cluster: &Cluster, ip: &str) -> Value {
    let path = format!("/api/v1/hosts/0:{ip}");
    cluster.api.native("GET", &path, None).1["relay"].clone()
}

#[test]
fn operations_and_logs_pass_through_a_relay_which_every_dialect_shows() {
    let cluster = Cluster::start_with(&RELAYS);
    let relay = Relay::start(cluster.path(), "relay", &[cluster.agents()], &[]);
    let agent = cluster.agent_through(IP, &[&relay]);
    let direct = cluster.agent("10.9.0.2");
    let daemon = Fixture::daemon(cluster.path(), IP, "relayed");
    let cmd = daemon.daemon_cmd();
    let daemon = daemon.registered(&cluster.api, &cmd);
    assert_eq!(daemon.operate(&cluster.api, 0).0, 0);
    daemon.wait_for_status(&cluster.api, 1);

    let hosts = with_credentials(json!({"hosts": [
        {"ip": IP, "bk_cloud_id": 0}, {"ip": "10.9.0.2", "bk_cloud_id": 0}]}));
    for path in [
        "/api/c/compapi/v2/gse/get_agent_info/",
        "/v2/gse/get_agent_info/",
    ] {
        let answer = cluster.api.post(path, hosts.clone());
        let info = &answer["data"][format!("0:{IP}")];
        assert_eq!(info["parent_ip"], "127.0.0.1", "{path}: {answer}");
        assert_eq!(info["parent_port"], relay.agents.port(), "{answer}");
        let info = &answer["data"]["0:10.9.0.2"];
        assert_eq!(
            (&info["parent_ip"], &info["parent_port"]),
            (&json!(""), &json!(0))
        );
    }
    let list = with_credentials(json!({"agent_id_list": [format!("0:{IP}")]}));
    let answer = cluster.api.post("/api/v2/cluster/list_agent_info", list);
    assert_eq!(answer["data"][0]["parent_ip"], "127.0.0.1", "{answer}");

    assert_eq!(relay_of(&cluster, IP), "127.0.0.1");
    assert_eq!(relay_of(&cluster, "10.9.0.2"), Value::Null);
    let path = "/api/v1/hosts?relay=127.0.0.1";
    let (_, page) = cluster.api.native("GET", path, None);
    assert_eq!(
        (&page["count"], &page["hosts"][0]["host"]),
        (&json!(1), &json!(format!("0:{IP}")))
    );
    let (status, refused) = cluster.api.native("GET", "/api/v1/hosts?relay=here", None);
    assert_eq!(status, 400, "{refused}");
    assert!(output(&cluster, &["hosts"]).contains("RELAY"));
    let shown = output(&cluster, &["hosts", IP]);
    assert!(
        shown
            .lines()
            .any(|line| line.contains("relay") && line.ends_with("127.0.0.1")),
        "{shown}"
    );
    let found = output(&cluster, &["hosts", "--relay", "127.0.0.1", "-o", "json"]);
    let found: Value = serde_json::from_str(&found).unwrap();
    assert_eq!(found["count"], 1, "{found}");

    // A log is followed through the relay.
    let talker = Fixture::daemon(cluster.path(), IP, "talker");
    let mut spec = talker.spec("exec tail -n +1 -f input");
    spec["identity"]["proc_name"] = "tail".into();
    std::fs::write(talker.folder.join("input"), "one\n").unwrap();
    let talker = talker.registered_as(&cluster.api, &spec);
    assert_eq!(talker.operate(&cluster.api, 0).0, 0);
    let mut following = muster(&cluster, &["logs", "-f", "e2e/talker"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(following.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().ends_with("one"));
    let mut input = std::fs::File::options()
        .append(true)
        .open(talker.folder.join("input"))
        .unwrap();
    writeln!(input, "two").unwrap();
    assert!(lines.next().unwrap().unwrap().ends_with("two"));
    following.kill().unwrap();
    following.wait().unwrap();

    // The last relay is shown while the agent is away, as its version is.
    drop((agent, direct));
    cluster.wait_for_agent(IP, false);
    assert_eq!(relay_of(&cluster, IP), "127.0.0.1");
}

#[test]
fn an_agent_fails_over_to_another_relay_and_no_operation_is_lost() {
    let cluster = Cluster::start_with(&RELAYS);
    let servers = [cluster.agents()];
    let mut relays =
        ["relay-1", "relay-2"].map(|name| Relay::start(cluster.path(), name, &servers, &[]));
    let agent = cluster.agent_through(IP, &[&relays[0], &relays[1]]);
    let daemon = Fixture::daemon(cluster.path(), IP, "moving");
    let cmd = daemon.daemon_cmd();
    let daemon = daemon.registered(&cluster.api, &cmd);
    for round in 1..=3 {
        let body = json!({"meta": daemon.meta, "hosts": daemon.hosts, "op_type": 7});
        let task = cluster.api.esb_ok("operate_proc", body);
        wait::until("the start command", || daemon.executions() == round);
        // It is killed in the middle: the outcome is known only after the start check.
        let [connected] = agent.connected_to()[..] else {
            panic!("connected to {:?}", agent.connected_to());
        };
        let killed = relays.iter_mut().find(|relay| relay.agents == connected);
        let killed = killed.expect("one of both");
        killed.kill();
        let data = cluster.api.ended(task["task_id"].as_str().unwrap());
        assert_eq!(data[&daemon.key]["error_code"], 0, "{data}");
        assert_eq!(daemon.executions(), round);
        killed.restart();
        wait::until(
            "a session through the other relay",
            || matches!(agent.connected_to()[..], [now] if now != connected),
        );
    }
}

/// Metrics of the server, as text.
fn refused_headers(cluster: &Cluster) -> u64 {
    let (_, text) = cluster.api.native_text("GET", "/metrics", None);
    let line = text
        .lines()
        .find(|line| line.contains(r#"reason="agent_proxy_header""#));
    let value = line.and_then(|line| line.rsplit(' ').next());
    value.expect("the metric is there").parse().unwrap()
}

#[test]
fn a_server_that_does_not_know_the_relay_says_what_to_configure() {
    let mut cluster = Cluster::start();
    let relay = Relay::start(cluster.path(), "relay", &[cluster.agents()], &[]);
    assert_eq!(refused_headers(&cluster), 0);
    let _agent = cluster.start_agent_through(IP, &[&relay]);
    wait::until("the advice in the log", || {
        cluster.server_log().contains("add its address to --relays")
    });
    assert!(refused_headers(&cluster) > 0);
    cluster.restart_server_with(&RELAYS);
    cluster.wait_for_agent(IP, true);
    assert_eq!(relay_of(&cluster, IP), "127.0.0.1");
    assert_eq!(refused_headers(&cluster), 0);
}

/// Whether a relay has brought many agents over one connection.
fn was_shared(cluster: &Cluster) -> bool {
    cluster.server_log().contains("to carry many agents")
}

#[test]
fn old_relays_and_old_servers_work_with_new_ones() {
    // What an old server says to a new relay, and what an old relay says.
    for (server, relay, is_shared) in [
        (&["--relayed-agents", "0"][..], &[][..], false),
        (&[], &["--multiplex", "0"], false),
        (&[], &[], true),
    ] {
        let cluster = Cluster::start_with(&[&RELAYS[..], server].concat());
        let mut relay = Relay::start(cluster.path(), "relay", &[cluster.agents()], relay);
        let _agent = cluster.agent_through(IP, &[&relay]);
        assert_eq!(relay_of(&cluster, IP), "127.0.0.1");
        let daemon = Fixture::daemon(cluster.path(), IP, "mixed");
        let cmd = daemon.daemon_cmd();
        let daemon = daemon.registered(&cluster.api, &cmd);
        assert_eq!(daemon.operate(&cluster.api, 0).0, 0);
        assert_eq!(was_shared(&cluster), is_shared);
        // A killed relay ends the session, and the agent comes again.
        relay.kill();
        cluster.wait_for_agent(IP, false);
        relay.restart();
        cluster.wait_for_agent(IP, true);
        assert_eq!(daemon.operate(&cluster.api, 7).0, 0);
    }
}

#[test]
fn a_killed_server_gets_its_agents_back_over_the_relay() {
    let mut cluster = Cluster::start_with(&RELAYS);
    let relay = Relay::start(cluster.path(), "relay", &[cluster.agents()], &[]);
    let ips = [1, 2, 3, 4, 5].map(|last| format!("10.9.1.{last}"));
    let _agents = ips
        .each_ref()
        .map(|ip| cluster.start_agent_through(ip, &[&relay]));
    for _ in 0..2 {
        ips.iter().for_each(|ip| cluster.wait_for_agent(ip, true));
        assert!(was_shared(&cluster));
        cluster.restart_server_with(&RELAYS);
    }
    ips.iter().for_each(|ip| cluster.wait_for_agent(ip, true));
    assert!(relay.log().contains("a connection to a server ended"));
}

#[test]
fn strangers_at_a_relay_disturb_no_agent() {
    let cluster = Cluster::start_with(&RELAYS);
    let limits = ["--max-per-address", "6"];
    let mut relay = Relay::start(cluster.path(), "relay", &[cluster.agents()], &limits);
    let _agent = cluster.agent_through(IP, &[&relay]);
    let daemon = Fixture::daemon(cluster.path(), IP, "steady");
    let cmd = daemon.daemon_cmd();
    let daemon = daemon.registered(&cluster.api, &cmd);

    let connect = || {
        let stream = TcpStream::connect(relay.agents).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        stream
    };
    // Until the other side closes the connection, in whichever way.
    let closed = |mut stream: TcpStream| {
        let mut bytes = [0; 256];
        while stream.read(&mut bytes).is_ok_and(|n| n > 0) {}
    };
    let mut garbage = connect();
    garbage.write_all(&[b'x'; 4096]).unwrap();
    closed(garbage);
    // A stranger that sends a header of its own is not believed.
    let mut forged = connect();
    forged
        .write_all(
            b"\r\n\r\n\0\r\nQUIT\n\x21\x11\x00\x0c\x0a\x09\x09\x09\x0a\x00\x00\x01\x00\x01\x00\x02",
        )
        .unwrap();
    closed(forged);
    assert_eq!(refused_headers(&cluster), 1);
    // As many as the limit allows do nothing, or send a byte now and then; the next one is closed at once.
    let mut silent: Vec<TcpStream> = (0..5).map(|_| connect()).collect();
    silent[0].write_all(b"\x16").unwrap();
    wait::until("the limit in the log", || {
        closed(connect());
        relay.log().contains("raise max_per_address")
    });
    assert_eq!(daemon.operate(&cluster.api, 0).0, 0);
    // The server gives up on the silent ones.
    silent.into_iter().for_each(closed);
    assert_eq!(daemon.operate(&cluster.api, 7).0, 0);
    assert_eq!(daemon.executions(), 2);
    assert!(relay.terminate(), "SIGTERM ends it well");
    assert!(relay.log().contains("relay stops"), "{}", relay.log());
}

#[test]
fn agents_without_a_route_to_the_server_join_and_work_through_a_relay() {
    let network = Network::make();
    let missing = format!("a network namespace: {:?}", network.as_ref().err());
    if !precondition::is_met(network.is_ok(), &missing) {
        return;
    }
    let network = network.unwrap();
    let cluster = Cluster::start_with(&RELAYS);
    // The server listens on the host's loopback alone; the namespace has a link to the host, where the relay listens.
    let listen = SocketAddr::new(network.back().into(), 0);
    let http_listen = listen.to_string();
    let http = cluster.http().to_string();
    let arguments = [
        "--http-listen",
        http_listen.as_str(),
        "--http-server",
        &http,
    ];
    let relay = Relay::start_at(
        listen,
        cluster.path(),
        "relay",
        &[cluster.agents()],
        &arguments,
    );
    let wrapper = network.wrapper();
    let wrapper: Vec<&str> = wrapper.iter().map(String::as_str).collect();
    let direct = Command::new(wrapper[0])
        .args(&wrapper[1..])
        .arg(program::path("muster"))
        .args(["hosts", "--url", &format!("http://{}", cluster.http())])
        .env("MUSTER_APP_CODE", APP_CODE)
        .env("MUSTER_APP_SECRET", APP_SECRET)
        .output()
        .unwrap();
    assert!(!direct.status.success(), "there is no route to the server");
    let _agent = cluster.agent_through_under(IP, &[&relay], &wrapper);
    let daemon = Fixture::daemon(cluster.path(), IP, "isolated");
    let cmd = daemon.daemon_cmd();
    let daemon = daemon.registered(&cluster.api, &cmd);
    assert_eq!(daemon.operate(&cluster.api, 0).0, 0);
    assert_eq!(relay_of(&cluster, IP), "127.0.0.1");
    // The audit trail has the address of the agent, not that of the relay.
    let (_, trail) = cluster.api.native("GET", "/api/v1/audit?limit=100", None);
    let rows = trail["audit"]
        .as_array()
        .unwrap_or_else(|| panic!("{trail}"));
    let enrolled = rows.iter().find(|row| row["action"] == "enrol");
    let address = enrolled.unwrap_or_else(|| panic!("{trail}"))["from"].clone();
    assert!(address.to_string().contains("198.18."), "{trail}");
    // Clients of the API come through the other address.
    let api = Api::new(relay.http.unwrap());
    let (status, page) = api.native("GET", "/api/v1/hosts", None);
    assert_eq!((status, &page["count"]), (200, &json!(1)), "{page}");
}
