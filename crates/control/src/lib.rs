//! Decides what each request means, once for every dialect: registration, operations, tasks, jobs, access.
//!
//! # The parts
//!
//! [`Control`] gives out the parts: [`Registry`], [`Operations`], [`Jobs`], [`Templates`], [`Topology`], [`Access`],
//! [`Enrolment`], [`Sessions`], [`Replicas`], [`Events`] and [`Webhooks`]. Each owns its state and its requests. They share the
//! `core`: the state that commits change, and the only way to change it.
//!
//! # The path of a change
//!
//! A part plans a change against the fleet in memory; the core commits it to the store, folds it into memory, and only then
//! does the part answer (`commit`). Outboxes tell agents what changed for them (`sessions`). Agents' results are recorded in
//! batches (`operations/recorder`) and acknowledged only then. Nothing here knows HTTP, SQL or sockets.

mod access;
mod agent_counts;
mod agents;
mod answers;
mod commit;
mod core;
mod day_counts;
mod draft;
mod enrol;
mod error;
mod events;
mod failures;
mod follow;
mod freed_memory;
mod jobs;
mod lock_order;
mod operations;
pub mod rate_limit;
mod registry;
mod remove_hosts;
mod replicas;
mod secrets;
mod sessions;
mod snapshot;
mod templates;
mod timeline;
mod topology;
mod watch;
mod webhooks;
mod why;

pub use access::{
    Access, AuditFilter, AuditLines, Credentials, FirstKeys, Identity, IdentityLogin, IdentityUser,
    LoginCode, LoginOrigin, LoginView, MissingArea, MissingRole, NewJoinToken, RevokedGrants,
    Subject,
};
pub use agent_counts::AgentCounts;
pub use agents::{
    AgentBinaries, AgentBinary, AgentSelection, AgentUpgrade, Agents, LeftOut, LeftOutReason,
    UpgradePlan,
};
pub use answers::{HostAnswer, HostLookup, HostSelector, TargetHost};
pub use day_counts::{STEP_SECS as STATES_STEP_SECS, StatesOverTime};
pub use enrol::{Certificate, Enrolment, Issued};
pub use error::{BadTemplate, ControlError, CredentialFault};
pub use events::{EventFilter, EventView, Events, EventsRead};
pub use failures::{AlikeReason, Failure, FailureGroup, group_failures};
pub use jobs::{
    Batch, HasDefinition, JobListed, JobSelection, JobView, Jobs, NewJob, NewUpdate, UpdateState,
    solutions,
};
pub use operations::{
    BlockReason, BlockedProcesses, EndedTarget, KeptText, Operate, OperateMatching, OperateSpec,
    OperationPlan, Operations, TargetView, TaskView, blocked, blocked_in_view, job_task_reason,
    job_task_retry_blocked, target_reason, target_retry_blocked,
};
pub use registry::{
    Groups, HostStates, LabelHosts, LabelledHost, Mode, ProcessNames, ProcessVersion, Registration,
    Registry, Statuses, Summary, VersionNumbers,
};
pub use remove_hosts::{HostRemoval, RemoveHosts};
pub use replicas::{ReplicaView, Replicas};
pub use sessions::{
    AnswerStream, Comparison, DesiredState, FileOnHost, HeldDifference, HeldView, LogsOf, Refused,
    Session, Sessions,
};
pub use templates::{
    Drift, FileFilter, FileOf, FilePage, FileQuery, FileStage, NewTemplate, PreviewOf,
    TemplateFile, TemplateFiles, TemplateView, Templates,
};
pub use timeline::{TimelineEntry, TimelineFilter, TimelineView, TimelineWord};
pub use topology::{
    Apply, BusinessSummary, ChangeCounts, ChangeLine, ChangeOf, Difference, Overview, Selected,
    Topology, TopologySource,
};
pub use watch::{
    Change, ChangeEvent, ChangeId, ChangeKey, ChangeReader, Figures, Missed, Registered,
};
pub use webhooks::{Deliveries, MAX_WEBHOOKS, WebhookHealth, Webhooks};
pub use why::{Cause, Why, row_reason};

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use bus::{Bus, LocalHub, ReplicaId, Subscription};
use fleet::Fleet;
use model::UnixMillis;
use store::Store;
use tokio::sync::{mpsc, watch as stop_signal};
use tokio::task::JoinSet;

