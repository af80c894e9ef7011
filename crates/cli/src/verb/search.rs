//! `muster search`: anything that has these words in its name or address.

use api::SearchResult;

use super::Context;
use crate::client::Path;
use crate::failure::{Exit, Failure};
use crate::table::{Cell, TextTable};

pub const EXAMPLES: &str = "\
Examples:
  muster search nginx
  muster search web 10.0.3                        with both words
  muster search shop --limit 50 -o json";

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Words that must all be part of a name or an address; upper and lower case are the same
    #[arg(value_name = "WORD", required = true)]
    words: Vec<String>,
    /// At most this many of each kind
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100))]
    limit: u32,
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let client = context.client()?;
    let path = Path::new("search")
        .query("q", args.words.join(" "))
        .query("limit", args.limit);
    let out = &context.out;
    let response = client.get(&path)?;
    out.response(response, |found: SearchResult| {
        out.table_or(&table(&found), "nothing was found")
    })?;
    Ok(Exit::Ok)
}

fn table(found: &SearchResult) -> TextTable {
    let mut table = TextTable::new("KIND|NAME|~DETAIL");
    let mut row = |kind: &str, name: String, detail: String| {
        table.row([Cell::from(kind), name.into(), detail.into()]);
    };
    for name in &found.processes {
        row("process", name.clone(), String::new());
    }
    for namespace in &found.namespaces {
        row("namespace", namespace.to_string(), String::new());
    }
    for host in &found.hosts {
        let hostname = host.hostname.as_deref().unwrap_or_default();
        row("host", host.host.to_string(), hostname.to_owned());
    }
    for business in &found.businesses {
        row(
            "business",
            business.name.to_string(),
            business.id.to_string(),
        );
    }
    for template in &found.templates {
        let detail = format!("{} of business {}", template.id, template.business);
        row("template", template.name.to_string(), detail);
    }
    table
}
