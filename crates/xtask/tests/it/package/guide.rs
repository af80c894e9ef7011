//! Runs every command of `docs/guides/operations.md`, in its order, on machines with systemd: a server, three hosts, and a second
//! server. Between the commands it does what the text says in words, and checks what the text promises.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};

use serde_json::Value;
use testing::wait;

use super::made::{Made, VERSION, next_version};
use super::network::Network;
use super::root::{Init, Root, can_run, can_run_systemd, said};

const GUIDE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../docs/guides/operations.md"
);
/// Name in the guide, address.
const MACHINES: [(&str, &str); 5] = [
    ("server", "10.0.0.1"),
    ("new-server", "10.0.0.2"),
    ("host-7", "10.0.0.7"),
    ("host-8", "10.0.0.8"),
    ("host-9", "10.0.0.9"),
];
const HOSTS: [&str; 3] = ["host-7", "host-8", "host-9"];
const EVERY_HOST: &str = "every-host";
/// Programs of commands. One that the text names in words must also be in a block.
const PROGRAMS: [&str; 6] = ["muster", "muster-agent", "apt", "systemctl", "curl", "dpkg"];

/// The sections after which something is checked, or before which something happens.
const CHECKED: [&str; 8] = [
    "Install agents",
    "Check",
    "Upgrade",
    "Restore",
    "Move to another machine",
    "The store is gone, and there is a backup",
    "The store is gone, and there is no backup",
    "Uninstall",
];

/// A block of commands.
#[derive(Debug)]
struct Block {
    heading: String,
    machine: String,
    script: String,
}

/// The blocks of the guide. Fails for one that this test would not run.
fn blocks(text: &str) -> Vec<Block> {
    let (mut blocks, mut heading) = (Vec::<Block>::new(), String::new());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(title) = line.strip_prefix('#') {
            heading = title.trim_matches(['#', ' ']).to_owned();
        }
        assert!(!line.starts_with("    "), "not in a marked block: {line}");
        let Some(mark) = line.strip_prefix("```") else {
            continue;
        };
        let machine = mark.strip_prefix("sh run ").unwrap_or_default();
        let is_known = MACHINES.iter().any(|(name, _)| *name == machine);
        assert!(
            is_known || machine == EVERY_HOST,
            "{heading}: a block with the mark {mark:?}, which does not say where it is run"
        );
        let script = lines.by_ref().take_while(|line| *line != "```");
        blocks.push(Block {
            heading: heading.clone(),
            machine: machine.to_owned(),
            script: script.map(|line| format!("{line}\n")).collect(),
        });
    }
    blocks
}

/// Commands between backquotes in the text.
fn named_in_words(text: &str) -> Vec<&str> {
    let texts = text.split("```").step_by(2);
    let spans = texts.flat_map(|text| text.split('`').skip(1).step_by(2));
    let is_command = |span: &&str| {
        let program = span.split_once([' ', '\n']).map(|(program, _)| program);
        program.is_some_and(|program| PROGRAMS.contains(&program))
    };
    spans.filter(is_command).collect()
}

/// The machines, and what has been learned so far.
struct Fleet {
    roots: HashMap<&'static str, Root>,
    _network: Network,
    /// Which machine the server is.
    server: Cell<&'static str>,
    /// The last token that was created.
    token: RefCell<String>,
    /// The pid of the process on each host.
    clocks: RefCell<BTreeMap<String, i64>>,
    current: Vec<Made>,
    next: Made,
}

impl Fleet {
    fn new() -> Self {
        let network = Network::new();
        let roots: HashMap<_, _> = MACHINES
            .iter()
            .map(|(name, address)| {
                let root = Root::new(Init::Systemd);
                network.connect(&root, address);
                (*name, root)
            })
            .collect();
        let fleet = Self {
            roots,
            _network: network,
            server: Cell::new("server"),
            token: RefCell::default(),
            clocks: RefCell::default(),
            current: vec![Made::new("deb"), Made::new("tar")],
            next: Made::next("deb"),
        };
        for (name, _) in MACHINES {
            fleet.set_names(name, "10.0.0.1");
        }
        let [debs, archive] = &fleet.current[..] else {
            unreachable!("two kinds were made");
        };
        let tar = format!(
            "muster-{VERSION}-{}-linux-gnu.tar.gz",
            std::env::consts::ARCH
        );
        for (machine, made, file) in [
            ("server", debs, debs.deb("muster")),
            ("server", &fleet.next, fleet.next.deb("muster")),
            ("new-server", &fleet.next, fleet.next.deb("muster")),
            ("host-7", debs, debs.deb("muster-agent")),
            ("host-9", archive, tar),
        ] {
            let to = fleet.root(machine).path("root").join(&file);
            std::fs::copy(made.folder.path().join(&file), to).unwrap();
        }
        fleet
    }

