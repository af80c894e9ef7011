//! Lists jobs.

use api::{JobList, JobView};
use clap::builder::PossibleValuesParser;
use model::job::JobAction;
use serde_json::{Map, Value};

use super::super::Context;
use super::follow::is_over;
use crate::args::value_name;
use crate::business::BusinessRef;
use crate::client::{Path, not_as_expected};
use crate::colors::Style;
use crate::failure::{Exit, Failure};
use crate::format::{age, count, now};
use crate::selection::pasteable;
use crate::table::{Cell, TextTable};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only of this business, by its id or name
    #[arg(short, long, visible_alias = "business", value_name = "BIZ")]
    biz: Option<BusinessRef>,
    /// Only with this action
    #[arg(long, value_name = "ACTION", value_parser = PossibleValuesParser::new(JobAction::ALL.map(JobAction::as_str)))]
    action: Option<String>,
    /// Only in this state
    #[arg(short, long, alias = "status", value_enum)]
    state: Option<StateArg>,
    /// Only those of this user
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    /// Only those begun as long ago as this or later (90s, 15m, 1h, 7d)
    #[arg(long, value_name = "DURATION")]
    since: Option<String>,
    /// Only those begun longer ago than this (90s, 15m, 1h, 7d)
    #[arg(long, value_name = "DURATION")]
    until: Option<String>,
    /// How many are listed
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: u16,
    /// List those that came before this one
    #[arg(long, value_name = "ID")]
    before: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum StateArg {
    Pending,
    Running,
    Succeeded,
    Failed,
}

pub(super) fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let action = args.action.as_deref().map(JobAction::parse).transpose()?;
    let client = context.client()?;
    let biz = args.biz.as_ref().map(|biz| biz.id(&client)).transpose()?;
    let path = Path::new("jobs")
        .maybe("business", biz)
        .maybe("action", action.map(JobAction::as_str))
        .maybe("status", args.state.map(value_name))
        .maybe("user", args.user.as_ref())
        .maybe("since", args.since.as_ref())
        .maybe("until", args.until.as_ref())
        .maybe("before", args.before)
        .query("limit", args.limit);
    let out = &context.out;
    let mut list: Value = client.get(&path)?;
    if out.is_document() {
        let jobs = list["jobs"].as_array_mut();
        jobs.into_iter().flatten().for_each(say_paused);
    }
    out.response(list, |list: JobList| {
        let jobs = list.jobs.read().map_err(not_as_expected)?;
        out.table_or(&table(&jobs), "no jobs")?;
        if let Some(next) = list.next {
            out.note(format!("there are more: --before {next}"));
        }
        Ok(())
    })?;
    Ok(Exit::Ok)
}

fn table(jobs: &[JobView]) -> TextTable {
    let now = now();
    let mut table = TextTable::new(">JOB|>BIZ|ACTION|STATUS|>TASKS|>OK|>FAILED|SELECTED|USER|>AGE");
    for job in jobs {
        let by = match job.user.is_empty() {
            true => &job.app,
            false => &job.user,
        };
        let biz = job.business.map(|id| id.to_string()).unwrap_or_default();
        table.row([
            Cell::from(job.id.to_string()),
            biz.into(),
            (&*job.action).into(),
            status(shown_status(job)),
            count(job.counts.total).into(),
            count(job.counts.succeeded + job.counts.ignored).into(),
            Cell::styled(
                Style::bad_if(job.counts.failed > 0),
                count(job.counts.failed),
            ),
            selected(&job.selection).into(),
            by.as_str().into(),
            age(job.created_at, now).into(),
        ]);
    }
    table
}

/// What a paused job is shown as. The API says that it is pending or running, and by whom it is paused.
const PAUSED: &str = "paused";

/// The status of a job for people.
pub(super) fn shown_status(job: &JobView) -> &str {
    match is_paused(&job.status, &job.paused_by) {
        true => PAUSED,
        false => &job.status,
    }
}

/// The same in a document, for `-o json`.
pub(super) fn say_paused(job: &mut Value) {
    let text = |key: &str| job[key].as_str().unwrap_or_default();
    if is_paused(text("status"), text("paused_by")) {
        job["status"] = PAUSED.into();
    }
}

fn is_paused(status: &str, paused_by: &str) -> bool {
    !paused_by.is_empty() && !is_over(status)
}

pub(super) fn status(status: &str) -> Cell {
    let style = match status {
        "succeeded" => Style::Good,
        "failed" => Style::Bad,
        "running" | PAUSED => Style::Warn,
        _ => Style::Dim,
    };
    Cell::styled(style, status)
}

/// The five parts, joined; or how many ids and names of each kind.
pub(super) fn selected(selection: &Value) -> String {
    if let Some(parts) = selection.get("expression_scope") {
        let expression = serde_json::from_value::<model::expression::Expression>(parts.clone());
        return match expression {
            Ok(any) if any == Default::default() => "all".to_owned(),
            Ok(expression) => pasteable(&expression.to_string()),
            Err(_) => parts.to_string(),
        };
    }
    if let Some(filter) = selection.get("filter").and_then(Value::as_object) {
        return filtered(filter, selection.get("except"));
    }
    if let Some(agents) = selection.get("agents").and_then(Value::as_object) {
        let mut given = agents.clone();
        given.retain(|_, value| !value.is_null());
        return filtered(&given, None);
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

/// `namespace=web state=running,backoff except 2`.
fn filtered(filter: &Map<String, Value>, except: Option<&Value>) -> String {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    let parts = filter.iter().map(|(name, value)| {
        let value = match value {
            Value::Array(values) => values.iter().map(text).collect::<Vec<_>>().join(","),
            value => text(value),
        };
        format!("{name}={value}")
    });
    let mut parts: Vec<String> = parts.collect();
    if parts.is_empty() {
        parts.push("all".to_owned());
    }
    if let Some(except) = except.and_then(Value::as_array) {
        parts.push(format!("except {}", count(except.len())));
    }
    parts.join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_job_is_a_line() {
        let job: JobView = serde_json::from_value(json!({
            "id": 17, "business": 2, "action": "start", "status": "failed", "user": "ann", "app": "muster",
            "selection": {"expression_scope": {"bk_set_name": "zone-1", "bk_set_env": "0"}},
            "counts": {"total": 1200, "ended": 1200, "succeeded": 1190, "failed": 3, "ignored": 7},
        }))
        .unwrap();
        let text = table(&[job]).render(None, false);
        let line = text.lines().nth(1).unwrap();
        assert!(
            line.starts_with(
                " 17    2  start   failed  1,200  1,197       3  'zone-1.*.*.*.*'  ann"
            ),
            "{text}"
        );
    }

    #[test]
    fn a_selection_fits_one_line() {
        let scope = json!({"scope": {"bk_set_ids": [5, 6], "bk_process_names": ["a"], "bk_module_ids": []}});
        assert_eq!(selected(&scope), "sets 5,6 names a");
        assert_eq!(selected(&json!({"scope": {}})), "all");
        let any = json!({"expression_scope": {"bk_set_name": "*", "bk_process_id": "*"}});
        assert_eq!(selected(&any), "all");
        let filter =
            json!({"filter": {"namespace": ["web", "db"], "managed": true}, "except": ["47"]});
        assert_eq!(selected(&filter), "managed=true namespace=web,db except 1");
        assert_eq!(selected(&json!({"filter": {}})), "all");
    }
}
