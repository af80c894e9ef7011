//! `Control` with a store, a bus and a clock, and a fake agent that exchanges frames.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use bus::{Bus, LocalHub, ReplicaId};
use control::{
    Clock, Control, FirstKeys, HostAnswer, HostSelector, Mode, Operate, OperateSpec, Registration,
    TargetHost,
};
use model::access::Caller;
use model::change::Changes;
use model::spec::RawSpec;
use model::spec::raw::SpecRules;
use model::{AgentId, Code, Flag, FullName, Host, Labels, Op, Spec, TaskId, UnixMillis};
use store::Store;
use tempfile::TempDir;
use testkit::FakeAgent;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use wire::Hello;

pub(crate) const START: i64 = 1_800_000_000_000;

pub(crate) struct Rig {
    pub(crate) control: Control,
    pub(crate) clock: Arc<AtomicI64>,
    pub(crate) caller: Caller,
    store: Store,
    stop: watch::Sender<bool>,
    background: JoinHandle<()>,
    dir: Arc<TempDir>,
    hub: LocalHub,
}

impl Rig {
    pub(crate) async fn new() -> Self {
        Self::on(Arc::new(TempDir::new().unwrap()), START).await
    }

    async fn on(dir: Arc<TempDir>, at: i64) -> Self {
        Self::replica(dir, at, &LocalHub::new(), 1).await
    }

    async fn replica(dir: Arc<TempDir>, at: i64, hub: &LocalHub, number: u64) -> Self {
        let bus = Bus::local(hub, ReplicaId(number));
        let store = Store::open(&format!("sqlite:{}/muster.db", dir.path().display()))
            .await
            .unwrap();
        let clock = Arc::new(AtomicI64::new(at));
        let read = clock.clone();
        let source = Clock::new(move || UnixMillis(read.load(Ordering::SeqCst)));
        let (control, background) = Control::among_replicas(store.clone(), bus, source)
            .await
            .unwrap();
        let (stop, stopped) = watch::channel(false);
        let background = tokio::spawn(background.run(stopped));
        Self {
            control,
            clock,
            caller: Caller::system(),
            store,
            stop,
            background,
            dir,
            hub: hub.clone(),
        }
    }

    /// One more replica on the same store.
    pub(crate) async fn another(&self, number: u64) -> Self {
        Self::replica(self.dir.clone(), START, &self.hub, number).await
    }

    /// Two replicas on one store.
    pub(crate) async fn pair() -> (Self, Self) {
        let (dir, hub) = (Arc::new(TempDir::new().unwrap()), LocalHub::new());
        let first = Self::replica(dir.clone(), START, &hub, 1).await;
        (first, Self::replica(dir, START, &hub, 2).await)
    }

    /// One replica; `hears` is called for every message of the replicas that join it.
    pub(crate) async fn overheard(hears: impl Fn(u64) + Send + Sync + 'static) -> Self {
        let hub = LocalHub::where_messages_arrive(move |from| {
            hears(from.0);
            true
        });
        Self::replica(Arc::new(TempDir::new().unwrap()), START, &hub, 1).await
    }

    /// Commits as a replica that is not in this process.
    pub(crate) async fn commit_elsewhere(&self, changes: &Changes) {
        let head = self.store.head().await.unwrap();
        self.store.commit(head, changes).await.unwrap();
    }

    /// Cuts this replica off from its store.
    pub(crate) async fn loses_its_store(&self) {
        self.store.close().await;
        self.control.replicas().catch_up().await;
        assert!(self.control.replicas().is_behind());
    }

    /// Stops in order, which the other replicas see.
    pub(crate) async fn stopped(self) {
        self.stop.send_replace(true);
        self.background.await.unwrap();
        self.store.close().await;
    }

    /// Ends like `kill -9`.
    pub(crate) fn killed(self) {
        self.background.abort();
    }

    /// Stops in order and starts again on the same data.
    pub(crate) async fn restarted(self) -> Self {
        self.stop.send_replace(true);
        self.background.await.unwrap();
        self.store.close().await;
        Self::on(self.dir, self.clock.load(Ordering::SeqCst)).await
    }

    pub(crate) fn advance(&self, by: Duration) {
        self.clock
            .fetch_add(by.as_millis() as i64, Ordering::SeqCst);
    }

    pub(crate) async fn register(
        &self,
        name: &str,
        hosts: &[&str],
        start_cmd: &str,
        mode: Mode,
    ) -> Vec<i32> {
        let answers = self.register_spec(name, hosts, spec(start_cmd), mode).await;
        answers.iter().map(|answer| answer.code.0).collect()
    }

