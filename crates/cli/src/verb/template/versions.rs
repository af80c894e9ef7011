//! Versions of a template: the draft is written, the active one generated from.

use api::{DraftBody, VersionList, VersionShown};
use serde_json::Value;

use super::super::Context;
use super::edit::id_of;
use super::{TemplateArg, read_content};
use crate::client::{Client, Path};
use crate::colors::Style;
use crate::failure::{Failure, Kind};
use crate::format::{age, now};
use crate::table::{Cell, TextTable};

#[derive(Debug, clap::Args)]
pub struct ListArgs {
    #[command(flatten)]
    template: TemplateArg,
    /// Print the text of this version
    #[arg(value_name = "VERSION")]
    number: Option<u32>,
}

#[derive(Debug, clap::Args)]
pub struct DraftArgs {
    #[command(flatten)]
    template: TemplateArg,
    /// Its text; - reads standard input
    #[arg(value_name = "FILE")]
    file: String,
    /// What is new
    #[arg(short, long, value_name = "TEXT", default_value = "")]
    description: String,
    /// Make it the active version at once
    #[arg(long)]
    activate: bool,
}

#[derive(Debug, clap::Args)]
pub struct ActivateArgs {
    #[command(flatten)]
    template: TemplateArg,
    /// The version [default: the draft]
    #[arg(value_name = "VERSION")]
    number: Option<u32>,
}

#[derive(Debug, clap::Args)]
pub struct CloneArgs {
    #[command(flatten)]
    template: TemplateArg,
    /// The version
    #[arg(value_name = "VERSION")]
    number: u32,
}

pub(super) fn list(context: &Context, args: &ListArgs) -> Result<(), Failure> {
    let (out, client) = (&context.out, context.client()?);
    let template = args.template.find(&client)?;
    let path = template.path().join("versions");
    if let Some(number) = args.number {
        let response = client.get(&path.join(number))?;
        return out.response(response, |version: VersionShown| {
            out.text(version.content.as_deref().unwrap_or_default())
        });
    }
    out.response(client.get(&path)?, |list: VersionList| {
        let hint = "no versions: muster template draft writes one";
        out.table_or(&table(&list.versions), hint)
    })
}

fn table(versions: &[VersionShown]) -> TextTable {
    let now = now();
    let mut table = TextTable::new(">VERSION|STATE|~DESCRIPTION|BY|>AGE");
    for row in versions {
        let style = match &*row.state {
            "active" => Style::Good,
            "draft" => Style::Warn,
            _ => Style::Dim,
        };
        table.row([
            Cell::from(row.id.to_string()),
            Cell::styled(style, &*row.state),
            row.description.as_str().into(),
            row.updated_by.as_str().into(),
            age(row.updated_at, now).into(),
        ]);
    }
    table
}

pub(super) fn save_draft(
    client: &Client,
    template: &Path,
    description: &str,
    text: &str,
) -> Result<Value, Failure> {
    let body = DraftBody {
        description: description.to_owned(),
        content: Some(text.to_owned()),
    };
    client.put(&template.clone().join("draft"), &body)
}

pub(super) fn activate_version(
    client: &Client,
    template: &Path,
    version: u32,
) -> Result<Value, Failure> {
    let path = template.clone().join("versions").join(version);
    client.post(&path.join("activate"), &())
}

pub(super) fn draft(context: &Context, args: &DraftArgs) -> Result<(), Failure> {
    let text = read_content(&args.file)?;
    let client = context.client()?;
    let template = args.template.find(&client)?;
    let path = template.path();
    let mut saved = save_draft(&client, &path, &args.description, &text)?;
    let version = id_of(&saved)?;
    let name = template.name();
    let text = match args.activate {
        true => {
            saved = activate_version(&client, &path, version)?;
            format!("version {version} of {name} is active")
        }
        false => format!("version {version} is the draft of {name}"),
    };
    context.out.result(&saved, text)
}

pub(super) fn activate(context: &Context, args: &ActivateArgs) -> Result<(), Failure> {
    let client = context.client()?;
    let template = args.template.find(&client)?;
    let biz = template.biz;
    let name = template.name();
    let version = args.number.or(template.shown.draft).ok_or_else(|| {
        Failure::new(Kind::NotFound, format!("template {name} has no draft")).advise(format!(
            "muster template draft {name} FILE --biz {biz} writes one"
        ))
    })?;
    let activated = activate_version(&client, &template.path(), version)?;
    let text = format!("version {version} of {name} is active");
    context.out.result(&activated, text)
}

pub(super) fn clone(context: &Context, args: &CloneArgs) -> Result<(), Failure> {
    let client = context.client()?;
    let template = args.template.find(&client)?;
    let path = template.path().join("versions");
    let draft: Value = client.post(&path.join(args.number).join("clone"), &())?;
    let (name, id) = (template.name(), id_of(&draft)?);
    let text = format!(
        "version {id} is the draft of {name}: a copy of {}",
        args.number
    );
    context.out.result(&draft, text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_version_is_a_line() {
        let row: VersionShown = serde_json::from_value(json!({
            "id": 4, "template": 3, "state": "active", "description": "ports", "updated_by": "ann",
        }))
        .unwrap();
        let text = table(&[row]).render(None, false);
        assert!(text.contains("      4  active  ports        ann"), "{text}");
    }
}
