//! What a slow disk does to our agent: every sync of its takes the given time, and we look at restarts and at silence.
//!
//! The delay is real: a library that is preloaded into the agent (`slow_disk.c`) sleeps in `fsync` and `fdatasync`, as a
//! disk would make it wait. The agent's commands get an environment of their own and are not slowed. The server is heard
//! through a relay that notes when bytes of the agent pass.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use locks::Mutex;

use super::measure::{self, Plan, percentile};
use super::muster::Muster;
use super::stage::Stage;
use super::{Keeper, Peer, Place, interrupt, time};
use crate::table::Table;

const SOURCE: &str = include_str!("slow_disk.c");
/// Processes that are killed one after the other, without a pause.
const IN_A_ROW: usize = 100;

/// A library that makes syncs slow, and how slow.
#[derive(Debug)]
pub(super) struct SlowDisk {
    library: PathBuf,
    sync_ms: u64,
    silence: Arc<Mutex<Silence>>,
}

/// How long the agent was not heard of.
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

    /// Slows an agent, and puts the relay between it and its server: where to connect to.
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

    /// Forgets earlier silence.
    fn listen_anew(&self) {
        let mut silence = self.silence.lock();
        silence.last = Instant::now();
        silence.longest = Duration::ZERO;
    }

    fn longest_silence(&self) -> Duration {
        let mut silence = self.silence.lock();
        silence.longest = silence.longest.max(silence.last.elapsed());
        silence.longest
    }

    /// A program that is linked statically would not be slowed, and its figures would lie.
    fn require_loaded(&self, keeper: &dyn Keeper) -> anyhow::Result<()> {
        for pid in keeper.pids()? {
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

/// Measures our agent alone, with syncs that take this long, and prints a table of its own.
pub(super) fn run(place: &Place, plan: &Plan, sync_ms: u64) -> anyhow::Result<()> {
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
        let muster = Muster::on(Arc::clone(&disk));
        let alone = with(&muster, place, 1, |stage, keeper| {
            disk.require_loaded(keeper)?;
            measure::restarts(stage, keeper, plan)
        })?;
        let (in_a_row, silence) = with(&muster, place, IN_A_ROW, |stage, keeper| {
            stage.wait_for_all(keeper, Instant::now(), plan.patience)?;
            disk.listen_anew();
            let times = in_a_row(stage, keeper, plan)?;
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
    muster: &Muster,
    place: &Place,
    n: usize,
    work: impl FnOnce(&mut Stage, &mut dyn Keeper) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let mut stage = Stage::new(place, n)?;
    let mut started = muster.start(&stage, n)?;
    work(&mut stage, started.keeper.as_mut())
}

/// Kills one process after the other: how long until each is up again.
fn in_a_row(
    stage: &mut Stage,
    keeper: &mut dyn Keeper,
    plan: &Plan,
) -> anyhow::Result<Vec<Duration>> {
    let mut times = Vec::new();
    for kill in 0..4 * plan.kills {
        interrupt::check()?;
        let killed_at = Instant::now();
        measure::kill(&[stage.forget_one(kill % IN_A_ROW)]);
        times.push(stage.wait_for_words(keeper, killed_at, plan.patience)?);
    }
    Ok(times)
}
