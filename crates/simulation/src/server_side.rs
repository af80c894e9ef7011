//! A server: the real control on a real store, with the real agent sessions. A kill leaves its store as it is.

use std::cell::RefCell;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, OnceLock};

use bus::{Bus, LocalHub, ReplicaId};
use control::{Background, Clock, Control, FirstKeys};
use model::{Host, UnixMillis};
use store::Store;
use testing::Random;
use tokio::io::DuplexStream;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet, spawn_local};
use tokio::time::Instant;

use crate::clock_hold::ClockHold;

const JOIN_TOKEN: &str = "join-me";

/// Accepts agents while the server runs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Listener(Rc<RefCell<Option<Open>>>);

#[derive(Debug)]
struct Open {
    control: Control,
    stop: watch::Receiver<bool>,
    sessions: JoinSet<()>,
}

impl Listener {
    pub(crate) fn is_open(&self) -> bool {
        self.0.borrow().is_some()
    }

    /// Accepts an agent; `None` when the server does not run.
    pub(crate) fn enter(&self, host: Host, stream: DuplexStream) -> Option<()> {
        let mut open = self.0.borrow_mut();
        let open = open.as_mut()?;
        let (control, stop) = (open.control.clone(), open.stop.clone());
        open.sessions.spawn_local(async move {
            // The agent side notices how it ended.
            let _ = server::agents::serve(&control, stream, host, stop).await;
        });
        while open.sessions.try_join_next().is_some() {}
        Some(())
    }
}

/// Whether a server is alone, or one of several replicas on one store.
#[derive(Debug, Clone)]
pub(crate) enum ServerRole {
    Alone,
    /// Its bus and its replica number.
    Replica(Hub, u64),
}

/// The bus between replicas. It loses messages, and all messages of a killed replica.
#[derive(Debug, Clone)]
pub(crate) struct Hub {
    hub: LocalHub,
    silent: Arc<Mutex<HashSet<ReplicaId>>>,
}

impl Hub {
    /// Loses this many of a thousand messages.
    pub(crate) fn new(mut random: Random, lost: usize) -> Self {
        let silent: Arc<Mutex<HashSet<ReplicaId>>> = Arc::default();
        let (are_silent, random) = (silent.clone(), Mutex::new(move || random.permille(lost)));
        let hub = LocalHub::where_messages_arrive(move |from| {
            let is_silent = are_silent.lock().expect("no holder panics").contains(&from);
            let is_lost = random.lock().expect("no holder panics")();
            !is_silent && !is_lost
        });
        Self { hub, silent }
    }

    fn silence(&self, replica: u64) {
        let mut silent = self.silent.lock().expect("no holder panics");
        silent.insert(ReplicaId(replica));
    }

    fn join(&self, replica: u64) -> Bus {
        let mut silent = self.silent.lock().expect("no holder panics");
        silent.remove(&ReplicaId(replica));
        Bus::local(&self.hub, ReplicaId(replica))
    }
}

#[derive(Debug)]
pub(crate) struct ServerSide {
    dir: PathBuf,
    role: ServerRole,
    /// How often it was killed; each kill copies its files.
    n_kills: u32,
    listener: Listener,
    clock_hold: ClockHold,
    clock: Arc<AtomicI64>,
    began: Instant,
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    control: Control,
    store: Store,
    stop: watch::Sender<bool>,
    background: JoinHandle<()>,
}

impl ServerSide {
    /// A server that has not been started yet.
    pub(crate) fn new(
        dir: &Path,
        role: ServerRole,
        listener: Listener,
        clock_hold: ClockHold,
        wall_clock: UnixMillis,
    ) -> Self {
        Self {
            dir: dir.to_owned(),
            role,
            n_kills: 0,
            listener,
            clock_hold,
            clock: Arc::new(AtomicI64::new(wall_clock.0)),
            began: Instant::now(),
            running: None,
        }
    }

    pub(crate) fn control(&self) -> Option<Control> {
        Some(self.running.as_ref()?.control.clone())
    }

    pub(crate) fn store(&self) -> Option<Store> {
        Some(self.running.as_ref()?.store.clone())
    }

    pub(crate) fn move_wall_clock(&self, by_ms: i64) {
        self.clock.fetch_add(by_ms, Ordering::SeqCst);
    }

