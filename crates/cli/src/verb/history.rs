//! `muster history`: the versions of a process, who asked for them, and how they differ.

use api::{ProcessVersionList, ProcessVersionView};
use model::{FullName, UnixMillis};
use serde_json::{Value, json};

use super::{Context, edit};
use crate::client::{Client, not_as_expected, process_path, read};
use crate::definition::{self, Exported};
use crate::failure::{Exit, Failure, Kind};
use crate::format::{clean, count, user_and_app};
use crate::table::TextTable;

pub const EXAMPLES: &str = "\
Examples:
  muster history web/nginx                       each version: when, who, how, hosts, what it changed
  muster history web/nginx --diff 7              what version 7 changed
  muster history web/nginx --diff 4 7            from version 4 to version 7
  muster history web/nginx -o json | jq '.versions[0].spec'
  muster rollback web/nginx --to 6               have version 6 again

A version is a definition that was asked for: by register, update, start --file, a roll, a rollback
or the revert of a roll. The last 50 of each process are kept, also when it is unregistered.
Instances of a business have none: their definitions come from the topology. HOSTS counts the hosts that
have the version now; of versions with the same definition the newest counts.";

/// How many changed fields a row names.
const MAX_NAMED: usize = 4;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The process: NAMESPACE/NAME
    #[arg(value_name = "NAMESPACE/NAME")]
    name: FullName,
    /// Show what a version changed, or the difference from one version to another
    #[arg(long, value_name = "N", num_args = 1..=2, value_parser = clap::value_parser!(u32).range(1..))]
    diff: Option<Vec<u32>>,
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let client = context.client()?;
    let response = versions(&client, &args.name)?;
    let out = &context.out;
    if let Some(numbers) = &args.diff {
        return diff(context, &args.name, response, numbers);
    }
    out.response(response, |list: ProcessVersionList| {
        let mut table = TextTable::new(">VERSION|AT|BY|FROM|>HOSTS|~CHANGED");
        for version in list.versions.read().map_err(not_as_expected)? {
            let by = match (&*version.user, &*version.app) {
                ("", "") => String::new(),
                (user, app) => user_and_app(user, app),
            };
            let at = match version.at {
                UnixMillis::NEVER => String::new(),
                at => at.to_rfc3339(),
            };
            table.row([
                version.number.to_string().into(),
                at.into(),
                by.into(),
                origin(&version).into(),
                count(version.hosts).into(),
                changed(&version).into(),
            ]);
        }
        out.table(&table)
    })?;
    Ok(Exit::Ok)
}

/// The versions of a process as the server answers them.
pub(super) fn versions(client: &Client, name: &FullName) -> Result<Value, Failure> {
    client.get(&process_path(name).join("versions"))
}

/// `roll, job 12`, `rollback to 6`
fn origin(version: &ProcessVersionView) -> String {
    let mut text = clean(&version.source);
    if let Some(number) = version.restores {
        text.push_str(&format!(" to {number}"));
    }
    if let Some(job) = version.job_id {
        text.push_str(&format!(", job {job}"));
    }
    text
}

fn changed(version: &ProcessVersionView) -> String {
    let named = version.changes.iter().take(MAX_NAMED);
    let named: Vec<String> = named.map(|change| clean(&change.field)).collect();
    match version.changes.len().saturating_sub(named.len()) {
        0 => named.join(", "),
        more => format!("{} and {} more", named.join(", "), count(more)),
    }
}

fn diff(
    context: &Context,
    name: &FullName,
    response: Value,
    numbers: &[u32],
) -> Result<Exit, Failure> {
    let list: ProcessVersionList = read(response)?;
    let versions: Vec<ProcessVersionView> = list.versions.read().map_err(not_as_expected)?;
    let find = |number: u32| {
        let mut found = versions.iter().filter(|version| version.number == number);
        found.next().ok_or_else(|| {
            let what = format!("{name} has no version {number}, or it is no longer kept");
            Failure::new(Kind::NotFound, what)
                .advise(format!("muster history {name} lists those that are"))
        })
    };
    let (before, after) = match *numbers {
        [before, after] => (Some(find(before)?), find(after)?),
        [number, ..] => {
            let after = find(number)?;
            let mut older = versions.iter().filter(|version| version.number < number);
            (older.next(), after)
        }
        [] => return Err(Failure::usage("--diff: give the number of a version")),
    };
    let text = |version: Option<&ProcessVersionView>| match version {
        None => Ok(String::new()),
        Some(version) => definition::to_text(&[Exported {
            name: name.clone(),
            hosts: Vec::new(),
            labels: version.labels.clone().into_owned(),
            spec: version.spec.clone().into_owned(),
        }]),
    };
    let (before_text, after_text) = (text(before)?, text(Some(after))?);
    let out = &context.out;
    if out.is_document() {
        out.document(&json!({
            "process": name,
            "from": before.map(|version| version.number),
            "to": after.number,
            "before": before_text,
            "after": after_text,
        }))?;
        return Ok(Exit::Ok);
    }
    match before_text == after_text {
        true => out.success("both have the same definition")?,
        false => edit::show(out, &before_text, &after_text)?,
    }
    Ok(Exit::Ok)
}
