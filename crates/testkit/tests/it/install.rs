//! `install.sh`, as a new host runs it: downloaded by curl from a real server, with a real agent, in folders of the test.

mod bad_input;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use testkit::{Cluster, Relay, precondition, wait};

use crate::agent_binary::{NEW, OLD, agent_of_version, handed_out};
use crate::fixture::Fixture;

/// Downloads the script from `$0` and runs it; the rest is shell and options.
const PIPE: &str = r#"set -o pipefail; curl -fsS "$0/install.sh" | "$@""#;

/// A machine that becomes a host, in one folder.
struct Machine {
    folder: PathBuf,
    url: String,
    shell: Vec<&'static str>,
    /// A program that gets the command line of the shell.
    wrapper: Vec<String>,
    /// Before all others in PATH.
    programs: Option<PathBuf>,
    token: Option<String>,
}

/// What the script said, and its exit code.
#[derive(Debug)]
struct Ran {
    code: Option<i32>,
    said: String,
}

impl Machine {
    fn new(cluster: &Cluster, name: &str) -> Self {
        let folder = cluster.path().join(name);
        fs::create_dir(&folder).unwrap();
        Self {
            folder,
            url: format!("http://{}", cluster.http()),
            shell: vec!["sh"],
            wrapper: Vec::new(),
            programs: None,
            token: None,
        }
    }

    fn data(&self) -> PathBuf {
        self.folder.join("var/data")
    }

    fn exe(&self) -> PathBuf {
        self.folder.join("usr/bin/muster-agent")
    }

    fn config(&self) -> PathBuf {
        self.folder.join("etc/muster/agent.toml")
    }

    fn run(&self, words: &[&str]) -> Ran {
        let mut command = Command::new("bash");
        command.args(["-c", PIPE, &self.url]).args(&self.wrapper);
        command.args(&self.shell).args(["-s", "--"]).args(words);
        let (data, exe, config) = (self.data(), self.exe(), self.config());
        command.arg("--data").arg(data).arg("--bin-dir");
        command.arg(exe.parent().unwrap()).arg("--config-dir");
        command.arg(config.parent().unwrap()).arg("--no-service");
        command.env_remove("MUSTER_JOIN_TOKEN");
        if let Some(token) = &self.token {
            command.env("MUSTER_JOIN_TOKEN", token);
        }
        if let Some(programs) = &self.programs {
            let path = std::env::var("PATH").unwrap();
            command.env("PATH", format!("{}:{path}", programs.display()));
        }
        let ran = command.output().unwrap();
        let said = [ran.stdout, ran.stderr].concat();
        Ran {
            code: ran.status.code(),
            said: String::from_utf8_lossy(&said).into_owned(),
        }
    }

    /// A program that is found before that of the same name.
    fn add_program(&mut self, name: &str, script: &str) {
        let folder = self.folder.with_extension("programs");
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        let executable: fs::Permissions = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(path, executable).unwrap();
        self.programs = Some(folder);
    }

    #[track_caller]
    fn install(&self, words: &[&str]) -> String {
        let ran = self.run(words);
        assert_eq!(ran.code, Some(0), "{words:?}: {}", ran.said);
        ran.said
    }

    fn run_file(&self) -> Value {
        let text = fs::read_to_string(self.data().join("agent.run")).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Pid and version of the agent.
    fn agent(&self) -> (i64, String) {
        let file = self.run_file();
        let version = file["version"].as_str().unwrap_or_default().to_owned();
        (file["pid"].as_i64().unwrap_or_default(), version)
    }

    /// Every file, with what changes when it is written; without the agent's own.
    fn files(&self) -> Vec<(PathBuf, u64, u64, i64)> {
        let mut found = Vec::new();
        collect(&self.folder, &mut found);
        found
            .retain(|(path, ..)| !path.starts_with(self.data()) || path.ends_with("identity.toml"));
        found.sort();
        found
    }
}

fn collect(folder: &Path, found: &mut Vec<(PathBuf, u64, u64, i64)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let data = fs::symlink_metadata(&path).unwrap();
        // The folder of the program changes with the temporary folder in it.
        let changed_at = if data.is_dir() { 0 } else { data.mtime_nsec() };
        found.push((path.clone(), data.ino(), data.mode().into(), changed_at));
        if data.is_dir() {
            collect(&path, found);
        }
    }
}

impl Drop for Machine {
    #[expect(
        clippy::print_stdout,
        reason = "the test runner shows the log of a failed test"
    )]
    fn drop(&mut self) {
        let (pid, _) = self.agent();
        let exe = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
        let pid = Pid::from_raw(pid as i32).filter(|_| exe.starts_with(&self.folder));
        if let Some(pid) = pid {
            let _ = kill_process(pid, Signal::KILL);
        }
        if std::thread::panicking() {
            let log = fs::read_to_string(self.data().join("agent.log"));
            println!("log of the agent:\n{}", log.unwrap_or_default());
        }
    }
}

