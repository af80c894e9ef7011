//! More statuses than the server can take, through real sessions and frames, while operations run.

use futures_util::{SinkExt, StreamExt};
use model::{Code, FullName, Host, Outcome, State, Status, UnixMillis};
use serde_json::{Value, json};
use server::agents::serve;
use testing::wait::until_async;
use tokio::io::{DuplexStream, duplex};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::codec::Framed;
use wire::{Codec, Down, DownKind, Hello, ProcessStatus, Report, ResultFrame, Up};

use crate::rig::{JOIN, Rig, spec};

const N_AGENTS: usize = 24;
/// Of them so many are of an earlier version, which reports when it likes.
const N_EARLIER: usize = 4;
/// The statuses of one report.
const N_STATUSES: usize = 400;
const N_OPERATIONS: usize = 5;
const BUFFER: usize = 64 * 1024;

type Frames = Framed<DuplexStream, Codec<Down, Up>>;

/// An agent that has more statuses to report as soon as it may, until it is told to stop.
struct FloodingAgent {
    frames: Frames,
    is_earlier: bool,
    pid: i32,
    n_granted: usize,
    n_reported: usize,
}

fn name() -> FullName {
    "gse/proc-1".parse().unwrap()
}

fn statuses(pid: i32, n: usize) -> Report {
    let status = Status {
        state: State::Running,
        pid,
        ..Status::default()
    };
    let statuses = vec![ProcessStatus::new(&name(), &status); n];
    Report { statuses }
}

impl FloodingAgent {
    /// Reports and operates until `stop`. The connection stays open.
    async fn run(mut self, mut stop: watch::Receiver<bool>) -> Self {
        loop {
            let floods = self.is_earlier && !*stop.borrow();
            tokio::select! {
                biased;
                frame = self.frames.next() => {
                    let frame = frame.expect("the server keeps the session").unwrap();
                    let is_over = *stop.borrow();
                    self.take(frame.kind.unwrap(), is_over).await;
                }
                () = std::future::ready(()), if floods => self.report(N_STATUSES).await,
                changed = stop.changed() => {
                    changed.unwrap();
                    self.report(1).await;
                    return self;
                }
            }
            tokio::task::yield_now().await;
        }
    }

    async fn take(&mut self, kind: DownKind, is_over: bool) {
        match kind {
            DownKind::Bye(bye) => panic!("the server ends the session: {}", bye.reason),
            DownKind::Ack(ack) if ack.may_report > 0 && !is_over => {
                self.n_granted += 1;
                self.report(N_STATUSES).await;
                // Each report beyond the first is a grant for statuses that the server has applied.
                assert!(self.n_reported <= self.n_granted);
            }
            DownKind::Command(command) => {
                self.pid += 1;
                let report = statuses(self.pid, 1);
                self.frames.send(report.into()).await.unwrap();
                let outcome = Outcome::plain(Code::OK, "success", UnixMillis(1));
                let result = ResultFrame::new(command.op.unwrap().into(), &outcome);
                self.frames.send(result.into()).await.unwrap();
                self.frames.send(Report::default().into()).await.unwrap();
            }
            _ => {}
        }
    }

    async fn report(&mut self, n: usize) {
        self.pid += 1;
        self.n_reported += 1;
        let report = statuses(self.pid, n);
        self.frames.send(report.into()).await.unwrap();
    }
}

async fn connect(rig: &Rig, host: Host, is_earlier: bool) -> FloodingAgent {
    let enrolment = rig.control.enrolment();
    enrolment.enrol(JOIN, host, None, None).await.unwrap();
    let (near, far) = duplex(BUFFER);
    let (control, stopped) = (rig.control.clone(), rig.stop.subscribe());
    tokio::spawn(async move { serve(&control, far, host, stopped).await });
    let mut frames = Frames::new(near, Codec::new());
    let hello = Hello {
        oldest: 1,
        newest: 1,
        ip: host.ip.to_string(),
        waits_for_grants: !is_earlier,
        ..Hello::default()
    };
    frames.send(hello.into()).await.unwrap();
    FloodingAgent {
        frames,
        is_earlier,
        pid: 0,
        n_granted: 0,
        n_reported: 0,
    }
}

fn hosts() -> Vec<Host> {
    let host = |n: usize| format!("0:10.0.0.{}", n + 1).parse().unwrap();
    (0..N_AGENTS).map(host).collect()
}

async fn operate(rig: &Rig, hosts: &Value) {
    let meta = json!({"namespace": "gse", "name": "proc-1"});
    let body = json!({"meta": meta, "hosts": hosts, "op_type": 0});
    let task = rig.esb_ok("operate_proc", body).await;
    loop {
        let result = rig.esb_ok("get_proc_operate_result", task.clone()).await;
        let targets = result.as_object().unwrap();
        let code = |target: &Value| target["error_code"].as_i64().unwrap();
        if targets.values().all(|target| code(target) != 115) {
            assert_eq!(targets.len(), N_AGENTS);
            assert!(targets.values().all(|target| code(target) == 0), "{result}");
            return;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn operations_end_and_no_agent_is_dropped_however_much_is_reported() {
    let rig = Rig::new().await;
    let all: Vec<Value> = hosts()
        .iter()
        .map(|host| json!({"ip": host.ip.to_string(), "bk_cloud_id": 0}))
        .collect();
    let all = Value::from(all);
    let meta = json!({"namespace": "gse", "name": "proc-1"});
    let body = json!({"meta": meta, "hosts": all, "spec": spec()});
    rig.esb_ok("register_proc_info", body).await;
    let (stop, stopped) = watch::channel(false);
    let mut running: Vec<JoinHandle<FloodingAgent>> = Vec::new();
    for (n, host) in hosts().into_iter().enumerate() {
        let agent = connect(&rig, host, n < N_EARLIER).await;
        running.push(tokio::spawn(agent.run(stopped.clone())));
    }
    let figures = || rig.control.figures();
    // Every agent has had its first turn several times over.
    let enough = (2 * N_AGENTS * N_STATUSES) as u64;
    until_async("statuses are taken", || figures().statuses > enough).await;
    for _ in 0..N_OPERATIONS {
        operate(&rig, &all).await;
        let before = figures().statuses;
        let more = before + N_STATUSES as u64;
        until_async("statuses are still taken", || figures().statuses > more).await;
    }
    stop.send_replace(true);
    let mut agents = Vec::new();
    for agent in running {
        agents.push(agent.await.unwrap());
    }
    let last: Vec<i32> = agents.iter().map(|agent| agent.pid).collect();
    // What was reported last is what the server shows.
    let shown = || {
        let fleet = rig.control.inspect_fleet();
        let name = fleet.name_id(&name()).unwrap();
        let pid = |host: Host| {
            let host = fleet.host_id(&host).unwrap();
            fleet.process(host, name).unwrap().pid()
        };
        hosts().into_iter().map(pid).collect::<Vec<_>>() == last
    };
    until_async("the last statuses are shown", shown).await;
}
