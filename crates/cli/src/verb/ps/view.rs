//! The processes of a business, as its view shows them.

use model::topology::{BusinessId, namespace_of};
use serde_json::{Value, json};

use super::{Args, DEFAULT_ROWS, watch};
use crate::client::{Client, Page, ViewFilter, ViewRow};
use crate::failure::{Exit, Failure};
use crate::out::Out;
use crate::selection::SelectionArgs;
use crate::show::{count, counted, yes_no};
use crate::table::{Cell, Column, Table};
use crate::tone::Tone;

/// How many rows a page has unless somebody says it.
const PAGE_ROWS: usize = 100;

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Processes of a business")]
pub(super) struct ViewArgs {
    /// Show the processes of this business, by its id
    #[arg(short, long, visible_alias = "business", value_name = "ID",
        conflicts_with_all = ["namespace", "name", "state"])]
    pub(super) biz: Option<u32>,
    #[command(flatten)]
    selection: SelectionArgs,
    /// Only in one of these states, separated by commas
    #[arg(long, value_enum, value_delimiter = ',', requires = "biz")]
    status: Vec<StatusArg>,
    /// Only those with this in the host's address or in the name of its cloud area; all must be found
    #[arg(long, value_name = "TEXT", requires = "biz")]
    search: Vec<String>,
    /// Some of set, module, name, id, ip, separated by commas; - before one turns it round
    #[arg(
        long,
        value_name = "KEYS",
        requires = "biz",
        allow_hyphen_values = true
    )]
    order: Option<String>,
    /// Which page of --limit rows (100), from 1
    #[arg(long, value_name = "N", requires = "biz", value_parser = clap::value_parser!(u32).range(1..))]
    page: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum StatusArg {
    Running,
    Stopped,
    Unregistered,
}

impl StatusArg {
    fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Stopped => "stopped",
            Self::Unregistered => "unregistered",
        }
    }
}

/// Which rows of all that match.
#[derive(Debug, Clone, Copy)]
struct Rows {
    start: usize,
    limit: Option<usize>,
}

pub(super) fn run(out: &Out, client: &Client, args: &Args, biz: u32) -> Result<Exit, Failure> {
    let filter = filter(args, biz)?;
    let rows = rows(args, out.is_json());
    if out.is_json() {
        let page = client.view::<Value>(&filter, rows.start, rows.limit)?;
        out.json(&json!({"count": page.count, "start": rows.start, "processes": page.rows}))?;
        return Ok(Exit::Ok);
    }
    let read = || client.view(&filter, rows.start, rows.limit);
    let draw = |page: &Page<ViewRow>| show(out, page, rows, args.wide);
    match args.watch {
        true => {
            let namespace = namespace_of(BusinessId(biz)).to_string();
            watch(out, client, Some(&namespace), args.host, read, draw)
        }
        false => draw(&read()?).map(|()| Exit::Ok),
    }
}

fn filter(args: &Args, biz: u32) -> Result<ViewFilter, Failure> {
    let view = &args.view;
    let status: Vec<&str> = view.status.iter().map(|status| status.as_str()).collect();
    let expression = view.selection.expression()?;
    Ok(ViewFilter {
        business: biz,
        env: view.selection.env(),
        expr: expression.map(|expression| expression.to_string()),
        status: (!status.is_empty()).then(|| status.join(",")),
        managed: args.managed,
        host: args.host,
        search: view.search.clone(),
        order: view.order.clone(),
    })
}

fn rows(args: &Args, is_json: bool) -> Rows {
    let Some(page) = args.view.page else {
        return Rows {
            start: 0,
            limit: match (args.limit, is_json) {
                (Some(0), _) | (None, true) => None,
                (Some(limit), _) => Some(limit),
                (None, false) => Some(DEFAULT_ROWS),
            },
        };
    };
    let limit = args.limit.filter(|limit| *limit > 0).unwrap_or(PAGE_ROWS);
    Rows {
        start: (page as usize - 1).saturating_mul(limit),
        limit: Some(limit),
    }
}

