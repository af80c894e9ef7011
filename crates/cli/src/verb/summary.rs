//! `muster summary`: what is wrong now.

use api::FleetSummary;

use super::Context;
use crate::client::Path;
use crate::colors::Style;
use crate::failure::{Exit, Failure};
use crate::format::{count, counted};
use crate::out::Out;

pub const EXAMPLES: &str = "\
Examples:
  muster summary
  muster summary --namespace web,db
  muster summary -o json | jq .wanted_down

Counts what you may see. Each line that says what is wrong ends with the command that lists it.";

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only of these namespaces, separated by commas
    #[arg(short, long, value_name = "NAMESPACE", value_delimiter = ',')]
    namespace: Vec<String>,
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let client = context.client()?;
    let out = &context.out;
    let response = client.get(&Path::new("summary").list("namespace", &args.namespace))?;
    out.response(response, |summary: FleetSummary| {
        show(out, &summary, &args.namespace)
    })?;
    Ok(Exit::Ok)
}

fn show(out: &Out, summary: &FleetSummary, namespaces: &[String]) -> Result<(), Failure> {
    // What is ready runs, too.
    let running = ["running", "ready"].map(|state| summary.states.get(state).copied().unwrap_or(0));
    let running: u64 = running.iter().sum();
    out.line(format!(
        "{}, {} running; {}, {} of {} connected",
        counted(summary.processes, "process"),
        count(running),
        counted(summary.hosts, "host"),
        count(summary.agents_up),
        counted(summary.hosts, "agent"),
    ))?;
    let of = match namespaces {
        [] => String::new(),
        namespaces => format!(" -n {}", namespaces.join(",")),
    };
    let away = summary.hosts.saturating_sub(summary.agents_up) as u64;
    let wrong = [
        (
            away,
            Style::Bad,
            "agents away",
            "muster hosts --connected false".to_owned(),
        ),
        (
            summary.gave_up,
            Style::Bad,
            "given up by the agent",
            format!("muster ps{of} --state failed"),
        ),
        (
            summary.wanted_down,
            Style::Bad,
            "wanted, and down",
            format!("muster ps{of} --wanted running --state backoff,failed,stopped,unknown"),
        ),
        (
            summary.unhealthy,
            Style::Warn,
            "unhealthy",
            format!("muster ps{of} --state unhealthy"),
        ),
        (
            summary.restart_needed,
            Style::Warn,
            "restart needed",
            format!("muster ps{of} --pending"),
        ),
        (
            summary.config_drift,
            Style::Warn,
            "config drift",
            format!("muster events{of} --kind config_drift"),
        ),
    ];
    let mut is_well = true;
    for (n, style, what, command) in wrong.iter().filter(|(n, ..)| *n > 0) {
        is_well = false;
        let what = out.paint(*style, &format!("{what}: {}", count(*n)));
        out.line(format!("  {what} ({command})"))?;
    }
    if is_well {
        out.line(out.paint(Style::Good, "  nothing is wrong"))?;
    }
    let under_way = [
        (summary.tasks_running, "tasks", "muster task"),
        (summary.jobs_running, "jobs", "muster job list"),
    ];
    for (n, what, command) in under_way.iter().filter(|(n, ..)| *n > 0) {
        out.line(format!("  {what} under way: {} ({command})", count(*n)))?;
    }
    Ok(())
}
