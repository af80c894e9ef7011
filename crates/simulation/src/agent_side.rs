//! One fake host with its agent: the real sessions, reports and supervisor.

use std::path::{Path, PathBuf};
use std::time::Duration;

use agent::facts::HostFacts;
use agent::session::AgentInfo;
use agent::sessions::run_sessions;
use agent::state::AgentState;
use agent::supervisor_link::SupervisorLink;
use model::{AgentId, Host, UnixMillis};
use supervisor::host;
use supervisor::trace::{self, JournalTrace};
use supervisor::{ControlGroups, Options, Supervisor};
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinError, JoinHandle, spawn_local};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::history_log::HistoryLog;
use crate::link::Link;

/// As in the agent.
const QUEUE: usize = 256;
const LEAVE_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(crate) struct AgentSide {
    pub(crate) address: Host,
    pub(crate) host: host::Host,
    pub(crate) link: Link,
    /// The journal of this host's agents, as last read.
    pub(crate) trace: JournalTrace,
    dir: PathBuf,
    agent: Option<Agent>,
    log: HistoryLog,
}

#[derive(Debug)]
struct Agent {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl AgentSide {
    pub(crate) fn new(
        address: Host,
        dir: &Path,
        link: Link,
        wall_clock: UnixMillis,
        log: HistoryLog,
    ) -> Self {
        let dir = dir.join(address.ip.to_string());
        Self {
            address,
            host: host::Host::new(&dir, wall_clock),
            link,
            trace: JournalTrace::default(),
            dir,
            agent: None,
            log,
        }
    }

    pub(crate) fn is_running(&self) -> bool {
        self.agent.is_some()
    }

    pub(crate) fn start(&mut self) {
        if self.agent.is_some() {
            return;
        }
        let stop = CancellationToken::new();
        let agent = live(
            self.address,
            self.dir.clone(),
            self.link.clone(),
            stop.clone(),
        );
        let host = self.host.clone();
        let task = spawn_local(Box::pin(async move { Box::pin(host.run(agent)).await }));
        self.agent = Some(Agent { stop, task });
    }

    /// Notes an agent that was killed in the middle of its work.
    pub(crate) async fn note_end(&mut self) {
        self.note_host();
        if self
            .agent
            .as_ref()
            .is_some_and(|agent| agent.task.is_finished())
        {
            self.log.note(format!(
                "{}: the agent was killed in the middle of something",
                self.address
            ));
            self.end(|_| {}).await;
        }
    }

    pub(crate) async fn kill(&mut self) {
        self.end(|agent| agent.task.abort()).await;
    }

    /// As by SIGTERM: a clean shutdown that leaves every process running.
    pub(crate) async fn stop(&mut self) {
        self.end(|agent| agent.stop.cancel()).await;
    }

    pub(crate) async fn reboot(&mut self, kept: u8) {
        if let Some(agent) = self.agent.take() {
            agent.task.abort();
            expect_kill(agent.task.await);
            self.host.agent_is_gone();
        }
        self.host.lose_power(kept);
        self.note_host();
    }

    /// The states of its processes, by its journal.
    pub(crate) fn states(&self) -> Vec<String> {
        trace::states(&self.dir)
    }

    async fn end(&mut self, how: impl FnOnce(&Agent)) {
        let Some(agent) = self.agent.take() else {
            return;
        };
        how(&agent);
        expect_kill(agent.task.await);
        self.host.agent_is_gone();
        self.note_host();
    }

    fn note_host(&self) {
        for line in self.host.take_log() {
            self.log.note(format!("{}: {line}", self.address));
        }
    }

    pub(crate) fn read_trace(&mut self) {
        self.trace = JournalTrace::read(&self.dir);
        self.trace.executions.extend(self.host.executions());
    }
}

/// An agent may end because it was stopped or killed, and for no other reason.
fn expect_kill(ended: Result<(), JoinError>) {
    if let Err(error) = ended
        && let Ok(panic) = error.try_into_panic()
        && !panic.is::<host::AgentKilled>()
    {
        std::panic::resume_unwind(panic);
    }
}

/// What `agent::run` does after enrolment, with a link in place of TLS.
async fn live(address: Host, dir: PathBuf, link: Link, stop: CancellationToken) {
    let options = Options {
        control_groups: ControlGroups::Off,
        ..Options::default()
    };
    let opened = Supervisor::open(&dir, options);
    let (supervisor, recovered) = opened.expect("the journal opens");
    let (request_tx, requests) = mpsc::channel(QUEUE);
    let (notices, notice_rx) = mpsc::channel(QUEUE);
    let mut state = AgentState::new(recovered, SupervisorLink::new(request_tx, notice_rx));
    let (stop_keeping, kept_until) = watch::channel(false);
    let keeping = supervisor.run(requests, notices, kept_until);
    let info = AgentInfo {
        host: address,
        agent_id: AgentId::parse("a-1").expect("a good id"),
        facts: HostFacts::default(),
        clock: host::wall_clock,
    };
    let speaking = async {
        let connect = async |_| link.connect().await;
        let spoken = run_sessions(1, connect, || link.chance(), &info, &mut state, &stop).await;
        spoken.expect("the supervisor goes on");
        let _ = stop_keeping.send(true);
        let _ = timeout(LEAVE_TIMEOUT, state.serve_supervisor()).await;
    };
    tokio::select! {
        biased;
        () = speaking => {}
        kept = keeping => {
            kept.expect("the supervisor goes on");
            assert!(stop.is_cancelled(), "the supervisor ended by itself");
        }
    }
}
