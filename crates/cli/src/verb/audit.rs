//! `muster audit`: who changed what, and when.

use super::{Context, rows};
use crate::client::{AuditFilter, AuditRow};
use crate::failure::{Exit, Failure};
use crate::table::{Cell, Column, Table};

pub const EXAMPLES: &str = "\
Examples:
  muster audit
  muster audit --user alice --action operate
  muster audit --limit 1000 -o json | jq '.audit[].object'";

#[derive(Debug, clap::Args)]
pub struct Args {
    /// How many lines, the newest first
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: u16,
    /// Those before this number
    #[arg(long, value_name = "NUMBER")]
    before: Option<u64>,
    /// Only what this user did
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Only what this app did
    #[arg(long, value_name = "CODE")]
    app: Option<String>,
    /// Only this: register, operate, app.create, …
    #[arg(long, value_name = "ACTION")]
    action: Option<String>,
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let out = &context.out;
    let filter = AuditFilter {
        limit: args.limit,
        before: args.before,
        user: args.user.as_deref(),
        app: args.app.as_deref(),
        action: args.action.as_deref(),
    };
    let answer = context.client()?.audit(filter)?;
    if out.is_json() {
        out.json(&answer)?;
        return Ok(Exit::Ok);
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
        true => out.note("nothing was changed yet"),
        false => out.table(&table)?,
    }
    Ok(Exit::Ok)
}
