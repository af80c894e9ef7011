//! Begins a job.

use std::time::Duration;

use api::{ExpressionBody, JobBody, JobCreated, JobOptionsBody, ViewProcess};
use model::job::JobAction;

use super::super::{Context, no_business};
use super::follow;
use crate::args::value_name;
use crate::business::BusinessRef;
use crate::client::{Client, Path};
use crate::confirm::ConfirmArgs;
use crate::failure::{EXIT_CODES, Exit, Failure, Kind};
use crate::format::{count, counted, parse_duration};
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
{asks}
{EXIT_CODES}"
    )
}

#[derive(Debug, clap::Args)]
pub struct BeginArgs {
    /// The business, by its id or name
    #[arg(short, long, visible_alias = "business", value_name = "BIZ")]
    biz: BusinessRef,
    #[command(flatten)]
    selection: SelectionArgs,
    #[command(flatten)]
    pace: PaceArgs,
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
#[command(next_help_heading = "Pace and failures")]
struct PaceArgs {
    /// At most this many at a time [default: all of one priority]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    batch: Option<u32>,
    /// Continue after up to this many failures
    #[arg(long, value_name = "N", default_value_t = 0)]
    max_failures: u32,
    /// Wait this long between two batches (5s, 2m)
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pause: Option<Duration>,
    /// Where a failure stops later tasks [default: business]
    #[arg(long, value_enum)]
    isolation: Option<IsolationArg>,
    /// Result codes that do not count as failures, separated by commas
    #[arg(long, value_name = "CODE", value_delimiter = ',')]
    ignore: Vec<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum IsolationArg {
    Business,
    Set,
    Module,
    Host,
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
    begin(context, action, &args.begin, args.options())
}

pub(super) fn release(context: &Context, args: &ReleaseArgs) -> Result<Exit, Failure> {
    let mut options = args.files.options();
    if let Some(then) = args.then {
        options.after_release = value_name(then).as_str().into();
    }
    begin(context, JobAction::Release, &args.files.begin, options)
}

impl PaceArgs {
    fn options(&self) -> JobOptionsBody {
        let pause = self.pause.unwrap_or_default().as_secs();
        let isolation = self.isolation.unwrap_or(IsolationArg::Business);
        JobOptionsBody {
            isolation: value_name(isolation).as_str().into(),
            batch_size: self.batch.map(i64::from),
            max_failures: Some(self.max_failures.into()),
            ignore_error_codes: Some(self.ignore.clone()),
            pause_secs: Some(u32::try_from(pause).unwrap_or(u32::MAX).into()),
            config_template_ids: Some(Vec::new()),
            ..JobOptionsBody::default()
        }
    }
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
        JobAction::Stop | JobAction::Restart | JobAction::ForceStop => true,
        JobAction::Release => options.after_release.to_text() == value_name(ThenArg::Restart),
        JobAction::Start
        | JobAction::Reload
        | JobAction::SetAuto
        | JobAction::UnsetAuto
        | JobAction::Generate
        | JobAction::Diff => false,
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
    let expression = args.selection.expression()?;
    let client = context.client()?;
    let biz = args.biz.id(&client)?;
    if interrupts(action, &options) {
        ask(context, &client, action, args, biz)?;
    }
    let expression = expression.map_or_else(|| ANY.to_owned(), |one| one.to_string());
    let body = JobBody {
        business: Some(biz.into()),
        action: action.as_str().into(),
        env: args
            .selection
            .env()
            .as_deref()
            .map(Into::into)
            .unwrap_or_default(),
        scope: None,
        expression: Some(ExpressionBody::Joined(expression.clone())),
        options: Some(options),
    };
    let created: JobCreated = client
        .post(&Path::new("jobs"), &body)
        .map_err(|failure| refused(failure, &expression, biz))?;
    let out = &context.out;
    if args.no_wait {
        match out.is_document() {
            true => out.document(&created)?,
            false => out.line(created.id)?,
        }
        return Ok(Exit::Ok);
    }
    follow::to_its_end(&client, out, created.id, args.timeout)
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
