//! The examples, run as they are.

use std::process::Command;
use std::time::{Duration, Instant};

use testkit::program;

/// Longer than it takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Command lines of processes that name this folder.
fn naming(folder: &str) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        Some(String::from_utf8_lossy(&line).replace('\0', " "))
    });
    lines.filter(|line| line.contains(folder)).collect()
}

#[test]
fn two_businesses_are_imported_started_changed_and_stopped() {
    let work = tempfile::TempDir::with_prefix("muster-example-").unwrap();
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/topology/run.sh"
    );
    let began = Instant::now();
    let ran = Command::new("sh")
        .arg(script)
        .env("MUSTER", program::path("muster"))
        .env("TMPDIR", work.path())
        .output()
        .unwrap();
    let shown =
        String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{shown}");
    assert!(began.elapsed() < PATIENCE, "{shown}");
    for line in [
        "2 of 2 run",
        "port = 8002",
        "every file is as it was released",
        "running, vanished",
        "3 ok (2 ignored)",
        "business 3: ",
    ] {
        assert!(shown.contains(line), "{line}\n{shown}");
    }
    let left: Vec<_> = std::fs::read_dir(work.path()).unwrap().flatten().collect();
    assert!(left.is_empty(), "{left:?}");
    let folder = work.path().to_str().unwrap();
    testkit::wait::until("the last of its processes", || {
        naming(folder).is_empty().then_some(())
    });
}
