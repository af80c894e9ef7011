//! `muster unregister`: forgets processes and leaves them running.

use api::{HostResult, HostsBody, Results};
use model::{Code, FullName};

use super::{Context, register};
use crate::client::{Client, process_path};
use crate::confirm::ConfirmArgs;
use crate::failure::{Exit, Failure};
use crate::format::{clean, counted};
use crate::out::Out;
use crate::processes::{Chosen, HOSTS_HELP, NAMES_HELP, ProcessArgs, Unregistered};

const EXAMPLES: &str = "\
Examples:
  muster unregister web/nginx --host 10.0.0.1
  muster unregister web/nginx --all
  muster unregister 'app/*' -l tier=front --yes         without asking, as a script must

Running processes go on running, unmanaged; muster rm stops them first. Asks first; without a
terminal it needs --yes.
Unregistering a process that is not registered succeeds.";

pub fn examples() -> String {
    format!("{EXAMPLES}\n\n{NAMES_HELP}\n{HOSTS_HELP}")
}

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub processes: ProcessArgs,
    #[command(flatten)]
    pub confirm: ConfirmArgs,
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let out = &context.out;
    let client = context.client()?;
    let chosen = args.processes.choose(&client, Unregistered::LeftOut)?;
    for name in not_chosen(args, &chosen) {
        out.note(format!("{name} was not registered"));
    }
    if chosen.is_empty() {
        if out.is_document() {
            out.document(&Results::default())?;
        }
        return Ok(Exit::Ok);
    }
    chosen.announce(out, "forget");
    args.confirm.ask(&format!("forget {}", chosen.words()))?;
    let sent = forget(&client, &chosen)?;
    report(out, sent)
}

/// Names on the command line that are registered nowhere.
fn not_chosen(args: &Args, chosen: &Chosen) -> Vec<FullName> {
    let named = args.processes.names.names.iter();
    let mut named: Vec<FullName> = named.filter_map(|name| name.literal()).collect();
    named.retain(|name| chosen.0.iter().all(|one| one.name != *name));
    named
}

/// Unregisters everything that is chosen.
pub(super) fn forget(
    client: &Client,
    chosen: &Chosen,
) -> Result<Vec<(FullName, Results<'static>)>, Failure> {
    let each = chosen.0.iter().map(|one| {
        let hosts = Some(one.hosts.clone());
        let results = client.delete_with(&process_path(&one.name), &HostsBody { hosts })?;
        Ok((one.name.clone(), results))
    });
    each.collect()
}

fn report(out: &Out, mut sent: Vec<(FullName, Results<'static>)>) -> Result<Exit, Failure> {
    if out.is_document() {
        return register::report_all(out, "forgot", &sent);
    }
    sent.retain_mut(|(name, results)| {
        let (absent, shown): (Vec<HostResult>, Vec<HostResult>) = results
            .results
            .drain(..)
            .partition(|result| result.code == Code::OK.0 && !result.changed);
        match (shown.is_empty(), few_or_many(&absent)) {
            (true, _) => out.note(format!("{name} was not registered")),
            (false, Some(absent)) => out.note(format!("{name} was not registered on {absent}")),
            (false, None) => {}
        }
        results.results = shown;
        !results.results.is_empty()
    });
    register::report_all(out, "forgot", &sent)
}

/// One host by its name, several by their number.
fn few_or_many(results: &[HostResult]) -> Option<String> {
    match results {
        [] => None,
        [one] => Some(clean(&one.host)),
        several => Some(counted(several.len(), "host")),
    }
}