use crate::core::Core;
use operations::Record;
use replicas::barrier::Waiting;

/// A handle on all parts; clones share them.
#[derive(Debug, Clone)]
pub struct Control(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    core: Arc<Core>,
    access: Arc<Access>,
    registry: Arc<Registry>,
    operations: Arc<Operations>,
    jobs: Arc<Jobs>,
    agents: Arc<Agents>,
    templates: Arc<Templates>,
    topology: Arc<Topology>,
    enrolment: Arc<Enrolment>,
    sessions: Arc<Sessions>,
    replicas: Arc<Replicas>,
    events: Arc<Events>,
    webhooks: Arc<Webhooks>,
}

/// The work beside requests. Each task ends when the stop signal says so.
#[derive(Debug)]
pub struct Background {
    control: Control,
    records: mpsc::Receiver<Record>,
    waiting: mpsc::Receiver<Waiting>,
    heard: Subscription,
}

impl Control {
    /// Loads everything and is ready to answer; the caller still has to run the background work. No other server may use the
    /// store.
    pub async fn alone(store: Store, clock: Clock) -> Result<(Self, Background), ControlError> {
        let bus = Bus::local(&LocalHub::new(), ReplicaId(1));
        Self::load(store, bus, clock, true).await
    }

    /// The same, as one of several replicas on one store, which talk over the bus.
    pub async fn among_replicas(
        store: Store,
        bus: Bus,
        clock: Clock,
    ) -> Result<(Self, Background), ControlError> {
        Self::load(store, bus, clock, false).await
    }

    async fn load(
        store: Store,
        bus: Bus,
        clock: Clock,
        is_alone: bool,
    ) -> Result<(Self, Background), ControlError> {
        // Before anything is read, so that no message is missed in between.
        let heard = bus.subscribe();
        let core = Core::load(store, bus, clock, is_alone).await?;
        let access = Arc::new(Access::new(&core));
        let (replicas, waiting) = Replicas::new(&core);
        let replicas = Arc::new(replicas);
        let (operations, records) = Operations::new(&core, &access, &replicas);
        let operations = Arc::new(operations);
        let enrolment = Arc::new(Enrolment::new(&core, &access));
        let sessions = Arc::new(Sessions::new(
            &core,
            &access,
            &enrolment,
            &replicas,
            &operations,
        ));
        let templates = Arc::new(Templates::new(&core, &access, &sessions));
        let agents = Arc::new(Agents::new(&core, &access, &sessions));
        let jobs = Jobs::new(&core, &access, &replicas, &operations, &templates, &agents);
        let control = Self(Arc::new(Parts {
            registry: Arc::new(Registry::new(&core, &access)),
            topology: Arc::new(Topology::new(&core, &access, &replicas)),
            events: Arc::new(Events::new(&core, &access)),
            webhooks: Arc::new(Webhooks::new(&core, &access)),
            jobs: Arc::new(jobs),
            agents,
            core,
            access,
            operations,
            templates,
            enrolment,
            sessions,
            replicas,
        }));
        let background = Background {
            control: control.clone(),
            records,
            waiting,
            heard,
        };
        Ok((control, background))
    }

    /// Apps, users, keys, logins, grants, the audit trail; and the one permission check.
    pub fn access(&self) -> &Arc<Access> {
        &self.0.access
    }

    /// Registered processes, hosts and process groups.
    pub fn registry(&self) -> &Arc<Registry> {
        &self.0.registry
    }

    /// Operations on processes, and their tasks.
    pub fn operations(&self) -> &Arc<Operations> {
        &self.0.operations
    }

    /// Jobs over many instances.
    pub fn jobs(&self) -> &Arc<Jobs> {
        &self.0.jobs
    }

    /// The binaries of agents, and their upgrades.
    pub fn agents(&self) -> &Arc<Agents> {
        &self.0.agents
    }

    /// Config templates and the files that they make.
    pub fn templates(&self) -> &Arc<Templates> {
        &self.0.templates
    }

    /// Businesses and their process view.
    pub fn topology(&self) -> &Arc<Topology> {
        &self.0.topology
    }

