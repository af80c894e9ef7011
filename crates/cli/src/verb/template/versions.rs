//! Versions of a template: the draft is written, the active one generated from.

use serde_json::Value;

use super::super::{Context, rows};
use super::edit::id_of;
use super::{Which, read_text};
use crate::client::VersionRow;
use crate::failure::{Failure, Kind};
use crate::show::{age, clean, now};
use crate::table::{Cell, Column, Table};
use crate::tone::Tone;

#[derive(Debug, clap::Args)]
pub struct ListArgs {
    #[command(flatten)]
    which: Which,
    /// Print the text of this version
    #[arg(value_name = "VERSION")]
    number: Option<u32>,
}

#[derive(Debug, clap::Args)]
pub struct DraftArgs {
    #[command(flatten)]
    which: Which,
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
    which: Which,
    /// The version [default: the draft]
    #[arg(value_name = "VERSION")]
    number: Option<u32>,
}

#[derive(Debug, clap::Args)]
pub struct CloneArgs {
    #[command(flatten)]
    which: Which,
    /// The version
    #[arg(value_name = "VERSION")]
    number: u32,
}

pub(super) fn list(context: &Context, args: &ListArgs) -> Result<(), Failure> {
    let (out, client, biz) = (&context.out, context.client()?, args.which.biz());
    let template = args.which.find(&client)?;
    if let Some(version) = args.number {
        if out.is_json() {
            return out.json(&client.version::<Value>(biz, template.id, version)?);
        }
        let version: VersionRow = client.version(biz, template.id, version)?;
        return out.text(&version.content);
    }
    let answer = client.versions(biz, template.id)?;
    if out.is_json() {
        return out.json(&answer);
    }
    let table = table(&rows(&answer, "versions")?);
    match table.is_empty() {
        true => out.note("no versions: muster template draft writes one"),
        false => out.table(&table)?,
    }
    Ok(())
}

fn table(versions: &[VersionRow]) -> Table {
    let now = now();
    let mut table = Table::new([
        Column::number("VERSION"),
        Column::text("STATE"),
        Column::elastic("DESCRIPTION"),
        Column::text("BY"),
        Column::number("AGE"),
    ]);
    for row in versions {
        let tone = match row.state.as_str() {
            "active" => Tone::Good,
            "draft" => Tone::Warn,
            _ => Tone::Dim,
        };
        table.row([
            Cell::from(row.id.to_string()),
            Cell::toned(tone, row.state.as_str()),
            row.description.as_str().into(),
            row.updated_by.as_str().into(),
            age(row.updated_at, now).into(),
        ]);
    }
    table
}

pub(super) fn draft(context: &Context, args: &DraftArgs) -> Result<(), Failure> {
    let text = read_text(&args.file)?;
    let (client, biz) = (context.client()?, args.which.biz());
    let template = args.which.find(&client)?;
    let mut saved = client.save_draft(biz, template.id, &args.description, &text)?;
    let version = id_of(&saved)?;
    let name = clean(&template.template_name);
    let told = match args.activate {
        true => {
            saved = client.activate_version(biz, template.id, version)?;
            format!("version {version} of {name} is active")
        }
        false => format!("version {version} is the draft of {name}"),
    };
    context.out.did(&saved, told)
}

pub(super) fn activate(context: &Context, args: &ActivateArgs) -> Result<(), Failure> {
    let (client, biz) = (context.client()?, args.which.biz());
    let template = args.which.find(&client)?;
    let name = clean(&template.template_name);
    let version = args.number.or(template.draft).ok_or_else(|| {
        Failure::new(Kind::NotFound, format!("template {name} has no draft")).advise(format!(
            "muster template draft {name} FILE --biz {biz} writes one"
        ))
    })?;
    let activated = client.activate_version(biz, template.id, version)?;
    let text = format!("version {version} of {name} is active");
    context.out.did(&activated, text)
}

pub(super) fn clone(context: &Context, args: &CloneArgs) -> Result<(), Failure> {
    let (client, biz) = (context.client()?, args.which.biz());
    let template = args.which.find(&client)?;
    let draft = client.clone_version(biz, template.id, args.number)?;
    let (name, id) = (clean(&template.template_name), id_of(&draft)?);
    let text = format!(
        "version {id} is the draft of {name}: a copy of {}",
        args.number
    );
    context.out.did(&draft, text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_version_is_a_line() {
        let row: VersionRow = serde_json::from_value(json!({
            "id": 4, "template": 3, "state": "active", "description": "ports", "updated_by": "ann",
        }))
        .unwrap();
        let text = table(&[row]).render(None, false);
        assert!(text.contains("      4  active  ports        ann"), "{text}");
    }
}
