//! What a template would be, and what it became.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::super::{Context, rows};
use super::{Business, Which, read_text};
use crate::client::{Client, ConfigFileRow, FileRow, Preview, TemplateRow, ViewFilter, ViewRow};
use crate::failure::{Failure, Kind};
use crate::selection::SelectionArgs;
use crate::show::{age, clean, counted, now};
use crate::table::{Cell, Column, Table};
use crate::tone::Tone;

/// Of how many processes files are listed unless somebody asks for more.
const DEFAULT_PROCESSES: usize = 100;

#[derive(Debug, clap::Args)]
pub struct PreviewArgs {
    #[command(flatten)]
    which: Which,
    /// The text of this file in place of the template's own; - reads standard input
    #[arg(long, value_name = "FILE")]
    text: Option<String>,
    #[command(flatten)]
    selection: SelectionArgs,
    /// For which instance of the first process that is selected
    #[arg(long, value_name = "N", default_value_t = 1)]
    instance: u32,
}

#[derive(Debug, clap::Args)]
pub struct FilesArgs {
    #[command(flatten)]
    business: Business,
    #[command(flatten)]
    selection: SelectionArgs,
    /// Print the text of each
    #[arg(long, value_enum, value_name = "WHICH")]
    text: Option<TextOf>,
    /// Of at most so many processes; 0: all
    #[arg(long, value_name = "N", default_value_t = DEFAULT_PROCESSES)]
    limit: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum TextOf {
    Generated,
    Released,
}

impl TextOf {
    fn as_str(self) -> &'static str {
        match self {
            Self::Generated => "generated",
            Self::Released => "released",
        }
    }

    fn of(self, file: &ConfigFileRow) -> Option<&FileRow> {
        match self {
            Self::Generated => file.generated.as_ref(),
            Self::Released => file.released.as_ref(),
        }
    }
}

fn processes(
    client: &Client,
    biz: u32,
    selection: &SelectionArgs,
    limit: Option<usize>,
) -> Result<(Vec<ViewRow>, u64), Failure> {
    let expression = selection.expression()?;
    let filter = ViewFilter {
        business: biz,
        env: selection.env(),
        expr: expression.map(|one| one.to_string()),
        ..ViewFilter::default()
    };
    let page = client.view(&filter, 0, limit)?;
    Ok((page.rows, page.count))
}

pub(super) fn preview(context: &Context, args: &PreviewArgs) -> Result<(), Failure> {
    let text = args.text.as_deref().map(read_text).transpose()?;
    let (client, biz) = (context.client()?, args.which.biz());
    let (rows, _) = processes(&client, biz, &args.selection, Some(1))?;
    let process = rows.first().ok_or_else(|| {
        Failure::new(Kind::NotFound, "no process is selected")
            .advise(format!("muster ps --biz {biz} lists them"))
    })?;
    let template = args.which.find(&client)?;
    let preview = Preview {
        template: text.is_none().then_some(template.id),
        text,
        process: process.id,
        local_inst_id: args.instance,
    };
    let answer = client.preview(biz, &preview)?;
    let out = &context.out;
    if out.is_json() {
        return out.json(&json!({
            "process": process.id, "local_inst_id": args.instance, "content": answer["content"],
        }));
    }
    let of = clean(&process.expression);
    out.note(format!("for instance {} of {of}:", args.instance));
    out.text(answer["content"].as_str().unwrap_or_default())
}

