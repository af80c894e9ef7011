//! What watchers cost: changes of a simulated fleet, streamed to many watchers.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::ensure;

use super::{row, up};
use crate::deployment::{Deployment, Fleet};
use crate::interrupt;
use crate::server::{self, APP_CODE, APP_SECRET};
use crate::table::{Table, thousands};

pub(crate) const EXAMPLES: &str = "\
Examples:
  cargo xtask bench watch
  cargo xtask bench watch --watchers 10 --changes 100   a quick look

The difference between a row and the first one is what the watchers cost.";

/// Warm-up before a load is measured.
const RUN_UP: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(120);
/// Processes on each host.
const N_NAMES: usize = 10;

#[derive(Debug, clap::Args)]
pub(crate) struct WatchArgs {
    /// Open streams.
    #[arg(long, default_value_t = 100)]
    watchers: usize,
    /// Changes per second.
    #[arg(long, default_value_t = 1000)]
    changes: u64,
    /// Simulated agents.
    #[arg(long, default_value_t = 200)]
    agents: usize,
    /// How long each load is kept up.
    #[arg(long, default_value_t = 10)]
    secs: u64,
    /// Takes the binaries as they are beside this one.
    #[arg(long)]
    built: bool,
}

/// Streams that are read to nowhere, and how much came.
struct Watchers {
    is_over: Arc<AtomicBool>,
    bytes: Arc<AtomicU64>,
    threads: Vec<JoinHandle<()>>,
}

impl Watchers {
    fn open(http: SocketAddr, n: usize, query: &str) -> anyhow::Result<Self> {
        let watchers = Self {
            is_over: Arc::default(),
            bytes: Arc::default(),
            threads: Vec::new(),
        };
        let mut threads = Vec::new();
        for _ in 0..n {
            let mut stream = TcpStream::connect(http)?;
            let request = format!(
                "GET /api/v1/watch?{query} HTTP/1.1\r\nHost: bench\r\nX-Bkapi-App-Code: {APP_CODE}\r\n\
                 X-Bkapi-App-Secret: {APP_SECRET}\r\nX-Bkapi-User-Name: bench\r\n\r\n"
            );
            stream.write_all(request.as_bytes())?;
            stream.set_read_timeout(Some(Duration::from_millis(200)))?;
            let (is_over, bytes) = (watchers.is_over.clone(), watchers.bytes.clone());
            threads.push(std::thread::spawn(move || {
                let mut buffer = vec![0; 64 * 1024];
                while !is_over.load(Ordering::Relaxed) {
                    match stream.read(&mut buffer) {
                        Ok(0) => return,
                        Ok(n) => drop(bytes.fetch_add(n as u64, Ordering::Relaxed)),
                        Err(_) => {}
                    }
                }
            }));
        }
        Ok(Self {
            threads,
            ..watchers
        })
    }

    fn close(self) -> anyhow::Result<()> {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads {
            ensure!(thread.join().is_ok(), "a watcher failed");
        }
        Ok(())
    }
}

pub(crate) fn run(args: &WatchArgs) -> anyhow::Result<()> {
    if !args.built {
        server::build(&server::PROGRAMS)?;
    }
    interrupt::watch()?;
    let mut table = Table::new(["what", "measured", "aim"]);
    let (mut deployment, _) = Deployment::start(&Fleet::new(args.agents))?;
    deployment.simulator.tell("connect")?;
    deployment.until_connected(args.agents, PATIENCE)?;
    up::register_all(&deployment, args.agents, N_NAMES)?;
    deployment.until_quiet(PATIENCE)?;
    // Each event of the simulator is a change, and so are the two statuses that come with it, if they come.
    deployment
        .simulator
        .tell(&format!("events {}", args.changes))?;
    let n = thousands(args.watchers as f64);
    for (what, query) in [
        ("without watchers".to_owned(), None),
        (format!("{n} watchers, every=250ms"), Some("every=250ms")),
        (
            format!("{n} watchers, every=250ms, of a namespace without changes"),
            Some("every=250ms&namespace=gse"),
        ),
        (format!("{n} watchers, one event a change"), Some("")),
    ] {
        let watchers = match query {
            None => None,
            Some(query) => Some(Watchers::open(deployment.http(), args.watchers, query)?),
        };
        interrupt::sleep(RUN_UP)?;
        let read = |watchers: &Option<Watchers>| {
            let bytes = watchers.as_ref().map(|it| it.bytes.load(Ordering::Relaxed));
            bytes.unwrap_or(0)
        };
        let (before, bytes, began) = (deployment.cpu(), read(&watchers), Instant::now());
        interrupt::sleep(Duration::from_secs(args.secs))?;
        let share = deployment.cpu().since(before);
        let rate = (read(&watchers) - bytes) as f64 / began.elapsed().as_secs_f64();
        let memory = deployment.memory()?;
        row(
            &mut table,
            what,
            format!(
                "{:.1} % of a core, {} KB/s sent, {} MB resident",
                share.servers,
                thousands(rate / 1000.0),
                memory / 1_000_000
            ),
            "",
        );
        if let Some(watchers) = watchers {
            watchers.close()?;
        }
    }
    table.print();
    println!();
    println!(
        "{} events a second of {} agents, recorded and streamed; the server, the simulator and the watchers share this machine.",
        thousands(args.changes as f64),
        thousands(args.agents as f64)
    );
    deployment.end()
}
