//! Shows the files of a template that differ on their hosts from what was released.

use api::TemplateFileRow;
use serde_json::{Value, json};

use super::super::Context;
use super::TemplateArg;
use crate::client::{business_path, read};
use crate::colors::Style;
use crate::failure::Failure;
use crate::format::clean;
use crate::selection::pasteable;
use crate::table::{Cell, TextTable};

/// How many files are listed without `--limit`.
const DEFAULT_FILES: usize = 100;

#[derive(Debug, clap::Args)]
pub struct DriftArgs {
    #[command(flatten)]
    template: TemplateArg,
    /// Also files that are as released, and those of which that is not known
    #[arg(long)]
    all: bool,
    /// At most this many files; 0: all
    #[arg(long, value_name = "N", default_value_t = DEFAULT_FILES)]
    limit: usize,
}

pub(super) fn drift(context: &Context, args: &DriftArgs) -> Result<(), Failure> {
    let (out, client) = (&context.out, context.client()?);
    let template = args.template.find(&client)?;
    let path = business_path(template.biz)
        .join("templates")
        .join(template.shown.id)
        .join("files")
        .maybe("drift", (!args.all).then_some(true));
    let limit = (args.limit > 0).then_some(args.limit);
    let page = client.pages::<Value>(&path, "files", limit)?;
    if out.is_document() {
        return out.document(&json!({"count": page.count, "files": page.rows}));
    }
    let mut table = TextTable::new("PROCESS|>INST|HOST|~FILE|ON THE HOST");
    let shown = page.rows.len();
    for file in read::<Vec<TemplateFileRow>>(Value::Array(page.rows))? {
        table.row(row(&file));
    }
    out.table_or(&table, "no file differs on its host")?;
    if (shown as u64) < page.count {
        let count = page.count;
        out.note(format!("{shown} of {count} files: --limit 0 shows all"));
    }
    Ok(())
}

fn row(file: &TemplateFileRow) -> [Cell; 5] {
    let known = file.released.as_ref().or(file.generated.as_ref());
    let why = file.drift_reason.as_ref().map_or("", |reason| &reason.code);
    let on_host = match file.drift {
        Some(false) => Cell::styled(Style::Good, "as released"),
        Some(true) => Cell::styled(Style::Warn, clean(how(&file.drift_text))),
        None => Cell::from(format!("not known: {}", clean(why).replace('_', " "))),
    };
    [
        Cell::from(pasteable(&file.expression)),
        file.local_inst_id.to_string().into(),
        file.host.as_str().into(),
        known.map_or("-", |file| &file.path).into(),
        on_host,
    ]
}

/// Without the path, which has a column of its own: `config drift: /a has md5 …`.
fn how(text: &str) -> &str {
    let said = text.strip_prefix("config drift: ").unwrap_or(text);
    ["has md5 ", "cannot be read"]
        .iter()
        .find_map(|word| said.find(word).map(|at| &said[at..]))
        .unwrap_or(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_is_not_said_twice() {
        assert_eq!(
            how("config drift: /a b has md5 x and not y"),
            "has md5 x and not y"
        );
        assert_eq!(
            how("config drift: /a cannot be read: no"),
            "cannot be read: no"
        );
        assert_eq!(how("something else"), "something else");
    }
}
