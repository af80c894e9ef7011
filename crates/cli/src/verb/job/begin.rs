//! Begins a job.

use std::time::Duration;

use api::{
    ExpressionBody, FilterBody, JobBegun, JobBody, JobOptionsBody, OperationPlanView, ViewProcess,
};
use model::job::JobAction;
use model::selector::NamePattern;
use serde_json::json;

use super::super::{Context, no_business};
use super::follow;
use crate::args::value_name;
use crate::business::BusinessRef;
use crate::client::{Client, Path};
use crate::confirm::ConfirmArgs;
use crate::failure::{EXIT_CODES, Exit, Failure, Kind};
use crate::format::{clean, count, counted, parse_duration};
use crate::pace::PaceArgs;
use crate::processes::parse_selector;
use crate::selection::{SelectionArgs, pasteable};

/// The expression that selects everything.
const ANY: &str = "*";
/// How many processes are shown before the user is asked.
const MAX_SHOWN: usize = 20;

pub fn examples(verb: &str) -> String {
    let asks = match verb {
        "stop" | "restart" | "kill" | "release" => {
            "\nIt asks first where it would interrupt more than one process (release: with --then restart);\n\
             without a terminal it needs --yes then.\n"
        }
        _ => "",
    };
    let plain = match verb {
        "generate" | "release" | "diff" => String::new(),
        _ => format!(
            "  muster job {verb} 'web/*' -l tier=front --batch 10% --pause 30s   processes without a business\n"
        ),
    };
    let more = match verb {
        "release" => {
            "  muster job release --biz 2 --module login --template 3 --then reload\n  \
             muster job release --biz 2 --batch 1 --then restart\n"
        }
        "generate" | "diff" => &format!("  muster job {verb} --biz 2 --template 3,4\n"),
        _ => &format!(
            "  muster job {verb} --biz 2 --batch 10 --pause 5s --max-failures 2 --isolation host\n  \
             muster job {verb} --biz 2 --process login --ignore 828,829\n"
        ),
    };
    format!(
        "\
Examples:
  muster job {verb} --biz game                       all of the business, by its name or id
  muster job {verb} --biz 2 --set zone-1 --module login
  muster job {verb} --biz 2 --expr 'zone-[1-3].login.*.*.[0:2]'
{more}  muster job {verb} --biz 2 --no-wait                print its id; muster job watch ID follows it
  muster job {verb} --biz 2 --dry-run                only show what it would act on
{plain}{asks}
{EXIT_CODES}"
    )
}

#[derive(Debug, clap::Args)]
pub struct BeginArgs {
    /// Processes without a business, with or without wildcards: web/nginx 'app/*' '[web,db]/api-?'
    #[arg(value_name = "NAMESPACE/NAME", conflicts_with = "biz")]
    names: Vec<NamePattern>,
    /// Only processes with these labels: tier=front,zone!=b,canary,!old
    #[arg(short = 'l', long, visible_alias = "label", value_name = "LABELS", value_parser = parse_selector, conflicts_with = "biz")]
    selector: Vec<String>,
    /// Only processes on these hosts, separated by commas
    #[arg(
        long,
        value_name = "HOST",
        value_delimiter = ',',
        conflicts_with = "biz"
    )]
    host: Vec<String>,
    /// The business, by its id or name
    #[arg(short, long, visible_alias = "business", value_name = "BIZ")]
    biz: Option<BusinessRef>,
    #[command(flatten)]
    selection: SelectionArgs,
    #[command(flatten)]
    pace: PaceArgs,
    /// Only show what the job would act on
    #[arg(long, conflicts_with = "no_wait")]
    dry_run: bool,
    /// Print the job's id and do not wait for its end
    #[arg(long)]
    no_wait: bool,
    /// Wait no longer than this (90s, 5m, 1h) [default: until it is over]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, conflicts_with = "no_wait")]
    timeout: Option<Duration>,
    #[command(flatten)]
    confirm: ConfirmArgs,
}

#[derive(Debug, clap::Args)]
pub struct FilesArgs {
    #[command(flatten)]
    begin: BeginArgs,
    /// Only these templates, by their ids, separated by commas [default: all that are bound]
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    template: Vec<u32>,
}

