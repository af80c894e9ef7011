//! `muster expression`: what an expression means, and what it selects.

use api::{ExplainBody, Explained, ExpressionBody};

use super::Context;
use crate::args::value_name;
use crate::business::BusinessRef;
use crate::client::Path;
use crate::colors::Style;
use crate::failure::{Exit, Failure};
use crate::format::{count, counted};
use crate::selection::{EnvArg, parse, pasteable};
use crate::table::{Cell, TextTable};

pub const EXAMPLES: &str = "\
Examples:
  muster expression explain 'zone-1.login' --biz 2
  muster expression explain 'zone-[1-3].[login,chat].*.*.[0:2]' --biz 2 --env formal
  muster expression explain '*.*.10\\.0\\.0\\.1_*' --biz 2 -o json

The parts are set.module.service.process.id; what is left out at the end is *.";

#[derive(Debug, clap::Subcommand)]
pub enum Action {
    /// Explain each part of an expression, and show the first processes that it selects
    #[command(after_help = EXAMPLES)]
    Explain(ExplainArgs),
}

#[derive(Debug, clap::Args)]
pub struct ExplainArgs {
    /// set.module.service.process.id
    #[arg(value_name = "EXPRESSION")]
    expression: String,
    /// The business, by its id or name
    #[arg(short, long, visible_alias = "business", value_name = "BIZ")]
    biz: BusinessRef,
    /// Only sets of this environment
    #[arg(long, value_enum)]
    env: Option<EnvArg>,
}

pub fn run(context: &Context, action: &Action) -> Result<Exit, Failure> {
    let Action::Explain(args) = action;
    let expression = parse(&args.expression)?.to_string();
    let client = context.client()?;
    let biz = args.biz.id(&client)?;
    let body = ExplainBody {
        business: Some(biz.into()),
        env: args
            .env
            .map(|env| value_name(env).as_str().into())
            .unwrap_or_default(),
        expression: Some(ExpressionBody::Joined(expression)),
    };
    let response = client.post(&Path::new("expression").join("explain"), &body)?;
    let out = &context.out;
    out.response(response, |explained: Explained| {
        out.table(&parts(&explained))?;
        let style = match explained.count {
            0 => Style::Warn,
            _ => Style::Good,
        };
        let selected = counted(explained.count, "process");
        out.line(out.paint(style, &format!("\n{selected} selected")))?;
        for process in &explained.matches {
            out.line(format!(
                "  {}  {}",
                process.id,
                pasteable(&process.expression)
            ))?;
        }
        let shown = explained.matches.len() as u64;
        match explained.count.saturating_sub(shown) {
            0 => {}
            more => out.note(format!(
                "  and {} more: muster ps --biz {biz} --expr lists them",
                count(more),
            )),
        }
        Ok(())
    })?;
    Ok(Exit::Ok)
}

fn parts(explained: &Explained) -> TextTable {
    let mut table = TextTable::new("PART|~WRITTEN|~MEANS|>LEAVES");
    for part in &explained.parts {
        let style = match part.count {
            0 => Style::Bad,
            _ => Style::Plain,
        };
        table.row([
            Cell::from(&*part.part),
            part.text.as_str().into(),
            part.words.as_str().into(),
            Cell::styled(style, count(part.count)),
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
