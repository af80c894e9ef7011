//! Measures restarts and heartbeats of the agent on a slow disk.
//!
//! A library preloaded into the agent (`slow_disk.c`) sleeps in `fsync` and `fdatasync`. The agent's commands have another
//! environment and are not slowed. A relay before the server records when bytes of the agent pass.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use locks::Mutex;

use super::measure::{self, Plan, percentile};
use super::sandbox::Sandbox;
use super::{BenchPaths, Peer, Supervisor, muster, time};
use crate::table::Table;

const SOURCE: &str = include_str!("slow_disk.c");
/// Processes that are killed one after the other without a pause.
const IN_A_ROW: usize = 100;

/// The preloaded library and its delay.
#[derive(Debug)]
pub(super) struct SlowDisk {
    library: PathBuf,
    sync_ms: u64,
    silence: Arc<Mutex<Silence>>,
}

/// The longest time without bytes of the agent.
#[derive(Debug)]
struct Silence {
    last: Instant,
    longest: Duration,
}

impl Silence {
    fn heard(&mut self) {
        self.longest = self.longest.max(self.last.elapsed());
        self.last = Instant::now();
    }
}

impl SlowDisk {
    fn build(dir: &Path, sync_ms: u64) -> anyhow::Result<Self> {
        let (source, library) = (dir.join("slow_disk.c"), dir.join("slow_disk.so"));
        std::fs::write(&source, SOURCE)?;
        let status = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .args([&library, &source])
            .status()
            .context("cannot run cc")?;
        ensure!(status.success(), "cc failed");
        Ok(Self {
            library,
            sync_ms,
            silence: Arc::new(Mutex::new(Silence {
                last: Instant::now(),
                longest: Duration::ZERO,
            })),
        })
    }

    /// Slows an agent, and puts the relay before its server: returns the relay's address.
    pub(super) fn attach(
        &self,
        agent: &mut Command,
        server: SocketAddr,
    ) -> anyhow::Result<SocketAddr> {
        agent
            .env("LD_PRELOAD", &self.library)
            .env("MUSTER_BENCH_FSYNC_MS", self.sync_ms.to_string());
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let relay = listener.local_addr()?;
        let silence = Arc::clone(&self.silence);
        std::thread::spawn(move || {
            for agent in listener.incoming().map_while(Result::ok) {
                let Ok(server) = TcpStream::connect(server) else {
                    return;
                };
                let (Ok(to_agent), Ok(from_server)) = (agent.try_clone(), server.try_clone())
                else {
                    return;
                };
                let silence = Arc::clone(&silence);
                let heard = move || {
                    let mut silence = silence.lock();
                    silence.heard();
                };
                std::thread::spawn(move || pass(agent, server, heard));
                std::thread::spawn(move || pass(from_server, to_agent, || {}));
            }
        });
        Ok(relay)
    }

    /// Restarts the measurement of silence.
    fn reset_silence(&self) {
        let mut silence = self.silence.lock();
        silence.last = Instant::now();
        silence.longest = Duration::ZERO;
    }

    fn longest_silence(&self) -> Duration {
        let mut silence = self.silence.lock();
        silence.longest = silence.longest.max(silence.last.elapsed());
        silence.longest
    }

    /// Fails if the library is not loaded, as in a statically linked program.
    fn require_loaded(&self, supervisor: &dyn Supervisor) -> anyhow::Result<()> {
        for pid in supervisor.pids()? {
            let maps = std::fs::read_to_string(format!("/proc/{pid}/maps"))?;
            let library = self.library.to_string_lossy();
            ensure!(maps.contains(library.as_ref()), "the agent is not slowed");
        }
        Ok(())
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, heard: impl Fn()) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        heard();
        if to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

/// Measures the agent with and without the delay, and prints a table.
pub(super) fn run(paths: &BenchPaths, plan: &Plan, sync_ms: u64) -> anyhow::Result<()> {
    let dir = tempfile::TempDir::with_prefix("bench-slow-disk-")?;
    let mut table = Table::new([
        "sync".to_owned(),
        "restart p50".to_owned(),
        "restart p99".to_owned(),
        "in a row p50".to_owned(),
        "in a row p99".to_owned(),
        "longest silence".to_owned(),
    ]);
    for sync_ms in [0, sync_ms] {
        let disk = Arc::new(SlowDisk::build(dir.path(), sync_ms)?);
        let muster = muster::peer(muster::Handicap {
            disk: Some(Arc::clone(&disk)),
            ..Default::default()
        });
        let alone = with(&muster, paths, 1, |sandbox, supervisor| {
            disk.require_loaded(supervisor)?;
            measure::restarts(sandbox, supervisor, plan)
        })?;
        let (in_a_row, silence) = with(&muster, paths, IN_A_ROW, |sandbox, supervisor| {
            sandbox.wait_for_all(supervisor, Instant::now(), plan.patience)?;
            disk.reset_silence();
            let times = measure::in_a_row(sandbox, supervisor, plan, 4 * plan.kills)?;
            Ok((times, disk.longest_silence()))
        })?;
        let shown = |times: &[Duration], percent| time(&Ok(percentile(times, percent)), None);
        table.row([
            format!("{sync_ms} ms"),
            shown(&alone.0, 50),
            shown(&alone.0, 99),
            shown(&in_a_row, 50),
            shown(&in_a_row, 99),
            time(&Ok(silence), None),
        ]);
    }
    table.print();
    println!();
    println!(
        "Every fsync and fdatasync of the agent takes that much longer. {} kills of one process, {} s apart; then {} kills in \
         a row of {IN_A_ROW} processes, each as soon as the one before is up. The longest silence is the longest time in which \
         the server heard nothing of the agent during those; by itself an agent is heard every 10 s.",
        plan.kills,
        plan.gap.as_secs_f64(),
        4 * plan.kills,
    );
    Ok(())
}

fn with<T>(
    muster: &Peer,
    paths: &BenchPaths,
    n: usize,
    work: impl FnOnce(&mut Sandbox, &mut dyn Supervisor) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let mut sandbox = Sandbox::new(paths, n)?;
    let mut started = (muster.start)(&sandbox, n)?;
    work(&mut sandbox, started.supervisor.as_mut())
}