#[derive(Debug, clap::Args)]
pub struct ReleaseArgs {
    #[command(flatten)]
    files: FilesArgs,
    /// What is done to a process once its files are written
    #[arg(long, value_enum)]
    then: Option<ThenArg>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ThenArg {
    Restart,
    Reload,
}

pub(super) fn process(
    context: &Context,
    action: JobAction,
    args: &BeginArgs,
) -> Result<Exit, Failure> {
    begin(context, action, args, args.pace.options())
}

pub(super) fn files(
    context: &Context,
    action: JobAction,
    args: &FilesArgs,
) -> Result<Exit, Failure> {
    of_business(&args.begin)?;
    begin(context, action, &args.begin, args.options())
}

/// Refuses config files of processes without a business: they have none.
fn of_business(args: &BeginArgs) -> Result<(), Failure> {
    match args.biz {
        Some(_) => Ok(()),
        None => Err(Failure::usage(
            "config files belong to a business: name it with --biz",
        )),
    }
}

pub(super) fn release(context: &Context, args: &ReleaseArgs) -> Result<Exit, Failure> {
    of_business(&args.files.begin)?;
    let mut options = args.files.options();
    if let Some(then) = args.then {
        options.after_release = value_name(then).as_str().into();
    }
    begin(context, JobAction::Release, &args.files.begin, options)
}

impl FilesArgs {
    fn options(&self) -> JobOptionsBody {
        JobOptionsBody {
            config_template_ids: Some(self.template.iter().copied().map(i64::from).collect()),
            ..self.begin.pace.options()
        }
    }
}

/// Whether the job stops processes that run.
fn interrupts(action: JobAction, options: &JobOptionsBody) -> bool {
    match action {
        JobAction::Stop | JobAction::Restart | JobAction::ForceStop | JobAction::Update => true,
        JobAction::Release => options.after_release.to_text() == value_name(ThenArg::Restart),
        JobAction::Start
        | JobAction::Reload
        | JobAction::SetAuto
        | JobAction::UnsetAuto
        | JobAction::Generate
        | JobAction::Diff
        | JobAction::UpgradeAgent => false,
    }
}

/// Shows how much the job would interrupt, and asks where that is more than one process.
fn ask(
    context: &Context,
    client: &Client,
    action: JobAction,
    args: &BeginArgs,
    biz: u32,
) -> Result<(), Failure> {
    if args.confirm.is_given() {
        return Ok(());
    }
    let path = args.selection.path(biz)?;
    let page = client
        .pages::<ViewProcess>(&path, "processes", None)
        .map_err(no_business)?;
    let n_instances: usize = page.rows.iter().map(|row| row.instances.len()).sum();
    if n_instances < 2 {
        return Ok(());
    }
    for row in page.rows.iter().take(MAX_SHOWN) {
        context
            .out
            .note(format!("  {}", pasteable(&row.expression)));
    }
    if page.rows.len() > MAX_SHOWN {
        let more = count(page.rows.len() - MAX_SHOWN);
        context.out.note(format!("  and {more} more"));
    }
    let every = match args.selection.expression()? {
        None => "every process of business",
        Some(_) => "processes of business",
    };
    args.confirm.ask(&format!(
        "{} {every} {biz}: {}",
        action.as_str(),
        counted(n_instances, "instance")
    ))
}

fn begin(
    context: &Context,
    action: JobAction,
    args: &BeginArgs,
    options: JobOptionsBody,
) -> Result<Exit, Failure> {
    let client = context.client()?;
    let Some(biz) = &args.biz else {
        return begin_plain(context, &client, action, args, options);
    };
    let expression = args.selection.expression()?;
    let biz = biz.id(&client)?;
    if interrupts(action, &options) && !args.dry_run {
        ask(context, &client, action, args, biz)?;
    }
    let expression = expression.map_or_else(|| ANY.to_owned(), |one| one.to_string());
    let body = JobBody {
        business: Some(biz.into()),
        env: args
            .selection
            .env()
            .as_deref()
            .map(Into::into)
            .unwrap_or_default(),
        expression: Some(ExpressionBody::Joined(expression.clone())),
        ..job_body(action, args, options)
    };
    send(context, &client, args, &body).map_err(|failure| refused(failure, &expression, biz))
}

fn job_body(action: JobAction, args: &BeginArgs, options: JobOptionsBody) -> JobBody {
    JobBody {
        action: action.as_str().into(),
        dry_run: args.dry_run.then_some(true),
        options: Some(options),
        ..JobBody::default()
    }
}

/// Begins a job on processes that were shown, and follows it.
pub(crate) fn begin_chosen(
    context: &Context,
    client: &Client,
    body: &JobBody,
    (no_wait, timeout): (bool, Option<Duration>),
) -> Result<Exit, Failure> {
    let out = &context.out;
    let created: JobBegun = client.post(&Path::new("jobs"), body)?;
    if no_wait {
        match out.is_document() {
            true => out.document(&created)?,
            false => out.line(created.id)?,
        }
        return Ok(Exit::Ok);
    }
    follow::to_its_end(client, out, created.id, timeout)
}

/// Begins the job and follows it, or shows what it would act on.
fn send(
    context: &Context,
    client: &Client,
    args: &BeginArgs,
    body: &JobBody,
) -> Result<Exit, Failure> {
    let (path, out) = (Path::new("jobs"), &context.out);
    if args.dry_run {
        let plan: OperationPlanView = client.post(&path, body)?;
        match out.is_document() {
            true => out.document(&plan)?,
            false => {
                for line in plan_lines(&body.action.to_text(), &plan) {
                    out.line(line)?;
                }
            }
        }
        return Ok(Exit::Ok);
    }
    begin_chosen(context, client, body, (args.no_wait, args.timeout))
}

/// A job over registered processes.
fn begin_plain(
    context: &Context,
    client: &Client,
    action: JobAction,
    args: &BeginArgs,
    mut options: JobOptionsBody,
) -> Result<Exit, Failure> {
    if args.names.is_empty() && args.selector.is_empty() && args.host.is_empty() {
        return Err(
            Failure::usage("which processes? name them, or a business with --biz").advise(format!(
                "muster job {0} 'web/*' -l tier=front, or muster job {0} --biz game",
                verb_of(action)
            )),
        );
    }
    options.config_template_ids = None;
    let mut filter = FilterBody::new();
    let mut put = |name: &str, values: Vec<String>| {
        if !values.is_empty() {
            filter.insert(name.to_owned(), json!(values));
        }
    };
    put(
        "process",
        args.names.iter().map(ToString::to_string).collect(),
    );
    put("label", args.selector.clone());
    put("host", args.host.clone());
    let mut body = JobBody {
        filter: Some(filter),
        ..job_body(action, args, options)
    };
    if interrupts(action, &JobOptionsBody::default()) && !args.dry_run {
        body.dry_run = Some(true);
        let plan: OperationPlanView = client.post(&Path::new("jobs"), &body)?;
        if plan.count > 1 {
            let mut lines = plan_lines(action.as_str(), &plan).into_iter();
            let what = lines.next().unwrap_or_default();
            lines.for_each(|line| context.out.note(line));
            args.confirm.ask(&what)?;
        }
        // What was shown is what is done.
        body.dry_run = None;
        body.expect_count = Some(plan.count as i64);
    }
    send(context, client, args, &body)
}

/// The subcommand that begins this action.
fn verb_of(action: JobAction) -> &'static str {
    match action {
        JobAction::ForceStop => "kill",
        JobAction::SetAuto => "manage",
        JobAction::UnsetAuto => "unmanage",
        other => other.as_str(),
    }
}

