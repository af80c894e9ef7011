//! Automation that is more than a line of shell. `cargo xtask help` lists it.

#![allow(clippy::print_stdout, reason = "a program for the terminal")]

mod bench;
mod client;
mod server;
mod table;

use clap::{Parser, Subcommand};

#[derive(Debug, Parser)]
#[command(
    name = "cargo xtask",
    about = "Benchmarks of Muster, each printed as one table"
)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Measure something; every figure in docs/benchmarks.md comes from here.
    #[command(subcommand)]
    Bench(Bench),
}

#[derive(Debug, Subcommand)]
enum Bench {
    /// Registration, status and paging through the HTTP API of a real server with its embedded store.
    #[command(
        after_help = "Examples:\n  cargo xtask bench api\n  cargo xtask bench api --names 10   # 100,000 processes: a quick look"
    )]
    Api(bench::api::Args),
}

fn main() -> anyhow::Result<()> {
    match Cli::parse().task {
        Task::Bench(Bench::Api(args)) => bench::api::run(&args),
    }
}
