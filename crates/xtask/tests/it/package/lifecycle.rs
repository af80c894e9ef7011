//! What happens to agent and processes when packages are installed, upgraded, removed and purged.

mod adopt;
mod one_line;

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use serde_json::Value;
use testing::wait;

use super::made::{Made, VERSION, next_says};
use super::root::{Init, Root, can_run, can_run_systemd, said};

const UNIT_LINK: &str = "/etc/systemd/system/multi-user.target.wants/muster-agent.service";

/// The installer of a distribution.
#[derive(Clone, Copy)]
enum Installer {
    Dpkg,
    Rpm,
}

/// A root with packages of two versions in its folder `/packages`.
struct Fixture {
    root: Root,
    installer: Installer,
    current: Made,
    next: Made,
}

impl Fixture {
    fn new(installer: Installer, init: Init) -> Self {
        let kind = match installer {
            Installer::Dpkg => "deb",
            Installer::Rpm => "rpm",
        };
        let fixture = Self {
            root: Root::new(init),
            installer,
            current: Made::new(kind),
            next: Made::next(kind),
        };
        let folder = fixture.root.path("packages");
        std::fs::create_dir(&folder).unwrap();
        for made in [&fixture.current, &fixture.next] {
            for entry in std::fs::read_dir(made.folder.path()).unwrap() {
                let from = entry.unwrap().path();
                std::fs::copy(&from, folder.join(from.file_name().unwrap())).unwrap();
            }
        }
        fixture
    }

    /// Installs or upgrades; returns what the installer printed.
    fn install(&self, made: &Made, packages: &[&str]) -> String {
        let file = |package: &&str| match self.installer {
            Installer::Dpkg => format!("/packages/{}", made.deb(package)),
            Installer::Rpm => self.outside(&made.rpm(package)),
        };
        let files: Vec<String> = packages.iter().map(file).collect();
        match self.installer {
            Installer::Dpkg => self.call(&["dpkg", "--install"], &files),
            // The root is Debian, and its database of rpm names no library.
            Installer::Rpm => self.call(&["--upgrade", "--nodeps"], &files),
        }
    }

    fn remove(&self, package: &str) -> String {
        match self.installer {
            Installer::Dpkg => self.call(&["dpkg", "--remove"], &[package.into()]),
            Installer::Rpm => self.call(&["--erase"], &[package.into()]),
        }
    }

    fn outside(&self, file: &str) -> String {
        let path = self.root.path("packages").join(file);
        path.to_str().unwrap().to_owned()
    }

    fn call(&self, start: &[&str], rest: &[String]) -> String {
        let mut command = match self.installer {
            Installer::Dpkg => self.root.command(start),
            Installer::Rpm => {
                let folder = self.root.path("");
                let mut command = self
                    .root
                    .command_outside(&["rpm", "--force-debian", "--root"]);
                command.arg(folder).args(start);
                command
            }
        };
        let output = command.args(rest).output().unwrap();
        assert!(
            output.status.success(),
            "{start:?} {rest:?}: {}",
            said(&output)
        );
        said(&output)
    }

    fn muster(&self, args: &[&str]) -> Value {
        let mut line = vec!["muster", "-o", "json"];
        line.extend(args);
        self.root.json(&line)
    }

    /// The example of its settings becomes those of the server.
    fn configure_server(&self) {
        let config = "cp /etc/muster/server.toml.example /etc/muster/server.toml &&
            chgrp muster /etc/muster/server.toml && chmod 0640 /etc/muster/server.toml";
        self.root.run(&["sh", "-c", config]);
    }

    /// Starts the server as its own user.
    fn start_server(&self) {
        let run_as = [
            "setpriv",
            "--reuid=muster",
            "--regid=muster",
            "--clear-groups",
        ];
        let line = ["muster", "server", "--config", "/etc/muster/server.toml"];
        self.root
            .start("server.log", &[&run_as[..], &line].concat());
        self.wait_for_server();
    }

    fn wait_for_server(&self) {
        wait::until("the server's cli.toml", || {
            self.root.path("var/lib/muster/cli.toml").exists()
                && self.root.path("var/lib/muster/join-token").exists()
        });
    }

    fn configure_agent(&self) {
        let token = self.root.path("var/lib/muster/join-token");
        let token = std::fs::read_to_string(token).unwrap();
        let settings = format!(
            "server = [\"127.0.0.1:7101\"]\nip = \"127.0.0.1\"\njoin = \"{}\"\n",
            token.trim()
        );
        std::fs::write(self.root.path("etc/muster/agent.toml"), settings).unwrap();
    }

    fn start_agent(&self) {
        let line = ["muster-agent", "--config", "/etc/muster/agent.toml"];
        self.root.start("agent.log", &line);
    }

