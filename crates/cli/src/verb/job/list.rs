//! The jobs of the last weeks.

use clap::builder::PossibleValuesParser;
use model::job::JobAction;
use serde_json::Value;

use super::super::{Context, rows};
use crate::client::{JobFilter, JobRow};
use crate::failure::{Exit, Failure};
use crate::show::{age, count, now};
use crate::table::{Cell, Column, Table};
use crate::tone::Tone;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only of this business
    #[arg(short, long, visible_alias = "business", value_name = "ID")]
    biz: Option<u32>,
    /// Only with this action
    #[arg(long, value_name = "ACTION", value_parser = PossibleValuesParser::new(JobAction::ALL.map(JobAction::as_str)))]
    action: Option<String>,
    /// Only in this state
    #[arg(long, value_enum)]
    status: Option<StatusArg>,
    /// Only those of this user
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    /// How many are listed
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: u16,
    /// List those that came before this one
    #[arg(long, value_name = "ID")]
    before: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum StatusArg {
    Pending,
    Running,
    Succeeded,
    Failed,
}

impl StatusArg {
    fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
        }
    }
}

pub(super) fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let action = args.action.as_deref().map(JobAction::parse).transpose()?;
    let filter = JobFilter {
        business: args.biz,
        action: action.map(JobAction::as_str),
        status: args.status.map(StatusArg::as_str),
        user: args.user.clone(),
        before: args.before,
        limit: args.limit,
    };
    let out = &context.out;
    let answer = context.client()?.jobs(&filter)?;
    if out.is_json() {
        out.json(&answer)?;
        return Ok(Exit::Ok);
    }
    let table = table(&rows(&answer, "jobs")?);
    match table.is_empty() {
        true => out.note("no jobs"),
        false => out.table(&table)?,
    }
    if let Some(next) = answer.get("next").and_then(Value::as_u64) {
        out.note(format!("there are more: --before {next}"));
    }
    Ok(Exit::Ok)
}

fn table(jobs: &[JobRow]) -> Table {
    let now = now();
    let mut table = Table::new([
        Column::number("JOB"),
        Column::number("BIZ"),
        Column::text("ACTION"),
        Column::text("STATUS"),
        Column::number("TASKS"),
        Column::number("OK"),
        Column::number("FAILED"),
        Column::elastic("SELECTED"),
        Column::text("USER"),
        Column::number("AGE"),
    ]);
    for job in jobs {
        let failed = match job.counts.failed {
            0 => Tone::Plain,
            _ => Tone::Bad,
        };
        let by = match job.user.is_empty() {
            true => &job.app,
            false => &job.user,
        };
        table.row([
            Cell::from(job.id.to_string()),
            job.business.to_string().into(),
            job.action.as_str().into(),
            status(&job.status),
            count(job.counts.total).into(),
            count(job.counts.succeeded + job.counts.ignored).into(),
            Cell::toned(failed, count(job.counts.failed)),
            selected(&job.selection).into(),
            by.as_str().into(),
            age(job.created_at, now).into(),
        ]);
    }
    table
}

pub(super) fn status(status: &str) -> Cell {
    let tone = match status {
        "succeeded" => Tone::Good,
        "failed" => Tone::Bad,
        "running" => Tone::Warn,
        _ => Tone::Dim,
    };
    Cell::toned(tone, status)
}

/// The five parts, joined; or how many ids and names of each kind.
pub(super) fn selected(selection: &Value) -> String {
    if let Some(parts) = selection.get("expression_scope") {
        let expression = serde_json::from_value::<model::expression::Expression>(parts.clone());
        return match expression {
            Ok(any) if any == Default::default() => "all".to_owned(),
            Ok(expression) => expression.to_string(),
            Err(_) => parts.to_string(),
        };
    }
    let kinds = [
        ("sets", "bk_set_ids"),
        ("modules", "bk_module_ids"),
        ("services", "bk_service_ids"),
        ("names", "bk_process_names"),
        ("processes", "bk_process_ids"),
    ];
    let scope = selection.get("scope").unwrap_or(&Value::Null);
    let kinds = kinds.iter().filter_map(|(word, field)| {
        let list = scope.get(field)?.as_array()?;
        let items: Vec<String> = list
            .iter()
            .map(|item| {
                item.as_str()
                    .map_or_else(|| item.to_string(), str::to_owned)
            })
            .collect();
        (!items.is_empty()).then(|| format!("{word} {}", items.join(",")))
    });
    match kinds.collect::<Vec<_>>().join(" ") {
        all if all.is_empty() => "all".to_owned(),
        kinds => kinds,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_job_is_a_line() {
        let job: JobRow = serde_json::from_value(json!({
            "id": 17, "business": 2, "action": "start", "status": "failed", "user": "ann", "app": "muster",
            "selection": {"expression_scope": {"bk_set_name": "zone-1", "bk_set_env": "0"}},
            "counts": {"total": 1200, "ended": 1200, "succeeded": 1190, "failed": 3, "ignored": 7},
        }))
        .unwrap();
        let text = table(&[job]).render(None, false);
        let line = text.lines().nth(1).unwrap();
        assert!(
            line.starts_with(" 17    2  start   failed  1,200  1,197       3  zone-1.*.*.*.*  ann"),
            "{text}"
        );
    }

    #[test]
    fn a_selection_is_told_in_one_line() {
        let scope = json!({"scope": {"bk_set_ids": [5, 6], "bk_process_names": ["a"], "bk_module_ids": []}});
        assert_eq!(selected(&scope), "sets 5,6 names a");
        assert_eq!(selected(&json!({"scope": {}})), "all");
        let any = json!({"expression_scope": {"bk_set_name": "*", "bk_process_id": "*"}});
        assert_eq!(selected(&any), "all");
    }
}
