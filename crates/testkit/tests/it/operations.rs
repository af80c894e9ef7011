//! Every operation on a real process, through the GSE API.

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use testkit::{Cluster, odd, wait};

use crate::fixture::Fixture;

#[test]
fn a_daemon_is_started_queried_restarted_reloaded_and_stopped() {
    let cluster = Cluster::start();
    let _agent = cluster.agent("127.0.0.1");
    let daemon = Fixture::daemon(cluster.path(), "127.0.0.1", "daemon");
    let cmd = format!(
        "{} --touch-on-hup {}",
        daemon.daemon_cmd(),
        daemon.path("hup")
    );
    let daemon = daemon.registered(&cluster.api, &cmd);

    assert_eq!(daemon.operate(&cluster.api, 0), (0, "success".into()));
    let row = daemon.wait_for_status(&cluster.api, 1);
    let pid = daemon.pid().unwrap();
    assert_eq!(row["pid"], pid.as_raw_nonzero().get());
    assert_eq!((&row["flag"], &row["isauto"]), (&json!(1), &json!(true)));
    assert_eq!(row["meta"]["labels"]["kind"], "test");
    assert!(row["last_start_time"].as_i64().unwrap() > 1_700_000_000);

    assert_eq!(daemon.operate(&cluster.api, 0).0, 828, "it runs already");

    let data = cluster.api.operate(&daemon.meta, &daemon.hosts, 2);
    let content: Value =
        serde_json::from_str(data[&daemon.key]["content"].as_str().unwrap()).unwrap();
    let instance = &content["process"][0]["instance"][0];
    assert_eq!(content["process"][0]["procname"], "odd");
    assert_eq!(
        (&instance["pid"], &instance["processName"]),
        (&json!(pid.as_raw_nonzero().get()), &json!("daemon"))
    );
    assert!(
        instance["cmdline"]
            .as_str()
            .unwrap()
            .contains("--touch-on-hup"),
        "{instance}"
    );
    assert_eq!(instance["isAuto"], true);

    assert_eq!(daemon.operate(&cluster.api, 8), (0, "success".into()));
    wait::until("the reload signal", || {
        std::fs::read(daemon.path("hup")).ok()
    });
    assert_eq!(daemon.pid().unwrap(), pid);

    assert_eq!(daemon.operate(&cluster.api, 7), (0, "success".into()));
    assert_ne!(daemon.pid().unwrap(), pid, "a new run");
    assert_eq!(daemon.executions(), 2);

    assert_eq!(daemon.operate(&cluster.api, 1), (0, "success".into()));
    assert!(!daemon.is_alive());
    let row = daemon.wait_for_status(&cluster.api, 2);
    assert_eq!(
        (&row["flag"], &row["isauto"], &row["pid"]),
        (&json!(2), &json!(false), &json!(-1))
    );
    let (code, message) = daemon.operate(&cluster.api, 1);
    assert_eq!(code, 829);
    assert_eq!(
        message,
        "no need to stop the process(daemon) that is not running"
    );
    assert_eq!(daemon.operate(&cluster.api, 9).0, 829);
}

#[test]
fn a_foreground_program_is_the_process_and_is_killed() {
    let cluster = Cluster::start();
    let _agent = cluster.agent("127.0.0.1");
    let program = Fixture::daemon(cluster.path(), "127.0.0.1", "foreground");
    let cmd = format!("exec {} --ignore-term --print hello", odd::odd().display());
    let program = program.registered(&cluster.api, &cmd);
    assert_eq!(program.operate(&cluster.api, 0), (0, "success".into()));
    let row = program.wait_for_status(&cluster.api, 1);
    assert_eq!(
        row["pid"],
        program.pid().unwrap().as_raw_nonzero().get(),
        "the agent wrote the pid file"
    );
    assert_eq!(program.operate(&cluster.api, 9), (0, "success".into()));
    assert!(!program.is_alive());
    program.wait_for_status(&cluster.api, 2);
}