/// A new join token.
fn token(cluster: &Cluster, body: Value) -> Value {
    let (status, answer) = cluster.api.native("POST", "/api/v1/tokens", Some(body));
    assert_eq!(status, 201, "{answer}");
    answer
}

fn any_token(cluster: &Cluster) -> String {
    token(cluster, json!({}))["token"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// A server that hands out an agent of this version, without debug information.
fn start() -> Cluster {
    let cluster = Cluster::start_with(&["--relays", "127.0.0.1"]);
    agent_of_version(OLD, &handed_out(&cluster, OLD, std::env::consts::ARCH));
    cluster
}

#[test]
fn one_line_installs_again_changes_nothing_then_upgrades_and_uninstalls() {
    let cluster = start();
    let mut machine = Machine::new(&cluster, "host");
    let ip = "10.8.0.1";
    let made = token(&cluster, json!({"host": ip, "expires_in": "1h", "uses": 1}));
    let secret = made["token"].as_str().unwrap();
    // The line that CLI and console show.
    let line = format!(
        "curl -fsS {}/install.sh | sh -s -- --token {secret} --ip {ip}",
        machine.url
    );
    assert_eq!(made["install"], line.as_str());
    let said = machine.install(&["--token", secret, "--ip", ip]);
    let connected = format!("muster-agent {OLD} is connected to {}", cluster.agents());
    assert!(said.contains(&connected), "{said}");
    assert!(said.contains("joined as host 0:10.8.0.1"), "{said}");
    cluster.wait_for_agent(ip, true);
    let agent = machine.agent();
    let config = fs::read_to_string(machine.config()).unwrap();
    assert!(!config.contains(secret), "the token is nowhere on disk");

    let daemon = Fixture::daemon(cluster.path(), ip, "kept");
    let cmd = daemon.daemon_cmd();
    let daemon = daemon.registered(&cluster.api, &cmd);
    assert_eq!(daemon.operate(&cluster.api, 0).0, 0);
    let pid = daemon.pid();

    // Again, and without a token: nothing changes.
    let before = machine.files();
    for words in [&["--token", secret, "--ip", ip][..], &[]] {
        let said = machine.install(words);
        assert!(said.contains("runs already"), "{said}");
        assert_eq!(machine.files(), before);
        assert_eq!(machine.agent(), agent);
    }
    // Another server: the file is kept, and that is said.
    let said = machine.install(&["--server", "192.0.2.1:7101"]);
    let kept = format!("its server is {}, not 192.0.2.1:7101", cluster.agents());
    assert!(said.contains(&kept), "{said}");
    assert_eq!(machine.files(), before);

    // The server gets a newer version.
    agent_of_version(NEW, &handed_out(&cluster, NEW, std::env::consts::ARCH));
    let said = machine.install(&[]);
    assert!(
        said.contains(&format!("went from {OLD} to {NEW}")),
        "{said}"
    );
    assert_eq!(machine.agent(), (agent.0, NEW.to_owned()));
    assert_eq!((daemon.pid(), daemon.executions()), (pid, 1));
    daemon.wait_for_status(&cluster.api, 1);
    // And back to the old one, which the operator names.
    machine.install(&["--version", OLD]);
    assert_eq!(machine.agent(), agent);

    // The agent was stopped: the same line starts it, and it takes its process over.
    let agent = Pid::from_raw(agent.0 as i32).unwrap();
    kill_process(agent, Signal::TERM).unwrap();
    let exe = format!("/proc/{}/exe", agent.as_raw_nonzero());
    wait::until("the agent to end", || fs::read_link(&exe).is_err());
    machine.token = Some(secret.to_owned());
    let said = machine.install(&["--version", OLD]);
    assert!(said.contains("had joined as host"), "{said}");
    daemon.wait_for_status(&cluster.api, 1);

    let said = machine.install(&["--uninstall"]);
    assert!(said.contains("keep running"), "{said}");
    cluster.wait_for_agent(ip, false);
    assert!(!machine.exe().exists() && !machine.config().exists());
    assert!(machine.data().join("identity.toml").exists());
    assert_eq!((daemon.pid(), daemon.executions()), (pid, 1));
    assert!(daemon.is_alive());
    let said = machine.install(&["--uninstall"]);
    assert!(
        said.contains("there is no agent here; nothing was changed"),
        "{said}"
    );
    machine.install(&["--uninstall", "--purge"]);
    assert!(!machine.data().exists());
    assert!(daemon.is_alive());
}

#[test]
fn every_shell_runs_it() {
    let cluster = start();
    let shells: [(&[&'static str], &str); 3] = [
        (&["dash"], "10.8.1.1"),
        (&["bash", "--posix"], "10.8.1.2"),
        (&["busybox", "sh"], "10.8.1.3"),
    ];
    for (n, (shell, ip)) in shells.into_iter().enumerate() {
        let is_there = Command::new(shell[0]).args(["-c", "true"]).output().is_ok();
        // Most machines have no busybox.
        if !is_there && shell[0] == "busybox" {
            continue;
        }
        if !precondition::is_met(is_there, shell[0]) {
            continue;
        }
        let mut machine = Machine::new(&cluster, &format!("host-{n}"));
        machine.shell = shell.to_vec();
        machine.token = Some(any_token(&cluster));
        machine.install(&["--ip", ip]);
        cluster.wait_for_agent(ip, true);
        let said = machine.install(&["--ip", ip]);
        assert!(said.contains("runs already"), "{shell:?}: {said}");
        machine.install(&["--uninstall", "--purge"]);
        assert_eq!(machine.run(&["--what"]).code, Some(2), "{shell:?}");
        let left: Vec<_> = machine.files().into_iter().map(|file| file.0).collect();
        assert!(left.iter().all(|path| path.is_dir()), "{shell:?}: {left:?}");
    }
}

#[test]
fn a_host_is_installed_and_upgraded_through_a_relay() {
    let cluster = start();
    let http = cluster.http().to_string();
    let arguments = ["--http-listen", "127.0.0.1:0", "--http-server", &http];
    let relay = Relay::start(cluster.path(), "relay", &[cluster.agents()], &arguments);
    let mut machine = Machine::new(&cluster, "host");
    machine.url = format!("http://{}", relay.http.unwrap());
    let (ip, agents) = ("10.8.2.1", relay.agents.to_string());
    let secret = any_token(&cluster);
    let said = machine.install(&["--token", &secret, "--ip", ip, "--server", &agents]);
    assert!(
        said.contains(&format!("is connected to {agents}")),
        "{said}"
    );
    cluster.wait_for_agent(ip, true);
    let path = format!("/api/v1/hosts/0:{ip}");
    let (_, host) = cluster.api.native("GET", &path, None);
    assert_eq!(host["relay"], "127.0.0.1", "{host}");
    let agent = machine.agent();

    agent_of_version(NEW, &handed_out(&cluster, NEW, std::env::consts::ARCH));
    let said = machine.install(&["--server", &agents]);
    assert!(
        said.contains(&format!("went from {OLD} to {NEW}")),
        "{said}"
    );
    assert_eq!(machine.agent(), (agent.0, NEW.to_owned()));
    // The server upgrades it, too.
    let body = json!({"hosts": [format!("0:{ip}")], "version": OLD});
    let upgraded = crate::agent_upgrades::upgrade(&cluster.api, body);
    assert_eq!(upgraded["status"], "succeeded", "{upgraded}");
    assert_eq!(machine.agent(), agent);
}

#[test]
fn a_host_that_was_removed_joins_again_with_a_new_token() {
    let cluster = start();
    let machine = Machine::new(&cluster, "host");
    let ip = "10.8.3.1";
    machine.install(&["--token", &any_token(&cluster), "--ip", ip]);
    machine.install(&["--uninstall"]);
    cluster.wait_for_agent(ip, false);
    let path = format!("/api/v1/hosts/0:{ip}/revoke");
    let (status, answer) = cluster.api.native("POST", &path, Some(json!({})));
    assert!(status < 300, "{answer}");
    // Without a token it says what is wrong.
    let before = machine.files();
    let ran = machine.run(&[]);
    assert_eq!(ran.code, Some(1), "{}", ran.said);
    assert!(ran.said.contains("accepted by"), "{}", ran.said);
    assert_eq!(machine.files(), before);
    let said = machine.install(&["--token", &any_token(&cluster), "--ip", ip]);
    assert!(said.contains("joined as host 0:10.8.3.1"), "{said}");
    cluster.wait_for_agent(ip, true);
}

#[test]
fn the_program_of_a_package_is_used_and_kept() {
    let cluster = start();
    let mut machine = Machine::new(&cluster, "host");
    machine.add_program("dpkg-query", "echo muster-agent: \"$2\"");
    fs::create_dir_all(machine.exe().parent().unwrap()).unwrap();
    agent_of_version(OLD, &machine.exe());
    let executable: fs::Permissions = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(machine.exe(), executable).unwrap();
    let program = machine.files();
    agent_of_version(NEW, &handed_out(&cluster, NEW, std::env::consts::ARCH));
    let secret = any_token(&cluster);
    let words = ["--token", secret.as_str(), "--ip", "10.8.4.1"];

    let ran = machine.run(&[&words[..], &["--version", NEW]].concat());
    assert_eq!(ran.code, Some(1), "{}", ran.said);
    let sentence = format!("of the package muster-agent, not {NEW}: install that package");
    assert!(ran.said.contains(&sentence), "{}", ran.said);
    assert_eq!(machine.files(), program);

    let said = machine.install(&words);
    assert!(
        said.contains("belongs to the package muster-agent and is kept"),
        "{said}"
    );
    assert_eq!(machine.agent().1, OLD);
    let after = machine.files();
    assert!(program.iter().all(|file| after.contains(file)));

    let ran = machine.run(&["--uninstall"]);
    assert_eq!(ran.code, Some(1), "{}", ran.said);
    let sentence = "remove that (apt-get remove muster-agent, or yum remove muster-agent); nothing was changed";
    assert!(ran.said.contains(sentence), "{}", ran.said);
    assert_eq!(machine.files(), after);
}
