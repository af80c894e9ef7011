//! `muster why`: why a process is as it is.

use api::WhyView;
use serde_json::Value;

use super::Context;
use crate::colors::Style;
use crate::failure::{Exit, Failure};
use crate::format::{clean, counted, moment, now};
use crate::out::Out;
use crate::state::{last_exit_text, state_style};
use crate::table::FieldList;
use crate::target::ProcessOnHost;

pub const EXAMPLES: &str = "\
Examples:
  muster why web/nginx
  muster why web/nginx --host 10.0.0.1
  muster why web/nginx -o json | jq -r .code

Says in one sentence why it runs or does not: who stopped it, how often the agent tried, since when its agent is away. Below it
the last output of the run that ended, if you may read output.";

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    process: ProcessOnHost,
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let client = context.client()?;
    let out = &context.out;
    let answer: Value = client.get(&args.process.path("why"))?;
    match out.is_document() {
        true => out.document(&answer)?,
        false => {
            let why: WhyView = crate::client::read(answer)?;
            show(out, &why)?;
        }
    }
    Ok(Exit::Ok)
}

fn show(out: &Out, why: &WhyView) -> Result<(), Failure> {
    let now = now();
    let state = out.paint(state_style(&why.state), &clean(&why.state));
    let process = out.paint(Style::Bold, &clean(&why.process));
    out.line(format!(
        "{process} on {}: {state}: {}",
        clean(&why.host.to_string()),
        clean(&why.text)
    ))?;
    let mut fields = FieldList::default();
    if why.since.0 > 0 {
        fields.put("since", &moment(why.since, now));
    }
    if let Some(exit) = why.last_exit {
        let ended = format!("{}, {}", last_exit_text(exit), moment(exit.at, now));
        fields.put("last run", &ended);
    }
    if let Some(cause) = &why.cause {
        let code = cause.code.replace('_', " ");
        fields.put(
            "because",
            &format!("{}: {}", clean(&code), clean(&cause.text)),
        );
    }
    if why.tried > 0 {
        fields.put(
            "tried",
            &format!("{} by itself", counted(why.tried, "time")),
        );
    }
    if let Some(next) = why.next {
        fields.put("next", &moment(next, now));
    }
    let fields = fields.render();
    if !fields.is_empty() {
        out.line(fields.trim_end())?;
    }
    if !why.output.is_empty() {
        out.line(out.paint(Style::Dim, "the last output of the run that ended:"))?;
        for line in &why.output {
            out.line(format!("  {}", clean(line)))?;
        }
    }
    Ok(())
}
