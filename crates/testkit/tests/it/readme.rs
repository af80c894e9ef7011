//! Runs the first steps of the README.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use testkit::program;

/// The commands of the block that is marked `sh run`.
fn commands() -> Vec<String> {
    let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
    let text = std::fs::read_to_string(readme).unwrap();
    let block = text
        .split("```sh run\n")
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap();
    block.lines().map(str::to_owned).collect()
}

#[test]
fn the_first_steps_work_as_written() {
    let data = tempfile::TempDir::with_prefix("muster-readme-").unwrap();
    let muster = program::path("muster");
    let mut up = Command::new(&muster)
        .args([
            "up",
            "--http",
            "127.0.0.1:0",
            "--agents",
            "127.0.0.1:0",
            "--data",
        ])
        .arg(data.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(up.stdout.take().unwrap())
        .lines()
        .map_while(Result::ok);
    let url = lines
        .find(|line| line.contains("http://"))
        .expect("up says where it is");
    std::thread::spawn(move || lines.for_each(drop));
    testkit::wait::until("the local agent", || {
        let hosts = Command::new(&muster)
            .args(["hosts", "-o", "json", "--data"])
            .arg(data.path())
            .output()
            .unwrap();
        let shown = String::from_utf8_lossy(&hosts.stdout).replace(' ', "");
        shown.contains("\"connected\":true")
    });
    let commands = commands();
    assert!(
        commands.len() >= 5 && commands.iter().all(|line| line.starts_with("muster ")),
        "{commands:?}"
    );
    for line in &commands {
        let path = format!(
            "{}:{}",
            muster.parent().unwrap().display(),
            std::env::var("PATH").unwrap()
        );
        let shell = Command::new("sh")
            .args(["-c", line])
            .env("PATH", path)
            .env("MUSTER_DATA", data.path())
            .output();
        let output = shell.unwrap();
        let shown = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}\n{shown}\n({url})");
    }
    up.kill().unwrap();
    up.wait().unwrap();
}