/// `restart 12 processes on 5 hosts`, then what is special about them.
fn plan_lines(action: &str, plan: &OperationPlanView) -> Vec<String> {
    let (processes, hosts) = (counted(plan.count, "process"), counted(plan.hosts, "host"));
    let mut lines = vec![format!("{action} {processes} on {hosts}")];
    let namespaces = plan.namespaces.iter();
    let namespaces = namespaces.map(|one| format!("{} {}", clean(&one.value), count(one.count)));
    let namespaces: Vec<String> = namespaces.collect();
    if namespaces.len() > 1 {
        lines.push(format!("  {}", namespaces.join(", ")));
    }
    for env in &plan.environments {
        lines.push(format!("  {} in {}", count(env.count), clean(&env.value)));
    }
    for blocked in &plan.blocked {
        let reason = clean(&blocked.reason).replace('_', " ");
        let hosts = clean(&blocked.hosts.join(", "));
        lines.push(format!("  {} {reason}: {hosts}", count(blocked.count)));
    }
    for command in &plan.commands {
        lines.push(format!(
            "  $ {}  ({})",
            clean(&command.command),
            count(command.count)
        ));
    }
    lines
}

/// Adds how to find out why nothing was selected.
fn refused(failure: Failure, expression: &str, biz: u32) -> Failure {
    match failure.what().contains("selects no process") {
        true => failure.advise_on(
            Kind::Usage,
            format!(
                "muster expression explain {} --biz {biz} shows what each part leaves",
                pasteable(expression)
            ),
        ),
        false => no_business(failure),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_shown_in_a_few_lines() {
        let plan: OperationPlanView = serde_json::from_value(json!({
            "count": 1200, "hosts": 600,
            "namespaces": [{"value": "db", "count": 200}, {"value": "web", "count": 1000}],
            "environments": [{"value": "formal", "count": 7}],
            "blocked": [{"reason": "agent_away", "count": 3, "hosts": ["0:10.0.0.1", "0:10.0.0.2"]}],
            "commands": [{"command": "./restart.sh", "count": 1000}],
        }))
        .unwrap();
        assert_eq!(
            plan_lines("restart", &plan),
            [
                "restart 1,200 processes on 600 hosts",
                "  db 200, web 1,000",
                "  7 in formal",
                "  3 agent away: 0:10.0.0.1, 0:10.0.0.2",
                "  $ ./restart.sh  (1,000)",
            ]
        );
    }
}
