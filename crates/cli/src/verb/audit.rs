//! `muster audit`: lists and exports the audit trail.

use std::io::Write;
use std::path::PathBuf;

use api::AuditList;
use serde_json::Value;

use super::Context;
use crate::client::{Path, not_as_expected};
use crate::failure::{Exit, Failure, Kind};
use crate::table::{Cell, TextTable};

pub const EXAMPLES: &str = "\
Examples:
  muster audit
  muster audit --user alice --action operate --since 7d
  muster audit --object web/nginx --since 1h --until 30m
  muster audit --action refused                           who was told no
  muster audit --limit 1000 -o json | jq '.audit[].object'
  muster audit export --since 30d --format csv --to audit.csv
  muster audit export --user alice | jq -r .object

The newest come first. An export is all that matches, one line each, as it is read.";

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    export: Option<Export>,
    /// How many lines, the newest first
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: u16,
    /// Those before this number
    #[arg(long, value_name = "NUMBER")]
    before: Option<u64>,
    #[command(flatten)]
    filter: Filter,
}

#[derive(Debug, clap::Subcommand)]
enum Export {
    /// Write all that matches, as JSON lines or CSV
    #[command(after_help = EXAMPLES)]
    Export {
        #[command(flatten)]
        filter: Filter,
        /// One JSON object a line, or comma-separated values with a head
        #[arg(long, value_name = "FORMAT", default_value = "jsonl", value_parser = ["jsonl", "csv"])]
        format: String,
        /// Into this file [default: standard output]
        #[arg(long, value_name = "FILE")]
        to: Option<PathBuf>,
    },
}

#[derive(Debug, clap::Args)]
struct Filter {
    /// Only what this user did
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Only what this app did
    #[arg(long, value_name = "CODE")]
    app: Option<String>,
    /// Only this: register, operate, app.create, login, login.failed, refused, …
    #[arg(long, value_name = "ACTION")]
    action: Option<String>,
    /// Only what came from this address
    #[arg(long, value_name = "IP")]
    from: Option<String>,
    /// Only objects that hold this text
    #[arg(long, value_name = "TEXT")]
    object: Option<String>,
    /// Not before: as long ago as 90s, 15m, 1h, 7d, or Unix milliseconds
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Only before: as long ago as 90s, 15m, 1h, 7d, or Unix milliseconds
    #[arg(long, value_name = "WHEN")]
    until: Option<String>,
}

impl Filter {
    fn on(&self, path: Path) -> Path {
        path.maybe("user", self.user.as_ref())
            .maybe("app", self.app.as_ref())
            .maybe("action", self.action.as_ref())
            .maybe("from", self.from.as_ref())
            .maybe("object", self.object.as_ref())
            .maybe("since", self.since.as_ref())
            .maybe("until", self.until.as_ref())
    }
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    match &args.export {
        None => list(context, args)?,
        Some(Export::Export { filter, format, to }) => {
            export(context, filter, format, to.as_ref())?;
        }
    }
    Ok(Exit::Ok)
}

fn list(context: &Context, args: &Args) -> Result<(), Failure> {
    let out = &context.out;
    let path = Path::new("audit")
        .query("limit", args.limit)
        .maybe("before", args.before);
    let response: Value = context.client()?.get(&args.filter.on(path))?;
    out.response(response, |list: AuditList| {
        let mut table = TextTable::new(">NUMBER|AT|USER|APP|FROM|ACTION|~OBJECT|~DETAIL");
        for row in list.audit.read().map_err(not_as_expected)? {
            table.row([
                Cell::from(row.id.to_string()),
                row.at.to_rfc3339().into(),
                row.user.into(),
                row.app.into(),
                row.from.into(),
                row.action.into(),
                row.object.into(),
                row.detail.into(),
            ]);
        }
        out.table_or(&table, "nothing of this kind was done yet")?;
        if let Some(next) = list.next {
            out.note(format!("there is more: --before {next}"));
        }
        Ok(())
    })
}

fn export(
    context: &Context,
    filter: &Filter,
    format: &str,
    to: Option<&PathBuf>,
) -> Result<(), Failure> {
    let client = context.client()?;
    let path = filter.on(Path::new("audit/export").query("format", format));
    let copy = |to: &mut dyn Write| {
        std::io::copy(&mut client.stream(&path)?, to).map_err(|error| {
            let what = format!("the export broke off, and what was written is a part: {error}");
            Failure::new(Kind::Failed, what)
        })
    };
    match to {
        None => {
            let mut sink = context.out.stream();
            copy(&mut sink)?;
            sink.end()
        }
        Some(path) => {
            let bad = |error: std::io::Error| {
                let what = format!("{} cannot be written: {error}", path.display());
                Failure::new(Kind::Failed, what)
            };
            let mut file = std::fs::File::create(path).map_err(bad)?;
            copy(&mut file)?;
            file.flush().map_err(bad)
        }
    }
}