#[test]
fn a_failed_command_returns_its_output() {
    let cluster = Cluster::start();
    let _agent = cluster.agent("127.0.0.1");
    let broken = Fixture::daemon(cluster.path(), "127.0.0.1", "broken");
    let cmd = format!(
        "{} --complain 'no such license' --exit 3",
        odd::odd().display()
    );
    let broken = broken.registered(&cluster.api, &cmd);
    let data = cluster.api.operate(&broken.meta, &broken.hosts, 0);
    let key = &data[&broken.key];
    assert_eq!(key["error_code"], 65_535, "{key}");
    assert!(
        key["error_msg"]
            .as_str()
            .unwrap()
            .contains("no such license"),
        "{key}"
    );
    let content: Value = serde_json::from_str(key["content"].as_str().unwrap()).unwrap();
    let value = &content["value"][0];
    assert_eq!(
        (&value["procName"], &value["exitCode"]),
        (&json!("odd"), &json!(3)),
        "{value}"
    );
    assert!(
        value["output"]
            .as_str()
            .unwrap()
            .contains("no such license")
    );
    assert!(value["command"].as_str().unwrap().contains("--exit 3"));

    let vanishing = Fixture::daemon(cluster.path(), "127.0.0.1", "vanishing");
    let cmd = format!("{} --daemon --exit 0", odd::odd().display());
    let vanishing = vanishing.registered(&cluster.api, &cmd);
    let (code, message) = vanishing.operate(&cluster.api, 0);
    assert_eq!(code, 836);
    assert!(
        message.starts_with("start process (vanishing) failed, for post-check status not alive"),
        "{message}"
    );
    assert_eq!(
        vanishing.status(&cluster.api)["flag"],
        1,
        "wanted, though it failed"
    );
}

#[test]
fn only_a_managed_process_is_restarted() {
    let cluster = Cluster::start();
    let _agent = cluster.agent("127.0.0.1");
    let daemon = Fixture::daemon(cluster.path(), "127.0.0.1", "managed");
    let cmd = daemon.daemon_cmd();
    let daemon = daemon.registered(&cluster.api, &cmd);
    assert_eq!(
        daemon.operate(&cluster.api, 3),
        (0, "success".into()),
        "managing a dead one starts it"
    );
    let first = wait::until("the first run", || {
        daemon.pid().filter(|_| daemon.is_alive())
    });
    kill_process(first, Signal::KILL).unwrap();
    let second = wait::until("another run", || {
        daemon
            .pid()
            .filter(|pid| *pid != first && daemon.is_alive())
    });
    daemon.wait_for_status(&cluster.api, 1);

    assert_eq!(daemon.operate(&cluster.api, 4), (0, "success".into()));
    assert_eq!(daemon.status(&cluster.api)["isauto"], false);
    kill_process(second, Signal::KILL).unwrap();
    daemon.wait_for_status(&cluster.api, 2);
    assert_eq!(daemon.executions(), 2);
}

#[test]
fn an_impossible_spec_is_refused_instead_of_retried() {
    let cluster = Cluster::start();
    let _agent = cluster.agent("127.0.0.1");
    let fixture = Fixture::daemon(cluster.path(), "127.0.0.1", "hopeless");
    let mut spec = fixture.spec("./does-not-exist");
    for (pointer, value, names) in [
        (
            "/control/start_cmd",
            json!("./does-not-exist --now"),
            "does-not-exist",
        ),
        (
            "/identity/user",
            json!("nobody-of-that-name"),
            "nobody-of-that-name",
        ),
        (
            "/identity/setup_path",
            json!("/does/not/exist"),
            "/does/not/exist",
        ),
        ("/control/start_cmd", json!(""), "start_cmd"),
    ] {
        *spec.pointer_mut(pointer).unwrap() = value;
        let body = json!({"meta": fixture.meta, "hosts": fixture.hosts, "spec": spec});
        cluster.api.esb_ok("update_proc_info", body);
        for op in [0, 3] {
            let (code, message) = fixture.operate(&cluster.api, op);
            assert_eq!(code, 65_535, "{names}: {message}");
            assert!(message.contains(names), "{names}: {message}");
        }
        spec = fixture.spec(&fixture.daemon_cmd());
    }
}

#[test]
fn status_has_usage_figures() {
    let cluster = Cluster::start();
    let _agent = cluster.agent("127.0.0.1");
    let busy = Fixture::daemon(cluster.path(), "127.0.0.1", "busy");
    let cmd = format!("{} --hold-mib 300 --hold-fds 40 --burn", busy.daemon_cmd());
    let busy = busy.registered(&cluster.api, &cmd);
    assert_eq!(busy.operate(&cluster.api, 0).0, 0);
    let row = wait::until("figures", || {
        Some(busy.status(&cluster.api)).filter(|row| row["cpu_usage"].as_f64().unwrap() > 1.0)
    });
    assert!(row["mem_usage"].as_f64().unwrap() > 0.5, "{row}");
    assert!(row["fd"].as_i64().unwrap() >= 40, "{row}");
    assert_eq!(busy.operate(&cluster.api, 9).0, 0);
}
