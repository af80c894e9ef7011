//! Measures restarts by the agent on kernels that lack system calls, of its children and of processes that it adopted.
//!
//! testkit's `restricted` takes the calls away. An adopted process is one whose agent was killed and started again. Without
//! a pidfd the agent learns of the exit of a child by SIGCHLD, and of an adopted process when it looks, once a second.

use std::time::Instant;

use super::measure::{self, Plan, percentile};
use super::muster::{self, Handicap};
use super::sandbox::Sandbox;
use super::{BenchPaths, time};
use crate::table::Table;

/// The restriction, and what it stands for.
const KERNELS: [(Option<&str>, &str); 3] = [
    (None, "this kernel"),
    (Some("old-kernel"), "Linux 3.10"),
    (Some("pidfd-refused"), "pidfds refused"),
];

/// Measures the agent on each kernel, and prints a table.
pub(super) fn run(paths: &BenchPaths, plan: &Plan) -> anyhow::Result<()> {
    let mut table = Table::new([
        "kernel",
        "child p50",
        "child p99",
        "adopted p50",
        "adopted p99",
    ]);
    for (restriction, name) in KERNELS {
        eprintln!("{name}");
        let handicap = Handicap {
            restriction,
            ..Default::default()
        };
        let mut sandbox = Sandbox::new(paths, plan.kills)?;
        let (mut running, requested_at) = muster::start(&sandbox, plan.kills, &handicap)?;
        sandbox.wait_for_all(&mut running, requested_at, plan.patience)?;
        let children = measure::in_a_row(&mut sandbox, &mut running, plan, plan.kills)?;
        sandbox.wait_for_all(&mut running, Instant::now(), plan.patience)?;
        running.replace_agent(&sandbox)?;
        sandbox.wait_for_all(&mut running, Instant::now(), plan.patience)?;
        // Each is killed once: the agent started the next one, so that one is its child.
        let adopted = measure::in_a_row(&mut sandbox, &mut running, plan, plan.kills)?;
        let shown = |times: &[_], percent| time(&Ok(percentile(times, percent)), None);
        table.row([
            name.to_owned(),
            shown(&children, 50),
            shown(&children, 99),
            shown(&adopted, 50),
            shown(&adopted, 99),
        ]);
    }
    table.print();
    println!();
    println!(
        "From the kill of a process until the next one is up; {} processes, each killed once as a child of the agent and once \
         after the agent was killed and has adopted it. Linux 3.10: every newer system call is answered with ENOSYS; pidfds \
         refused: pidfd_open and pidfd_send_signal are answered with EPERM.",
        plan.kills
    );
    Ok(())
}
