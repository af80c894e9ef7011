//! The servers, agents and processes of a soak, and the actions on them.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testing::Random;

use super::live_process::{self, LiveProcess};
use super::process::{Op, Process, RequestedOperation};
use super::servers::Servers;
use super::usage::Usage;
use super::{Plan, Summary};
use crate::api::with_credentials;
use crate::{Agent, Api, wait};

/// Actions that a failure prints.
const HISTORY: usize = 50;
const LONGEST_PAUSE_MS: usize = 150;
const LONGEST_ABSENCE_MS: usize = 2000;
/// Limit for a server to reconnect to PostgreSQL.
const SETTLING: Duration = Duration::from_secs(15);
const NOT_AVAILABLE: i64 = 1_000_503;

#[derive(Debug, Clone, Copy)]
enum Action {
    Operate(Op),
    KillProcess,
    KillAgent,
    KillServer,
    /// For replicas only, as `KillBus`.
    KillStore,
    KillBus,
    Update,
}

const ACTIONS: [(usize, Action); 12] = [
    (16, Action::Operate(Op::Start)),
    (8, Action::Operate(Op::Stop)),
    (10, Action::Operate(Op::Restart)),
    (6, Action::Operate(Op::Kill)),
    (10, Action::Operate(Op::Manage)),
    (5, Action::Operate(Op::Unmanage)),
    (25, Action::KillProcess),
    (5, Action::KillAgent),
    (3, Action::KillServer),
    (1, Action::KillStore),
    (1, Action::KillBus),
    (8, Action::Update),
];

#[derive(Debug)]
pub(super) struct World {
    random: Random,
    pub(super) summary: Summary,
    pub(super) processes: Vec<Process>,
    /// With the time of its restart, if it is down.
    agents: Vec<(Agent, Option<Instant>)>,
    /// When PostgreSQL was last restarted.
    store_back: Option<Instant>,
    n_versions: u64,
    pub(super) servers: Servers,
    /// Last, so that it is printed below the logs of the agents.
    history: History,
}

/// The last actions; printed when the soak fails.
#[derive(Debug)]
struct History {
    seed: u64,
    started: Instant,
    lines: VecDeque<String>,
}

impl History {
    fn note(&mut self, what: &str) {
        if self.lines.len() == HISTORY {
            self.lines.pop_front();
        }
        let at = self.started.elapsed().as_millis();
        self.lines.push_back(format!("{at:>8} ms  {what}"));
    }
}

impl Drop for History {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("soak with seed {} failed; its last actions:", self.seed);
            for line in &self.lines {
                println!("{line}");
            }
        }
    }
}

impl World {
    pub(super) fn new(plan: &Plan) -> Self {
        let servers = Servers::start(plan.n_replicas);
        let ip = |n: usize| format!("10.9.{}.{}", n / 250, n % 250 + 1);
        let agents = (0..plan.n_agents).map(|n| (servers.agent(&ip(n)), None));
        let agents = agents.collect();
        let process = |n: usize| Process::new(n, ip(n % plan.n_agents), servers.path());
        let processes = (0..plan.n_processes).map(process).collect();
        let mut world = Self {
            random: Random::new(plan.seed),
            summary: Summary::default(),
            processes,
            agents,
            store_back: None,
            n_versions: 0,
            servers,
            history: History {
                seed: plan.seed,
                started: Instant::now(),
                lines: VecDeque::new(),
            },
        };
        for at in 0..plan.n_processes {
            world.update(at);
            // One in three is started later.
            if at % 3 != 2 {
                world.operate(at, Op::Start);
            }
        }
        world
    }

    /// Does one random action, and checks that nothing runs twice.
    pub(super) fn step(&mut self) {
        std::thread::sleep(self.random.millis_below(LONGEST_PAUSE_MS));
        self.revive(Instant::now());
        let at = self.random.below(self.processes.len());
        let action = self.random.weighted(&ACTIONS);
        self.summary.n_actions += 1;
        match action {
            Action::Operate(op) => self.operate(at, op),
            Action::KillProcess => self.kill_process(at),
            Action::KillAgent => self.kill_agent(),
            Action::KillServer => self.kill_server(at),
            Action::KillStore => self.kill_store(),
            Action::KillBus => self.kill_bus(),
            Action::Update => self.update(at),
        }
        self.check_runs();
        if self.summary.n_actions.is_multiple_of(20) {
            self.measure();
        }
    }

    fn operate(&mut self, at: usize, op: Op) {
        // Without a running server there is nothing to test here; `kill_server` tests interrupted requests.
        let Some(api) = self.servers.api() else {
            return;
        };
        if self.processes[at].reviving.is_some() {
            return;
        }
        let answer = post_operation(api, &self.processes[at], op);
        self.record(at, op, answer);
    }