    fn wait_for_agent(&self) {
        wait::until("the agent's connection", || {
            let hosts = self.muster(&["hosts"]);
            let text = hosts.to_string();
            text.contains("\"connected\":true").then_some(())
        });
    }

    /// Pid and version, from the agent's own record.
    fn agent(&self) -> (i64, String) {
        let path = self.root.path("var/lib/muster-agent/agent.run");
        let run: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let version = run["version"].as_str().unwrap().to_owned();
        (run["pid"].as_i64().unwrap(), version)
    }

    /// The pid of the supervised process, as the server shows it.
    fn process(&self) -> Option<i64> {
        let list = self.muster(&["ps"]);
        list["processes"][0]["pid"].as_i64()
    }

    /// A server, an agent, and a process that it supervises; returns pids of the last two.
    fn start_all(&self) -> (i64, i64) {
        self.configure_server();
        self.start_server();
        self.configure_agent();
        self.start_agent();
        self.wait_for_agent();
        self.start_process()
    }

    /// A process that the agent supervises; returns the pids of both.
    fn start_process(&self) -> (i64, i64) {
        let register = ["muster", "register", "demo/sleeper", "--user", "root"];
        let what = ["--setup-path", "/tmp", "--start", "exec sleep 100000"];
        self.root.run(&[&register[..], &what].concat());
        self.root.run(&["muster", "start", "demo/sleeper"]);
        let process = wait::until("the process", || self.process());
        assert!(self.root.runs(process, "sleep"));
        let (agent, version) = self.agent();
        assert_eq!(version, VERSION);
        (agent, process)
    }

    /// Installing starts nothing and says what is missing; user, folders and links are there.
    fn check_installation(&self, printed: &str) {
        for missing in ["/etc/muster/agent.toml", "/etc/muster/server.toml"] {
            let text = format!("because there is no {missing} yet");
            assert!(printed.contains(&text), "{printed}");
        }
        let processes = self
            .root
            .run(&["sh", "-c", "ls -l /proc/[0-9]*/exe 2>/dev/null || true"]);
        assert!(!processes.contains("muster"), "{processes}");
        let passwd = std::fs::read_to_string(self.root.path("etc/passwd")).unwrap();
        let user = passwd
            .lines()
            .find(|line| line.starts_with("muster:"))
            .unwrap();
        assert!(
            user.ends_with(":/var/lib/muster:/usr/sbin/nologin"),
            "{user}"
        );
        let data = std::fs::metadata(self.root.path("var/lib/muster")).unwrap();
        assert_eq!(data.permissions().mode() & 0o7777, 0o700);
        assert_eq!(data.uid().to_string(), user.split(':').nth(2).unwrap());
        assert!(!self.root.path("var/lib/muster-agent").exists());
        let agent = self.root.path(&format!(
            "usr/lib/muster/agents/muster-agent-{VERSION}-{}",
            std::env::consts::ARCH
        ));
        let installed = self.root.path("usr/bin/muster-agent");
        assert!(std::fs::read(agent).unwrap() == std::fs::read(installed).unwrap());
    }

    /// The agent that runs becomes the new binary, and neither it nor its process gets another pid.
    fn check_upgrade(&self, agent: i64, process: i64) {
        let next = next_says();
        let printed = self.install(&self.next, &["muster-agent"]);
        let how = match next == VERSION {
            true => format!("started its binary again: {VERSION}"),
            false => format!("went from {VERSION} to {next}"),
        };
        let expected = format!("(pid {agent}) {how}; no process was touched");
        assert!(printed.contains(&expected), "{printed}");
        assert_eq!(self.agent(), (agent, next));
        assert!(self.root.runs(process, "sleep"));
        self.wait_for_agent();
        assert_eq!(wait::until("the process", || self.process()), process);
        // No systemd runs here that could restart the server: the package says so.
        let printed = self.install(&self.next, &["muster"]);
        assert!(
            printed.contains("still runs the previous version: restart it"),
            "{printed}"
        );
    }

    /// The agent ends, its process does not, and a new installation takes it over.
    fn check_removal(&self, agent: i64, process: i64) {
        let printed = self.remove("muster-agent");
        let kept = "Processes that it started keep running, without supervision";
        assert!(printed.contains(kept), "{printed}");
        assert!(!self.root.runs(agent, "muster-agent"));
        assert!(self.root.runs(process, "sleep"));
        assert!(!self.root.path("usr/bin/muster-agent").exists());
        assert!(self.root.path("etc/muster/agent.toml").exists());
        assert!(self.root.path("var/lib/muster-agent/agent.run").exists());

        self.install(&self.next, &["muster-agent"]);
        self.start_agent();
        self.wait_for_agent();
        assert_eq!(wait::until("the process", || self.process()), process);
    }
}

