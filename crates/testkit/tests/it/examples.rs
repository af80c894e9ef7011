//! Runs the examples.

use std::process::Command;

use testkit::program;

/// Command lines of processes that name this folder.
fn naming(folder: &str) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        Some(String::from_utf8_lossy(&line).replace('\0', " "))
    });
    lines.filter(|line| line.contains(folder)).collect()
}

/// Runs the script of an example and returns its output. It must leave no files and no processes.
fn run(example: &str) -> String {
    let work = tempfile::TempDir::with_prefix("muster-example-").unwrap();
    // PostgreSQL runs as another user than root.
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(work.path(), open).unwrap();
    let script = format!(
        "{}/../../examples/{example}/run.sh",
        env!("CARGO_MANIFEST_DIR")
    );
    let ran = Command::new("sh")
        .arg(script)
        .env("MUSTER", program::path("muster"))
        .env("TMPDIR", work.path())
        .output()
        .unwrap();
    let shown =
        String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{shown}");
    let left: Vec<_> = std::fs::read_dir(work.path()).unwrap().flatten().collect();
    assert!(left.is_empty(), "{left:?}");
    let folder = work.path().to_str().unwrap();
    testkit::wait::until("the last of its processes", || naming(folder).is_empty());
    shown
}

fn assert_shown(shown: &str, lines: &[&str]) {
    for line in lines {
        assert!(shown.contains(line), "{line}\n{shown}");
    }
}

#[test]
fn two_businesses_are_imported_started_changed_and_stopped() {
    let shown = run("topology");
    let lines = [
        "2 of 2 run",
        "port = 8002",
        "every file is as it was released",
        "running, vanished",
        "3 ok (2 ignored)",
        "business 3: ",
    ];
    assert_shown(&shown, &lines);
}

#[test]
fn three_replicas_survive_kills() {
    let shown = run("cluster");
    let lines = [
        "answers you",
        "drains: ",
        "NATS is not connected",
        "the store is not available",
        "refused with exit code 3",
    ];
    assert_shown(&shown, &lines);
    let n_restarts = shown.matches("restart  ok").count();
    assert_eq!(n_restarts, 4 * 3, "{shown}");
    assert!(!shown.contains("failed"), "{shown}");
}