    fn record(&mut self, at: usize, op: Op, answer: Result<Value, String>) {
        self.summary.n_operations += 1;
        let answer = answer.ok().filter(|answer| !self.is_excused(answer));
        let task = answer.map(|answer| {
            assert_eq!(answer["result"], true, "an operation is accepted: {answer}");
            answer["data"]["task_id"].as_str().unwrap().to_owned()
        });
        self.summary.n_unanswered += u64::from(task.is_none());
        let name = self.processes[at].name.clone();
        let result = task.as_deref().unwrap_or("not answered").to_owned();
        self.history.note(&format!("{op:?} {name}: {result}"));
        self.processes[at]
            .requested
            .push(RequestedOperation { op, task });
    }

    /// An expected refusal: the store is down, or was a moment ago.
    fn is_excused(&self, answer: &Value) -> bool {
        let is_recent = self
            .store_back
            .is_some_and(|back| back.elapsed() < SETTLING);
        answer["code"] == NOT_AVAILABLE && (!self.servers.has_store() || is_recent)
    }

    fn update(&mut self, at: usize) {
        let Some(api) = self.servers.api() else {
            return;
        };
        self.n_versions += 1;
        let version = self.n_versions;
        let body = with_credentials(self.processes[at].definition(version));
        let answer = api.try_post("/api/c/compapi/v2/gse/update_proc_info/", &body);
        let answer = answer.ok().filter(|answer| !self.is_excused(answer));
        let process = &mut self.processes[at];
        process.version = answer.as_ref().map(|answer| {
            let code = &answer["data"][process.key()]["error_code"];
            assert_eq!(*code, 0, "an update is accepted: {answer}");
            version
        });
        let result = answer.map_or("not answered", |_| "done");
        let name = process.name.clone();
        self.summary.n_updates += 1;
        self.history
            .note(&format!("update {name} to version {version}: {result}"));
    }

    fn kill_process(&mut self, at: usize) {
        let Some(run) = self.runs(at).into_iter().next() else {
            return;
        };
        let must_report = self.must_report(at, &run);
        run.kill();
        let process = &mut self.processes[at];
        if must_report {
            process.n_reported_kills += 1;
            process.reviving = Some(run.pid);
            self.summary.n_reported_kills += 1;
        }
        self.summary.n_process_kills += 1;
        let (name, pid) = (process.name.clone(), run.pid);
        let suffix = if must_report {
            ", which must be reported"
        } else {
            ""
        };
        self.history
            .note(&format!("kill -9 {name}, pid {pid}{suffix}"));
    }

    /// Whether the server shows this run as managed, and no pending operation could end or unmanage it.
    fn must_report(&self, at: usize, run: &LiveProcess) -> bool {
        let process = &self.processes[at];
        self.has_nothing_under_way(process)
            && self.row(process).is_some_and(|row| {
                row["isauto"] == true && row["status"] == 1 && row["pid"] == run.pid
            })
    }

    /// Operations of one process are serial in the agent: when the last has ended, all have. One that did not reach the agent
    /// (117) proves nothing about earlier ones.
    fn has_nothing_under_way(&self, process: &Process) -> bool {
        for request in process.requested.iter().rev() {
            let target = request
                .task
                .as_ref()
                .and_then(|task| self.target_of(process, task));
            match target.and_then(|target| target["error_code"].as_i64()) {
                Some(117) => {}
                None | Some(115 | 126) => return false,
                Some(_) => return true,
            }
        }
        false
    }

    fn kill_agent(&mut self) {
        let n = self.random.below(self.agents.len());
        let back = Instant::now() + self.random.millis_below(LONGEST_ABSENCE_MS);
        let (agent, down_until) = &mut self.agents[n];
        if down_until.is_some() {
            return;
        }
        agent.kill();
        *down_until = Some(back);
        let ip = agent.ip.clone();
        self.summary.n_agent_kills += 1;
        self.history.note(&format!("kill -9 agent {ip}"));
    }

    /// Kills a server during a request.
    fn kill_server(&mut self, at: usize) {
        let n = self.random.below(self.servers.len());
        let moment = self.random.millis_below(20);
        let back = Instant::now() + self.random.millis_below(LONGEST_ABSENCE_MS);
        if self.servers.is_down(n) {
            return;
        }
        let api = self.servers.api_of(n).clone();
        let (process, servers) = (&self.processes[at], &mut self.servers);
        let answer = std::thread::scope(|scope| {
            let free = process.reviving.is_none();
            let request = free.then(|| scope.spawn(|| post_operation(&api, process, Op::Start)));
            std::thread::sleep(moment);
            servers.kill(n, back);
            request.map(|request| request.join().unwrap())
        });
        self.summary.n_server_kills += 1;
        if let Some(answer) = answer {
            self.record(at, Op::Start, answer);
        }
        self.history.note(&format!("kill -9 server {n}"));
    }

