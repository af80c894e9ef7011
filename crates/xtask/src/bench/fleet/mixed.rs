//! Readers beside writers: small queries, heartbeats, commits and operations, without and with clients that ask for the most
//! expensive answers as fast as they get them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::anyhow;

use super::{load, operate, up};
use crate::bench::{api, hosts, millis, seconds};
use crate::client::Client;
use crate::deployment::{Deployment, Fleet, Quantiles};
use crate::interrupt;
use crate::server;
use crate::table::{Table, thousands};

pub(crate) const EXAMPLES: &str = "\
Examples:
  cargo xtask bench mixed
  cargo xtask bench mixed --agents 1000 --secs 5     a quick look

Without the readers and with them, one right after the other: compare the two columns of one run.";

const PATIENCE: Duration = Duration::from_secs(180);
/// Warm-up before something is measured.
const RUN_UP: Duration = Duration::from_secs(3);
/// Between two small queries.
const BETWEEN_SMALL: Duration = Duration::from_millis(5);
/// Between two commits.
const BETWEEN_COMMITS: Duration = Duration::from_millis(20);

/// Lists that look at every process.
const LONG_LISTS: [&str; 7] = [
    "/api/v1/processes?limit=10&q=proc-3+10.0",
    "/api/v1/processes?limit=10&order=name,-host",
    "/api/v1/processes?limit=10&order=-cpu",
    "/api/v1/processes?limit=10&state=failed,backoff,unhealthy",
    "/api/v1/processes?limit=1000&state=running&order=-mem",
    "/api/v1/processes/facets?by=namespace,name,state,wanted,managed,connected,cloud,version",
    "/api/v1/processes/facets?by=state&q=proc-1",
];

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Simulated agents.
    #[arg(long, default_value_t = 10_000)]
    agents: usize,
    /// Processes on each host.
    #[arg(long, default_value_t = 100)]
    procs: usize,
    /// Clients with expensive queries.
    #[arg(long, default_value_t = 8)]
    readers: usize,
    /// How long queries, heartbeats and commits are measured, without and with the readers.
    #[arg(long, default_value_t = 20)]
    secs: u64,
    /// Operations on all hosts, without and with the readers.
    #[arg(long, default_value_t = 5)]
    operations: usize,
    /// Takes the binaries as they are beside this one.
    #[arg(long)]
    built: bool,
}

/// Clients that repeat requests until they are stopped, each on its own thread and connection.
struct Clients {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<anyhow::Result<Vec<Duration>>>>,
}

impl Clients {
    fn new() -> Self {
        Self {
            is_over: Arc::default(),
            threads: Vec::new(),
        }
    }

    /// Starts one that waits between two requests.
    fn start(
        &mut self,
        mut client: Client,
        pause: Duration,
        mut ask: impl FnMut(&mut Client, usize) -> anyhow::Result<()> + Send + 'static,
    ) {
        let is_over = self.is_over.clone();
        self.threads.push(std::thread::spawn(move || {
            let mut took = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                let began = Instant::now();
                ask(&mut client, took.len())?;
                took.push(began.elapsed());
                std::thread::sleep(pause);
            }
            Ok(took)
        }));
    }

    /// How long each request took, sorted.
    fn stop(self) -> anyhow::Result<Vec<Duration>> {
        self.is_over.store(true, Ordering::Relaxed);
        let mut all = Vec::new();
        for thread in self.threads {
            all.extend(thread.join().map_err(|_| anyhow!("a client failed"))??);
        }
        all.sort_unstable();
        Ok(all)
    }
}

/// What one phase measured, as text, in the order of [`ROWS`].
type Column = Vec<String>;

