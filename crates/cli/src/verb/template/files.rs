//! Previews a template, and shows the files that were generated and released.

use std::collections::HashMap;

use api::{ConfigFileShown, FileShown, Preview, PreviewBody, TemplateShown, ViewProcess};
use serde_json::{Value, json};

use super::super::Context;
use super::{BusinessArg, TemplateArg, read_content, templates};
use crate::args::value_name;
use crate::client::{Client, Page, Path, business_path, read};
use crate::colors::Style;
use crate::failure::{Failure, Kind};
use crate::format::{age, clean, counted, now};
use crate::selection::{SelectionArgs, pasteable};
use crate::table::{Cell, TextTable};

/// Of how many processes files are listed without `--limit`.
const DEFAULT_PROCESSES: usize = 100;

#[derive(Debug, clap::Args)]
pub struct PreviewArgs {
    #[command(flatten)]
    template: TemplateArg,
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
    business: BusinessArg,
    #[command(flatten)]
    selection: SelectionArgs,
    /// Print the text of each
    #[arg(long, value_enum, value_name = "WHICH")]
    text: Option<TextOf>,
    /// Of at most this many processes; 0: all
    #[arg(long, value_name = "N", default_value_t = DEFAULT_PROCESSES)]
    limit: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum TextOf {
    Generated,
    Released,
}

impl TextOf {
    fn of(self, file: &ConfigFileShown) -> Option<&FileShown> {
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
) -> Result<Page<ViewProcess<'static>>, Failure> {
    client.pages(&selection.path(biz)?, "processes", limit)
}

pub(super) fn preview(context: &Context, args: &PreviewArgs) -> Result<(), Failure> {
    let text = args.text.as_deref().map(read_content).transpose()?;
    let client = context.client()?;
    let template = args.template.find(&client)?;
    let biz = template.biz;
    let page = processes(&client, biz, &args.selection, Some(1))?;
    let process = page.rows.first().ok_or_else(|| {
        Failure::new(Kind::NotFound, "no process is selected")
            .advise(format!("muster ps --biz {biz} lists them"))
    })?;
    let body = PreviewBody {
        template: text.is_none().then_some(template.shown.id),
        text,
        process: Some(process.id),
        local_inst_id: Some(args.instance),
    };
    let preview: Preview = client.post(&business_path(biz).join("preview"), &body)?;
    let out = &context.out;
    if out.is_document() {
        return out.document(&json!({
            "process": process.id, "local_inst_id": args.instance, "content": preview.content,
        }));
    }
    let of = pasteable(&process.expression);
    out.note(format!("for instance {} of {of}:", args.instance));
    out.text(&preview.content)
}

pub(super) fn files(context: &Context, args: &FilesArgs) -> Result<(), Failure> {
    let (out, client) = (&context.out, context.client()?);
    let biz = args.business.biz.id(&client)?;
    let limit = (args.limit > 0).then_some(args.limit);
    let processes = processes(&client, biz, &args.selection, limit)?;
    let mut all: Vec<Value> = Vec::new();
    for process in &processes.rows {
        let mut response: Value = client.get(&files_path(biz, process.id))?;
        all.extend(read::<Vec<Value>>(response["files"].take())?);
    }
    if out.is_document() && args.text.is_none() {
        return out.document(&json!({"files": all}));
    }
    let files: Vec<ConfigFileShown> = read(Value::Array(all))?;
    if let Some(of) = args.text {
        return texts(context, &client, biz, &files, of);
    }
    let table = table(&files, &processes.rows, &templates(&client, biz)?);
    let hint = "no files: muster job generate and muster job release make them";
    out.table_or(&table, hint)?;
    let shown = processes.rows.len();
    if (shown as u64) < processes.count {
        let total = counted(processes.count, "process");
        out.note(format!("files of {shown} of {total}: --limit 0 shows all"));
    }
    Ok(())
}

fn files_path(biz: u32, process: u32) -> Path {
    business_path(biz)
        .join("processes")
        .join(process)
        .join("config-files")
}

fn texts(
    context: &Context,
    client: &Client,
    biz: u32,
    files: &[ConfigFileShown],
    of: TextOf,
) -> Result<(), Failure> {
    let out = &context.out;
    let mut shown = Vec::new();
    for file in files.iter().filter(|file| of.of(file).is_some()) {
        let ConfigFileShown {
            process,
            local_inst_id,
            template,
            ..
        } = file;
        let path = files_path(biz, *process).join(local_inst_id).join(template);
        let text: FileShown = client.get(&path.query("of", value_name(of)))?;
        let content = text.content.as_deref().unwrap_or_default();
        if out.is_document() {
            shown.push(json!({
                "process": process, "local_inst_id": local_inst_id, "template": template, "path": text.path,
                "md5": text.md5, "version": text.version, "content": content,
            }));
            continue;
        }
        let head = format!("process {process} instance {local_inst_id}: {}", text.path);
        out.note(clean(&head));
        out.text(content)?;
    }
    match out.is_document() {
        true => out.document(&json!({"files": shown})),
        false => Ok(()),
    }
}

fn table(
    files: &[ConfigFileShown],
    processes: &[ViewProcess],
    templates: &[TemplateShown],
) -> TextTable {
    let expressions: HashMap<u32, String> = processes
        .iter()
        .map(|row| (row.id, pasteable(&row.expression)))
        .collect();
    let names: HashMap<u32, &str> = templates
        .iter()
        .map(|row| (row.id, row.template_name.as_str()))
        .collect();
    let now = now();
    let mut table = TextTable::new("PROCESS|>INST|TEMPLATE|~FILE|GENERATED|RELEASED");
    for file in files {
        let path = file.released.as_ref().or(file.generated.as_ref());
        let state = |file: Option<&FileShown>| match file {
            Some(file) => format!("version {}, {} ago", file.version, age(file.at, now)),
            None => "-".to_owned(),
        };
        let md5 = |file: &Option<FileShown>| file.as_ref().map(|file| file.md5.clone());
        let is_out = md5(&file.generated) == md5(&file.released);
        table.row([
            Cell::from(expressions.get(&file.process).cloned().unwrap_or_default()),
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
            Cell::styled(
                if is_out { Style::Good } else { Style::Warn },
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
        let files: Vec<ConfigFileShown> = serde_json::from_value(json!([{
            "process": 7, "local_inst_id": 1, "template": 3,
            "generated": {"version": 5, "path": "/etc/a.conf", "md5": "x", "at": 0},
            "released": null,
        }]))
        .unwrap();
        let processes: Vec<ViewProcess> =
            serde_json::from_value(json!([{"id": 7, "expression": "z.m.s.p.7"}])).unwrap();
        let templates: Vec<TemplateShown> =
            serde_json::from_value(json!([{"id": 3, "template_name": "a.conf"}])).unwrap();
        let text = table(&files, &processes, &templates).render(None, false);
        assert!(
            text.ends_with("z.m.s.p.7     1  a.conf    /etc/a.conf  version 5, - ago  -\n"),
            "{text}"
        );
    }
}
