//! When the process that started a server is killed, the server ends and its files are removed.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use engines::{Nats, Postgres, PostgresOptions};

const OWNER: &str = "MUSTER_TEST_OWNS_ENGINES";

/// Run by the other test in a separate process: starts servers, and is killed.
#[test]
fn starts_servers_until_killed() {
    if std::env::var_os(OWNER).is_none() {
        return;
    }
    let options = PostgresOptions {
        fsync: true,
        ..PostgresOptions::default()
    };
    let postgres = Postgres::start_with(options).unwrap();
    let engines = (postgres, Nats::start().unwrap());
    #[allow(clippy::print_stdout, reason = "the test that kills this waits for it")]
    {
        println!("\n{OWNER}");
    }
    loop {
        std::thread::park();
        let _ = &engines;
    }
}

#[test]
fn servers_end_when_their_owner_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    // World-writable like /tmp: PostgreSQL runs as another user than root, and makes and removes folders there.
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o1777);
    std::fs::set_permissions(folder.path(), open).unwrap();
    let mut owner = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "orphan::starts_servers_until_killed",
            "--nocapture",
        ])
        .env(OWNER, "1")
        .env("TMPDIR", folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(owner.stdout.take().unwrap());
    let ready = said.lines().any(|line| line.unwrap() == OWNER);
    assert!(ready, "{:?}", owner.wait());
    assert_eq!(running_in(folder.path()).len(), 2);
    owner.kill().unwrap();
    owner.wait().unwrap();
    let begun = Instant::now();
    while !running_in(folder.path()).is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(30), "they still run");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The folders of servers in this folder.
fn running_in(folder: &Path) -> Vec<String> {
    let names = std::fs::read_dir(folder).unwrap().flatten();
    let names = names.map(|entry| entry.file_name().into_string().unwrap());
    names
        .filter(|name| {
            ["muster-postgres-", "muster-nats-"]
                .iter()
                .any(|prefix| name.starts_with(prefix))
        })
        .collect()
}
