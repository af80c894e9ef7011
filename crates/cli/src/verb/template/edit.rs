//! Lists, creates, changes and deletes templates.

use api::{TemplateBody, TemplateList, TemplateShown};
use clap::builder::PossibleValuesParser;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::super::{Context, no_business};
use super::versions::{activate_version, save_draft};
use super::{BusinessArg, TemplateArg, read_content, templates_path};
use crate::business::BusinessRef;
use crate::client::{Client, Path};
use crate::colors::Style;
use crate::confirm::ConfirmArgs;
use crate::failure::{Failure, Kind};
use crate::format::{age, clean, count, now};
use crate::table::{Cell, TextTable};

#[derive(Debug, clap::Args)]
pub struct CreateArgs {
    /// Unique in its business
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    business: BusinessArg,
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
    template: TemplateArg,
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
    template: TemplateArg,
    #[command(flatten)]
    confirm: ConfirmArgs,
}

pub(super) fn list(context: &Context, biz: &BusinessRef) -> Result<(), Failure> {
    let out = &context.out;
    let client = context.client()?;
    let response = client.get(&templates_path(biz.id(&client)?));
    out.response(response.map_err(no_business)?, |list: TemplateList| {
        let hint = "no templates: muster template create makes one";
        out.table_or(&table(&list.templates), hint)
    })
}

fn table(templates: &[TemplateShown]) -> TextTable {
    let now = now();
    let mut table =
        TextTable::new(">ID|NAME|~FILE|OWNER|MODE|ACTIVE|DRAFT|>VERSIONS|~BOUND TO|BY|>AGE");
    for row in templates {
        let version = |id: Option<u32>| id.map_or("-".to_owned(), |id| id.to_string());
        let active = match row.active {
            Some(_) => Style::Plain,
            None => Style::Warn,
        };
        table.row([
            Cell::from(row.id.to_string()),
            row.template_name.as_str().into(),
            path_of(row).into(),
            format!("{}:{}", row.owner, row.group).into(),
            row.filemode.as_str().into(),
            Cell::styled(active, version(row.active)),
            version(row.draft).into(),
            count(row.versions).into(),
            bound_to(row).into(),
            row.updated_by.as_str().into(),
            age(row.updated_at, now).into(),
        ]);
    }
    table
}

fn path_of(row: &TemplateShown) -> String {
    format!("{}/{}", row.abs_path.trim_end_matches('/'), row.file_name)
}

fn bound_to(row: &TemplateShown) -> String {
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
    let text = args.text.as_deref().map(read_content).transpose()?;
    let (abs_path, file_name) = split(&args.path)?;
    let body = body(
        &args.file,
        TemplateShown {
            template_name: args.name.clone(),
            file_name,
            abs_path,
            owner: "root".to_owned(),
            group: "root".to_owned(),
            filemode: "0644".to_owned(),
            line_separator: "LF".into(),
            ..TemplateShown::default()
        },
    );
    let client = context.client()?;
    let biz = args.business.biz.id(&client)?;
    let path = templates_path(biz);
    let mut created: Value = client.post(&path, &body).map_err(no_business)?;
    let id = id_of(&created)?;
    if let Some(text) = text {
        let path = path.join(id);
        first_version(&client, &path, &text).map_err(|failure| {
            // The same command again would fail because the name is taken.
            failure.advise(format!(
                "template {id} is there, without a text: muster template draft {id} FILE --biz {biz}"
            ))
        })?;
        created = client.get(&path)?;
    }
    let name = clean(&args.name);
    context
        .out
        .result(&created, format!("template {id} {name}"))
}

/// The fields of a template, overwritten by the flags.
fn body(file: &FileArgs, template: TemplateShown) -> TemplateBody {
    let mode = file.mode.as_ref().unwrap_or(&template.filemode);
    let line_ends = file.line_ends.clone();
    TemplateBody {
        filemode: mode.as_str().into(),
        template_name: template.template_name,
        file_name: template.file_name,
        abs_path: template.abs_path,
        owner: file.owner.clone().or(Some(template.owner)),
        group: file.group.clone().or(Some(template.group)),
        line_separator: line_ends.or(Some(template.line_separator.into_owned())),
    }
}

pub(crate) fn first_version(client: &Client, template: &Path, text: &str) -> Result<(), Failure> {
    let draft = save_draft(client, template, "", text)?;
    activate_version(client, template, id_of(&draft)?)?;
    Ok(())
}

pub(super) fn edit(context: &Context, args: &EditArgs) -> Result<(), Failure> {
    let client = context.client()?;
    let found = args.template.find(&client)?;
    let path_of_it = found.path();
    let mut template = found.shown;
    if let Some(path) = &args.path {
        (template.abs_path, template.file_name) = split(path)?;
    }
    if let Some(name) = &args.name {
        template.template_name.clone_from(name);
    }
    let id = template.id;
    let body = body(&args.file, template);
    let changed: Value = client.put(&path_of_it, &body)?;
    let name = clean(&body.template_name);
    let text = format!("template {id} {name} is changed");
    context.out.result(&changed, text)
}

pub(super) fn delete(context: &Context, args: &DeleteArgs) -> Result<(), Failure> {
    let client = context.client()?;
    let found = args.template.find(&client)?;
    let (id, name) = (found.shown.id, found.name());
    args.confirm
        .ask(&format!("delete template {name} with its versions"))?;
    client.delete::<IgnoredAny>(&found.path())?;
    let document = json!({"id": id, "deleted": true});
    let text = format!("deleted template {name}");
    context.out.result(&document, text)
}

/// Folder and name of a file.
fn split(path: &str) -> Result<(String, String), Failure> {
    split_path(path).ok_or_else(|| {
        Failure::usage(format!("--path: {path:?} is not an absolute path"))
            .advise("write the file as it lies on the host: /etc/login/login.conf")
    })
}

/// None where it is no absolute path of a file.
pub(crate) fn split_path(path: &str) -> Option<(String, String)> {
    match path.rsplit_once('/') {
        Some((folder, name)) if path.starts_with('/') && !name.is_empty() => {
            let folder = match folder.is_empty() {
                true => "/",
                false => folder,
            };
            Some((folder.to_owned(), name.to_owned()))
        }
        _ => None,
    }
}

pub(crate) fn id_of(answer: &Value) -> Result<u32, Failure> {
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
        let row: TemplateShown = serde_json::from_value(json!({
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
