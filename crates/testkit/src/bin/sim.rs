//! Runs a simulated fleet: `sim --server ADDR --join TOKEN --agents 10000`. See `testkit::sim`.

#![allow(
    clippy::print_stderr,
    reason = "a program for the terminal: answers on stdout, errors on stderr"
)]

use std::process::ExitCode;

use clap::Parser;
use testkit::sim::{self, Options};

fn main() -> ExitCode {
    let options = Options::parse();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(options.threads.unwrap_or(cores / 2).max(1))
        .enable_all()
        .build();
    let ended = match runtime {
        Ok(runtime) => runtime.block_on(sim::run(options)),
        Err(error) => Err(sim::SimError::Options(error.to_string())),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("sim: {error}");
            ExitCode::FAILURE
        }
    }
}
