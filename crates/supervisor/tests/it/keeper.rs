//! A supervisor in a thread of its own, a directory, and the processes that a test starts: all gone when it ends.

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
use tokio::sync::{mpsc, watch};

/// Longer than anything here takes on a slow machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Polls until `condition` gives something.
pub(crate) fn wait_for<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = condition() {
            return found;
        }
        assert!(Instant::now() < until, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Says why a test is not run here.
#[allow(clippy::print_stdout, reason = "a test talks to whoever runs it")]
pub(crate) fn skip(why: &str) {
    println!("skipped: {why}");
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
    }
}

/// Runs each of these scenarios with control groups, where this host has any that we may make, and by `/proc` alone.
macro_rules! both_ways {
    ($($scenario:ident),+ $(,)?) => {
        mod with_control_groups {
            $(#[test]
            fn $scenario() {
                if crate::keeper::control_groups_are_here() {
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
pub(crate) use both_ways;

/// Where control groups of version 2 are.
fn unified() -> Option<PathBuf> {
    let at = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].map(PathBuf::from);
    let mut roots = at.into_iter();
    roots.find(|at| at.join("cgroup.subtree_control").exists())
}

pub(crate) fn control_groups_are_here() -> bool {
    let probe = format!("muster-test-{}-{:?}", std::process::id(), Instant::now());
    let probe = probe.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    let made = unified().is_some_and(|at| {
        let probe = at.join(probe);
        std::fs::create_dir(&probe).is_ok() && std::fs::remove_dir(&probe).is_ok()
    });
    if !made {
        skip("no control groups of version 2 can be made here");
    }
    made
}

/// A directory with the odd program's files in it.
#[derive(Debug)]
pub(crate) struct Home {
    pub(crate) control_groups: ControlGroups,
    root: PathBuf,
    /// None when it is another process's.
    _dir: Option<tempfile::TempDir>,
}

impl Home {
    pub(crate) fn new() -> Self {
        Self::with(ControlGroups::default())
    }

    /// One whose keepers use control groups or not.
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
        }
    }

    pub(crate) fn daemon(&self) -> Spec {
        self.spec("--daemon --pid-file %/pid")
    }

    pub(crate) fn keeper(&self) -> Keeper {
        self.keeper_with(options()).0
    }

    pub(crate) fn keeper_with(&self, mut options: Options) -> (Keeper, Recovered) {
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
        let keeper = Keeper {
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
        (keeper, recovered)
    }

    /// Where the control groups of this directory's agent are: `muster/AGENT` of each hierarchy.
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

    /// The agent is gone and leaves the groups of what it kept.
    fn remove_groups(&self) {
        for ours in self.groups() {
            let entries = std::fs::read_dir(&ours).unwrap().flatten();
            for entry in entries.filter(|entry| entry.path().is_dir()) {
                let _ = std::fs::write(entry.path().join("cgroup.kill"), "1");
                wait_for("a group without processes", || {
                    std::fs::remove_dir(entry.path()).ok()
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
    /// Everything that was started below this directory goes with it.
    fn drop(&mut self) {
        // A daemon on its way to the background can be missed by one walk.
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
pub(crate) struct Keeper {
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

impl Keeper {
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
        wait_for("the end of an operation", || {
            self.listen();
            self.outcomes.get(&id).cloned()
        })
    }

    /// Operates and wants it to succeed.
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
        wait_for(what, || {
            self.listen();
            self.statuses.get(&name()).filter(|s| wanted(s)).cloned()
        })
    }

    pub(crate) fn running(&mut self) -> Status {
        self.status_where("running", |s| s.state == State::Running)
    }

    /// Another run than this one, once it is shown by the pid in its pid file: for a moment it may be what launches it.
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

    /// Ends the supervisor, as an agent that is stopped does.
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

impl Drop for Keeper {
    fn drop(&mut self) {
        self.end();
    }
}

pub(crate) fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}
