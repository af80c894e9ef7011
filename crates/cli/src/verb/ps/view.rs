//! The processes of a business, as its view shows them.

use std::collections::BTreeMap;

use api::ViewProcess;
use model::topology::{BusinessId, namespace_of};
use serde_json::{Value, json};

use super::{Args, DEFAULT_ROWS, row_limit, state_style, summary, watch};
use crate::business::BusinessRef;
use crate::client::{Client, Page, Path};
use crate::colors::Style;
use crate::failure::{Exit, Failure};
use crate::format::{count, counted, yes_no};
use crate::out::Out;
use crate::selection::{SelectionArgs, pasteable};
use crate::table::{Cell, TextTable};

/// How many rows a page has without `--limit`.
const PAGE_ROWS: usize = 100;

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Processes of a business")]
pub(super) struct ViewArgs {
    /// Show the processes of this business, by its id or name
    #[arg(short, long, visible_alias = "business", value_name = "BIZ",
        conflicts_with_all = ["names", "selector", "namespace", "name"])]
    pub(super) biz: Option<BusinessRef>,
    #[command(flatten)]
    selection: SelectionArgs,
    /// Which page of --limit rows (100), from 1
    #[arg(long, value_name = "N", requires = "biz", value_parser = clap::value_parser!(u32).range(1..))]
    page: Option<u32>,
}

/// The rows to show, of all that match.
#[derive(Debug, Clone, Copy)]
struct Range {
    start: usize,
    limit: Option<usize>,
}

pub(super) fn run(out: &Out, client: &Client, args: &Args, biz: u32) -> Result<Exit, Failure> {
    let path = path(args, biz)?;
    let range = range(args, out.is_document());
    if out.is_document() {
        let page = client.pages_from::<Value>(&path, "processes", range.start, range.limit)?;
        out.document(&json!({"count": page.count, "start": range.start, "processes": page.rows}))?;
        return Ok(Exit::Ok);
    }
    let read = || client.pages_from(&path, "processes", range.start, range.limit);
    let wide = args.wide || out.is_wide();
    if args.watch {
        let namespace = namespace_of(BusinessId(biz)).to_string();
        return watch(out, client, Some(&namespace), args.host, &[], || {
            let page: Page<ViewProcess> = read()?;
            let statuses = page.rows.iter().map(|row| &*row.status);
            Ok((summary(page.count, statuses), table(&page.rows, wide)))
        });
    }
    show(out, &read()?, range, wide).map(|()| Exit::Ok)
}

fn path(args: &Args, biz: u32) -> Result<Path, Failure> {
    let view = &args.view;
    let mut path = view
        .selection
        .path(biz)?
        .list("state", &args.state)
        .maybe("restart_needed", args.pending.then_some(true))
        .maybe("managed", args.managed)
        .maybe("connected", args.connected)
        .maybe("ip", args.host.map(|host| host.ip))
        .maybe("cloud", args.host.map(|host| host.cloud))
        .maybe("order", args.order.as_ref());
    for term in &args.search {
        path = path.query("search", term);
    }
    Ok(path)
}

fn range(args: &Args, is_json: bool) -> Range {
    let Some(page) = args.view.page else {
        return Range {
            start: 0,
            limit: row_limit(args.limit, is_json, DEFAULT_ROWS),
        };
    };
    let limit = args.limit.filter(|limit| *limit > 0).unwrap_or(PAGE_ROWS);
    Range {
        start: (page as usize - 1).saturating_mul(limit),
        limit: Some(limit),
    }
}

fn show(out: &Out, page: &Page<ViewProcess>, range: Range, wide: bool) -> Result<(), Failure> {
    let all = counted(page.count, "process");
    if page.rows.is_empty() {
        out.note(match page.count {
            0 => "no processes; muster topology show lists the businesses".to_owned(),
            _ => format!("this page is empty: there are {all}"),
        });
        return Ok(());
    }
    out.table(&table(&page.rows, wide))?;
    if (page.rows.len() as u64) < page.count {
        let first = count(range.start + 1);
        let last = count(range.start + page.rows.len());
        out.note(format!(
            "{first} to {last} of {all} shown: --limit 0 shows all, --page another page"
        ));
    }
    Ok(())
}

