//! Prints how fast the store is: `cargo run --release -p store --example throughput [FOLDER | postgres]`.
//! The file is made in the folder; `postgres` starts a server that fsyncs, as a real one does.

#![allow(clippy::print_stdout, reason = "a table for people")]

mod database;
mod registration;

use std::sync::Arc;
use std::time::{Duration, Instant};

use database::MeasuredDatabase;
use model::change::{Changes, HostId, OutcomeRow, TargetRow, TaskRow};
use model::spec::Probe;
use model::{Code, FullName, Op, OpId, Outcome, TaskId, UnixMillis};
use registration::{N_HOSTS, registration, spec};
use store::Store;

const N_COMMITS: u32 = 100;
const N_TARGETS: u32 = 30_000;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let database = MeasuredDatabase::new(std::env::args().nth(1).as_deref())?;
    let url = database.url();
    let store = Store::open(&url).await?;

    let registered = register(&store).await?;
    print("commit 10,000 new hosts, a process each", registered[0]);
    print_commits("commit 10,000 processes", N_HOSTS, &registered);
    let again = register_again(&store).await?;
    print_commits("  the same again", N_HOSTS, &again);
    loads(&store, "load 1,000,000 processes").await?;
    follow(&store).await?;
    tasks(&store).await?;
    single(&store).await?;
    statuses(&store).await?;
    store.close().await;

    let store = Store::open(&url).await?;
    loads(&store, "load after opening again").await?;
    store.close().await;
    let bytes = database.n_bytes()?;
    println!("{:<44} {:>10.1} MB", "file", bytes as f64 / 1e6);
    Ok(())
}

async fn register(store: &Store) -> anyhow::Result<Vec<Duration>> {
    let mut times = Vec::new();
    for n in 0..N_COMMITS {
        let revision = store.head().await?;
        let changes = registration(n, revision);
        let begun = Instant::now();
        store.commit(revision, &changes).await?;
        times.push(begun.elapsed());
    }
    Ok(times)
}

async fn register_again(store: &Store) -> anyhow::Result<Vec<Duration>> {
    let mut times = Vec::new();
    for n in [0, 50, 99, 20, 70] {
        let revision = store.head().await?;
        let changes = registration(n, revision);
        let begun = Instant::now();
        store.commit(revision, &changes).await?;
        times.push(begun.elapsed());
    }
    Ok(times)
}

async fn loads(store: &Store, what: &str) -> anyhow::Result<()> {
    for _ in 0..3 {
        let begun = Instant::now();
        let loaded = store.load().await?;
        print(what, begun.elapsed());
        anyhow::ensure!(loaded.changes.processes.len() == (N_COMMITS * N_HOSTS) as usize);
    }
    Ok(())
}

async fn follow(store: &Store) -> anyhow::Result<()> {
    let revision = store.head().await?;
    store.commit(revision, &registration(42, revision)).await?;
    let begun = Instant::now();
    let (_, changes) = store.changes_since(revision).await?;
    print("changes_since of 10,000 processes", begun.elapsed());
    anyhow::ensure!(changes.processes.len() == N_HOSTS as usize);
    let begun = Instant::now();
    for _ in 0..1000 {
        store.changes_since(revision.next()).await?;
    }
    print("changes_since of nothing (1,000 times)", begun.elapsed());
    Ok(())
}

async fn tasks(store: &Store) -> anyhow::Result<()> {
    let probe = Arc::new(Probe::from(&spec()));
    let name = Arc::new(FullName::parse("gse", "process-1")?);
    let task = |n: u32, probe: Option<Arc<Probe>>| {
        let id = TaskId::new(UnixMillis::from_secs(1_700_000_000), n << 1);
        Changes {
            tasks: vec![TaskRow {
                retries: None,
                id,
                created_at: UnixMillis::from_secs(1_700_000_000),
                app: "app".into(),
                user: "user".into(),
            }],
            targets: (0..N_TARGETS)
                .map(|ordinal| TargetRow {
                    op_id: OpId { task: id, ordinal },
                    op: Op::Start,
                    host: Some(HostId(ordinal)),
                    process: name.clone(),
                    key_prefixes: [format!("0:0:10.0.{}.{}", ordinal / 250, ordinal % 250).into()]
                        .into(),
                    probe: probe.clone(),
                    deadline: UnixMillis::from_secs(1_700_000_090),
                })
                .collect(),
            ..Changes::default()
        }
    };
    for (n, probe) in [(1, None), (2, Some(probe))] {
        let what = match probe {
            Some(_) => "commit a task of 30,000 targets with probes",
            None => "commit a task of 30,000 targets",
        };
        let changes = task(n, probe);
        let begun = Instant::now();
        store.commit(store.head().await?, &changes).await?;
        print(what, begun.elapsed());
        for part in changes.targets.chunks(10_000) {
            let outcomes = Changes {
                outcomes: part
                    .iter()
                    .map(|target| OutcomeRow {
                        op_id: target.op_id,
                        outcome: Outcome::plain(Code::OK, "success", UnixMillis(1_700_000_001_000)),
                    })
                    .collect(),
                ..Changes::default()
            };
            let begun = Instant::now();
            store.commit(store.head().await?, &outcomes).await?;
            print("  commit 10,000 outcomes", begun.elapsed());
        }
        let begun = Instant::now();
        store.task(changes.tasks[0].id).await?;
        print("  read the task", begun.elapsed());
    }
    Ok(())
}

async fn single(store: &Store) -> anyhow::Result<()> {
    let mut times = Vec::new();
    for n in 0..500 {
        let revision = store.head().await?;
        let mut changes = registration(7, revision);
        changes.processes.truncate(n % 3 + 1);
        let begun = Instant::now();
        store.commit(revision, &changes).await?;
        times.push(begun.elapsed());
    }
    print_commits("commit 1-3 processes", 2, &times);
    let begun = Instant::now();
    for _ in 0..1000 {
        store.head().await?;
    }
    print("head (1,000 times)", begun.elapsed());
    Ok(())
}

async fn statuses(store: &Store) -> anyhow::Result<()> {
    let shards: Vec<_> = (0..245).map(|n| (n, vec![7; 229_376])).collect();
    let begun = Instant::now();
    store.save_status(&shards).await?;
    print("save_status of 245 shards, 56 MB", begun.elapsed());
    Ok(())
}

fn print(what: &str, took: Duration) {
    println!("{what:<44} {:>10.1} ms", took.as_secs_f64() * 1e3);
}

fn print_commits(what: &str, n_rows: u32, times: &[Duration]) {
    let mut sorted = times.to_vec();
    sorted.sort();
    let total: f64 = times.iter().map(Duration::as_secs_f64).sum();
    let at = |share: f64| sorted[((sorted.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    println!(
        "{what:<44} {:>10.1} ms p50, {:.1} p99, {:.1} max; {:.0} rows/s",
        at(0.5),
        at(0.99),
        at(1.0),
        f64::from(n_rows) * times.len() as f64 / total
    );
}