#[test]
fn dpkg_installs_upgrades_removes_and_purges() {
    if !can_run() {
        return;
    }
    let fixture = Fixture::new(Installer::Dpkg, Init::Sleep);
    // Neither systemd nor its tools.
    let removed = ["usr/bin/systemctl", "bin/systemctl"]
        .map(|path| std::fs::remove_file(fixture.root.path(path)).is_ok());
    assert!(removed.contains(&true));
    let printed = fixture.install(&fixture.current, &["muster", "muster-agent"]);
    fixture.check_installation(&printed);
    assert!(fixture.root.path(UNIT_LINK).is_symlink());
    let (agent, process) = fixture.start_all();
    fixture.check_upgrade(agent, process);
    fixture.check_removal(agent, process);

    fixture.call(&["dpkg", "--purge"], &["muster-agent".into()]);
    assert!(fixture.root.runs(process, "sleep"));
    for gone in [
        "var/lib/muster-agent",
        "etc/muster/agent.toml",
        "etc/muster/agent.toml.example",
        UNIT_LINK,
    ] {
        assert!(!fixture.root.path(gone).exists(), "{gone}");
        assert!(!fixture.root.path(gone).is_symlink(), "{gone}");
    }
    assert!(fixture.root.path("etc/muster/server.toml").exists());
    fixture.call(&["dpkg", "--purge"], &["muster".into()]);
    for gone in ["var/lib/muster", "etc/muster", "usr/lib/muster"] {
        assert!(!fixture.root.path(gone).exists(), "{gone}");
    }
}

#[test]
fn rpm_installs_upgrades_and_removes() {
    if !can_run() {
        return;
    }
    let fixture = Fixture::new(Installer::Rpm, Init::Sleep);
    let printed = fixture.install(&fixture.current, &["muster", "muster-agent"]);
    fixture.check_installation(&printed);
    assert!(fixture.root.path(UNIT_LINK).is_symlink());
    let (agent, process) = fixture.start_all();
    fixture.check_upgrade(agent, process);
    fixture.check_removal(agent, process);

    let printed = fixture.remove("muster-agent");
    assert!(!fixture.root.path(UNIT_LINK).is_symlink());
    let how = "rm -r /etc/muster/agent.toml /var/lib/muster-agent";
    assert!(printed.contains(how), "{printed}");
    assert!(fixture.root.runs(process, "sleep"));
    fixture.remove("muster");
    assert!(!fixture.root.path("usr/lib/muster").exists());
    assert!(fixture.root.path("var/lib/muster/muster.db").exists());
}

#[test]
fn under_systemd_the_agent_stays_and_the_server_restarts() {
    if !can_run() || !can_run_systemd() {
        return;
    }
    let fixture = Fixture::new(Installer::Dpkg, Init::Systemd);
    let root = &fixture.root;
    let is_active = |unit: &str| root.is_active(unit);
    let main_pid = |unit: &str| root.main_pid(unit);
    let printed = fixture.install(&fixture.current, &["muster", "muster-agent"]);
    fixture.check_installation(&printed);
    // Without settings a start is no error and starts nothing, as at boot.
    let units = ["muster-agent", "muster-server", "muster-relay"];
    root.run(&[&["systemctl", "start"][..], &units].concat());
    assert!(units.iter().all(|unit| !is_active(unit)));

    fixture.configure_server();
    root.run(&["systemctl", "start", "muster-server"]);
    fixture.wait_for_server();
    fixture.configure_agent();
    root.run(&["systemctl", "start", "muster-agent"]);
    fixture.wait_for_agent();
    let (agent, process) = fixture.start_process();
    let server = main_pid("muster-server");
    assert_eq!(main_pid("muster-agent"), agent);
    let settings = "listen = \"127.0.0.1:7201\"\nserver = [\"127.0.0.1:7101\"]\n";
    std::fs::write(root.path("etc/muster/relay.toml"), settings).unwrap();
    root.run(&["systemctl", "start", "muster-relay"]);
    let relay = main_pid("muster-relay");

    fixture.install(&fixture.next, &["muster", "muster-agent"]);
    assert_eq!(fixture.agent(), (agent, next_says()));
    assert!(units.iter().all(|unit| is_active(unit)));
    assert_eq!(main_pid("muster-agent"), agent);
    assert_ne!(main_pid("muster-server"), server);
    assert_ne!(main_pid("muster-relay"), relay);
    assert!(root.runs(process, "sleep"));

    fixture.remove("muster-agent");
    assert!(!root.runs(agent, "muster-agent"));
    assert!(!is_active("muster-relay"));
    assert!(root.runs(process, "sleep"));
    // With its settings still there, a new installation starts it, and it takes the process over.
    fixture.install(&fixture.next, &["muster-agent"]);
    assert!(is_active("muster-agent") && is_active("muster-relay"));
    fixture.wait_for_agent();
    assert_eq!(wait::until("the process", || fixture.process()), process);
}
