//! The simulated system: servers, hosts with their agents, and what the servers have acknowledged.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use model::job::JobId;
use model::{Code, Host, Op, OpId, TaskId, UnixMillis};
use testing::Random;
use tokio::time::sleep;

use crate::action::{Action, FaultProfile, network_faults};
use crate::agent_side::AgentSide;
use crate::clock_hold::ClockHold;
use crate::history_log::HistoryLog;
use crate::link::{Link, NetworkFaults};
use crate::servers::Servers;

/// An arbitrary time.
const BEGAN: UnixMillis = UnixMillis(1_800_000_000_000);
pub(crate) const N_HOSTS: usize = 2;
pub(crate) const N_PROCESSES: usize = 3;

/// What a registration must be, by the server's replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    There,
    Gone,
    /// The server was killed before it replied.
    Unsure,
}

#[derive(Debug)]
pub(crate) struct World {
    pub(crate) random: Random,
    /// The possible actions with their weights.
    pub(crate) actions: Vec<(usize, Action)>,
    pub(crate) log: HistoryLog,
    pub(crate) servers: Servers,
    pub(crate) agents: Vec<AgentSide>,
    pub(crate) expected: BTreeMap<(usize, usize), Expected>,
    /// Every acknowledged task, with the number of its targets.
    pub(crate) tasks: BTreeMap<TaskId, usize>,
    /// Those requested after healing.
    pub(crate) tasks_after_healing: Vec<TaskId>,
    /// The outcome of each target as last shown.
    pub(crate) ends: BTreeMap<OpId, Code>,
    /// Every acknowledged roll.
    pub(crate) rolls: Vec<JobId>,
    /// A roll may be under way.
    pub(crate) may_roll: bool,
    /// No more faults are injected.
    pub(crate) is_healed: bool,
    pub(crate) clock_hold: ClockHold,
}

pub(crate) fn hosts() -> Vec<Host> {
    let address = |n: usize| Host::parse(0, &format!("10.0.0.{}", n + 1)).expect("an address");
    (0..N_HOSTS).map(address).collect()
}

impl World {
    pub(crate) fn new(seed: u64, dir: &Path, clock_hold: ClockHold, log: HistoryLog) -> Self {
        let mut random = Random::new(seed);
        let profile = FaultProfile::of(seed);
        let n_servers = profile.n_servers();
        let (servers, listeners) = Servers::new(n_servers, dir, &clock_hold, BEGAN, &mut random);
        let agent = |address: Host| {
            let link = Link::new(address, random.branch(), listeners.clone(), log.clone());
            AgentSide::new(address, dir, link, BEGAN, log.clone())
        };
        let agents = hosts().into_iter().map(agent).collect();
        Self {
            random,
            actions: profile.actions(),
            log: log.clone(),
            servers,
            agents,
            expected: BTreeMap::new(),
            tasks: BTreeMap::new(),
            ends: BTreeMap::new(),
            tasks_after_healing: Vec::new(),
            rolls: Vec::new(),
            may_roll: false,
            is_healed: false,
            clock_hold,
        }
    }

    pub(crate) async fn begin(&mut self) {
        self.servers.start().await;
        for agent in &mut self.agents {
            if self.random.permille(500) {
                agent.link.set_faults(network_faults(&mut self.random));
            }
            agent.start();
        }
        // Most histories begin with all agents connected and some processes managed.
        let pause = self.random.pick(&[0, 50, 2_000]);
        sleep(Duration::from_millis(pause)).await;
        for number in 0..N_PROCESSES {
            if self.random.permille(700) {
                self.register_on((0..N_HOSTS).collect(), number).await;
                let op = self.random.pick(&[Op::Manage, Op::Start, Op::Query]);
                self.operate_on((0..N_HOSTS).collect(), number, op).await;
            }
        }
    }

    /// Ends all faults: starts every server and agent, and repairs the network.
    pub(crate) async fn heal(&mut self) {
        self.log.note("the world becomes quiet");
        self.is_healed = true;
        self.servers.start().await;
        for agent in &mut self.agents {
            agent.host.disarm();
            agent.link.set_faults(NetworkFaults::default());
            agent.link.set_down(false);
            // Lost frames are sent again only on the next connection.
            agent.link.cut();
        }
        self.note_agent_ends().await;
        self.start_agents();
    }

    /// Requests operations and cuts every connection right after: none may be lost.
    pub(crate) async fn operate_and_cut(&mut self) {
        for number in 0..N_PROCESSES {
            let op = self
                .random
                .pick(&[Op::Restart, Op::Manage, Op::Stop, Op::Reload]);
            self.operate_on((0..N_HOSTS).collect(), number, op).await;
        }
        let pause = self.random.pick(&[0, 1, 6, 50, 1500]);
        sleep(Duration::from_millis(pause)).await;
        self.log.note("every connection is cut");
        for agent in &self.agents {
            agent.link.cut();
        }
    }

    /// Notes agents that were killed in the middle of their work.
    pub(crate) async fn note_agent_ends(&mut self) {
        for agent in &mut self.agents {
            agent.note_end().await;
        }
    }

    pub(crate) fn start_agents(&mut self) {
        for agent in &mut self.agents {
            if !agent.is_running() {
                self.log
                    .note(format!("{}: an agent is started", agent.address));
                agent.start();
            }
        }
    }

    /// Whether every acknowledged operation has ended.
    pub(crate) fn is_idle(&self) -> bool {
        let n_targets: usize = self.tasks.values().sum();
        self.ends.len() == n_targets
    }
}