const ROWS: [(&str, &str); 8] = [
    ("small queries: one process on one host", "p99 ≤ 5 ms"),
    ("heartbeats, until their answer", "p99 ≤ 5 ms"),
    ("commits, 50 a second", ""),
    (
        "an operation on all hosts until every target has ended, median",
        "+ 20 %",
    ),
    ("polls of that result, each of all targets", ""),
    ("expensive queries", ""),
    ("statuses taken", ""),
    ("CPU of the server", ""),
];

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    if !args.built {
        server::build(&server::PROGRAMS)?;
    }
    interrupt::watch()?;
    let (mut deployment, _) = Deployment::start(&Fleet::new(args.agents))?;
    deployment.simulator.tell("connect")?;
    deployment.until_connected(args.agents, PATIENCE)?;
    up::register_all(&deployment, args.agents, args.procs)?;
    deployment.until_quiet(PATIENCE)?;
    let rate = load::steady_rate(args.agents * args.procs);
    deployment.simulator.tell(&format!("rate {rate}"))?;
    let mut columns = Vec::new();
    for readers in [0, args.readers] {
        let column = measure(args, &mut deployment, readers)?;
        for ((what, _), measured) in ROWS.iter().zip(&column) {
            eprintln!("{readers} readers: {what}: {measured}");
        }
        columns.push(column);
    }
    let heading = format!("beside {} readers", args.readers);
    let mut table = Table::new(["what", "without readers", heading.as_str(), "aim"]);
    for (n, (what, aim)) in ROWS.iter().enumerate() {
        let (without, with) = (columns[0][n].clone(), columns[1][n].clone());
        table.row([(*what).to_owned(), without, with, (*aim).to_owned()]);
    }
    table.print();
    println!();
    println!(
        "{} agents with {} processes each, {} statuses/s. The server, the simulator and all clients share this machine.",
        thousands(args.agents as f64),
        args.procs,
        thousands(rate)
    );
    deployment.end()
}

fn measure(args: &Args, deployment: &mut Deployment, n_readers: usize) -> anyhow::Result<Column> {
    let all_hosts = hosts::list(args.agents);
    let mut readers = Clients::new();
    for n in 0..n_readers {
        let status = status_of(&all_hosts);
        readers.start(deployment.client()?, Duration::ZERO, move |client, _| {
            match LONG_LISTS.get(n % (LONG_LISTS.len() + 1)) {
                Some(path) => drop(client.get(path)?),
                None => drop(client.gse("get_proc_status", &status)?),
            }
            Ok(())
        });
    }
    let mut small = Clients::new();
    let n_agents = args.agents;
    small.start(deployment.client()?, BETWEEN_SMALL, move |client, n| {
        let status = status_of(&hosts::one(n * 7919 % n_agents));
        client.gse("get_proc_status", &status).map(drop)
    });
    let mut commits = Clients::new();
    commits.start(deployment.client()?, BETWEEN_COMMITS, move |client, n| {
        let body = api::register_on(
            &hosts::one(n * 7919 % n_agents),
            &format!("mixed-{}", n % 10),
        );
        client.gse("register_proc_info", &body).map(drop)
    });
    interrupt::sleep(RUN_UP)?;
    deployment.simulator.tell("reset")?;
    let (taken, cpu, began) = (deployment.statuses()?, deployment.cpu(), Instant::now());
    interrupt::sleep(Duration::from_secs(args.secs))?;
    let heartbeats = deployment.simulator.durations("heartbeats")?;
    let taken = (deployment.statuses()? - taken) as f64 / began.elapsed().as_secs_f64();
    let cpu = deployment.cpu().since(cpu);
    let (small, commits) = (small.stop()?, commits.stop()?);
    let operations = operate::series(args.agents, args.procs, args.operations, deployment)?;
    let mut polls: Vec<Duration> = operations
        .iter()
        .flat_map(|one| one.polls.clone())
        .collect();
    polls.sort_unstable();
    let read_for = began.elapsed() + RUN_UP;
    let expensive = readers.stop()?;
    Ok(vec![
        quantiles(&small),
        in_millis(heartbeats),
        quantiles(&commits),
        seconds(operations[operations.len() / 2].ended),
        quantiles(&polls),
        match expensive.is_empty() {
            true => String::new(),
            false => format!(
                "{:.0}/s; {}",
                expensive.len() as f64 / read_for.as_secs_f64(),
                quantiles(&expensive)
            ),
        },
        format!("{}/s", thousands(taken)),
        format!("{:.0} % of a core", cpu.servers),
    ])
}

fn status_of(hosts: &str) -> Vec<u8> {
    format!(r#"{{"meta":{{"namespace":"bench","name":"proc-1"}},"hosts":{hosts}}}"#).into_bytes()
}

/// By nearest rank.
fn quantiles(sorted: &[Duration]) -> String {
    let at = |part: f64| {
        let rank = ((sorted.len() as f64 * part).ceil() as usize).max(1);
        sorted.get(rank - 1).copied().unwrap_or_default()
    };
    let (p50, p99, max) = (millis(at(0.5)), millis(at(0.99)), millis(at(1.0)));
    format!("p50 {p50}, p99 {p99}, max {max} ms")
}

fn in_millis(durations: Quantiles) -> String {
    let Quantiles {
        p50_ms,
        p99_ms,
        max_ms,
        ..
    } = durations;
    format!("p50 {p50_ms:.1}, p99 {p99_ms:.1}, max {max_ms:.1} ms")
}
