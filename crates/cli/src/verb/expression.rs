//! `muster expression`: what an expression means, and what it selects.

use super::Context;
use crate::client::Explained;
use crate::failure::{Exit, Failure, Kind};
use crate::selection::{EnvArg, parse};
use crate::show::{clean, count, counted};
use crate::table::{Cell, Column, Table};
use crate::tone::Tone;

pub const EXAMPLES: &str = "\
Examples:
  muster expression explain 'zone-1.login' --biz 2
  muster expression explain 'zone-[1-3].[login,chat].*.*.[0:2]' --biz 2 --env formal
  muster expression explain '*.*.10\\.0\\.0\\.1_*' --biz 2 -o json

The parts are set.module.service.process.id; what is left out at the end is *.";

#[derive(Debug, clap::Subcommand)]
pub enum Action {
    /// Say what each part means and leaves, and show the first processes that are selected
    #[command(after_help = EXAMPLES)]
    Explain(ExplainArgs),
}

#[derive(Debug, clap::Args)]
pub struct ExplainArgs {
    /// set.module.service.process.id
    #[arg(value_name = "EXPRESSION")]
    expression: String,
    /// The business, by its id
    #[arg(short, long, visible_alias = "business", value_name = "ID")]
    biz: u32,
    /// Only sets of this environment
    #[arg(long, value_enum)]
    env: Option<EnvArg>,
}

pub fn run(context: &Context, action: &Action) -> Result<Exit, Failure> {
    let Action::Explain(args) = action;
    let expression = parse(&args.expression)?.to_string();
    let client = context.client()?;
    let answer = client.explain(args.biz, args.env.map(EnvArg::as_str), &expression)?;
    let out = &context.out;
    if out.is_json() {
        out.json(&answer)?;
        return Ok(Exit::Ok);
    }
    let explained: Explained = serde_json::from_value(answer).map_err(|e| {
        let what = format!("the server's explanation is not as expected: {e}");
        Failure::new(Kind::Failed, what)
    })?;
    out.table(&parts(&explained))?;
    let tone = match explained.count {
        0 => Tone::Warn,
        _ => Tone::Good,
    };
    let selected = counted(explained.count, "process");
    out.line(out.paint(tone, &format!("\n{selected} selected")))?;
    for found in &explained.matches {
        out.line(format!("  {}  {}", found.id, clean(&found.expression)))?;
    }
    let more = explained
        .count
        .saturating_sub(explained.matches.len() as u64);
    if more > 0 {
        out.note(format!(
            "  and {} more: muster ps --biz {} --expr lists them",
            count(more),
            args.biz
        ));
    }
    Ok(Exit::Ok)
}

fn parts(explained: &Explained) -> Table {
    let mut table = Table::new([
        Column::text("PART"),
        Column::elastic("WRITTEN"),
        Column::elastic("MEANS"),
        Column::number("LEAVES"),
    ]);
    for part in &explained.parts {
        let tone = match part.count {
            0 => Tone::Bad,
            _ => Tone::Plain,
        };
        table.row([
            Cell::from(part.part.as_str()),
            part.text.as_str().into(),
            part.words.as_str().into(),
            Cell::toned(tone, count(part.count)),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_part_has_a_line() {
        let explained: Explained = serde_json::from_value(json!({
            "expression": "zone-1.*.*.*.*", "count": 2,
            "parts": [
                {"part": "set", "text": "zone-1", "words": "exactly zone-1", "count": 2},
                {"part": "module", "text": "*", "words": "any", "count": 2},
            ],
            "matches": [],
        }))
        .unwrap();
        assert_eq!(
            parts(&explained).render(None, false),
            "PART    WRITTEN  MEANS           LEAVES\n\
             set     zone-1   exactly zone-1       2\n\
             module  *        any                  2\n"
        );
    }
}
