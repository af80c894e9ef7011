//! `muster runs`: the last runs of a process.

use api::{RunHistory, RunRecordView};

use super::Context;
use crate::failure::{Exit, Failure};
use crate::format::{bytes, clean, lasted, moment, now};
use crate::state::last_exit_text;
use crate::table::{Cell, TextTable};
use crate::target::ProcessOnHost;

pub const EXAMPLES: &str = "\
Examples:
  muster runs ops/backup                       when it ran, how long, and how it ended
  muster logs ops/backup --run 7               what run 7 wrote
  muster runs web/nginx --host 10.0.0.1 --limit 5
  muster runs ops/backup -o json | jq '.runs[] | select(.end.code != 0)'

A run begins with its start command, also if that failed. The agent remembers the last 100 runs of a
process, and the output of some of them: 3 by default, and of a scheduled process as many as
--schedule-history says. Runs that were not started by the agent have no number.";

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    process: ProcessOnHost,
    /// Show at most this many, the newest
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    limit: usize,
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let client = context.client()?;
    let out = &context.out;
    let response = client.get(&args.process.path("runs"))?;
    out.response(response, |history: RunHistory<'_>| {
        let host = clean(&history.host.to_string());
        let name = clean(&args.process.name.to_string());
        if history.runs.is_empty() {
            out.note(format!("the agent of {host} has not started {name} yet"));
            return Ok(());
        }
        let now = now();
        let mut table = TextTable::new(">RUN|BEGAN|>TOOK|END|OUTPUT");
        let n_old = history.runs.len().saturating_sub(args.limit);
        for run in &history.runs[n_old..] {
            table.row(row(run, now));
        }
        out.line(format!("{name} on {host}"))?;
        out.table(&table)
    })?;
    Ok(Exit::Ok)
}

fn row(run: &RunRecordView<'_>, now: model::UnixMillis) -> [Cell; 5] {
    let took = run.duration_ms.map(std::time::Duration::from_millis);
    let end = match (run.end, run.running) {
        (Some(end), _) => last_exit_text(end),
        (None, true) => "goes on".to_owned(),
        (None, false) => "not seen".to_owned(),
    };
    let output = match (run.output_bytes, run.log_path.as_ref()) {
        (Some(kept), _) => bytes(kept),
        (None, "") => "-".to_owned(),
        (None, path) => clean(path),
    };
    [
        run.number.to_string().into(),
        moment(run.began, now).into(),
        took.map_or_else(|| "-".to_owned(), lasted).into(),
        end.into(),
        output.into(),
    ]
}
