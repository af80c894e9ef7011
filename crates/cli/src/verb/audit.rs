//! `muster audit`: who changed what, and when.

use std::io::Write;
use std::path::PathBuf;

use super::{Context, rows};
use crate::client::{AuditFilter, AuditRow};
use crate::failure::{Exit, Failure, Kind};
use crate::table::{Cell, Column, Table};

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
    fn as_asked(&self) -> AuditFilter<'_> {
        AuditFilter {
            user: self.user.as_deref(),
            app: self.app.as_deref(),
            action: self.action.as_deref(),
            from: self.from.as_deref(),
            object: self.object.as_deref(),
            since: self.since.as_deref(),
            until: self.until.as_deref(),
        }
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
    let filter = args.filter.as_asked();
    let answer = context.client()?.audit(filter, args.limit, args.before)?;
    if out.is_json() {
        return out.json(&answer);
    }
    let mut table = Table::new([
        Column::number("NUMBER"),
        Column::text("AT"),
        Column::text("USER"),
        Column::text("APP"),
        Column::text("FROM"),
        Column::text("ACTION"),
        Column::elastic("OBJECT"),
        Column::elastic("DETAIL"),
    ]);
    for row in rows::<AuditRow>(&answer, "audit")? {
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
    match table.is_empty() {
        true => out.note("nothing of this kind was done yet"),
        false => out.table(&table)?,
    }
    if let Some(next) = answer["next"].as_u64() {
        out.note(format!("there is more: --before {next}"));
    }
    Ok(())
}

fn export(
    context: &Context,
    filter: &Filter,
    format: &str,
    to: Option<&PathBuf>,
) -> Result<(), Failure> {
    let client = context.client()?;
    match to {
        None => {
            let mut sink = context.out.stream();
            client.export_audit(filter.as_asked(), format, &mut sink)?;
            sink.end()
        }
        Some(path) => {
            let bad = |error: std::io::Error| {
                Failure::new(
                    Kind::Failed,
                    format!("{} cannot be written: {error}", path.display()),
                )
            };
            let mut file = std::fs::File::create(path).map_err(bad)?;
            client.export_audit(filter.as_asked(), format, &mut file)?;
            file.flush().map_err(bad)
        }
    }
}
