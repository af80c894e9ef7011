//! `muster import --adopt`: a real agent takes over real processes that another supervisor started.
//!
//! supervisord is the real one. There is no systemd in these tests: a script in its place answers the one question about the
//! pid. The tests of packages take over from a real systemd (`xtask/tests/it/package/lifecycle/adopt.rs`).

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use testing::precondition;
use testkit::{Cluster, wait};

use crate::command_line::{muster, muster_with};

const HOST: &str = "10.1.1.1";

/// A process that this test started, and ends.
struct Foreign(Child);

impl Foreign {
    fn start() -> Self {
        let child = Command::new("sleep")
            .arg("1000")
            .stdin(Stdio::null())
            .spawn();
        Self(child.unwrap())
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// A unit, and a `systemctl` that names this pid.
fn unit(cluster: &Cluster, name: &str, program: &str, pid: u32) -> (String, String) {
    let folder = cluster.path().join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let shown = folder.display();
    let user = std::env::var("USER").unwrap_or_else(|_| "root".to_owned());
    let text = format!(
        "[Service]\nExecStart={program} 1000\nUser={user}\nWorkingDirectory={shown}\nPIDFile={shown}/x.pid\nRestart=always\n"
    );
    let file = folder.join(format!("{name}.service"));
    std::fs::write(&file, text).unwrap();
    let systemctl = folder.join("systemctl");
    std::fs::write(&systemctl, format!("#!/bin/sh\necho {pid}\n")).unwrap();
    std::fs::set_permissions(&systemctl, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{shown}:{}", std::env::var("PATH").unwrap());
    (file.display().to_string(), path)
}

#[test]
fn what_runs_is_taken_over_without_a_restart() {
    let cluster = Cluster::start();
    let _agent = cluster.agent(HOST);
    let foreign = Foreign::start();
    let pid = foreign.0.id();
    let (file, path) = unit(&cluster, "napper", "/bin/sleep", pid);
    let args = ["import", &file, "-n", "old", "--host", HOST, "--adopt"];
    let env = [("PATH", path.as_str())];
    // It asks first.
    let ran = muster_with(&cluster, &args, &env);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("--yes"), "{ran:?}");
    assert_eq!(
        muster(&cluster, &["ps", "-o", "json"]).fine().json()["count"],
        0
    );
    let ran = muster_with(&cluster, &[&args[..], &["--yes"]].concat(), &env).fine();
    assert!(
        ran.stdout
            .contains(&format!("old/napper runs on as pid {pid}, managed")),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("KillMode=none"), "{ran:?}");
    let rows = muster(&cluster, &["ps", "-o", "json"]).fine().json();
    let row = &rows["processes"][0];
    assert_eq!(
        (row["pid"].as_u64(), row["managed"].as_bool()),
        (Some(u64::from(pid)), Some(true)),
        "{row}"
    );
    // The next command forgets it, so that the agent does not start another one when the test ends it.
    muster(&cluster, &["unregister", "old/napper", "--all", "--yes"]).fine();
}

#[test]
fn a_process_that_the_agent_does_not_find_is_not_managed() {
    let cluster = Cluster::start();
    let _agent = cluster.agent(HOST);
    let foreign = Foreign::start();
    // The unit says another program than the one that runs.
    let (file, path) = unit(&cluster, "other", "/opt/other/program", foreign.0.id());
    let args = [
        "import", &file, "-n", "old", "--host", HOST, "--adopt", "--yes",
    ];
    let ran = muster_with(&cluster, &args, &[("PATH", path.as_str())]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr.contains("is registered, and not managed"),
        "{ran:?}"
    );
    let rows = muster(&cluster, &["ps", "-o", "json"]).fine().json();
    assert_eq!(rows["processes"][0]["managed"], false, "{rows}");
}

#[test]
fn what_cannot_be_taken_over_is_left_alone() {
    let cluster = Cluster::start();
    let _agent = cluster.agent(HOST);
    let file = cluster.path().join("Procfile");
    std::fs::write(&file, "web: sleep 1000\n").unwrap();
    let file = file.display().to_string();
    let ran = muster(
        &cluster,
        &["import", &file, "--host", HOST, "--adopt", "--yes"],
    );
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr.contains("keep no list of pids") && ran.stderr.contains("nothing was done"),
        "{ran:?}"
    );
    assert_eq!(
        muster(&cluster, &["ps", "-o", "json"]).fine().json()["count"],
        0
    );
}

/// A real supervisord with programs of its own; it is killed in the end, and they are left to the agent.
struct Supervisord {
    child: Child,
    config: String,
    folder: PathBuf,
}

impl Supervisord {
    /// Whether the machine has one.
    #[track_caller]
    fn is_here() -> bool {
        precondition::succeeds(
            &["supervisord", "--version"],
            "supervisord: scripts/setup test",
        )
    }

    fn start(cluster: &Cluster, programs: &[(&str, &str)]) -> Self {
        let folder = cluster.path().join("supervisord");
        std::fs::create_dir(&folder).unwrap();
        let shown = folder.display();
        let mut text = format!(
            "[supervisord]\nnodaemon=true\nuser=root\nlogfile={shown}/log\npidfile={shown}/pid\nchildlogdir={shown}\n\
             [unix_http_server]\nfile={shown}/socket\n\
             [rpcinterface:supervisor]\nsupervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface\n\
             [supervisorctl]\nserverurl=unix://{shown}/socket\n"
        );
        for (name, command) in programs {
            text += &format!(
                "[program:{name}]\ncommand={command}\ndirectory={shown}\nuser=root\nautorestart=true\nstartsecs=0\n"
            );
        }
        let config = folder.join("supervisord.conf");
        std::fs::write(&config, text).unwrap();
        let config = config.display().to_string();
        let child = Command::new("supervisord")
            .args(["-c", &config])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let started = Self {
            child: child.unwrap(),
            config,
            folder,
        };
        for (name, _) in programs {
            wait::until(&format!("{name} to be started"), || started.pid_of(name));
        }
        started
    }

