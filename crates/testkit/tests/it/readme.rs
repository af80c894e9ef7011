//! Runs the commands of the README, docs/start.md, docs/tutorial.md, docs/operations/backup.md and docs/guides/api.md: those in blocks that are marked
//! `sh run`, and the program that is marked `python run`.

use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;
use testkit::{precondition, program};

/// A command of a document, and whether the text says that it fails.
#[derive(Debug, PartialEq, Eq)]
struct Step {
    line: String,
    fails: bool,
}

/// The blocks of a document with this mark.
fn blocks(document: &str, mark: &str) -> Vec<String> {
    let path = format!("{}/../../{document}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let opening = format!("```{mark}\n");
    let blocks = text.split(&opening).skip(1);
    blocks
        .map(|block| block.split("```").next().unwrap().to_owned())
        .collect()
}

fn lines(document: &str) -> Vec<String> {
    let blocks = blocks(document, "sh run");
    let lines = blocks.iter().flat_map(|block| block.lines());
    lines.map(str::to_owned).collect()
}

fn steps(document: &str) -> Vec<Step> {
    lines(document)
        .into_iter()
        .map(|line| Step {
            fails: line.contains("# fails"),
            line,
        })
        .collect()
}

/// `muster up` in a folder of its own, with its agent connected.
struct Installation {
    up: Child,
    url: String,
    data: tempfile::TempDir,
    /// Where agents connect.
    agents: String,
}

impl Installation {
    fn start() -> Self {
        let data = tempfile::TempDir::with_prefix("muster-readme-").unwrap();
        let mut up = Command::new(program::path("muster"))
            .args(["up", "--http", "127.0.0.1:0", "--agents", "127.0.0.1:0"])
            .args(["-o", "json"])
            .arg("--data")
            .arg(data.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(up.stdout.take().unwrap())
            .lines()
            .map_while(Result::ok);
        let is_up = lines.next().expect("up prints its addresses");
        let is_up: Value = serde_json::from_str(&is_up).unwrap();
        std::thread::spawn(move || lines.for_each(drop));
        let [url, agents] = ["url", "agents"].map(|key| is_up[key].as_str().unwrap().to_owned());
        let installation = Self {
            up,
            url,
            data,
            agents,
        };
        testkit::wait::until("the local agent", || {
            let hosts = installation.shell("muster hosts -o json");
            let shown = String::from_utf8_lossy(&hosts.stdout).replace(' ', "");
            shown.contains("\"connected\":true")
        });
        installation
    }

    fn shell(&self, line: &str) -> Output {
        self.command(line).output().unwrap()
    }

    fn command(&self, script: &str) -> Command {
        let muster = program::path("muster");
        let path = std::env::var("PATH").unwrap();
        let path = format!("{}:{path}", muster.parent().unwrap().display());
        let mut command = Command::new("sh");
        command
            .args(["-c", script])
            .env("PATH", path)
            .env("HOME", self.data.path())
            .env("MUSTER_DATA", self.data.path())
            .env("MUSTER_SERVER", &self.agents);
        command
    }

    /// Runs a script in a folder and a process group of its own, with its output in a file: agents that it leaves in the
    /// background hold its output open.
    fn script(&self, folder: &Path, script: &str) -> (bool, String, Group) {
        let log = folder.join("output");
        let file = std::fs::File::create(&log).unwrap();
        let mut child = self
            .command(script)
            .current_dir(folder)
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(file.try_clone().unwrap())
            .stderr(file)
            .spawn()
            .unwrap();
        let group = Group(Pid::from_child(&child));
        let is_ok = child.wait().unwrap().success();
        (is_ok, std::fs::read_to_string(&log).unwrap(), group)
    }
}

/// The processes that a script left in the background.
struct Group(Pid);

impl Drop for Group {
    fn drop(&mut self) {
        // It is gone where nothing was left.
        kill_process_group(self.0, Signal::KILL).ok();
    }
}

impl Drop for Installation {
    /// The text need not end what it started.
    fn drop(&mut self) {
        let listed = self.shell("muster ps -o json");
        let listed: Value = serde_json::from_slice(&listed.stdout).unwrap_or_default();
        for row in listed["processes"].as_array().into_iter().flatten() {
            let [namespace, name] = ["namespace", "name"].map(|key| row[key].as_str().unwrap());
            self.shell(&format!("muster rm {namespace}/{name} --all --force --yes"));
        }
        self.up.kill().unwrap();
        self.up.wait().unwrap();
    }
}

fn works_as_written(document: &str, n_steps: usize) {
    let steps = steps(document);
    let is_ours = |step: &Step| step.line.starts_with("muster ");
    assert!(
        steps.len() >= n_steps && steps.iter().all(is_ours),
        "{steps:?}"
    );
    let installation = Installation::start();
    for Step { line, fails } in &steps {
        let output = installation.shell(line);
        let shown = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.success(), !fails, "{line}\n{shown}");
    }
}

#[test]
fn the_readme_works_as_written() {
    works_as_written("README.md", 4);
}

#[test]
fn the_start_works_as_written() {
    works_as_written("docs/start.md", 12);
}

#[test]
fn the_guide_to_rollouts_works_as_written() {
    works_as_written("docs/guides/rollout.md", 14);
}

#[test]
fn the_guide_to_declaring_works_as_written() {
    let folder = tempfile::TempDir::with_prefix("muster-declare-").unwrap();
    let script = or_fails(lines("docs/guides/declare.md"));
    assert!(script.lines().count() >= 40, "{script}");
    let installation = Installation::start();
    let (is_ok, output, _group) = installation.script(folder.path(), &script);
    assert!(is_ok, "{script}\n--- output\n{output}");
    for expected in [
        "+ process shop/front on ",
        "nothing to change: 2 as declared",
        "- process shop/old",
        "worker.conf:10: stderr_logfile=/tmp/worker.err: ",
        "+ process shop/worker_01 on 0:127.0.0.1",
    ] {
        assert!(output.contains(expected), "{expected} is missing: {output}");
    }
}

/// One script, in which a line that the text says fails must fail.
fn or_fails(lines: Vec<String>) -> String {
    let lines: Vec<String> = lines
        .into_iter()
        .map(|line| match line.contains("# fails") {
            true => format!("if {line}\nthen echo 'this should have failed'; exit 1; fi"),
            false => line,
        })
        .collect();
    format!("set -eu\n{}\n", lines.join("\n"))
}

#[test]
fn the_backup_works_as_written() {
    let folder = tempfile::TempDir::with_prefix("muster-backup-").unwrap();
    let lines = lines("docs/operations/backup.md");
    assert!(lines.len() >= 6, "{lines:?}");
    let script = format!("set -eu\nPASSPHRASE='of the test'\n{}\n", lines.join("\n"));
    let installation = Installation::start();
    let (is_ok, output, _group) = installation.script(folder.path(), &script);
    assert!(is_ok, "{script}\n--- output\n{output}");
    assert!(
        folder.path().join("restored/muster.db").exists(),
        "{output}"
    );
}

/// The first of six ports in a row that are free on loopback. Below those that the kernel gives to connections and to tests
/// that ask for any port: they would take one of the six before it is used.
fn free_ports() -> u16 {
    let is_free = |port: u16| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok();
    // Two test runs at the same time begin at different ones.
    let first = 10_000 + u16::try_from(std::process::id() % 2_000).unwrap() * 10;
    (first..32_000)
        .step_by(10)
        .find(|port| (*port..port + 6).all(is_free))
        .unwrap()
}

#[test]
fn the_tutorial_works_as_written() {
    let folder = tempfile::TempDir::with_prefix("muster-tutorial-").unwrap();
    let port = free_ports();
    // The port of the text may be taken on this machine; 8083 is the third instance.
    let script = or_fails(lines("docs/tutorial.md"))
        .replace("8080", &port.to_string())
        .replace("8083", &(port + 3).to_string());
    let installation = Installation::start();
    let (is_ok, output, group) = installation.script(folder.path(), &script);
    // Dropped in this order: processes are stopped while their agents still run.
    let _clean_up = (installation, group);
    let shown = format!("{script}\n--- output\n{output}");
    assert!(is_ok, "{shown}");
    for expected in [
        "No module named http.servre",
        "hello from prod, number 3",
        "welcome from prod, number 3",
        "SIGKILL",
        "lacks role operator",
    ] {
        assert!(output.contains(expected), "{expected} is missing: {shown}");
    }
}

#[test]
fn the_first_client_of_the_guide_works_as_written() {
    if !precondition::succeeds(&["python3", "--version"], "Python") {
        return;
    }
    let guide = "docs/guides/api.md";
    let installation = Installation::start();
    let [step] = &steps(guide)[..] else {
        panic!("the guide creates an app");
    };
    let created = installation.shell(&format!("{} -o json", step.line));
    let created: Value = serde_json::from_slice(&created.stdout).unwrap();
    let [program] = &blocks(guide, "python run")[..] else {
        panic!("the guide has one program");
    };
    let output = Command::new("python3")
        .args(["-c", program])
        .env("MUSTER_URL", &installation.url)
        .env("TICKER_SECRET", created["secret"].as_str().unwrap())
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{shown}{error}");
    let lines: Vec<Vec<&str>> = shown
        .lines()
        .map(|line| line.split(' ').collect())
        .collect();
    let [started, listed] = &lines[..] else {
        panic!("{shown}{error}");
    };
    assert_eq!(started[1], "0", "{shown}");
    assert_eq!((listed[0], listed[2]), ("client", "running"), "{shown}");
}