fn table(rows: &[ViewProcess], wide: bool) -> TextTable {
    let mut table = TextTable::new(match wide {
        false => ">ID|EXPRESSION|HOST|STATUS|MANAGED|INSTANCES",
        true => {
            ">ID|EXPRESSION|HOST|STATUS|MANAGED|INSTANCES|ENV|>PRIORITY|~TEMPLATES|~REGISTERED AS|~MESSAGE"
        }
    });
    for row in rows {
        table.row(cells(row, wide));
    }
    table
}

fn cells(row: &ViewProcess, wide: bool) -> Vec<Cell> {
    let mut cells = vec![
        Cell::from(row.id.to_string()),
        pasteable(&row.expression).into(),
        row.host.to_string().into(),
        status(row),
        yes_no(row.managed).into(),
        instances(row).into(),
    ];
    if wide {
        let templates: Vec<&str> = row
            .config_templates
            .iter()
            .map(|template| &*template.name)
            .collect();
        let processes: Vec<&str> = row.instances.iter().map(|one| &*one.process).collect();
        let message = row.instances.iter().find(|one| !one.message.is_empty());
        cells.extend([
            Cell::from(&*row.env),
            row.priority
                .map(|priority| priority.to_string())
                .unwrap_or_default()
                .into(),
            templates.join(",").into(),
            processes.join(",").into(),
            message.map(|one| &*one.message).unwrap_or_default().into(),
        ]);
    }
    cells
}

fn status(row: &ViewProcess) -> Cell {
    match row.vanished {
        true => Cell::styled(Style::Warn, format!("{}, vanished", row.status)),
        false => Cell::styled(state_style(&row.status), &*row.status),
    }
}

/// `2 of 3 run, 1 failed`, and that an agent is away.
fn instances(row: &ViewProcess) -> String {
    let running = row.instances.iter().filter(|one| one.status == "running");
    let (running, total) = (running.count(), row.instances.len());
    let mut states: BTreeMap<&str, usize> = BTreeMap::new();
    for one in &row.instances {
        if !matches!(
            &*one.state,
            "" | "running" | "ready" | "stopped" | "unknown"
        ) {
            *states.entry(&one.state).or_default() += 1;
        }
    }
    let states: String = states
        .iter()
        .map(|(state, n)| format!(", {n} {state}"))
        .collect();
    let away = match row.instances.iter().any(|one| !one.connected) {
        true => ", agent away",
        false => "",
    };
    format!("{running} of {total} run{states}{away}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> ViewProcess<'static> {
        serde_json::from_value(json!({
            "id": 7, "expression": "zone-1.login.10\\.0\\.0\\.1_login.login.7", "host": "0:10.0.0.1",
            "status": "stopped", "managed": true, "vanished": false, "priority": 3, "env": "formal",
            "config_templates": [{"id": 1, "name": "login.conf", "file_name": "login.conf"}],
            "instances": [
                {"process": "biz2/login_7_1", "status": "running", "connected": true, "message": ""},
                {"process": "biz2/login_7_2", "status": "stopped", "connected": true, "message": "exited"},
            ],
        }))
        .unwrap()
    }

    #[test]
    fn a_process_is_a_line() {
        let text = table(&[row()], false).render(None, false);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("ID  EXPRESSION "), "{text}");
        assert!(
            lines[1].starts_with(
                " 7  'zone-1.login.10\\.0\\.0\\.1_login.login.7'  0:10.0.0.1  stopped"
            ),
            "{text}"
        );
        assert!(lines[1].ends_with("  yes      1 of 2 run"), "{text}");
        let wide = table(&[row()], true).render(None, false);
        assert!(wide.contains("login.conf"), "{wide}");
        assert!(
            wide.contains("biz2/login_7_1,biz2/login_7_2  exited"),
            "{wide}"
        );
    }

    #[test]
    fn instances_say_what_is_wrong_with_them() {
        let mut row = row();
        row.instances[0].state = "unhealthy".into();
        row.instances[1].state = "backoff".into();
        assert_eq!(instances(&row), "1 of 2 run, 1 backoff, 1 unhealthy");
    }

    #[test]
    fn vanished_processes_and_lost_agents_are_marked() {
        let mut row = row();
        row.vanished = true;
        row.instances[0].connected = false;
        let text = table(&[row], false).render(None, false);
        assert!(text.contains("stopped, vanished"), "{text}");
        assert!(text.contains("1 of 2 run, agent away"), "{text}");
    }
}