    fn pid_of(&self, name: &str) -> Option<u64> {
        let asked = Command::new("supervisorctl")
            .args(["-c", &self.config, "pid", name])
            .output()
            .unwrap();
        let pid = String::from_utf8_lossy(&asked.stdout).trim().parse().ok();
        pid.filter(|pid| *pid > 0)
    }

    /// As the advice says: its programs run on.
    fn end(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Supervisord {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// The pids of what runs in this folder with this word in its command line.
fn running(folder: &Path, word: &str) -> Vec<u64> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| {
        let pid: u64 = entry.file_name().to_str()?.parse().ok()?;
        let is_here = std::fs::read_link(entry.path().join("cwd")).ok()? == folder;
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        let has_word = line
            .split(|byte| *byte == 0)
            .any(|one| one == word.as_bytes());
        (is_here && has_word).then_some(pid)
    });
    pids.collect()
}

/// Waits until exactly one process runs: this one, or the only child of this shell.
fn one_runs(folder: &Path, word: &str, pid: u64) {
    let shell = format!("/proc/{pid}/task/{pid}/children");
    wait::until(&format!("{word} to run once, as {pid}"), || {
        let children = std::fs::read_to_string(&shell).unwrap_or_default();
        match running(folder, word).as_slice() {
            [one] => *one == pid || children.split_whitespace().eq([one.to_string()]),
            _ => false,
        }
    });
}

fn pid_in_muster(cluster: &Cluster, name: &str) -> Option<u64> {
    let rows = muster(cluster, &["ps", name, "-o", "json"]).fine().json();
    let row = &rows["processes"][0];
    let is_up = row["state"] == "running" || row["state"] == "ready";
    row["pid"].as_u64().filter(|_| is_up)
}

#[test]
fn programs_of_a_real_supervisord_are_taken_over_without_a_restart() {
    if !Supervisord::is_here() {
        return;
    }
    let cluster = Cluster::start();
    let _agent = cluster.agent(HOST);
    let programs = [
        ("silent", "/bin/sleep 100071"),
        (
            "talker",
            "/bin/sh -c 'while echo 100072; do sleep 0.2; done' 100072",
        ),
    ];
    let mut old = Supervisord::start(&cluster, &programs);
    let pids = programs.map(|(name, _)| old.pid_of(name).unwrap());
    let args = [
        "import",
        &old.config,
        "-n",
        "old",
        "--host",
        HOST,
        "--adopt",
        "--yes",
    ];
    let ran = muster(&cluster, &args).fine();
    for (index, (name, _)) in programs.iter().enumerate() {
        let expected = format!("old/{name} runs on as pid {}, managed", pids[index]);
        assert!(ran.stdout.contains(&expected), "{ran:?}");
        assert_eq!(old.pid_of(name), Some(pids[index]));
        assert_eq!(
            pid_in_muster(&cluster, &format!("old/{name}")),
            Some(pids[index])
        );
    }
    assert!(ran.stderr.contains("fails to write (EPIPE)"), "{ran:?}");
    old.end();
    // What writes to the pipe of supervisord ends, and the agent starts it again.
    let talker = wait::until("the agent to start the talker again", || {
        pid_in_muster(&cluster, "old/talker").filter(|pid| *pid != pids[1])
    });
    one_runs(&old.folder, "100072", talker);
    // What is silent runs on with its pid, until it is killed.
    assert_eq!(running(&old.folder, "100071"), [pids[0]]);
    assert_eq!(pid_in_muster(&cluster, "old/silent"), Some(pids[0]));
    let pid = rustix::process::Pid::from_raw(i32::try_from(pids[0]).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let silent = wait::until("the agent to start the silent one again", || {
        pid_in_muster(&cluster, "old/silent").filter(|pid| *pid != pids[0])
    });
    one_runs(&old.folder, "100071", silent);
    muster(&cluster, &["rm", "-n", "old", "--all", "--yes"]);
}

#[test]
fn apps_of_pm2_stay_with_pm2_whatever_their_pid_file_says() {
    let cluster = Cluster::start();
    let _agent = cluster.agent(HOST);
    let foreign = Foreign::start();
    let folder = cluster.path();
    let pid_file = folder.join("app.pid");
    std::fs::write(&pid_file, foreign.0.id().to_string()).unwrap();
    let app = serde_json::json!({"apps": [{
        "name": "app", "script": "/bin/sleep", "args": "1000", "interpreter": "none",
        "cwd": folder, "pid_file": pid_file, "user": "root",
    }]});
    let file = folder.join("ecosystem.json");
    std::fs::write(&file, app.to_string()).unwrap();
    let file = file.display().to_string();
    let ran = muster(
        &cluster,
        &["import", &file, "--host", HOST, "--adopt", "--yes"],
    );
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("pm2 delete app"), "{ran:?}");
    let rows = muster(&cluster, &["ps", "-o", "json"]).fine().json();
    assert_eq!(rows["count"], 0);
}
