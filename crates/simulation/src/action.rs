//! The actions of a history, and how often each happens.

use model::Op;
use supervisor::host::AgentDeath;
use testing::Random;

use crate::link::NetworkFaults;
use crate::program;
use crate::world::{N_HOSTS, N_PROCESSES, World};

#[derive(Debug, Clone, Copy)]
pub(crate) enum Action {
    Register,
    Unregister,
    Operate,
    Roll,
    KillProgram,
    KillAgent,
    KillAgentSoon,
    StopAgent,
    StartAgent,
    Reboot,
    KillServer,
    StopServer,
    StartServer,
    NetworkFaults,
    CutLink,
    LinkDown,
    LinkUp,
    MoveClock,
}

/// How much more often stressed actions happen.
const STRESS: usize = 4;

const ACTIONS: [(usize, Action); 18] = [
    (14, Action::Register),
    (4, Action::Unregister),
    (34, Action::Operate),
    (7, Action::Roll),
    (14, Action::KillProgram),
    (4, Action::KillAgent),
    (14, Action::KillAgentSoon),
    (3, Action::StopAgent),
    (16, Action::StartAgent),
    (4, Action::Reboot),
    (6, Action::KillServer),
    (2, Action::StopServer),
    (14, Action::StartServer),
    (6, Action::NetworkFaults),
    (4, Action::CutLink),
    (2, Action::LinkDown),
    (5, Action::LinkUp),
    (4, Action::MoveClock),
];

/// Which faults are most frequent in a history; the seed decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultProfile {
    Everything,
    Agents,
    Network,
    Server,
    Hosts,
    /// Several replicas.
    Replicas,
}

impl FaultProfile {
    pub(crate) const ALL: [Self; 6] = [
        Self::Everything,
        Self::Agents,
        Self::Network,
        Self::Server,
        Self::Hosts,
        Self::Replicas,
    ];

    pub(crate) fn of(seed: u64) -> Self {
        Self::ALL[(seed % Self::ALL.len() as u64) as usize]
    }

    pub(crate) fn n_servers(self) -> usize {
        match self {
            Self::Replicas => 2,
            Self::Everything | Self::Agents | Self::Network | Self::Server | Self::Hosts => 1,
        }
    }

    /// The actions with their weights.
    pub(crate) fn actions(self) -> Vec<(usize, Action)> {
        let is_stressed = |action: Action| match self {
            Self::Everything => false,
            Self::Agents => matches!(
                action,
                Action::KillAgent | Action::KillAgentSoon | Action::StopAgent | Action::StartAgent
            ),
            Self::Network => matches!(
                action,
                Action::NetworkFaults | Action::CutLink | Action::LinkDown | Action::LinkUp
            ),
            Self::Server | Self::Replicas => matches!(
                action,
                Action::KillServer | Action::StopServer | Action::StartServer
            ),
            Self::Hosts => matches!(
                action,
                Action::Reboot | Action::MoveClock | Action::KillProgram | Action::StartAgent
            ),
        };
        let stress = |(weight, action): (usize, Action)| match is_stressed(action) {
            true => (weight * STRESS, action),
            false => (weight, action),
        };
        ACTIONS.into_iter().map(stress).collect()
    }
}

impl World {
    /// Performs one random action.
    pub(crate) async fn act(&mut self) {
        let at = self.random.below(N_HOSTS);
        let address = self.agents[at].address;
        let note = |what: &str| self.log.note(format!("{address}: {what}"));
        match self.random.weighted(&self.actions) {
            Action::Register => self.register().await,
            Action::Unregister => self.unregister().await,
            Action::Operate => self.operate().await,
            Action::Roll => self.roll().await,
            Action::KillProgram => {
                let name = program::name(self.random.below(N_PROCESSES));
                if self.agents[at].host.kill_program(&name) {
                    note(&format!("the program of {name} is killed"));
                }
            }
            Action::KillAgent => {
                note("the agent is killed");
                self.agents[at].kill().await;
            }
            Action::KillAgentSoon => {
                let is_at_work = self.random.permille(600);
                let most = match is_at_work {
                    true => self.random.pick(&[30, 150]),
                    false => self.random.pick(&[10, 80, 600]),
                };
                let (moments, kept) = (self.random.below(most) as u32, self.random.byte());
                let how = self
                    .random
                    .weighted(&[(3, AgentDeath::Killed), (1, AgentDeath::PowerLost)]);
                note(&format!(
                    "the agent will be killed after {moments} moments: {how:?}"
                ));
                self.agents[at].host.kill_agent_after(moments, how, kept);
                if is_at_work {
                    let number = self.random.below(N_PROCESSES);
                    let op = self
                        .random
                        .pick(&[Op::Start, Op::Restart, Op::Manage, Op::Stop]);
                    self.operate_on(vec![at], number, op).await;
                }
            }
            Action::StopAgent => {
                note("the agent is stopped");
                self.stop_agent(at).await;
            }
            Action::StartAgent => self.start_agents(),
            Action::Reboot => {
                note("power is lost and comes back");
                let kept = self.random.byte();
                self.agents[at].reboot(kept).await;
            }
            Action::KillServer => {
                if self.random.permille(700) {
                    self.wait_for_store().await;
                }
                self.log.note("a server is killed");
                self.servers.one(&mut self.random).kill();
            }
            Action::StopServer => {
                self.log.note("a server is stopped");
                self.servers.one(&mut self.random).stop().await;
            }
            Action::StartServer => {
                self.log.note("a server is started");
                self.servers.one(&mut self.random).start().await;
            }
            Action::NetworkFaults => {
                let network_faults = network_faults(&mut self.random);
                note(&format!("the network: {network_faults:?}"));
                self.agents[at].link.set_faults(network_faults);
            }
            Action::CutLink => {
                note("its connection is cut");
                self.agents[at].link.cut();
            }
            Action::LinkDown => {
                note("is cut off");
                self.agents[at].link.set_down(true);
            }
            Action::LinkUp => {
                note("can be reached");
                self.agents[at].link.set_down(false);
            }
            Action::MoveClock => {
                let hours = self.random.below(24) as i64 - 12;
                let by_ms = hours * 3_600_000 + self.random.below(60_000) as i64;
                match self.random.below(3) {
                    0 => {
                        self.log
                            .note(format!("the servers' clock is moved by {by_ms} ms"));
                        self.servers.move_wall_clock(by_ms);
                    }
                    _ => {
                        note(&format!("its clock is moved by {by_ms} ms"));
                        self.agents[at].host.move_wall_clock(by_ms);
                    }
                }
            }
        }
    }

    /// Stops an agent, which must stop no process, unless an operation does or the host loses power meanwhile.
    async fn stop_agent(&mut self, at: usize) {
        let is_idle = self.is_idle() && !self.may_roll;
        let agent = &mut self.agents[at];
        let (before, n_boots) = (agent.host.lasting_programs(), agent.host.n_boots());
        agent.stop().await;
        if agent.host.n_boots() != n_boots {
            return;
        }
        let after = agent.host.lasting_programs();
        let stopped: Vec<&i32> = before.iter().filter(|pid| !after.contains(pid)).collect();
        assert!(
            !is_idle || stopped.is_empty(),
            "stopping the agent of {} stopped {stopped:?}",
            agent.address
        );
    }
}

pub(crate) fn network_faults(random: &mut Random) -> NetworkFaults {
    let mut times = |worst: usize| match random.permille(500) {
        true => 0,
        false => random.below(worst),
    };
    NetworkFaults {
        lost: times(200),
        repeated: times(300),
        late: times(500),
        cut: times(60),
        swallowed: times(40),
    }
}