    /// Which agents may connect.
    pub fn enrolment(&self) -> &Arc<Enrolment> {
        &self.0.enrolment
    }

    /// Connected agents, and live questions to them.
    pub fn sessions(&self) -> &Arc<Sessions> {
        &self.0.sessions
    }

    /// The other servers on the same store.
    pub fn replicas(&self) -> &Arc<Replicas> {
        &self.0.replicas
    }

    /// Sets how freed memory is returned to the host. It is called now, and after changes of very many rows.
    pub fn return_memory_by(&self, give_back: fn()) {
        self.0.core.freed_memory.return_by(give_back);
    }

    /// Recorded events, and the live stream of changes.
    pub fn events(&self) -> &Arc<Events> {
        &self.0.events
    }

    /// Webhooks and their deliveries.
    pub fn webhooks(&self) -> &Arc<Webhooks> {
        &self.0.webhooks
    }

    /// The whole fleet, for tests and the simulation. Product code reads through the parts, which check the caller.
    #[doc(hidden)]
    pub fn inspect_fleet(&self) -> Arc<Fleet> {
        self.0.core.fleet()
    }
}

impl Background {
    /// Runs until told to stop; what was recorded by then is durable.
    pub async fn run(self, stop: stop_signal::Receiver<bool>) {
        let Self {
            control,
            records,
            waiting,
            heard,
        } = self;
        let Parts {
            core,
            replicas,
            sessions,
            operations,
            topology,
            jobs,
            ..
        } = &*control.0;
        // A task each: one does not wait for another's turn, and is not polled because another has work.
        let mut tasks = JoinSet::new();
        tasks.spawn(replicas::barrier::run(
            replicas.clone(),
            waiting,
            stop.clone(),
        ));
        tasks.spawn(replicas::lease::run(replicas.clone(), stop.clone()));
        tasks.spawn(replicas::route::run(replicas.clone(), stop.clone()));
        tasks.spawn(replicas::run(replicas.clone(), heard, stop.clone()));
        tasks.spawn(sessions::take_reports(sessions.clone(), stop.clone()));
        tasks.spawn(sessions::wake_sessions(core.clone(), stop.clone()));
        tasks.spawn(sessions::move_agents(sessions.clone(), stop.clone()));
        tasks.spawn(sessions::tell_dependencies(core.clone(), stop.clone()));
        tasks.spawn(operations::record(
            operations.clone(),
            records,
            stop.clone(),
        ));
        tasks.spawn(operations::end_overdue(operations.clone(), stop.clone()));
        tasks.spawn(follow::run(replicas.clone(), stop.clone()));
        tasks.spawn(topology::retire(topology.clone(), stop.clone()));
        tasks.spawn(topology::refresh(topology.clone(), stop.clone()));
        tasks.spawn(jobs::run(jobs.clone(), stop.clone()));
        tasks.spawn(timeline::record_agents(core.clone(), stop.clone()));
        tasks.spawn(day_counts::run(
            core.clone(),
            replicas.clone(),
            stop.clone(),
        ));
        tasks.spawn(snapshot::run(core.clone(), replicas.clone(), stop));
        while let Some(ended) = tasks.join_next().await {
            if let Err(error) = ended
                && let Ok(panic) = error.try_into_panic()
            {
                std::panic::resume_unwind(panic);
            }
        }
        replicas.release_lease().await;
    }
}

/// Resolves when the signal says stop, or when its sender is gone.
async fn stopped(stop: &mut stop_signal::Receiver<bool>) {
    // An error means that the sender is gone, which is as good as a stop.
    let _ = stop.wait_for(|stop| *stop).await;
}

/// Where `control` takes the time from.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> UnixMillis + Send + Sync>);

impl Clock {
    /// The machine's own.
    pub fn system() -> Self {
        Self::new(|| {
            let since = SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default();
            UnixMillis(since.as_millis() as i64)
        })
    }

    /// Any other, for tests that cannot wait.
    pub fn new(read: impl Fn() -> UnixMillis + Send + Sync + 'static) -> Self {
        Self(Arc::new(read))
    }

    fn now(&self) -> UnixMillis {
        (self.0)()
    }
}

impl std::fmt::Debug for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Clock")
    }
}
