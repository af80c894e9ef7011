//! A supervisor in its own thread, a directory, and the processes of a test: all removed when the test ends.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use model::event::Event;
use model::operation::{Op, OpId, TaskId};
use model::spec::{Commands, Identity, Policy, Probe};
use model::{Code, Flag, FullName, Outcome, Spec, State, Status, UnixMillis};
use supervisor::{
    ControlGroups, Notice, Operation, Options, Recovered, Registration, Request, Supervisor,
};
use testing::precondition;
pub(crate) use testing::wait::until;
use tokio::sync::{mpsc, watch};

pub(crate) fn runs_as_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    precondition::is_met(is_root, "root")
}

/// Whether the test runs as an ordinary user. As root, runs it once more as `nobody` and returns false.
pub(crate) fn runs_unprivileged(test: &str) -> bool {
    use std::os::unix::process::CommandExt;
    if !rustix::process::geteuid().is_root() {
        return true;
    }
    let nobody = nix::unistd::User::from_name("nobody").unwrap().unwrap();
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .current_dir("/")
        .uid(nobody.uid.as_raw())
        .gid(nobody.gid.as_raw())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{errors}");
    assert!(text.contains("1 passed"), "{test} does not exist: {text}");
    false
}

pub(crate) fn name() -> FullName {
    "test/odd".parse().unwrap()
}

pub(crate) fn op_id(number: u32) -> OpId {
    OpId {
        task: TaskId::from_number(7),
        ordinal: number,
    }
}

pub(crate) fn options() -> Options {
    Options {
        sample_every: Duration::from_millis(100),
        cpu_max: None,
        report_usage_every: Duration::from_millis(100),
        count_disk_every: Duration::from_millis(200),
        check_health_every: Duration::from_millis(100),
        health_timeout: Duration::from_secs(2),
        check_config_every: Duration::from_millis(200),
        journal_bytes: 256 * 1024,
        control_groups: ControlGroups::default(),
        ..Options::default()
    }
}

/// Runs each of these scenarios with control groups, if the host allows them, and by `/proc` alone.
macro_rules! with_and_without_groups {
    ($($scenario:ident),+ $(,)?) => {
        mod with_control_groups {
            $(#[test]
            fn $scenario() {
                if crate::harness::can_make_control_groups() {
                    super::$scenario(supervisor::ControlGroups::Auto);
                }
            })+
        }
        mod by_proc_alone {
            $(#[test]
            fn $scenario() {
                super::$scenario(supervisor::ControlGroups::Off);
            })+
        }
    };
}
pub(crate) use with_and_without_groups;

/// The mount point of cgroup v2.
fn unified() -> Option<PathBuf> {
    let at = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].map(PathBuf::from);
    let mut roots = at.into_iter();
    roots.find(|at| at.join("cgroup.subtree_control").exists())
}

pub(crate) fn can_make_control_groups() -> bool {
    let probe = format!("muster-test-{}-{:?}", std::process::id(), Instant::now());
    let probe = probe.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    let made = unified().is_some_and(|at| {
        let probe = at.join(probe);
        std::fs::create_dir(&probe).is_ok() && std::fs::remove_dir(&probe).is_ok()
    });
    precondition::is_met(made, "cgroup v2 groups that it may create")
}

/// A directory with the odd program's files in it.
#[derive(Debug)]
pub(crate) struct Home {
    pub(crate) control_groups: ControlGroups,
    root: PathBuf,
    /// `None` when another process owns it.
    _dir: Option<tempfile::TempDir>,
}

impl Home {
    pub(crate) fn new() -> Self {
        Self::with(ControlGroups::default())
    }