    fn kill_store(&mut self) {
        let back = Instant::now() + self.random.millis_below(LONGEST_ABSENCE_MS);
        if self.servers.kill_store(back) {
            self.summary.n_store_kills += 1;
            self.history.note("kill -9 PostgreSQL");
        }
    }

    fn kill_bus(&mut self) {
        let back = Instant::now() + self.random.millis_below(LONGEST_ABSENCE_MS);
        if self.servers.kill_bus(back) {
            self.summary.n_bus_kills += 1;
            self.history.note("kill -9 NATS");
        }
    }

    fn revive(&mut self, now: Instant) {
        let had_store = self.servers.has_store();
        for what in self.servers.revive(now) {
            self.history.note(&what);
        }
        if !had_store && self.servers.has_store() {
            self.store_back = Some(Instant::now());
        }
        for n in 0..self.agents.len() {
            let (agent, down_until) = &mut self.agents[n];
            if down_until.take_if(|until| *until <= now).is_some() {
                agent.restart();
                let ip = agent.ip.clone();
                self.history.note(&format!("agent {ip} started"));
            }
        }
    }

    /// Restarts everything that is down.
    pub(super) fn revive_all(&mut self) {
        self.revive(Instant::now() + Duration::from_millis(LONGEST_ABSENCE_MS as u64));
        for (agent, _) in &self.agents {
            self.servers.wait_for_agent(agent);
        }
        self.history.note("everything is left alone");
    }

    /// Checks that no process has two live runs.
    pub(super) fn check_runs(&mut self) {
        let all = live_process::all();
        for process in &mut self.processes {
            let marker = process.marker();
            let mut runs: Vec<&LiveProcess> =
                all.iter().filter(|live| live.is_run_of(&marker)).collect();
            if runs.len() > 1 {
                // The first may have exited before the second started. One that is still alive existed in between.
                runs.retain(|run| run.is_alive());
            }
            assert!(runs.len() <= 1, "two live runs: {runs:?}");
            let another = runs.first().map(|run| run.pid);
            if another.is_some() && another != process.reviving {
                process.reviving = None;
            }
        }
    }

    pub(super) fn runs(&self, at: usize) -> Vec<LiveProcess> {
        let marker = self.processes[at].marker();
        let mut all = live_process::all();
        all.retain(|live| live.is_run_of(&marker));
        all
    }

    /// The result of a target; `None` without a response.
    pub(super) fn target_of(&self, process: &Process, task: &str) -> Option<Value> {
        let body = with_credentials(json!({"task_id": task}));
        let path = "/api/c/compapi/v2/gse/get_proc_operate_result/";
        let answer = self.servers.api()?.try_post(path, &body).ok()?;
        let keys = answer["data"].as_object()?;
        assert_eq!(keys.len(), 1, "one target of {task}: {answer}");
        Some(keys[&process.key()].clone())
    }

    /// The status row; `None` without a response.
    pub(super) fn row(&self, process: &Process) -> Option<Value> {
        let body = with_credentials(process.target());
        let path = "/api/c/compapi/v2/gse/get_proc_status/";
        let answer = self.servers.api()?.try_post(path, &body).ok()?;
        answer["data"]["proc_infos"].get(0).cloned()
    }

    pub(super) fn measure(&mut self) {
        for pid in self.servers.pids() {
            self.summary.server.raise(Usage::of(pid));
        }
        for (agent, _) in &self.agents {
            self.summary.agents.raise(Usage::of(agent.pid()));
        }
    }

    pub(super) fn agents(&self) -> impl Iterator<Item = &Agent> {
        self.agents.iter().map(|(agent, _)| agent)
    }

    pub(super) fn note(&mut self, what: &str) {
        self.history.note(what);
    }

    /// The hosts, as the native API names them.
    pub(super) fn hosts(&self) -> impl Iterator<Item = String> {
        self.agents
            .iter()
            .map(|(agent, _)| format!("0:{}", agent.ip))
    }

    /// Kills everything that was started.
    pub(super) fn end(mut self) -> Summary {
        self.end_all();
        let root = self.servers.path().display().to_string();
        wait::until("every process to exit", || {
            live_process::all().iter().all(|live| !live.mentions(&root))
        });
        self.summary.clone()
    }

    fn end_all(&mut self) {
        for (agent, _) in &mut self.agents {
            agent.kill();
        }
        self.servers.end();
        let root = self.servers.path().display().to_string();
        // A running command may still start something.
        for _ in 0..3 {
            let left = live_process::all()
                .into_iter()
                .filter(|live| live.mentions(&root));
            left.for_each(|live| live.kill());
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.end_all();
    }
}

fn post_operation(api: &Api, process: &Process, op: Op) -> Result<Value, String> {
    let mut body = with_credentials(process.target());
    body["op_type"] = json!(op as u8);
    api.try_post("/api/c/compapi/v2/gse/operate_proc/", &body)
}