    pub(crate) async fn register_spec(
        &self,
        name: &str,
        hosts: &[&str],
        spec: Spec,
        mode: Mode,
    ) -> Vec<HostAnswer> {
        let request = Registration {
            name: full(name),
            labels: Labels::default(),
            spec,
            hosts: asked(hosts),
            suppliers: Default::default(),
            mode,
            restores: None,
        };
        let registry = self.control.registry();
        registry.register(&self.caller, request).await.unwrap()
    }

    pub(crate) async fn operate(&self, name: &str, op: Op, hosts: &[&str]) -> TaskId {
        self.operate_with(name, op, hosts, OperateSpec::Registered)
            .await
    }

    pub(crate) async fn operate_with(
        &self,
        name: &str,
        op: Op,
        hosts: &[&str],
        with: OperateSpec,
    ) -> TaskId {
        let request = Operate {
            name: full(name),
            op,
            with,
            hosts: asked(hosts),
        };
        self.control
            .operations()
            .operate(&self.caller, vec![request])
            .await
            .unwrap()
    }

    /// The code of each key, as a poll returns it now.
    pub(crate) async fn codes(&self, task: TaskId) -> Vec<i32> {
        let view = self
            .control
            .operations()
            .task(&self.caller, task)
            .await
            .unwrap();
        let code = |target: &control::TargetView| {
            target.outcome.as_ref().map_or(Code::HANDLING, |o| o.code).0
        };
        view.targets.iter().map(code).collect()
    }

    /// The codes once every target has ended.
    pub(crate) async fn ended(&self, task: TaskId) -> Vec<i32> {
        let view = self
            .control
            .operations()
            .wait_for_task(&self.caller, task, Duration::from_secs(20))
            .await
            .unwrap();
        assert!(view.has_ended(), "the task did not end in 20 s");
        self.codes(task).await
    }

    /// Enrols a host and connects its agent, which holds no process.
    pub(crate) async fn agent(&self, host: &str) -> FakeAgent {
        self.enrolled(host, None).await
    }

    /// The same, with an agent id.
    pub(crate) async fn agent_with_id(&self, host: &str, id: AgentId) -> FakeAgent {
        self.enrolled(host, Some(id)).await
    }

    async fn enrolled(&self, host: &str, id: Option<AgentId>) -> FakeAgent {
        let fixed = FirstKeys {
            join_token: Some("join-me".into()),
            ..Default::default()
        };
        self.control
            .access()
            .ensure_first_keys(fixed)
            .await
            .unwrap();
        let host: Host = host.parse().unwrap();
        FakeAgent::enrol(&self.control, "join-me", host, id).await;
        self.connect(host, 0)
    }

    pub(crate) fn connect(&self, host: Host, held_digest: u64) -> FakeAgent {
        self.connect_as(host, held_digest, 0)
    }

    /// The same, with this session number.
    pub(crate) fn connect_as(&self, host: Host, held_digest: u64, session: u64) -> FakeAgent {
        let hello = Hello {
            session,
            ..hello(host, held_digest)
        };
        FakeAgent::connect(&self.control, host, &hello)
    }

    pub(crate) fn flag_and_managed(&self, name: &str, host: &str) -> (Flag, bool) {
        let fleet = self.control.inspect_fleet();
        let host = fleet.host_id(&host.parse().unwrap()).unwrap();
        let row = fleet
            .process(host, fleet.name_id(&full(name)).unwrap())
            .unwrap();
        (row.flag(), row.managed())
    }
}

pub(crate) fn hello(host: Host, held_digest: u64) -> Hello {
    Hello {
        held_digest,
        ..FakeAgent::hello(host)
    }
}

pub(crate) fn full(name: &str) -> FullName {
    name.parse().unwrap()
}

pub(crate) fn asked(hosts: &[&str]) -> Vec<TargetHost> {
    let asked = |host: &&str| match host.parse::<Host>() {
        Ok(address) => TargetHost {
            key_prefix: (*host).into(),
            place: HostSelector::Host(address),
        },
        Err(invalid) => TargetHost {
            key_prefix: (*host).into(),
            place: HostSelector::Bad(invalid),
        },
    };
    hosts.iter().map(asked).collect()
}

pub(crate) fn spec(start_cmd: &str) -> Spec {
    let raw: RawSpec = serde_json::from_value(serde_json::json!({
        "identity": {"proc_name": "p", "setup_path": "/s", "pid_path": "/s/p.pid", "user": "root"},
        "control": {"start_cmd": start_cmd},
    }))
    .unwrap();
    raw.complete(SpecRules::Inline).unwrap()
}
