//! Prints what commits and following them cost on SQLite and on PostgreSQL, as one Markdown table:
//! `cargo run --release -p store --example throughput_follow [FOLDER]`. The file of SQLite is made in the folder; the
//! PostgreSQL server fsyncs, as a real one does. The figures of docs/decisions/0012-commit-log.md are from here.

#![allow(clippy::print_stdout, reason = "a table for people")]

#[path = "../throughput/database.rs"]
mod database;
#[path = "../throughput/registration.rs"]
mod registration;

use std::time::{Duration, Instant};

use database::MeasuredDatabase;
use model::change::{Changes, Revision};
use registration::{N_HOSTS, registration};
use store::Store;

const N_REGISTRATIONS: u32 = 100;
const N_SMALL: u32 = 2000;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let folder = std::env::args().nth(1);
    let sqlite = measure(MeasuredDatabase::new(folder.as_deref())?).await?;
    let postgres = measure(MeasuredDatabase::new(Some("postgres"))?).await?;
    println!("| | SQLite | PostgreSQL |\n|---|---:|---:|");
    for ((what, sqlite), (_, postgres)) in sqlite.iter().zip(&postgres) {
        println!("| {what} | {sqlite} | {postgres} |");
    }
    Ok(())
}

type Figures = Vec<(&'static str, String)>;

async fn measure(database: MeasuredDatabase) -> anyhow::Result<Figures> {
    let store = Store::open(&database.url()).await?;
    let mut figures = Figures::new();

    let times = commits(&store, 0..N_REGISTRATIONS, None).await?;
    figures.push((
        "new registrations/s, 10,000 a commit",
        rate(&times, N_HOSTS),
    ));
    store.close().await;
    let megabytes = database.n_bytes()? as f64 / 1e6;
    figures.push(("MB on disk after 1,000,000", format!("{megabytes:.0}")));

    let store = Store::open(&database.url()).await?;
    let times = commits(&store, (0..N_REGISTRATIONS).step_by(10), None).await?;
    figures.push(("repeated registrations/s", rate(&times, N_HOSTS)));
    figures.push((
        "ms to follow 10,000 registrations",
        follow(&store, 5, None).await?,
    ));

    let small = (0..N_SMALL).map(|n| n % N_REGISTRATIONS);
    let times = commits(&store, small, Some(2)).await?;
    figures.push(("commits/s, 2 processes each", rate(&times, 1)));
    figures.push((
        "ms to follow such a commit",
        follow(&store, 300, Some(2)).await?,
    ));

    let times = deletions(&store).await?;
    figures.push(("deletions/s, 10,000 a commit", rate(&times, N_HOSTS)));
    store.close().await;
    let megabytes = database.n_bytes()? as f64 / 1e6;
    figures.push(("MB on disk at the end", format!("{megabytes:.0}")));
    Ok(figures)
}

/// Commits these registrations, each cut to so many processes.
async fn commits(
    store: &Store,
    numbers: impl Iterator<Item = u32>,
    n_processes: Option<usize>,
) -> anyhow::Result<Vec<Duration>> {
    let mut times = Vec::new();
    let mut head = store.head().await?;
    for n in numbers {
        let changes = cut(n, head, n_processes);
        let begun = Instant::now();
        head = store.commit(head, &changes).await?;
        times.push(begun.elapsed());
    }
    Ok(times)
}

fn cut(n: u32, head: Revision, n_processes: Option<usize>) -> Changes {
    let mut changes = registration(n, head);
    if let Some(n_processes) = n_processes {
        changes.hosts.clear();
        changes.processes.truncate(n_processes);
    }
    changes
}

/// The median time of `changes_since` after one commit.
async fn follow(store: &Store, n_times: u32, n_processes: Option<usize>) -> anyhow::Result<String> {
    let mut times = Vec::new();
    for n in 0..n_times {
        let head = store.head().await?;
        store.commit(head, &cut(n % 100, head, n_processes)).await?;
        let begun = Instant::now();
        let (_, changes) = store.changes_since(head).await?;
        times.push(begun.elapsed());
        anyhow::ensure!(changes.processes.len() == n_processes.unwrap_or(N_HOSTS as usize));
    }
    times.sort();
    let median = times[times.len() / 2].as_secs_f64() * 1e3;
    Ok(format!("{median:.2}"))
}

async fn deletions(store: &Store) -> anyhow::Result<Vec<Duration>> {
    let mut times = Vec::new();
    let mut head = store.head().await?;
    for n in 0..10 {
        let processes = registration(n, head).processes;
        let changes = Changes {
            processes_gone: processes.iter().map(|row| row.id).collect(),
            ..Changes::default()
        };
        let begun = Instant::now();
        head = store.commit(head, &changes).await?;
        times.push(begun.elapsed());
    }
    Ok(times)
}

fn rate(times: &[Duration], n_rows: u32) -> String {
    let total: f64 = times.iter().map(Duration::as_secs_f64).sum();
    format!("{:.0}", f64::from(n_rows) * times.len() as f64 / total)
}
