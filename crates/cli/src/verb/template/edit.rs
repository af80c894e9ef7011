//! Templates: listed, made, changed, deleted.

use clap::builder::PossibleValuesParser;
use serde_json::{Value, json};

use super::super::{Context, no_business, rows};
use super::{Business, Which, read_text};
use crate::client::{Client, TemplateFields, TemplateRow};
use crate::confirm::confirm;
use crate::failure::{Failure, Kind};
use crate::show::{age, clean, count, now};
use crate::table::{Cell, Column, Table};
use crate::tone::Tone;

#[derive(Debug, clap::Args)]
pub struct CreateArgs {
    /// Unique in its business
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    business: Business,
    /// The file on the host, as a whole path; it may hold what a path of a program may hold
    #[arg(long, value_name = "PATH")]
    path: String,
    #[command(flatten)]
    file: FileArgs,
    /// Its text, which becomes its first version and is active at once; - reads standard input
    #[arg(long, value_name = "FILE")]
    text: Option<String>,
}

#[derive(Debug, clap::Args)]
struct FileArgs {
    /// The user that the file belongs to [default: root]
    #[arg(long, value_name = "USER")]
    owner: Option<String>,
    /// The group that the file belongs to [default: root]
    #[arg(long, value_name = "GROUP")]
    group: Option<String>,
    /// Its permissions, octal [default: 0644]
    #[arg(long, value_name = "MODE")]
    mode: Option<String>,
    /// How its lines end [default: LF]
    #[arg(long, value_name = "ENDS", value_parser = PossibleValuesParser::new(["LF", "CRLF", "CR"]))]
    line_ends: Option<String>,
}

#[derive(Debug, clap::Args)]
pub struct EditArgs {
    #[command(flatten)]
    which: Which,
    /// A new name
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The file on the host, as a whole path
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    #[command(flatten)]
    file: FileArgs,
}