    fn root(&self, machine: &str) -> &Root {
        match machine {
            "server" => &self.roots[self.server.get()],
            other => &self.roots[other],
        }
    }

    /// What DNS does for the machine.
    fn set_names(&self, machine: &str, server: &str) {
        let text = format!(
            "127.0.0.1 localhost\n{server} muster.example.org\n10.0.0.2 muster2.example.org\n"
        );
        std::fs::write(self.roots[machine].path("etc/hosts"), text).unwrap();
    }

    /// With the versions and the processor of this test.
    fn substituted(script: &str) -> String {
        let arch = match std::env::consts::ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            other => other,
        };
        script
            .replace("0.1.1", &next_version())
            .replace("0.1.0", VERSION)
            .replace("amd64", arch)
            .replace("x86_64", std::env::consts::ARCH)
    }

    fn run(&self, block: &Block) {
        match block.machine.as_str() {
            EVERY_HOST => HOSTS.iter().for_each(|host| self.run_on(host, block)),
            machine => self.run_on(machine, block),
        }
    }

    fn run_on(&self, machine: &str, block: &Block) {
        let script = format!("set -eu\ncd /root\n{}", Self::substituted(&block.script));
        let token = format!("TOKEN={}", self.token.borrow());
        let mut command = self.root(machine).command(&["env", &token, "sh", "-xc"]);
        let output = command.arg(&script).output().unwrap();
        let heading = &block.heading;
        assert!(
            output.status.success(),
            "{heading}, on {machine}:\n{script}\n{}",
            said(&output)
        );
        if block.script.contains("muster token create") {
            let printed = String::from_utf8(output.stdout).unwrap();
            let token = printed.lines().last().expect("a token is printed");
            token.clone_into(&mut self.token.borrow_mut());
        }
    }

    fn json(&self, line: &str) -> Value {
        let mut words = vec!["muster", "-o", "json"];
        words.extend(line.split(' '));
        self.root("server").json(&words)
    }

    fn is_connected(&self, ip: &str) -> bool {
        let hosts = self.json("hosts");
        let mut rows = hosts["hosts"].as_array().unwrap().iter();
        rows.any(|row| row["host"] == format!("0:{ip}") && row["connected"] == true)
    }

    fn wait_for(&self, machines: &[&str]) {
        for machine in machines {
            let ip = address(machine);
            wait::until(&format!("the agent of {ip}"), || self.is_connected(ip));
        }
    }

    /// The pid of the process on each host, as the server shows it.
    fn pids(&self) -> BTreeMap<String, i64> {
        let list = self.json("ps");
        let rows = list["processes"].as_array().unwrap().iter();
        rows.filter_map(|row| Some((row["host"].as_str()?.to_owned(), row["pid"].as_i64()?)))
            .collect()
    }

    /// The same processes run as at the beginning, and the server shows them.
    fn check_processes(&self) {
        let clocks = self.clocks.borrow();
        for (machine, (host, pid)) in HOSTS.iter().zip(clocks.iter()) {
            assert!(self.root(machine).runs(*pid, "sleep"), "{host} {pid}");
        }
        wait::until("the server to show them", || self.pids() == *clocks);
    }

    fn versions(&self) -> Vec<String> {
        let hosts = self.json("hosts");
        let rows = hosts["hosts"].as_array().unwrap().iter();
        rows.map(|row| row["version"].as_str().unwrap_or_default().to_owned())
            .collect()
    }

    /// A disk is lost under a server that runs.
    fn lose_store(&self) {
        let lose = "rm -rf /var/lib/muster/* && systemctl kill --signal=KILL muster-server";
        self.root("server").run(&["sh", "-c", lose]);
        // systemd starts it again, on nothing.
        wait::until("another store", || {
            self.root("server").path("var/lib/muster/cli.toml").exists()
        });
    }

    /// What the text tells in words before a block.
    fn before(&self, block: &Block) {
        match (block.heading.as_str(), block.machine.as_str()) {
            ("Move to another machine", "new-server") => {
                let (from, to) = (&self.roots["server"], &self.roots["new-server"]);
                let mut files = vec!["root/backup-passphrase".to_owned()];
                let backups = std::fs::read_dir(from.path("var/backups")).unwrap();
                files.extend(
                    backups.map(|entry| {
                        format!("var/backups/{}", entry.unwrap().file_name().display())
                    }),
                );
                for file in files.iter().filter(|file| from.path(file).is_file()) {
                    std::fs::copy(from.path(file), to.path(file)).unwrap();
                }
            }
            ("The store is gone, and there is a backup", _) => self.lose_store(),
            ("The store is gone, and there is no backup", "server")
                if block.script.contains("token create") =>
            {
                self.lose_store();
            }
            _ => {}
        }
    }

    /// What the text promises after a block.
    fn after(&self, block: &Block) {
        match (block.heading.as_str(), block.machine.as_str()) {
            ("Install agents", host) => self.wait_for(&[host]),
            ("Check", _) if block.script.contains("muster start") => {
                *self.clocks.borrow_mut() = wait::until("three processes", || {
                    Some(self.pids()).filter(|pids| pids.len() == HOSTS.len())
                });
            }
            // Its job must not end before the next block pauses it.
            ("Upgrade", _) if block.script.contains("--no-wait") => {}
            ("Upgrade", _) => self.wait_for(&HOSTS),
            ("Move to another machine", "new-server") => {
                // host-9 is told by its settings, the others by DNS.
                for host in ["host-7", "host-8"] {
                    self.set_names(host, "10.0.0.2");
                }
                self.server.set("new-server");
                self.wait_for(&["host-7", "host-8"]);
                assert!(!self.is_connected(address("host-9")));
            }
            ("Move to another machine", "host-9")
            | ("Restore" | "The store is gone, and there is a backup", _)
            | ("The store is gone, and there is no backup", EVERY_HOST) => self.wait_for(&HOSTS),
            ("Uninstall", "server") if block.script.starts_with("muster rm") => {
                let pid = self.clocks.borrow()["0:10.0.0.7"];
                assert!(!self.root("host-7").runs(pid, "sleep"));
            }
            ("Uninstall", host) if HOSTS.contains(&host) => {
                wait::until("the agent to leave", || !self.is_connected(address(host)));
            }
            _ => {}
        }
    }

    /// What the text promises at the end of a section.
    fn check_section(&self, heading: &str) {
        match heading {
            "Check" | "Restore" | "Move to another machine" => self.check_processes(),
            "Upgrade" => {
                // One may still be between its two binaries: a cancelled job lets it go on.
                let all_new = vec![next_version(); HOSTS.len()];
                wait::until("every agent to be new", || self.versions() == all_new);
                self.check_processes();
            }
            "The store is gone, and there is a backup"
            | "The store is gone, and there is no backup" => self.check_processes(),
            "Uninstall" => {
                for host in ["host-8", "host-9"] {
                    let pid = self.clocks.borrow()[&format!("0:{}", address(host))];
                    assert!(self.root(host).runs(pid, "sleep"), "{host}");
                }
                for host in HOSTS {
                    for gone in [
                        "usr/bin/muster-agent",
                        "var/lib/muster-agent",
                        "etc/muster/agent.toml",
                    ] {
                        assert!(!self.root(host).path(gone).exists(), "{host}: {gone}");
                    }
                }
                for gone in ["usr/bin/muster", "var/lib/muster", "etc/muster"] {
                    assert!(!self.root("server").path(gone).exists(), "{gone}");
                }
            }
            _ => {}
        }
    }
}

