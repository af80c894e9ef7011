//! `muster job revert`: takes an update back.

use api::{JobReverted, JobView};

use std::time::Duration;

use super::super::Context;
use super::follow::to_its_end;
use super::no_job;
use crate::client::job_path;
use crate::confirm::ConfirmArgs;
use crate::failure::{Exit, Failure};
use crate::format::counted;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// As `muster job list` shows it
    #[arg(value_name = "ID")]
    id: u32,
    #[command(flatten)]
    confirm: ConfirmArgs,
    /// Do not wait for its end
    #[arg(long)]
    no_wait: bool,
}

pub(super) fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let client = context.client()?;
    let out = &context.out;
    let job: JobView = client.job(args.id, Duration::ZERO, None).map_err(no_job)?;
    if job.counts.total > 1 {
        let hosts = counted(job.counts.total, "host");
        args.confirm
            .ask(&format!("take job {} back, on up to {hosts}", args.id))?;
    }
    let path = job_path(args.id).join("revert");
    let reverted: JobReverted = client.post(&path, &()).map_err(no_job)?;
    if args.no_wait {
        let text = match reverted.reverted_by {
            Some(by) => format!("job {} is taken back by job {by}", args.id),
            None => format!(
                "job {} is taken back when what is under way has ended",
                args.id
            ),
        };
        out.result(&reverted, text)?;
        return Ok(Exit::Ok);
    }
    match reverted.reverted_by {
        Some(by) => to_its_end(&client, out, by, None),
        None => to_its_end(&client, out, args.id, None),
    }
}
