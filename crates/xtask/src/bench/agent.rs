//! What supervising costs: our agent beside other supervisors and beside a bare pidfd loop, in one run on one machine.
//!
//! The path of a figure: a [`Peer`] is started with its configuration for n sleepers on a [`Stage`]; each sleeper says on
//! the stage's FIFO that it is up; the bench takes the time. What a supervisor says of itself counts only on top: of our
//! agent every process must also be reported running by the server's HTTP API.

pub(crate) mod bare;
mod circus;
mod horust;
mod install;
pub(super) mod interrupt;
mod measure;
mod monit;
mod muster;
mod pm2;
mod runit;
mod s6;
mod slow_disk;
mod stage;
mod supervisord;
mod tree;
pub(super) mod usage;
mod zinit;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::bail;

use crate::server;
use crate::table::{Table, thousands};
use install::Package;
use measure::{Cell, Figures, Plan};
use stage::Stage;

pub(crate) const EXAMPLES: &str = "\
Examples:
  cargo xtask bench agent --install        fetch the others into target/peers, then measure all
  cargo xtask bench agent --quick --peers bare,muster,runit
  cargo xtask bench agent --fsync-ms 200   our agent alone, on a disk whose syncs take 200 ms

One that is not in target/peers is skipped with a word. Nothing is installed outside of target/.";

/// What the others were set to, where it decides a figure.
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
    /// 100 processes, 10 kills, 5 idle seconds: a quick look
    #[arg(long)]
    quick: bool,
}

/// One who keeps processes up.
trait Peer {
    fn name(&self) -> &'static str;

    fn package(&self) -> Package;

    /// Writes its configuration for `n` sleepers and starts it.
    fn start(&self, stage: &Stage, n: usize) -> anyhow::Result<Started>;
}

/// A supervisor that was told to bring its processes up.
struct Started {
    keeper: Box<dyn Keeper>,
    told_at: Instant,
}

/// A supervisor at work. Dropped, it ends; its stage ends whatever it leaves behind.
trait Keeper {
    /// Why it ended, if it did.
    fn failure(&mut self) -> anyhow::Result<()>;

    /// The processes that are the supervisor itself.
    fn pids(&self) -> anyhow::Result<Vec<i32>>;

    /// Whether its users are told that these run; nothing for one that is not asked.
    fn reports(&mut self, _sleepers: &[i32]) -> anyhow::Result<Option<bool>> {
        Ok(None)
    }
}

/// Everything that the bench needs of this machine.
#[derive(Debug)]
struct Place {
    /// `muster` and `muster-agent`.
    binaries: PathBuf,
    sleeper: PathBuf,
    /// Where the others are, each in a folder of its name.
    peers: PathBuf,
}

fn everyone() -> Vec<Box<dyn Peer>> {
    vec![
        Box::new(bare::Bare),
        Box::new(muster::Muster::default()),
        Box::new(runit::Runit),
        Box::new(s6::S6),
        Box::new(zinit::Zinit),
        Box::new(horust::Horust),
        Box::new(pm2::Pm2),
        Box::new(circus::Circus),
        Box::new(supervisord::Supervisord),
        Box::new(monit::Monit),
    ]
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let chosen = chosen(&args.peers)?;
    interrupt::watch()?;
    let place = place(args.binaries.as_deref())?;
    usage::raise_open_files()?;
    let plan = match args.quick {
        true => Plan::QUICK,
        false => Plan::WHOLE,
    };
    if let Some(sync_ms) = args.fsync_ms {
        return slow_disk::run(&place, &plan, sync_ms);
    }
    let mut measured = Vec::new();
    for peer in chosen {
        eprintln!("{}", peer.name());
        let figures = match install::ensure(&place, peer.as_ref(), args.install) {
            Ok(()) => measure::measure(peer.as_ref(), &place, &plan),
            Err(why) => Figures::skipped(format!("{why:#}")),
        };
        interrupt::check()?;
        measured.push((peer.name(), figures));
    }
    print(&plan, &measured);
    Ok(())
}

fn place(given: Option<&Path>) -> anyhow::Result<Place> {
    let built = server::binaries()?;
    if given.is_none() || !built.join("sleeper").exists() {
        // With the features that this program was built with, or else it would be replaced.
        server::build(&["xtask"])?;
    }
    let binaries = match given {
        Some(binaries) => binaries.canonicalize()?,
        None => {
            server::build(&["cli", "agent"])?;
            built.clone()
        }
    };
    let target = built.parent().unwrap_or(Path::new("target"));
    Ok(Place {
        sleeper: built.join("sleeper"),
        peers: target.join("peers"),
        binaries,
    })
}

fn chosen(names: &[String]) -> anyhow::Result<Vec<Box<dyn Peer>>> {
    let everyone = everyone();
    let known: Vec<&str> = everyone.iter().map(|peer| peer.name()).collect();
    if let Some(unknown) = names.iter().find(|name| !known.contains(&name.as_str())) {
        bail!("--peers: {unknown} is not one of {}", known.join(", "));
    }
    let wanted = |name: &str| names.is_empty() || names.iter().any(|other| other == name);
    Ok(everyone.into_iter().filter(|p| wanted(p.name())).collect())
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