fn address(machine: &str) -> &'static str {
    let found = MACHINES.iter().find(|(name, _)| *name == machine);
    found.expect("a machine of the guide").1
}

#[test]
fn a_block_that_says_no_machine_is_refused() {
    let text = "## A\n```sh run server\na\nb\n```\n`apt purge -y x` and `x`\n";
    let found = blocks(text);
    assert_eq!(
        (found[0].heading.as_str(), found[0].script.as_str()),
        ("A", "a\nb\n")
    );
    assert_eq!(named_in_words(text), ["apt purge -y x"]);
    for wrong in [
        "```sh\na\n```\n",
        "```sh run elsewhere\na\n```\n",
        "    muster ps\n",
    ] {
        let refused = std::panic::catch_unwind(|| blocks(wrong));
        assert!(refused.is_err(), "{wrong}");
    }
}

#[test]
fn every_command_of_the_guide_is_in_a_block() {
    let text = std::fs::read_to_string(GUIDE).unwrap();
    let blocks = blocks(&text);
    for heading in CHECKED {
        let is_there = blocks.iter().any(|block| block.heading == heading);
        assert!(
            is_there,
            "the guide has no section {heading:?} with commands"
        );
    }
    let scripts: String = blocks.into_iter().map(|block| block.script).collect();
    for command in named_in_words(&text) {
        let command = command.replace('\n', " ");
        assert!(scripts.contains(&command), "{command} is not run");
    }
}

#[test]
fn the_guide_of_operations_works_as_written() {
    if !can_run() || !can_run_systemd() {
        return;
    }
    let text = std::fs::read_to_string(GUIDE).unwrap();
    let blocks = blocks(&text);
    let fleet = Fleet::new();
    for (at, block) in blocks.iter().enumerate() {
        eprintln!("{}, on {}", block.heading, block.machine);
        fleet.before(block);
        fleet.run(block);
        fleet.after(block);
        let next = blocks.get(at + 1).map(|next| &next.heading);
        if next != Some(&block.heading) {
            fleet.check_section(&block.heading);
        }
    }
}
