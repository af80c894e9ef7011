//! The mind: what each request means, decided once for every dialect.
//!
//! # The path of a change
//!
//! A request is planned against the fleet in memory, committed to the store, folded into the fleet, and only then answered
//! (`commit`). Nothing here knows HTTP, SQL or sockets.

mod ask;
mod error;

pub use ask::{Answer, Asked, Place};
pub use error::ControlError;

use std::sync::{Arc, RwLockReadGuard};
use std::time::Duration;

use fleet::Fleet;
use model::access::{App, Audit, Caller, JoinToken, User};
use model::event::Event;
use model::group::ProcessGroup;
use model::spec::Probe;
use model::{
    AgentId, FullName, Host, Labels, Namespace, Op, Outcome, Spec, State, TaskId, UnixMillis,
};
use tokio::sync::broadcast;

/// A handle on the mind; clones share it.
#[derive(Debug, Clone)]
pub struct Control(Arc<()>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// An equal registration is fine, a different one is refused with 850.
    Register,
    /// Creates or replaces.
    Update,
}

#[derive(Debug, Clone)]
pub struct Registration {
    pub name: FullName,
    pub labels: Labels,
    pub spec: Spec,
    pub hosts: Vec<Asked>,
    pub mode: Mode,
}

/// One line of an operate request; operate_proc_multi has many.
#[derive(Debug, Clone)]
pub struct Operate {
    pub name: FullName,
    pub op: Op,
    pub with: With,
    pub hosts: Vec<Asked>,
}

/// What an operation goes by.
#[derive(Debug, Clone)]
pub enum With {
    /// The spec that was registered before; else 851.
    Registered,
    /// This spec, stored as an update is.
    Spec(Box<Spec>, Labels),
    /// As much as a query needs; nothing is stored.
    Probe(Probe),
}

/// One task as a reader sees it; `targets` are in the order of the request.
#[derive(Debug, Clone)]
pub struct TaskView {
    pub id: TaskId,
    pub created_at: UnixMillis,
    pub app: String,
    pub user: String,
    pub targets: Vec<TargetView>,
    pub n_ended: usize,
}

#[derive(Debug, Clone)]
pub struct TargetView {
    pub key_prefix: Box<str>,
    pub process: Arc<FullName>,
    pub op: Op,
    pub host: Option<Host>,
    /// None while it goes on (115).
    pub outcome: Option<Arc<Outcome>>,
}

/// What watchers are told. A slow watcher misses some and is told so by the channel.
#[derive(Debug, Clone)]
pub enum Happening {
    Status {
        process: FullName,
        host: Host,
        state: State,
        pid: i32,
        message: String,
        at: UnixMillis,
    },
    Task {
        id: TaskId,
        n_targets: usize,
        n_ended: usize,
        n_ok: usize,
        namespaces: Vec<Namespace>,
    },
    Agent {
        host: Host,
        up: bool,
        at: UnixMillis,
    },
    Event {
        host: Host,
        event: Event,
    },
}

/// What the caller presented, before anybody checked it.
#[derive(Debug, Clone, Default)]
pub struct Credentials {
    pub app_code: Option<String>,
    pub app_secret: Option<String>,
    pub token: Option<String>,
    pub username: Option<String>,
}

/// Figures for `/metrics`.
#[derive(Debug, Clone, Default)]
pub struct Figures {
    pub revision: u64,
    pub n_hosts: usize,
    pub n_agents_up: usize,
    pub n_processes: usize,
    pub n_running: usize,
    pub n_tasks_open: usize,
    pub n_targets_open: usize,
    pub commits: u64,
    pub reports: u64,
    pub results: u64,
    pub events: u64,
    pub operations: u64,
}

#[allow(clippy::todo, unused_variables, clippy::unused_async)]
impl Control {
    /// Checks credentials (constant-time), the app's rate and, for an untrusted app, that its user is logged in.
    pub fn authenticate(
        &self,
        credentials: &Credentials,
        from: Option<std::net::IpAddr>,
        request_id: &str,
    ) -> Result<Caller, ControlError> {
        todo!()
    }

    /// Waits until this replica shows whatever any replica has acknowledged. Call before reading.
    pub async fn settled(&self) -> Result<(), ControlError> {
        todo!()
    }

