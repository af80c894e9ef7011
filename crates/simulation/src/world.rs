//! Everything that there is: a server, hosts with their agents, and what was promised to those who asked.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use model::{Code, Host, Op, OpId, TaskId, UnixMillis};
use testing::Random;
use tokio::time::sleep;

use crate::action::{Action, Trouble, weather};
use crate::agent_side::AgentSide;
use crate::brake::Brake;
use crate::diary::Diary;
use crate::link::{Link, Weather};
use crate::servers::Servers;

/// Any moment will do.
const BEGAN: UnixMillis = UnixMillis(1_800_000_000_000);
pub(crate) const N_HOSTS: usize = 2;
pub(crate) const N_PROCESSES: usize = 3;

/// What is known of a registration, by the answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Belief {
    There,
    Gone,
    /// The server was killed before it answered.
    Unsure,
}

#[derive(Debug)]
pub(crate) struct World {
    pub(crate) random: Random,
    /// What may happen, and how often it does.
    pub(crate) actions: Vec<(usize, Action)>,
    pub(crate) diary: Diary,
    pub(crate) servers: Servers,
    pub(crate) agents: Vec<AgentSide>,
    pub(crate) beliefs: BTreeMap<(usize, usize), Belief>,
    /// Every task that was answered for, with the number of its targets.
    pub(crate) tasks: BTreeMap<TaskId, usize>,
    /// Those that were asked for while all was well.
    pub(crate) calm_tasks: Vec<TaskId>,
    /// How each target was seen to end.
    pub(crate) ends: BTreeMap<OpId, Code>,
    /// Nothing goes wrong any more.
    pub(crate) is_calm: bool,
    pub(crate) brake: Brake,
}

pub(crate) fn hosts() -> Vec<Host> {
    let address = |n: usize| Host::parse(0, &format!("10.0.0.{}", n + 1)).expect("an address");
    (0..N_HOSTS).map(address).collect()
}

impl World {
    pub(crate) fn new(seed: u64, dir: &Path, brake: Brake, diary: Diary) -> Self {
        let mut random = Random::new(seed);
        let trouble = Trouble::of(seed);
        let n_servers = trouble.n_servers();
        let (servers, doors) = Servers::new(n_servers, dir, &brake, BEGAN, &mut random);
        let agent = |address: Host| {
            let link = Link::new(address, random.branch(), doors.clone(), diary.clone());
            AgentSide::new(address, dir, link, BEGAN, diary.clone())
        };
        let agents = hosts().into_iter().map(agent).collect();
        Self {
            random,
            actions: trouble.actions(),
            diary: diary.clone(),
            servers,
            agents,
            beliefs: BTreeMap::new(),
            tasks: BTreeMap::new(),
            ends: BTreeMap::new(),
            calm_tasks: Vec::new(),
            is_calm: false,
            brake,
        }
    }

    pub(crate) async fn begin(&mut self) {
        self.servers.start().await;
        for agent in &mut self.agents {
            if self.random.permille(500) {
                agent.link.set_weather(weather(&mut self.random));
            }
            agent.start();
        }
        // Most histories begin with everybody connected and something to keep.
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

    /// Everybody is brought back and the network is good; the histories end with this.
    pub(crate) async fn calm_down(&mut self) {
        self.diary.note("the world becomes quiet");
        self.is_calm = true;
        self.servers.start().await;
        for agent in &mut self.agents {
            agent.host.disarm();
            agent.link.set_weather(Weather::default());
            agent.link.set_down(false);
            // Frames that were lost in the middle of a connection are asked for on the next one.
            agent.link.cut();
        }
        self.mind().await;
        self.start_agents();
    }

    /// Connections that are cut right after something was asked lose none of it.
    pub(crate) async fn ask_and_cut(&mut self) {
        for number in 0..N_PROCESSES {
            let op = self
                .random
                .pick(&[Op::Restart, Op::Manage, Op::Stop, Op::Reload]);
            self.operate_on((0..N_HOSTS).collect(), number, op).await;
        }
        let pause = self.random.pick(&[0, 1, 6, 50, 1500]);
        sleep(Duration::from_millis(pause)).await;
        self.diary.note("every connection is cut");
        for agent in &self.agents {
            agent.link.cut();
        }
    }

    /// Notices what happened by itself.
    pub(crate) async fn mind(&mut self) {
        for agent in &mut self.agents {
            agent.mind().await;
        }
    }

    pub(crate) fn start_agents(&mut self) {
        for agent in &mut self.agents {
            if !agent.is_running() {
                self.diary
                    .note(format!("{}: an agent is started", agent.address));
                agent.start();
            }
        }
    }

    /// Whether every operation that was asked for has been seen to end.
    pub(crate) fn is_idle(&self) -> bool {
        let n_targets: usize = self.tasks.values().sum();
        self.ends.len() == n_targets
    }
}
