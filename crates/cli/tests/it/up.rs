//! `muster up` with a real agent and a real process, which outlives it.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use testing::wait::until;

use crate::command::Output;

/// A directory with a Muster in it, and the command that keeps it up.
struct Up {
    home: PathBuf,
    child: Child,
    url: String,
}

fn command(home: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_muster"));
    command
        .args(args)
        .current_dir(home)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home)
        .env("MUSTER_DATA", home.join("data"))
        .stdin(Stdio::null());
    command
}

impl Up {
    /// Returns once it says that it is up.
    fn start(home: &Path) -> Self {
        let args = ["up", "--http", "127.0.0.1:0", "--agents", "127.0.0.1:0"];
        let mut child = command(home, &args)
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut first = String::new();
        stdout.read_line(&mut first).unwrap();
        let url = first
            .trim_end()
            .strip_prefix("Muster is up: ")
            .unwrap_or_else(|| panic!("{first:?}"))
            .to_owned();
        child.stdout = Some(stdout.into_inner());
        Self {
            home: home.to_owned(),
            child,
            url,
        }
    }

    fn run(&self, args: &[&str]) -> Output {
        let output = command(&self.home, args).output().unwrap();
        Output {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The same, where nothing else than success will do.
    fn fine(&self, args: &[&str]) -> Output {
        let ran = self.run(args);
        assert_eq!(ran.code, 0, "{args:?}: {ran:?}");
        ran
    }

    fn pid(&self) -> Pid {
        let ran = self.fine(&["ps", "-o", "json"]);
        let row = &ran.json()["processes"][0];
        assert_eq!(row["state"], "running", "{row}");
        Pid::from_raw(i32::try_from(row["pid"].as_i64().unwrap()).unwrap()).unwrap()
    }

    /// Ctrl-C; returns what was said after the first line.
    fn interrupt(mut self) -> String {
        kill_process(child_pid(&self.child), Signal::INT).unwrap();
        let mut said = String::new();
        self.child
            .stdout
            .take()
            .unwrap()
            .read_to_string(&mut said)
            .unwrap();
        assert!(self.child.wait().unwrap().success());
        said
    }
}

fn child_pid(child: &Child) -> Pid {
    Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap()
}

/// The agent of `up` writes its number into its lock.
fn agent_pid(home: &Path) -> Option<Pid> {
    let text = std::fs::read_to_string(home.join("data/agent/lock")).ok()?;
    Pid::from_raw(text.trim().parse().ok()?)
}

fn is_alive(pid: Pid) -> bool {
    test_kill_process(pid).is_ok()
}

/// Ends what a test that failed half-way would leave behind.
struct Leftover(PathBuf);

impl Drop for Leftover {
    fn drop(&mut self) {
        let text = std::fs::read_to_string(&self.0).unwrap_or_default();
        if let Some(pid) = text.trim().parse().ok().and_then(Pid::from_raw) {
            let _gone_already = kill_process(pid, Signal::KILL);
        }
    }
}

const REGISTER: [&str; 8] = [
    "register",
    "demo/sleeper",
    "--start",
    "sleep 1000",
    "--start-check",
    "0",
    "--label",
    "a=b",
];

#[test]
fn a_process_outlives_up() {
    let home = tempfile::tempdir().unwrap();
    let _leftover = Leftover(home.path().join("sleeper.pid"));
    let up = Up::start(home.path());
    assert!(up.url.starts_with("http://127.0.0.1:"), "{}", up.url);

    assert!(
        up.fine(&["hosts"])
            .stdout
            .contains("0:127.0.0.1  connected")
    );
    up.fine(&REGISTER);
    up.fine(&REGISTER);
    assert_eq!(up.run(&[&REGISTER[..], &["--mem", "9"]].concat()).code, 1);
    up.fine(&["update", "demo/sleeper", "--mem", "99", "--all"]);
    assert!(
        up.fine(&["status", "demo/sleeper"])
            .stdout
            .contains("limits      99% mem")
    );

    up.fine(&["start", "demo/sleeper"]);
    let pid = up.pid();
    assert!(is_alive(pid));
    assert!(
        up.fine(&["start", "demo/sleeper"])
            .stdout
            .contains("already running")
    );
    assert_eq!(up.run(&["start", "demo/sleeper", "--strict"]).code, 1);
    assert!(
        up.fine(&["query", "demo/sleeper"])
            .stdout
            .contains("sleep 1000")
    );
    let task = up.fine(&["restart", "demo/sleeper", "--no-wait"]);
    up.fine(&["task", task.stdout.trim()]);
    let restarted = up.pid();
    assert_ne!(restarted, pid);

    let said = up.interrupt();
    assert!(said.contains("1 process keeps running"), "{said}");
    assert!(is_alive(restarted));

    // The same data again: it goes on where it was.
    let up = Up::start(home.path());
    until("the process is known again", || {
        up.run(&["ps", "--state", "running"])
            .stdout
            .contains("demo/sleeper")
    });
    assert_eq!(up.pid(), restarted);
    up.fine(&["stop", "demo/sleeper"]);
    until("it is gone", || !is_alive(restarted));
    assert!(
        up.fine(&["stop", "demo/sleeper"])
            .stdout
            .contains("already stopped")
    );
    up.fine(&["unregister", "demo/sleeper", "--all", "--yes"]);
    up.fine(&["unregister", "demo/sleeper", "--yes"]);
    up.fine(&["unregister", "demo/sleeper", "--host", "127.0.0.1", "--yes"]);
    for choice in [&[][..], &["--all"], &["--host", "127.0.0.1"]] {
        let ran = up.run(&[&["start", "demo/sleeper"], choice].concat());
        assert_eq!(ran.code, 4, "{choice:?}: {ran:?}");
    }
    assert!(up.interrupt().contains("nothing was running"));
}

#[test]
fn processes_survive_killed_agents_and_servers() {
    let home = tempfile::tempdir().unwrap();
    let _leftover = Leftover(home.path().join("sleeper.pid"));
    let mut up = Up::start(home.path());
    up.fine(&REGISTER);
    up.fine(&["start", "demo/sleeper"]);
    let pid = up.pid();
    let agent = agent_pid(home.path()).unwrap();
    kill_process(agent, Signal::KILL).unwrap();
    until("another agent took its place", || {
        agent_pid(home.path()).is_some_and(|pid| pid != agent)
            && up.run(&["hosts"]).stdout.contains("0:127.0.0.1  connected")
    });
    assert_eq!(up.pid(), pid);
    let agent = agent_pid(home.path()).unwrap();
    assert!(is_alive(agent));

    up.child.kill().unwrap();
    up.child.wait().unwrap();
    until("the agent left", || !is_alive(agent));
    assert!(is_alive(pid));

    let up = Up::start(home.path());
    until("the process is known again", || {
        up.run(&["ps", "--state", "running"])
            .stdout
            .contains("demo/sleeper")
    });
    assert_eq!(up.pid(), pid);
    up.fine(&["kill", "demo/sleeper"]);
    until("it is gone", || !is_alive(pid));
    up.interrupt();
}

#[test]
fn programs_learn_the_address_from_one_document() {
    for verb in ["up", "server"] {
        let home = tempfile::tempdir().unwrap();
        let args = [
            verb,
            "--http",
            "127.0.0.1:0",
            "--agents",
            "127.0.0.1:0",
            "-o",
            "json",
        ];
        let mut child = command(home.path(), &args)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut first = String::new();
        stdout.read_line(&mut first).unwrap();
        let document: serde_json::Value = serde_json::from_str(&first).unwrap();
        let url = document["url"].as_str().unwrap();
        let hosts = command(home.path(), &["hosts", "--url", url])
            .output()
            .unwrap();
        assert!(hosts.status.success(), "{hosts:?}");

        kill_process(child_pid(&child), Signal::INT).unwrap();
        let mut rest = String::new();
        stdout.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "", "{verb}");
        assert!(child.wait().unwrap().success(), "{verb}");
    }
}

#[test]
fn two_servers_do_not_share_a_data_directory() {
    let home = tempfile::tempdir().unwrap();
    let up = Up::start(home.path());
    let ran = up.run(&["server", "--http", "127.0.0.1:0", "--agents", "127.0.0.1:0"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stderr.contains("in use by another server"), "{ran:?}");
    assert!(ran.stderr.contains("--data"), "{ran:?}");

    let taken = up.url.trim_start_matches("http://");
    let other = home.path().join("other").display().to_string();
    let ran = up.run(&[
        "server",
        "--http",
        taken,
        "--agents",
        "127.0.0.1:0",
        "--data",
        &other,
    ]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(
        ran.stderr.contains(&format!("cannot listen on {taken}")),
        "{ran:?}"
    );
    up.interrupt();
}

#[test]
fn the_agent_of_up_is_upgraded_in_place() {
    let home = tempfile::tempdir().unwrap();
    let _leftover = Leftover(home.path().join("sleeper.pid"));
    let up = Up::start(home.path());
    up.fine(&REGISTER);
    up.fine(&["start", "demo/sleeper"]);
    let (sleeper, agent) = (up.pid(), agent_pid(home.path()).unwrap());

    // Nothing is replaced: the binary is the one of all tests.
    let upgrade = ["agent", "upgrade", "--data", "data/agent", "-o", "json"];
    let done = up.fine(&upgrade).json();
    assert_eq!(done["pid"], agent.as_raw_nonzero().get(), "{done}");
    assert_eq!(done["to"], env!("CARGO_PKG_VERSION"), "{done}");
    assert_eq!(done["connected"], true, "{done}");
    assert_eq!(agent_pid(home.path()), Some(agent));
    assert_eq!(up.pid(), sleeper);

    let own = env!("CARGO_BIN_EXE_muster");
    let refused = up.run(&[&upgrade[..], &["--binary", own]].concat());
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.stderr.contains("own binary"), "{refused:?}");
    let not_running = up.run(&["agent", "upgrade", "--data", "data"]);
    assert_eq!(not_running.code, 4, "{not_running:?}");

    up.fine(&["stop", "demo/sleeper"]);
    up.interrupt();
    until("the agent left with muster up", || !is_alive(agent));
}
