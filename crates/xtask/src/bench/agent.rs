//! Compares the agent with other supervisors and with a bare pidfd loop, in one run on one machine.
//!
//! A [`Peer`] is started for n sleepers in a [`Sandbox`]; each sleeper writes to the sandbox's FIFO when it is up, and the
//! bench takes the time. For the agent every process must also be shown as running by the server's HTTP API.

pub(crate) mod bare;
mod install;
mod measure;
mod muster;
mod old_kernels;
mod others;
mod process_tree;
mod sandbox;
mod slow_disk;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::bail;
use tempfile::TempDir;

use crate::server;
use crate::table::{Table, thousands};
use crate::{interrupt, usage};
use install::Package;
use measure::{Cell, Figures, Plan};
use sandbox::Sandbox;

pub(crate) const EXAMPLES: &str = "\
Examples:
  cargo xtask bench agent --install        fetch the others into target/peers, then measure all
  cargo xtask bench agent --quick --peers bare,muster,runit
  cargo xtask bench agent --processes 10000 --peers bare,muster
  cargo xtask bench agent --fsync-ms 200   our agent alone, on a disk whose syncs take 200 ms
  cargo xtask bench agent --old-kernels    our agent alone, without the system calls of newer kernels

A supervisor that is not in target/peers is skipped and listed as such. Nothing is installed outside of target/.";

/// Settings of the others that determine a figure.
const SETTINGS: &str = "\
circus looks every 0.1 s, not every 5 s as by default: that buys its restarts and costs its idle CPU. monit looks every \
second, its shortest. zinit restarts after 1 ms, its shortest. supervisord has startsecs 0, and like s6 and horust waits \
about a second before a restart by itself. The others' start includes their own start, which ours does not.";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which to measure, separated by commas [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    peers: Vec<String>,
    /// Fetch those that are missing: Debian, PyPI, npm and cargo packages, into target/peers
    #[arg(long)]
    install: bool,
    /// Measure muster and muster-agent of this folder [default: build them]
    #[arg(long, value_name = "DIR")]
    binaries: Option<PathBuf>,
    /// Measure our agent alone with syncs that take this many milliseconds longer, and without
    #[arg(long, value_name = "MS", conflicts_with_all = ["peers", "install"])]
    fsync_ms: Option<u64>,
    /// Measure restarts by our agent alone on this kernel, without the system calls of newer ones, and with pidfds refused
    #[arg(long, conflicts_with_all = ["peers", "install", "fsync_ms"])]
    old_kernels: bool,
    /// 100 processes, 10 kills, 5 idle seconds: a quick look
    #[arg(long)]
    quick: bool,
    /// Start so many processes instead of 1,000, and half as many
    #[arg(long, value_name = "N", conflicts_with_all = ["quick", "fsync_ms", "old_kernels"])]
    processes: Option<usize>,
}

/// Configures a supervisor for so many sleepers and starts it.
type Start = Box<dyn Fn(&Sandbox, usize) -> anyhow::Result<Started>>;

/// A supervisor to compare.
struct Peer {
    name: &'static str,
    package: Package,
    start: Start,
}

impl Peer {
    /// A supervisor that is one program and its children. `stop_signal` makes it end with all its processes.
    fn program(
        name: &'static str,
        package: Package,
        program: fn(&Sandbox, usize) -> anyhow::Result<Command>,
        stop_signal: &'static str,
    ) -> Self {
        let start = move |sandbox: &Sandbox, n: usize| {
            process_tree::start(sandbox, &program(sandbox, n)?, stop_signal)
        };
        Self {
            name,
            package,
            start: Box::new(start),
        }
    }
}

/// A started supervisor, and when it was asked to start its processes.
struct Started {
    supervisor: Box<dyn Supervisor>,
    requested_at: Instant,
}

/// A running supervisor, ended when dropped; its sandbox kills what it leaves behind.
trait Supervisor {
    /// Fails with the reason if it has exited.
    fn failure(&mut self) -> anyhow::Result<()>;

    /// The supervisor's own processes.
    fn pids(&self) -> anyhow::Result<Vec<i32>>;

    /// Whether its API shows these as running; `None` without such an API.
    fn reports(&mut self, _sleepers: &[i32]) -> anyhow::Result<Option<bool>> {
        Ok(None)
    }
}

/// Paths of the programs that the bench runs.
#[derive(Debug)]
struct BenchPaths {
    /// `muster` and `muster-agent`.
    binaries: PathBuf,
    sleeper: PathBuf,
    /// The other supervisors, each in a folder of its name.
    peers: PathBuf,
    /// Removed at the end: on ext4 without a journal, files are slow to create for minutes after thousands were deleted.
    sandboxes: TempDir,
}

fn all_peers() -> Vec<Peer> {
    let mut peers = vec![bare::peer(), muster::peer(muster::Handicap::default())];
    peers.extend(others::all());
    peers
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let chosen = chosen(&args.peers)?;
    interrupt::watch()?;
    let paths = paths(args.binaries.as_deref())?;
    usage::raise_open_files()?;
    let plan = match (args.quick, args.processes) {
        (true, _) => Plan::QUICK,
        (false, None) => Plan::WHOLE,
        (false, Some(processes)) => Plan::of(processes),
    };
    if let Some(sync_ms) = args.fsync_ms {
        return slow_disk::run(&paths, &plan, sync_ms);
    }
    if args.old_kernels {
        return old_kernels::run(&paths, &plan);
    }
    let mut measured = Vec::new();
    for peer in chosen {
        eprintln!("{}", peer.name);
        let figures = match install::ensure(&paths, &peer, args.install) {
            Ok(()) => measure::measure(&peer, &paths, &plan),
            Err(why) => Figures::skipped(format!("{why:#}")),
        };
        interrupt::check()?;
        measured.push((peer.name, figures));
    }
    print(&plan, &measured);
    Ok(())
}

