//! A commit becomes visible atomically.

use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::sync::Arc;

use model::access::{HashScheme, SecretHash, User};
use model::change::{
    Changes, DefinitionId, HostId, HostRow, NameId, ProcessId, ProcessRow, Revision, TargetRow,
    TaskRow,
};
use model::{Flag, Op, OpId, TaskId, UnixMillis};

use crate::rig::{Rig, START, full};

/// Set in the process that panics.
const CHILD: &str = "CONTROL_TEST_CHILD";
const SIGABRT: i32 = 6;
/// Enough to make folding slow.
const N_USERS: usize = 5_000;

fn host(id: u32) -> HostRow {
    HostRow::new(HostId(id), "10.0.0.1".parse().unwrap())
}

fn user(n: usize) -> User {
    let password = SecretHash {
        scheme: HashScheme::Sha256,
        salt: vec![0; 16],
        hash: vec![0; 32],
    };
    User {
        name: format!("user{n}"),
        password,
        created_at: UnixMillis(START),
        grants: None,
    }
}

/// A host, many users, and an open operation.
fn one_of_everything() -> Changes {
    let task = TaskId::from_number(1);
    let row = TaskRow {
        retries: None,
        id: task,
        created_at: UnixMillis(START),
        app: "app".to_owned(),
        user: "user1".to_owned(),
    };
    let target = TargetRow {
        op_id: OpId { task, ordinal: 0 },
        op: Op::Start,
        host: Some(HostId(0)),
        process: Arc::new(full("ns/a")),
        key_prefixes: Arc::from([Box::from("0:10.0.0.1")]),
        probe: None,
        deadline: UnixMillis(START + 3_600_000),
    };
    Changes {
        hosts: vec![host(0)],
        users: (0..N_USERS).map(user).collect(),
        tasks: vec![row],
        targets: vec![target],
        ..Changes::default()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_sees_a_commit_in_the_fleet_sees_its_tasks() {
    let rig = Rig::new().await;
    let control = rig.control.clone();
    let reader = std::thread::spawn(move || {
        while control.inspect_fleet().n_hosts() == 0 {
            std::thread::yield_now();
        }
        control.figures().n_targets_open
    });
    rig.commit_elsewhere(&one_of_everything()).await;
    rig.control.replicas().catch_up().await;
    assert_eq!(reader.join().unwrap(), 1);
    rig.stopped().await;
}

#[test]
fn a_panic_while_a_commit_is_folded_in_ends_the_process() {
    if std::env::var_os(CHILD).is_some() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(fold_inconsistent_changes());
        return;
    }
    let this = "fold::a_panic_while_a_commit_is_folded_in_ends_the_process";
    let ended = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", this, "--nocapture"])
        .env(CHILD, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.signal(), Some(SIGABRT), "{said}");
    assert!(said.contains("attempt to add with overflow"), "{said}");
}

/// Adds a process whose id is the last there is, so that the next one overflows.
async fn fold_inconsistent_changes() {
    let rig = Rig::new().await;
    let process = ProcessRow {
        id: ProcessId(u32::MAX),
        host: HostId(0),
        name: NameId(0),
        definition: DefinitionId(0),
        flag: Flag::Running,
        managed: true,
        registered_at: UnixMillis(START),
        incarnation: Revision(1),
        owner: None,
    };
    rig.commit_elsewhere(&Changes {
        processes: vec![process],
        ..Changes::default()
    })
    .await;
    rig.control.replicas().catch_up().await;
}