    /// A directory whose supervisors use control groups or not.
    pub(crate) fn with(control_groups: ControlGroups) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let home = Self {
            control_groups,
            root: dir.path().to_owned(),
            _dir: Some(dir),
        };
        std::fs::create_dir(home.path("work")).unwrap();
        std::fs::create_dir(home.path("agent")).unwrap();
        home
    }

    pub(crate) fn existing(root: &str) -> Self {
        Self {
            control_groups: ControlGroups::default(),
            root: root.into(),
            _dir: None,
        }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Lets every user work in it.
    pub(crate) fn open_to_all(&self) {
        for (path, mode) in [(".", 0o755), ("work", 0o777)] {
            let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
            std::fs::set_permissions(self.path(path), mode).unwrap();
        }
    }

    /// How many processes run that were started below this directory.
    pub(crate) fn processes(&self) -> usize {
        self.pids().into_iter().filter(|pid| is_alive(*pid)).count()
    }

    fn pids(&self) -> Vec<i32> {
        let root = self.root.to_str().unwrap();
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_string_lossy().parse().ok());
        pids.filter(|pid| {
            let cwd = std::fs::read_link(format!("/proc/{pid}/cwd"));
            let below = cwd.is_ok_and(|cwd| cwd.starts_with(root));
            let text = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let named = String::from_utf8_lossy(&text).contains(root);
            *pid != std::process::id() as i32 && (below || named)
        })
        .collect()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub(crate) fn file(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// A spec whose start command is `odd` with these options; `%` stands for this directory.
    pub(crate) fn spec(&self, options: &str) -> Spec {
        let root = self.root.to_str().unwrap();
        let odd = env!("CARGO_BIN_EXE_odd-child");
        Spec {
            identity: Identity {
                index_key: String::new(),
                proc_name: "odd-child".to_owned(),
                setup_path: self.file("work"),
                pid_path: self.file("pid"),
                config_path: String::new(),
                log_path: String::new(),
                user: nix::unistd::User::from_uid(nix::unistd::geteuid())
                    .unwrap()
                    .unwrap()
                    .name,
            },
            control: Commands {
                start_cmd: format!("{odd} {}", options.replace('%', root)),
                ..Commands::default()
            },
            resource: Default::default(),
            monitor_policy: Policy {
                start_check_secs: 0,
                start_interval: 1,
                op_timeout: 10,
                ..Policy::default()
            },
            warn_report_policy: Default::default(),
            configmap: Vec::new(),
            runtime: Default::default(),
            restart: Default::default(),
            stop: Default::default(),
            schedule: Default::default(),
            probes: Default::default(),
            after: Default::default(),
        }
    }

    pub(crate) fn daemon(&self) -> Spec {
        self.spec("--daemon --pid-file %/pid")
    }

    pub(crate) fn supervisor(&self) -> TestSupervisor {
        self.supervisor_with(options()).0
    }

    pub(crate) fn supervisor_with(&self, mut options: Options) -> (TestSupervisor, Recovered) {
        options.control_groups = self.control_groups;
        let (supervisor, recovered) = Supervisor::open(&self.path("agent"), options).unwrap();
        let (requests, take_requests) = mpsc::channel(64);
        let (give_notices, notices) = mpsc::channel(1024);
        let (stop, stopped) = watch::channel(false);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime
                .block_on(supervisor.run(take_requests, give_notices, stopped))
                .unwrap();
        });
        let supervisor = TestSupervisor {
            requests,
            notices,
            stop,
            thread: Some(thread),
            statuses: HashMap::new(),
            outcomes: HashMap::new(),
            ends: Vec::new(),
            events: Vec::new(),
            history: Vec::new(),
        };
        (supervisor, recovered)
    }

    /// The control groups of this directory's agent: `muster/AGENT` of each hierarchy.
    pub(crate) fn groups(&self) -> Vec<PathBuf> {
        use std::os::unix::fs::MetadataExt;
        let Ok(agent) = std::fs::metadata(self.path("agent")) else {
            return Vec::new();
        };
        let below = format!("muster/{:x}-{:x}", agent.dev(), agent.ino());
        let hierarchies = std::fs::read_dir("/sys/fs/cgroup").into_iter().flatten();
        let hierarchies = hierarchies.flatten().map(|entry| entry.path());
        let all = hierarchies.chain(["/sys/fs/cgroup".into()]);
        let groups = all.map(|hierarchy| hierarchy.join(&below));
        groups.filter(|group| group.is_dir()).collect()
    }

    /// Removes the groups that a stopped agent leaves.
    fn remove_groups(&self) {
        for ours in self.groups() {
            let entries = std::fs::read_dir(&ours).unwrap().flatten();
            for entry in entries.filter(|entry| entry.path().is_dir()) {
                let _ = std::fs::write(entry.path().join("cgroup.kill"), "1");
                until("a group without processes", || {
                    match std::fs::remove_dir(entry.path()) {
                        Ok(()) => Some(()),
                        // The agent of another test tidies up after agents that are gone.
                        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Some(()),
                        Err(_) => None,
                    }
                });
            }
            let _ = std::fs::remove_dir(&ours);
            let _ = std::fs::remove_dir(ours.parent().unwrap());
        }
    }

    pub(crate) fn lines(&self, name: &str) -> usize {
        std::fs::read_to_string(self.path(name)).map_or(0, |text| text.lines().count())
    }

    pub(crate) fn pid(&self) -> i32 {
        let text = std::fs::read_to_string(self.path("pid")).unwrap();
        text.trim().parse().unwrap()
    }
}

impl Drop for Home {
    /// Kills every process that was started below this directory.
    fn drop(&mut self) {
        // One walk can miss a daemon that is forking.
        let mut empty = if self._dir.is_some() { 0 } else { 5 };
        while empty < 5 {
            let pids = self.pids();
            empty = if pids.is_empty() { empty + 1 } else { 0 };
            for pid in pids {
                kill(pid, libc::SIGKILL);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        if self._dir.is_some() {
            self.remove_groups();
        }
    }
}

/// A small file system, unmounted on drop.
#[derive(Debug)]
pub(crate) struct SmallDisk(pub(crate) PathBuf);

impl SmallDisk {
    /// Mounts a tmpfs with these options on an existing directory; `None` if the test may not.
    pub(crate) fn mount(at: PathBuf, options: &str) -> Option<Self> {
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "small-disk"])
            .arg(&at)
            .output();
        let is_mounted = mounted.is_ok_and(|output| output.status.success());
        precondition::is_met(is_mounted, "the right to mount a tmpfs").then_some(Self(at))
    }