    /// The picture to answer reads from. Held for the length of one answer, never across an await.
    pub fn fleet(&self) -> RwLockReadGuard<'_, Fleet> {
        todo!()
    }

    pub async fn register(
        &self,
        caller: &Caller,
        request: Registration,
    ) -> Result<Vec<Answer>, ControlError> {
        todo!()
    }

    pub async fn unregister(
        &self,
        caller: &Caller,
        name: &FullName,
        hosts: Vec<Asked>,
    ) -> Result<Vec<Answer>, ControlError> {
        todo!()
    }

    /// Durable when it answers; every key of the result exists from then on.
    pub async fn operate(
        &self,
        caller: &Caller,
        requests: Vec<Operate>,
    ) -> Result<TaskId, ControlError> {
        todo!()
    }

    /// A task as it is now, from memory or from the store.
    pub async fn task(&self, caller: &Caller, id: TaskId) -> Result<Arc<TaskView>, ControlError> {
        todo!()
    }

    /// The same, but waits until every target has ended or the time is over.
    pub async fn task_ended(
        &self,
        caller: &Caller,
        id: TaskId,
        wait: Duration,
    ) -> Result<Arc<TaskView>, ControlError> {
        todo!()
    }

    /// Newest first.
    pub async fn tasks(
        &self,
        caller: &Caller,
        limit: u32,
        before: Option<TaskId>,
    ) -> Result<Vec<store::TaskSummary>, ControlError> {
        todo!()
    }

    pub async fn set_groups(
        &self,
        caller: &Caller,
        namespace: &Namespace,
        hosts: Vec<Asked>,
        groups: Vec<ProcessGroup>,
    ) -> Result<Vec<Answer>, ControlError> {
        todo!()
    }

    /// Gives hosts the ids that 2.0 callers will name them by; one answer per host.
    pub async fn set_agent_ids(
        &self,
        caller: &Caller,
        hosts: Vec<(Asked, AgentId)>,
    ) -> Result<Vec<Answer>, ControlError> {
        todo!()
    }

    pub fn watch(&self) -> broadcast::Receiver<Arc<Happening>> {
        todo!()
    }

    pub fn figures(&self) -> Figures {
        todo!()
    }

    // Access. Each needs `caller.admin`.

    pub fn apps(&self, caller: &Caller) -> Result<Vec<App>, ControlError> {
        todo!()
    }

    /// Answers the secret, which is shown this once. `secret` None: one is made.
    pub async fn create_app(
        &self,
        caller: &Caller,
        code: &str,
        secret: Option<String>,
        namespaces: Option<Vec<Namespace>>,
        trusted: bool,
        rate_limit: u32,
    ) -> Result<String, ControlError> {
        todo!()
    }

    pub async fn delete_app(&self, caller: &Caller, code: &str) -> Result<(), ControlError> {
        todo!()
    }

    pub fn users(&self, caller: &Caller) -> Result<Vec<User>, ControlError> {
        todo!()
    }

    pub async fn create_user(
        &self,
        caller: &Caller,
        name: &str,
        password: &str,
    ) -> Result<(), ControlError> {
        todo!()
    }

    pub async fn delete_user(&self, caller: &Caller, name: &str) -> Result<(), ControlError> {
        todo!()
    }

    pub fn join_tokens(&self, caller: &Caller) -> Result<Vec<JoinToken>, ControlError> {
        todo!()
    }

    /// Answers the token's record and its secret, which is shown this once.
    pub async fn create_join_token(
        &self,
        caller: &Caller,
        host: Option<Host>,
        lives: Option<Duration>,
    ) -> Result<(JoinToken, String), ControlError> {
        todo!()
    }

    pub async fn delete_join_token(&self, caller: &Caller, id: &str) -> Result<(), ControlError> {
        todo!()
    }

    /// Answers a `bk_token` and when it ends.
    pub async fn login(
        &self,
        name: &str,
        password: &str,
        from: Option<std::net::IpAddr>,
    ) -> Result<(String, UnixMillis), ControlError> {
        todo!()
    }

    pub async fn logout(&self, token: &str) -> Result<(), ControlError> {
        todo!()
    }

    pub async fn audit(
        &self,
        caller: &Caller,
        page: store::AuditPage,
    ) -> Result<Vec<(u64, Audit)>, ControlError> {
        todo!()
    }
}