#[derive(Debug, clap::Args)]
pub struct DeleteArgs {
    #[command(flatten)]
    which: Which,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

pub(super) fn list(context: &Context, biz: u32) -> Result<(), Failure> {
    let out = &context.out;
    let answer = context.client()?.templates(biz).map_err(no_business)?;
    if out.is_json() {
        return out.json(&answer);
    }
    let table = table(&rows(&answer, "templates")?);
    match table.is_empty() {
        true => out.note("no templates: muster template create makes one"),
        false => out.table(&table)?,
    }
    Ok(())
}

fn table(templates: &[TemplateRow]) -> Table {
    let now = now();
    let mut table = Table::new([
        Column::number("ID"),
        Column::text("NAME"),
        Column::elastic("FILE"),
        Column::text("OWNER"),
        Column::text("MODE"),
        Column::text("ACTIVE"),
        Column::text("DRAFT"),
        Column::number("VERSIONS"),
        Column::elastic("BOUND TO"),
        Column::text("BY"),
        Column::number("AGE"),
    ]);
    for row in templates {
        let version = |id: Option<u32>| id.map_or("-".to_owned(), |id| id.to_string());
        let active = match row.active {
            Some(_) => Tone::Plain,
            None => Tone::Warn,
        };
        table.row([
            Cell::from(row.id.to_string()),
            row.template_name.as_str().into(),
            path_of(row).into(),
            format!("{}:{}", row.owner, row.group).into(),
            row.filemode.as_str().into(),
            Cell::toned(active, version(row.active)),
            version(row.draft).into(),
            count(row.versions).into(),
            bound_to(row).into(),
            row.updated_by.as_str().into(),
            age(row.updated_at, now).into(),
        ]);
    }
    table
}

fn path_of(row: &TemplateRow) -> String {
    format!("{}/{}", row.abs_path.trim_end_matches('/'), row.file_name)
}

fn bound_to(row: &TemplateRow) -> String {
    let list = |word: &str, ids: &[u32]| {
        let ids: Vec<String> = ids.iter().map(u32::to_string).collect();
        (!ids.is_empty()).then(|| format!("{word} {}", ids.join(",")))
    };
    let kinds = [
        list("processes", &row.bindings.processes),
        list("process templates", &row.bindings.process_templates),
    ];
    kinds.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

pub(super) fn create(context: &Context, args: &CreateArgs) -> Result<(), Failure> {
    let text = args.text.as_deref().map(read_text).transpose()?;
    let (abs_path, file_name) = split(&args.path)?;
    let or = |value: &Option<String>, default: &str| value.clone().unwrap_or(default.to_owned());
    let fields = TemplateFields {
        template_name: args.name.clone(),
        file_name,
        abs_path,
        owner: or(&args.file.owner, "root"),
        group: or(&args.file.group, "root"),
        filemode: or(&args.file.mode, "0644"),
        line_separator: or(&args.file.line_ends, "LF"),
    };
    let (client, biz) = (context.client()?, args.business.biz);
    let mut created = client.create_template(biz, &fields).map_err(no_business)?;
    let id = id_of(&created)?;
    if let Some(text) = text {
        first_version(&client, biz, id, &text).map_err(|failure| {
            // Whoever runs the command again would be told that the name is taken.
            failure.advise(format!(
                "template {id} is there, without a text: muster template draft {id} FILE --biz {biz}"
            ))
        })?;
        created = client.template(biz, id)?;
    }
    let name = clean(&args.name);
    context.out.did(&created, format!("template {id} {name}"))
}

fn first_version(client: &Client, biz: u32, id: u32, text: &str) -> Result<(), Failure> {
    let draft = client.save_draft(biz, id, "", text)?;
    client.activate_version(biz, id, id_of(&draft)?)?;
    Ok(())
}

pub(super) fn edit(context: &Context, args: &EditArgs) -> Result<(), Failure> {
    let client = context.client()?;
    let before = args.which.find(&client)?;
    let (abs_path, file_name) = match &args.path {
        Some(path) => split(path)?,
        None => (before.abs_path, before.file_name),
    };
    let file = &args.file;
    let fields = TemplateFields {
        template_name: args.name.clone().unwrap_or(before.template_name),
        file_name,
        abs_path,
        owner: file.owner.clone().unwrap_or(before.owner),
        group: file.group.clone().unwrap_or(before.group),
        filemode: file.mode.clone().unwrap_or(before.filemode),
        line_separator: file.line_ends.clone().unwrap_or(before.line_separator),
    };
    let changed = client.update_template(args.which.biz(), before.id, &fields)?;
    let name = clean(&fields.template_name);
    let text = format!("template {} {name} is changed", before.id);
    context.out.did(&changed, text)
}

pub(super) fn delete(context: &Context, args: &DeleteArgs) -> Result<(), Failure> {
    let client = context.client()?;
    let TemplateRow {
        id, template_name, ..
    } = args.which.find(&client)?;
    let name = clean(&template_name);
    if !args.yes {
        confirm(&format!("Template {name} goes with its versions. Go on?"))?;
    }
    client.delete_template(args.which.biz(), id)?;
    let document = json!({"id": id, "deleted": true});
    context
        .out
        .did(&document, format!("deleted template {name}"))
}

/// Folder and name of a file.
fn split(path: &str) -> Result<(String, String), Failure> {
    match path.rsplit_once('/') {
        Some((folder, name)) if path.starts_with('/') && !name.is_empty() => {
            let folder = match folder.is_empty() {
                true => "/",
                false => folder,
            };
            Ok((folder.to_owned(), name.to_owned()))
        }
        _ => Err(Failure::usage(format!("--path: {path:?} is no whole path"))
            .advise("write the file as it lies on the host: /etc/login/login.conf")),
    }
}

pub(super) fn id_of(answer: &Value) -> Result<u32, Failure> {
    let id = answer.get("id").and_then(Value::as_u64);
    let id = id.and_then(|id| u32::try_from(id).ok());
    id.ok_or_else(|| Failure::new(Kind::Failed, "the server's answer has no id"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_a_folder_and_a_name() {
        let split = |path: &str| split(path).ok();
        assert_eq!(split("/etc/a/b"), Some(("/etc/a".into(), "b".into())));
        assert_eq!(split("/b"), Some(("/".into(), "b".into())));
        for wrong in ["b", "a/b", "/etc/", ""] {
            assert_eq!(split(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_template_is_a_line() {
        let row: TemplateRow = serde_json::from_value(json!({
            "id": 3, "template_name": "login.conf", "file_name": "login.conf", "abs_path": "/etc/login/",
            "owner": "root", "group": "game", "filemode": "0640", "active": 5, "draft": null, "versions": 2,
            "bindings": {"processes": [7, 8], "process_templates": [1]}, "updated_by": "ann",
        }))
        .unwrap();
        let text = table(&[row]).render(None, false);
        assert!(
            text.contains(
                " 3  login.conf  /etc/login/login.conf  root:game  0640  5       -             2  "
            ),
            "{text}"
        );
        assert!(
            text.contains("processes 7,8; process templates 1"),
            "{text}"
        );
    }
}