fn paths(given: Option<&Path>) -> anyhow::Result<BenchPaths> {
    let built = server::binaries()?;
    if given.is_none() || !built.join("sleeper").exists() {
        // With the same features, or this very program would be replaced.
        server::build(&["xtask"])?;
    }
    let binaries = match given {
        Some(binaries) => binaries.canonicalize()?,
        None => {
            server::build(&server::PROGRAMS)?;
            built.clone()
        }
    };
    let target = built.parent().unwrap_or(Path::new("target"));
    Ok(BenchPaths {
        sleeper: built.join("sleeper"),
        peers: target.join("peers"),
        sandboxes: TempDir::with_prefix("bench-agents-")?,
        binaries,
    })
}

fn chosen(names: &[String]) -> anyhow::Result<Vec<Peer>> {
    let mut peers = all_peers();
    let known: Vec<&str> = peers.iter().map(|peer| peer.name).collect();
    if let Some(unknown) = names.iter().find(|name| !known.contains(&name.as_str())) {
        bail!("--peers: {unknown} is not one of {}", known.join(", "));
    }
    peers.retain(|peer| names.is_empty() || names.iter().any(|name| name == peer.name));
    Ok(peers)
}

fn print(plan: &Plan, measured: &[(&str, Figures)]) {
    let (half, whole) = (thousands(plan.half() as f64), thousands(plan.whole as f64));
    let mut table = Table::new([
        String::new(),
        "restart p50".to_owned(),
        "restart p99".to_owned(),
        format!("start {half}"),
        format!("start {whole}"),
        format!("storm of {whole}"),
        "memory at 0".to_owned(),
        format!("at {half}"),
        format!("at {whole}"),
        "per process".to_owned(),
        "idle CPU".to_owned(),
    ]);
    let bare = measured.iter().find(|(name, _)| *name == "bare");
    let bare = bare.map(|(_, figures)| figures);
    let mut notes = Vec::new();
    for (name, figures) in measured {
        if let Some(why) = &figures.skipped {
            table.row([(*name).to_owned(), format!("skipped: {why}")]);
            continue;
        }
        let ratio = |figure: fn(&Figures) -> &Cell<Duration>| {
            let bare = bare.filter(|_| *name != "bare");
            let bare = bare.and_then(|bare| figure(bare).as_ref().ok());
            time(figure(figures), bare.copied())
        };
        table.row([
            (*name).to_owned(),
            ratio(|f| &f.restart_p50),
            ratio(|f| &f.restart_p99),
            ratio(|f| &f.start_half),
            ratio(|f| &f.start_whole),
            ratio(|f| &f.storm),
            memory(&figures.memory_none),
            memory(&figures.memory_half),
            memory(&figures.memory_whole),
            slope(&figures.memory_none, &figures.memory_whole, plan.whole),
            match &figures.idle_cpu {
                Ok(share) => format!("{:.2} %", share * 100.0),
                Err(_) => "failed".to_owned(),
            },
        ]);
        notes.extend(figures.notes(name, plan));
    }
    table.print();
    println!();
    println!(
        "{} kills, {} s apart (p99 by nearest rank: of 50 it is the slowest); storm: all {whole} killed at once until all are back; CPU of one core over {} idle \
         seconds at {whole}; memory is the PSS of all processes of the supervisor, without those that it keeps; × is \
         the ratio to the bare loop.",
        plan.kills,
        plan.gap.as_secs_f64(),
        plan.idle.as_secs(),
    );
    println!("{}", muster::CAPTION);
    println!("{SETTINGS}");
    for note in notes {
        println!("- {note}");
    }
}

fn time(cell: &Cell<Duration>, bare: Option<Duration>) -> String {
    let time = match cell {
        Ok(time) => *time,
        Err(_) => return "failed".to_owned(),
    };
    let text = match time {
        time if time < Duration::from_millis(100) => {
            format!("{:.2} ms", time.as_secs_f64() * 1000.0)
        }
        time => format!("{:.2} s", time.as_secs_f64()),
    };
    match bare {
        Some(bare) => format!("{text} ({:.1}×)", time.as_secs_f64() / bare.as_secs_f64()),
        None => text,
    }
}

fn memory(cell: &Cell<u64>) -> String {
    match cell {
        Ok(bytes) => format!("{:.1} MB", *bytes as f64 / 1e6),
        Err(_) => "failed".to_owned(),
    }
}

/// Memory for each process: the growth from none to all of them.
fn slope(none: &Cell<u64>, whole: &Cell<u64>, n: usize) -> String {
    match (none, whole) {
        (Ok(none), Ok(whole)) => {
            let per_process = whole.saturating_sub(*none) as f64 / n.max(1) as f64;
            format!("{:.1} KB", per_process / 1e3)
        }
        (_, _) => "failed".to_owned(),
    }
}