    pub(crate) async fn start(&mut self) {
        if self.running.is_some() {
            return;
        }
        let (clock, began) = (self.clock.clone(), self.began);
        let clock = Clock::new(move || {
            let elapsed = began.elapsed().as_millis() as i64;
            UnixMillis(clock.load(Ordering::SeqCst) + elapsed)
        });
        let path = path(&self.dir, self.n_kills);
        let role = self.role.clone();
        let opening = open(&path, role, clock);
        let (store, control, background) = self.clock_hold.hold(opening).await;
        self.clock_hold.watch(&store);
        let (stop, stopped) = watch::channel(false);
        *self.listener.0.borrow_mut() = Some(Open {
            control: control.clone(),
            stop: stopped.clone(),
            sessions: JoinSet::new(),
        });
        self.running = Some(Running {
            control,
            store,
            stop,
            background: tokio::spawn(background.run(stopped)),
        });
    }

    /// As by SIGKILL. The next server gets a copy of the files as they are now, even in the middle of a commit; what the store
    /// still does to the old files is never read. Replicas go on with the same files, and a commit that was under way is
    /// there or not.
    pub(crate) fn kill(&mut self) {
        let Some(running) = self.running.take() else {
            return;
        };
        match &self.role {
            ServerRole::Alone => {
                let old = path(&self.dir, self.n_kills);
                self.n_kills += 1;
                copy(&old, &path(&self.dir, self.n_kills));
            }
            ServerRole::Replica(hub, number) => hub.silence(*number),
        }
        running.background.abort();
        drop(self.listener.0.borrow_mut().take());
        let clock_hold = self.clock_hold.clone();
        spawn_local(async move {
            running.store.close().await;
            clock_hold.forget(&running.store);
        });
    }

    /// As by SIGTERM.
    pub(crate) async fn stop(&mut self) {
        let Some(running) = self.running.take() else {
            return;
        };
        let open = self.listener.0.borrow_mut().take();
        running
            .control
            .sessions()
            .disconnect_all("the server is stopping");
        running.stop.send_replace(true);
        if let Some(mut open) = open {
            while open.sessions.join_next().await.is_some() {}
        }
        let _ = running.background.await;
        self.close(running.store).await;
    }

    async fn close(&self, store: Store) {
        self.clock_hold.hold(store.close()).await;
        self.clock_hold.forget(&store);
    }
}

fn path(dir: &Path, n_kills: u32) -> PathBuf {
    dir.join(format!("muster-{n_kills}.db"))
}

/// Writes the initial store of a history into a directory.
pub(crate) fn write_template(dir: &Path) -> PathBuf {
    let template = TEMPLATE.get().expect("it was made first");
    let path = path(dir, 0);
    std::fs::write(&path, template).expect("a writable directory");
    path
}

/// Copies the database and then its WAL: an incomplete WAL frame is ignored.
fn copy(from: &Path, to: &Path) {
    std::fs::copy(from, to).expect("the store is there");
    let log = |path: &Path| path.with_extension("db-wal");
    // Without a WAL everything is in the database file.
    let _ = std::fs::copy(log(from), log(to));
}

async fn open(path: &Path, role: ServerRole, clock: Clock) -> (Store, Control, Background) {
    let store = open_store(path).await;
    let started = match role {
        ServerRole::Alone => Control::alone(store.clone(), clock).await,
        ServerRole::Replica(hub, number) => {
            Control::among_replicas(store.clone(), hub.join(number), clock).await
        }
    };
    let (control, background) = started.expect("the server starts");
    (store, control, background)
}

pub(crate) async fn open_store(path: &Path) -> Store {
    let store = Store::open(&format!("sqlite:{}", path.display())).await;
    store.expect("the store opens")
}

static TEMPLATE: OnceLock<Vec<u8>> = OnceLock::new();

/// Creates, once, the initial store of every history.
pub(crate) fn make_template(dir: &Path, hosts: &[Host]) {
    TEMPLATE.get_or_init(|| {
        let path = dir.join("template.db");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let (store, control, _) =
                open(&path, ServerRole::Alone, Clock::new(|| UnixMillis(1))).await;
            let keys = FirstKeys {
                join_token: Some(JOIN_TOKEN.into()),
                ..FirstKeys::default()
            };
            let kept = control.access().ensure_first_keys(keys).await;
            kept.expect("first keys are made");
            for host in hosts {
                let enrolled = control
                    .enrolment()
                    .enrol(JOIN_TOKEN, *host, None, None)
                    .await;
                enrolled.expect("the host is enrolled");
            }
            store.close().await;
        });
        std::fs::read(&path).expect("the template was just written")
    });
}
