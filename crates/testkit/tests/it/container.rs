//! The agent as pid 1 of a container.

use std::mem::ManuallyDrop;

use rustix::process::{Pid, Signal, kill_process};
use testkit::{Cluster, precondition, wait};

use crate::fixture::Fixture;

const UNSHARE: [&str; 5] = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"];

/// Pids on this host of processes with this argument.
fn pids_with(argument: &str) -> Vec<Pid> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let has = |pid: &i32| {
        let text = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&text)
            .split('\0')
            .any(|word| word == argument)
    };
    pids.filter(has).filter_map(Pid::from_raw).collect()
}

#[test]
fn an_agent_as_pid_1_supervises_reaps_zombies_and_stops_on_sigterm() {
    let trial = [&UNSHARE[..], &["true"]].concat();
    if !precondition::succeeds(&trial, "a pid namespace of its own") {
        return;
    }
    let cluster = Cluster::start();
    let mut agent = cluster.agent_under("10.1.1.1", &UNSHARE);
    let daemon = Fixture::daemon(cluster.path(), "10.1.1.1", "contained");
    let cmd = format!("{} --workers 2", daemon.daemon_cmd());
    // Its pid file has a pid of another namespace, which must not be killed here.
    let daemon = ManuallyDrop::new(daemon.registered(&cluster.api, &cmd));
    assert_eq!(daemon.operate(&cluster.api, 0).0, 0);
    let pid = daemon.status(&cluster.api)["pid"].as_i64().unwrap();
    assert_eq!(
        daemon
            .pid()
            .map(Pid::as_raw_nonzero)
            .map(|pid| i64::from(pid.get())),
        Some(pid)
    );

    let program = *pids_with(&daemon.path("pid")).first().expect("it runs");
    kill_process(program, Signal::KILL).unwrap();
    wait::until("another run", || {
        let row = daemon.status(&cluster.api);
        let is_another = row["pid"].as_i64().is_some_and(|now| now > 0 && now != pid);
        row["status"] == 1 && is_another && daemon.executions() == 2
    });

    // Pid 1 of the namespace is the only child of `unshare`.
    let unshare = agent.pid();
    let children = format!("/proc/{unshare}/task/{unshare}/children");
    let first: i32 = std::fs::read_to_string(children)
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    wait::until("no zombie to be left", || {
        let children =
            std::fs::read_to_string(format!("/proc/{first}/task/{first}/children")).unwrap();
        let is_zombie = |pid: &str| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            stat.contains(") Z ")
        };
        !children.split_whitespace().any(is_zombie)
    });
    kill_process(Pid::from_raw(first).unwrap(), Signal::TERM).unwrap();
    assert!(agent.wait(), "{}", agent.log());
    // A container ends with its pid 1.
    wait::until("its end", || pids_with(&daemon.path("pid")).is_empty());
}