fn show(out: &Out, page: &Page<ViewRow>, rows: Rows, wide: bool) -> Result<(), Failure> {
    if page.rows.is_empty() {
        out.note(match page.count {
            0 => "no processes; muster topology show lists the businesses".to_owned(),
            count => format!(
                "this page is empty: there are {}",
                counted(count, "process")
            ),
        });
        return Ok(());
    }
    out.table(&table(&page.rows, wide))?;
    let last = rows.start + page.rows.len();
    if (page.rows.len() as u64) < page.count {
        out.note(format!(
            "{} to {} of {} shown: --limit 0 shows all, --page another page",
            count(rows.start as u64 + 1),
            count(last as u64),
            counted(page.count, "process")
        ));
    }
    Ok(())
}

fn table(rows: &[ViewRow], wide: bool) -> Table {
    let mut columns = vec![
        Column::number("ID"),
        Column::elastic("EXPRESSION"),
        Column::text("HOST"),
        Column::text("STATUS"),
        Column::text("MANAGED"),
        Column::text("INSTANCES"),
    ];
    if wide {
        columns.extend([
            Column::text("ENV"),
            Column::number("PRIORITY"),
            Column::elastic("TEMPLATES"),
            Column::elastic("REGISTERED AS"),
            Column::elastic("MESSAGE"),
        ]);
    }
    let mut table = Table::new(columns);
    for row in rows {
        table.row(cells(row, wide));
    }
    table
}

fn cells(row: &ViewRow, wide: bool) -> Vec<Cell> {
    let mut cells = vec![
        Cell::from(row.id.to_string()),
        row.expression.as_str().into(),
        row.host.as_str().into(),
        status(row),
        yes_no(row.managed).into(),
        instances(row).into(),
    ];
    if wide {
        let templates: Vec<&str> = row
            .config_templates
            .iter()
            .map(|template| template.name.as_str())
            .collect();
        let processes: Vec<&str> = row.instances.iter().map(|one| &*one.process).collect();
        let message = row.instances.iter().find(|one| !one.message.is_empty());
        cells.extend([
            Cell::from(row.env.as_str()),
            row.priority
                .map(|priority| priority.to_string())
                .unwrap_or_default()
                .into(),
            templates.join(",").into(),
            processes.join(",").into(),
            message
                .map(|one| one.message.as_str())
                .unwrap_or_default()
                .into(),
        ]);
    }
    cells
}

fn status(row: &ViewRow) -> Cell {
    let tone = match row.status.as_str() {
        "running" => Tone::Good,
        "stopped" => Tone::Dim,
        _ => Tone::Warn,
    };
    match row.vanished {
        // Its source does not have it any more, and it still runs.
        true => Cell::toned(Tone::Warn, format!("{}, vanished", row.status)),
        false => Cell::toned(tone, row.status.as_str()),
    }
}

/// `2 of 3 run`, and that an agent is away.
fn instances(row: &ViewRow) -> String {
    let running = row.instances.iter().filter(|one| one.status == "running");
    let (running, total) = (running.count(), row.instances.len());
    let away = match row.instances.iter().any(|one| !one.connected) {
        true => ", agent away",
        false => "",
    };
    format!("{running} of {total} run{away}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> ViewRow {
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
            lines[1]
                .starts_with(" 7  zone-1.login.10\\.0\\.0\\.1_login.login.7  0:10.0.0.1  stopped"),
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
    fn what_vanished_and_whose_agent_is_away_is_told() {
        let mut row = row();
        row.vanished = true;
        row.instances[0].connected = false;
        let text = table(&[row], false).render(None, false);
        assert!(text.contains("stopped, vanished"), "{text}");
        assert!(text.contains("1 of 2 run, agent away"), "{text}");
    }
}