    /// Fills the disk.
    pub(crate) fn fill(&self) {
        use std::io::Write;
        let filler = std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(self.0.join("filler"));
        let mut filler = filler.unwrap();
        for size in [4096, 1] {
            while filler.write_all(&vec![1; size]).is_ok() {}
        }
    }

    pub(crate) fn make_room(&self) {
        std::fs::remove_file(self.0.join("filler")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount")
            .arg("-l")
            .arg(&self.0)
            .status();
    }
}

pub(crate) fn kill(pid: i32, signal: i32) {
    let signal = rustix::process::Signal::from_named_raw(signal).unwrap();
    let _ = rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), signal);
}

pub(crate) fn is_alive(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat
        .rsplit(')')
        .next()
        .and_then(|rest| rest.trim().chars().next());
    state.is_some_and(|state| state != 'Z' && state != 'X')
}

#[derive(Debug)]
pub(crate) struct TestSupervisor {
    requests: mpsc::Sender<Request>,
    notices: mpsc::Receiver<Notice>,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
    pub(crate) statuses: HashMap<FullName, Status>,
    pub(crate) outcomes: HashMap<OpId, Outcome>,
    pub(crate) ends: Vec<OpId>,
    pub(crate) events: Vec<(u64, Event)>,
    pub(crate) history: Vec<Status>,
}

impl TestSupervisor {
    pub(crate) fn ask(&self, request: Request) {
        self.requests.blocking_send(request).unwrap();
    }

    pub(crate) fn hold(&self, spec: Spec) {
        self.hold_as(&name(), spec, Flag::Unregistered, false);
    }

    pub(crate) fn hold_as(&self, name: &FullName, spec: Spec, flag: Flag, managed: bool) {
        self.ask(Request::Hold(Registration {
            name: name.clone(),
            incarnation: 1,
            spec: Arc::new(spec),
            labels: Default::default(),
            definition_hash: 5,
            flag,
            managed,
            registered_at: UnixMillis(1),
        }));
    }

    pub(crate) fn begin(&self, number: u32, op: Op) -> OpId {
        self.begin_on(&name(), number, op, None)
    }

    pub(crate) fn begin_on(
        &self,
        name: &FullName,
        number: u32,
        op: Op,
        probe: Option<Probe>,
    ) -> OpId {
        let id = op_id(number);
        self.ask(Request::Operate(Operation {
            id,
            process: name.clone(),
            op,
            probe,
            deadline: UnixMillis(i64::MAX),
        }));
        id
    }

    pub(crate) fn operate(&mut self, number: u32, op: Op) -> Outcome {
        let id = self.begin(number, op);
        self.end_of(id)
    }

    pub(crate) fn end_of(&mut self, id: OpId) -> Outcome {
        until("the end of an operation", || {
            self.listen();
            self.outcomes.get(&id).cloned()
        })
    }

    /// Runs an operation that must succeed.
    pub(crate) fn succeed(&mut self, number: u32, op: Op) -> Outcome {
        let outcome = self.operate(number, op);
        assert_eq!(outcome.code, Code::OK, "{op}: {outcome:?}");
        assert_eq!(outcome.message, "success");
        outcome
    }

    pub(crate) fn listen(&mut self) {
        while let Ok(notice) = self.notices.try_recv() {
            match notice {
                Notice::Status(name, status) => {
                    let status = Arc::unwrap_or_clone(status);
                    self.history.push(status.clone());
                    self.statuses.insert(name, status);
                }
                Notice::Ended(id, outcome) => {
                    self.ends.push(id);
                    self.outcomes.insert(id, outcome);
                }
                Notice::Event(number, event) => self.events.push((number, event)),
            }
        }
    }

    pub(crate) fn status_where(&mut self, what: &str, wanted: impl Fn(&Status) -> bool) -> Status {
        until(what, || {
            self.listen();
            self.statuses.get(&name()).filter(|s| wanted(s)).cloned()
        })
    }

    pub(crate) fn running(&mut self) -> Status {
        self.status_where("running", |s| s.state == State::Running)
    }

    /// The next run, once its pid file names it: before, its launcher may be shown.
    pub(crate) fn next_run(&mut self, home: &Home, before: i32) -> i32 {
        let status = self.status_where("another run", |status| {
            let text = std::fs::read_to_string(home.path("pid")).unwrap_or_default();
            let is_named = text.trim() == status.pid.to_string();
            status.state == State::Running && status.pid != before && is_named
        });
        status.pid
    }

    pub(crate) fn stopped(&mut self) -> Status {
        self.status_where("stopped", |s| s.state == State::Stopped)
    }

    /// Stops the supervisor cleanly.
    pub(crate) fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        let _ = self.stop.send(true);
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            if !std::thread::panicking() {
                ended.unwrap();
            }
        }
    }
}

impl Drop for TestSupervisor {
    fn drop(&mut self) {
        self.end();
    }
}

pub(crate) fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}
