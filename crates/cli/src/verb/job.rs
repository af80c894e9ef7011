//! `muster job`: one action on everything that is selected, in order of priority and in batches.

mod begin;
mod follow;
mod list;
mod report;
mod revert;

pub(crate) use begin::begin_chosen;
pub(super) use follow::to_its_end;

use api::JobCreated;
use model::job::JobAction;

use super::Context;
use crate::client::job_path;
use crate::failure::{Exit, Failure, Kind};

pub use begin::examples;
use begin::{BeginArgs, FilesArgs, ReleaseArgs};

pub const EXAMPLES: &str = "\
Examples:
  muster job start --biz 2 --set zone-1               start what is there, and follow it
  muster job restart --biz 2 --expr 'zone-*.login' --batch 10 --pause 5s --max-failures 2
  muster job restart 'web/*' -l tier=front --batch 10% --pause 30s     without a business
  muster job release --biz 2 --module login --then reload
  muster job list --biz 2
  muster job show 17 --failed --with-output           why tasks failed
  muster job show 17 --failures                       the same, alike reasons in one line
  muster job watch 17                                 follow it to its end
  muster job pause 17                                 nothing more begins until it is resumed
  muster job resume 17
  muster job retry 17                                 what failed, again
  muster job cancel 17                                nothing more begins
  muster job revert 17                                the hosts of an update get back what they had

A job that is followed ends with 0 when no task failed, and with 1 otherwise. diff ends with 1 also
where a file differs, as muster diff and muster topology diff do.";

#[derive(Debug, clap::Subcommand)]
pub enum Action {
    /// Start processes, low priorities first
    #[command(after_help = examples("start"))]
    Start(BeginArgs),
    /// Stop processes, high priorities first
    #[command(after_help = examples("stop"))]
    Stop(BeginArgs),
    /// Stop and start processes, high priorities first
    #[command(after_help = examples("restart"))]
    Restart(BeginArgs),
    /// Make processes read their configuration again
    #[command(after_help = examples("reload"))]
    Reload(BeginArgs),
    /// End processes by force
    #[command(alias = "force_stop", after_help = examples("kill"))]
    Kill(BeginArgs),
    /// Manage processes: restart them when they die
    #[command(alias = "set_auto", after_help = examples("manage"))]
    Manage(BeginArgs),
    /// Stop managing processes: leave them as they are
    #[command(alias = "unset_auto", after_help = examples("unmanage"))]
    Unmanage(BeginArgs),
    /// Make the config files of processes from their templates, and keep them on the server
    #[command(after_help = examples("generate"))]
    Generate(FilesArgs),
    /// Make the config files of processes, and write them on their hosts
    #[command(after_help = examples("release"))]
    Release(ReleaseArgs),
    /// Compare config files on hosts with what was released
    #[command(after_help = examples("diff"))]
    Diff(FilesArgs),

    /// List jobs, the newest first
    #[command(after_help = EXAMPLES)]
    List(list::Args),
    /// Show a job with its tasks
    #[command(after_help = EXAMPLES)]
    Show(report::ShowArgs),
    /// Follow a job to its end
    #[command(after_help = EXAMPLES)]
    Watch(follow::WatchArgs),
    /// Run the failed tasks again, and follow them
    #[command(after_help = EXAMPLES)]
    Retry(follow::RetryArgs),
    /// Start no more tasks of a job until it is resumed; running ones finish
    #[command(after_help = EXAMPLES)]
    Pause {
        /// As `muster job list` shows it
        #[arg(value_name = "ID")]
        id: u32,
    },
    /// Go on with a paused job
    #[command(after_help = EXAMPLES)]
    Resume {
        /// As `muster job list` shows it
        #[arg(value_name = "ID")]
        id: u32,
    },
    /// Start no more tasks of a job; running ones finish
    #[command(after_help = EXAMPLES)]
    Cancel {
        /// As `muster job list` shows it
        #[arg(value_name = "ID")]
        id: u32,
    },
    /// Take an update back: the hosts that it changed get what they had before
    #[command(after_help = EXAMPLES)]
    Revert(revert::Args),
}

pub fn run(context: &Context, action: &Action) -> Result<Exit, Failure> {
    match action {
        Action::Start(args) => begin::process(context, JobAction::Start, args),
        Action::Stop(args) => begin::process(context, JobAction::Stop, args),
        Action::Restart(args) => begin::process(context, JobAction::Restart, args),
        Action::Reload(args) => begin::process(context, JobAction::Reload, args),
        Action::Kill(args) => begin::process(context, JobAction::ForceStop, args),
        Action::Manage(args) => begin::process(context, JobAction::SetAuto, args),
        Action::Unmanage(args) => begin::process(context, JobAction::UnsetAuto, args),
        Action::Generate(args) => begin::files(context, JobAction::Generate, args),
        Action::Release(args) => begin::release(context, args),
        Action::Diff(args) => begin::files(context, JobAction::Diff, args),
        Action::List(args) => list::run(context, args),
        Action::Show(args) => report::run(context, args),
        Action::Watch(args) => follow::watch(context, args),
        Action::Retry(args) => follow::retry(context, args),
        Action::Pause { id } => {
            let text = format!("job {id} is paused: what is under way ends by itself");
            change(context, *id, "pause", text)
        }
        Action::Resume { id } => change(context, *id, "resume", format!("job {id} goes on")),
        Action::Cancel { id } => {
            let text = format!("job {id} is cancelled: what is under way ends by itself");
            change(context, *id, "cancel", text)
        }
        Action::Revert(args) => revert::run(context, args),
    }
}

fn change(context: &Context, id: u32, how: &str, text: String) -> Result<Exit, Failure> {
    let path = job_path(id).join(how);
    let changed: JobCreated = context.client()?.post(&path, &()).map_err(no_job)?;
    context.out.result(&changed, text)?;
    Ok(Exit::Ok)
}

/// The failure to find a job, with how to list them.
fn no_job(failure: Failure) -> Failure {
    failure.advise_on(Kind::NotFound, "muster job list shows what there is")
}
