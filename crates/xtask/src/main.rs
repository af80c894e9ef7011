//! Automation that is more than a line of shell. `cargo xtask help` lists it.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for the terminal: tables on one stream, progress on the other"
)]

mod bench;
mod browser;
mod client;
mod deployment;
mod folder;
mod interrupt;
mod notices;
mod package;
mod screenshots;
mod server;
mod soak;
mod table;
mod usage;

use clap::{Parser, Subcommand};

#[derive(Debug, Parser)]
#[command(
    name = "cargo xtask",
    about = "Benchmarks of Muster, each printed as one table, a long soak, pictures of the console, and packages"
)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Measure something; every figure in docs/operations/benchmarks.md comes from here.
    #[command(subcommand)]
    Bench(Bench),
    /// Kill servers, agents, processes and engines at random for a while, and check that nothing is lost or done twice.
    #[command(after_help = soak::EXAMPLES)]
    Soak(soak::Args),
    /// Write the pictures of the web console that the README and the guide show.
    #[command(after_help = screenshots::EXAMPLES)]
    Screenshots(screenshots::Args),
    /// Write the licences of all crates that the shipped binaries contain, for packages.
    #[command(after_help = notices::EXAMPLES)]
    Notices(notices::Args),
    /// Build binaries for old and new distributions, and packages of them: .deb, .rpm and .tar.gz.
    #[command(after_help = package::EXAMPLES)]
    Package(package::Args),
    /// The baseline of `bench agent`, which starts it.
    #[command(hide = true)]
    BareLoop(bench::agent::bare::Args),
}

#[derive(Debug, Subcommand)]
enum Bench {
    /// Registration, status and paging through the HTTP API of a real server with its embedded store.
    #[command(
        after_help = "Examples:\n  cargo xtask bench api\n  cargo xtask bench api --names 10   # 100,000 processes: a quick look"
    )]
    Api(bench::api::Args),
    /// Restart, start, storm, memory and idle CPU of our agent beside other supervisors and a bare loop.
    #[command(after_help = bench::agent::EXAMPLES)]
    Agent(bench::agent::Args),
    /// A simulated fleet against a real server: connect storm, memory, load, operations, restart.
    #[command(after_help = bench::fleet::EXAMPLES)]
    Fleet(bench::fleet::Args),
    /// Import, filters, orders and paging of the process view, at several sizes.
    #[command(
        after_help = "Examples:\n  cargo xtask bench view\n  cargo xtask bench view --processes 10000   # a quick look"
    )]
    View(bench::view::Args),
    /// How the cost of each operation grows with the fleet: time and memory at 1,000 to 1,000,000 processes.
    #[command(
        after_help = "Examples:\n  cargo xtask bench growth\n  cargo xtask bench growth --large   # also 10,000,000 processes: some minutes"
    )]
    Growth(bench::growth::Args),
    /// The web console in Debian's chromium: first load, scrolling, frames, requests and memory, with a simulated fleet.
    #[command(after_help = bench::fleet::console::EXAMPLES)]
    Console(bench::fleet::console::Args),
    /// What watchers cost: changes of a simulated fleet, streamed to many of them.
    #[command(after_help = bench::fleet::watch::EXAMPLES)]
    Watch(bench::fleet::watch::WatchArgs),
    /// Small queries, heartbeats, commits and operations, without and with clients whose queries look at every process.
    #[command(after_help = bench::fleet::mixed::EXAMPLES)]
    Mixed(bench::fleet::mixed::Args),
}

fn main() -> anyhow::Result<()> {
    match Cli::parse().task {
        Task::Bench(Bench::Api(args)) => bench::api::run(&args),
        Task::Bench(Bench::Agent(args)) => bench::agent::run(&args),
        Task::Bench(Bench::Fleet(args)) => bench::fleet::run(&args),
        Task::Bench(Bench::View(args)) => bench::view::run(&args),
        Task::Bench(Bench::Growth(args)) => bench::growth::run(&args),
        Task::Bench(Bench::Console(args)) => bench::fleet::console::run(&args),
        Task::Bench(Bench::Watch(args)) => bench::fleet::watch::run(&args),
        Task::Bench(Bench::Mixed(args)) => bench::fleet::mixed::run(&args),
        Task::Soak(args) => soak::run(&args),
        Task::Screenshots(args) => screenshots::run(&args),
        Task::Notices(args) => notices::run(&args),
        Task::Package(args) => package::run(&args),
        Task::BareLoop(args) => bench::agent::bare::run(&args),
    }
}