pub(super) fn files(context: &Context, args: &FilesArgs) -> Result<(), Failure> {
    let (out, client, biz) = (&context.out, context.client()?, args.business.biz);
    let limit = (args.limit > 0).then_some(args.limit);
    let (processes, total) = processes(&client, biz, &args.selection, limit)?;
    let mut all: Vec<Value> = Vec::new();
    for process in &processes {
        let answer = client.config_files(biz, process.id)?;
        all.extend(rows::<Value>(&answer, "files")?);
    }
    if out.is_json() && args.text.is_none() {
        return out.json(&json!({"files": all}));
    }
    let files: Vec<ConfigFileRow> = rows(&json!({"files": all}), "files")?;
    if let Some(of) = args.text {
        return texts(context, &client, biz, &files, of);
    }
    let templates: Vec<TemplateRow> = rows(&client.templates(biz)?, "templates")?;
    let table = table(&files, &processes, &templates);
    match table.is_empty() {
        true => out.note("no files: muster job generate and muster job release make them"),
        false => out.table(&table)?,
    }
    if (processes.len() as u64) < total {
        let (shown, total) = (processes.len(), counted(total, "process"));
        out.note(format!("files of {shown} of {total}: --limit 0 shows all"));
    }
    Ok(())
}

fn texts(
    context: &Context,
    client: &Client,
    biz: u32,
    files: &[ConfigFileRow],
    of: TextOf,
) -> Result<(), Failure> {
    let out = &context.out;
    let mut shown = Vec::new();
    for file in files.iter().filter(|file| of.of(file).is_some()) {
        let text = client.config_file(biz, file, of.as_str())?;
        let place = (file.process, file.local_inst_id, file.template);
        if out.is_json() {
            shown.push(json!({
                "process": place.0, "local_inst_id": place.1, "template": place.2, "path": text.path,
                "md5": text.md5, "version": text.version, "content": text.content,
            }));
            continue;
        }
        let head = format!("process {} instance {}: {}", place.0, place.1, text.path);
        out.note(clean(&head));
        out.text(&text.content)?;
    }
    match out.is_json() {
        true => out.json(&json!({"files": shown})),
        false => Ok(()),
    }
}

fn table(files: &[ConfigFileRow], processes: &[ViewRow], templates: &[TemplateRow]) -> Table {
    let expressions: HashMap<u32, &str> = processes
        .iter()
        .map(|row| (row.id, row.expression.as_str()))
        .collect();
    let names: HashMap<u32, &str> = templates
        .iter()
        .map(|row| (row.id, row.template_name.as_str()))
        .collect();
    let now = now();
    let mut table = Table::new([
        Column::elastic("PROCESS"),
        Column::number("INST"),
        Column::text("TEMPLATE"),
        Column::elastic("FILE"),
        Column::text("GENERATED"),
        Column::text("RELEASED"),
    ]);
    for file in files {
        let path = file.released.as_ref().or(file.generated.as_ref());
        let state = |file: Option<&FileRow>| match file {
            Some(file) => format!("version {}, {} ago", file.version, age(file.at, now)),
            None => "-".to_owned(),
        };
        let md5 = |file: &Option<FileRow>| file.as_ref().map(|file| file.md5.clone());
        let is_out = md5(&file.generated) == md5(&file.released);
        table.row([
            Cell::from(expressions.get(&file.process).copied().unwrap_or_default()),
            file.local_inst_id.to_string().into(),
            names
                .get(&file.template)
                .copied()
                .unwrap_or_default()
                .into(),
            path.map(|file| file.path.as_str())
                .unwrap_or_default()
                .into(),
            state(file.generated.as_ref()).into(),
            Cell::toned(
                if is_out { Tone::Good } else { Tone::Warn },
                state(file.released.as_ref()),
            ),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_a_line() {
        let files: Vec<ConfigFileRow> = serde_json::from_value(json!([{
            "process": 7, "local_inst_id": 1, "template": 3,
            "generated": {"version": 5, "path": "/etc/a.conf", "md5": "x", "at": 0},
            "released": null,
        }]))
        .unwrap();
        let processes: Vec<ViewRow> =
            serde_json::from_value(json!([{"id": 7, "expression": "z.m.s.p.7"}])).unwrap();
        let templates: Vec<TemplateRow> =
            serde_json::from_value(json!([{"id": 3, "template_name": "a.conf"}])).unwrap();
        let text = table(&files, &processes, &templates).render(None, false);
        assert!(
            text.ends_with("z.m.s.p.7     1  a.conf    /etc/a.conf  version 5, - ago  -\n"),
            "{text}"
        );
    }
}
