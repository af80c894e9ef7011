//! The server: the real control on a real store, with the real conversation behind its door. Killed, it leaves its store.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, Ordering};

use control::{Clock, Control, FirstKeys};
use model::{Host, UnixMillis};
use store::Store;
use tokio::io::DuplexStream;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet, spawn_local};
use tokio::time::Instant;

use crate::brake::Brake;

const JOIN_TOKEN: &str = "join-me";

/// Where agents knock. Nobody opens while the server is away.
#[derive(Debug, Clone, Default)]
pub(crate) struct Door(Rc<RefCell<Option<Open>>>);

#[derive(Debug)]
struct Open {
    control: Control,
    stop: watch::Receiver<bool>,
    sessions: JoinSet<()>,
}

impl Door {
    /// Lets an agent in; none when nobody is there.
    pub(crate) fn enter(&self, host: Host, stream: DuplexStream) -> Option<()> {
        let mut open = self.0.borrow_mut();
        let open = open.as_mut()?;
        let (control, stop) = (open.control.clone(), open.stop.clone());
        open.sessions.spawn_local(async move {
            // How it ended is the agent's affair as much as ours.
            let _ended = server::agents::serve(&control, stream, host, stop).await;
        });
        while open.sessions.try_join_next().is_some() {}
        Some(())
    }
}

#[derive(Debug)]
pub(crate) struct ServerSide {
    dir: PathBuf,
    /// How often it was killed; each time its files are taken over as they were.
    n_kills: u32,
    door: Door,
    brake: Brake,
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
    /// A server that never ran, with a store that knows these hosts.
    pub(crate) fn new(dir: &Path, door: Door, brake: Brake, wall_clock: UnixMillis) -> Self {
        write_template(dir);
        Self {
            dir: dir.to_owned(),
            n_kills: 0,
            door,
            brake,
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
        let opening = open(&path, clock);
        let (store, control, background) = self.brake.hold(opening).await;
        self.brake.mind(&store);
        let (stop, stopped) = watch::channel(false);
        *self.door.0.borrow_mut() = Some(Open {
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

    /// As by SIGKILL. The next one finds the files as they are at this very moment, however deep the store is in a commit;
    /// what goes on in the old ones nobody will ever see.
    pub(crate) fn kill(&mut self) {
        let Some(running) = self.running.take() else {
            return;
        };
        let old = path(&self.dir, self.n_kills);
        self.n_kills += 1;
        copy(&old, &path(&self.dir, self.n_kills));
        running.background.abort();
        drop(self.door.0.borrow_mut().take());
        let brake = self.brake.clone();
        spawn_local(async move {
            running.store.close().await;
            brake.forget(&running.store);
        });
    }

    /// As by SIGTERM.
    pub(crate) async fn stop(&mut self) {
        let Some(running) = self.running.take() else {
            return;
        };
        let open = self.door.0.borrow_mut().take();
        running.control.say_bye("the server is stopping");
        running.stop.send_replace(true);
        if let Some(mut open) = open {
            while open.sessions.join_next().await.is_some() {}
        }
        let _ended = running.background.await;
        self.close(running.store).await;
    }

    async fn close(&self, store: Store) {
        self.brake.hold(store.close()).await;
        self.brake.forget(&store);
    }
}

fn path(dir: &Path, n_kills: u32) -> PathBuf {
    dir.join(format!("muster-{n_kills}.db"))
}

/// Puts the store that every history begins with into a directory.
pub(crate) fn write_template(dir: &Path) -> PathBuf {
    let template = TEMPLATE.get().expect("it was made first");
    let path = path(dir, 0);
    std::fs::write(&path, template).expect("a writable directory");
    path
}

/// The file, and then its log: what reached the log only in part is not in it.
fn copy(from: &Path, to: &Path) {
    std::fs::copy(from, to).expect("the store is there");
    let log = |path: &Path| path.with_extension("db-wal");
    // Without a log everything is in the file.
    let _there_is_none = std::fs::copy(log(from), log(to));
}

pub(crate) async fn open(path: &Path, clock: Clock) -> (Store, Control, control::Background) {
    let store = open_store(path).await;
    let (control, background) = Control::alone(store.clone(), clock)
        .await
        .expect("the server starts");
    (store, control, background)
}

pub(crate) async fn open_store(path: &Path) -> Store {
    let store = Store::open(&format!("sqlite:{}", path.display())).await;
    store.expect("the store opens")
}

static TEMPLATE: OnceLock<Vec<u8>> = OnceLock::new();

/// Makes, once, the store that every history begins with.
pub(crate) fn make_template(dir: &Path, hosts: &[Host]) {
    TEMPLATE.get_or_init(|| {
        let path = dir.join("template.db");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let (store, control, _) = open(&path, Clock::new(|| UnixMillis(1))).await;
            let keys = FirstKeys {
                join_token: Some(JOIN_TOKEN.into()),
                ..FirstKeys::default()
            };
            let kept = control.ensure_first_keys(keys).await;
            kept.expect("first keys are made");
            for host in hosts {
                let enrolled = control.enrol(JOIN_TOKEN, *host, None, None).await;
                enrolled.expect("the host is enrolled");
            }
            store.close().await;
        });
        std::fs::read(&path).expect("the template was just written")
    });
}
