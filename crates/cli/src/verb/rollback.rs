//! `muster rollback`: gives hosts the definition of an earlier version again.

use api::{HostRef, JobUpdateBody, Results, RollbackBody};
use model::FullName;

use super::update::Registered;
use super::{Context, register};
use crate::client::process_path;
use crate::failure::{Exit, Failure, Kind};
use crate::format::counted;
use crate::processes::is_host;
use crate::roll::RollArgs;
use crate::target::{HostArgs, parse_host, unknown};

pub const EXAMPLES: &str = "\
Examples:
  muster history web/nginx                       which versions there are
  muster rollback web/nginx --to 6               every host that has another one
  muster rollback web/nginx --to 6 --host 10.0.0.1
  muster rollback web/nginx --to 6 --roll --revert      batch by batch, with restarts

Changes the hosts that have another definition, and adds a version. Without --roll a running process is
not touched: what changes in how it is started counts from its next start. It asks first where it would
change more than one host; without a terminal it needs --yes then.";

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The process: NAMESPACE/NAME
    #[arg(value_name = "NAMESPACE/NAME")]
    name: FullName,
    /// The number of the version, as muster history shows it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    to: u32,
    #[command(flatten)]
    hosts: HostArgs,
    #[command(flatten)]
    roll: RollArgs,
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let rolls = args.roll.is_asked()?;
    let named = args.hosts.read()?;
    let client = context.client()?;
    let registered = Registered::read(&client, &args.name)?;
    if registered.rows.is_empty() {
        return Err(unknown(&args.name));
    }
    let strangers = |host: &&HostRef| !registered.rows.iter().any(|row| is_host(host, row));
    if let Some(host) = named.iter().find(strangers) {
        let host = crate::processes::host_text(host);
        let what = format!("{} is not registered on {host}", args.name);
        return Err(Failure::new(Kind::NotFound, what));
    }
    let has_it = |definition: u32| {
        let of = registered.definitions.iter();
        let mut of = of.filter(|view| view.id == definition);
        of.any(|view| view.spec_version == Some(args.to))
    };
    let wanted = registered.rows.iter().filter(|row| {
        let is_named = named.is_empty() || named.iter().any(|host| is_host(host, row));
        is_named && !has_it(row.definition)
    });
    let hosts: Vec<HostRef> = wanted
        .map(|row| parse_host(&row.host.to_string()))
        .collect::<Result<_, _>>()?;
    if hosts.is_empty() {
        let text = format!("{} has version {} already", args.name, args.to);
        context.out.result(&Results::default(), text)?;
        return Ok(Exit::Ok);
    }
    if rolls {
        let update = JobUpdateBody {
            version: Some(args.to.into()),
            ..JobUpdateBody::default()
        };
        let roll = &args.roll;
        return roll.begin(context, &client, &args.name, update, &hosts);
    }
    if hosts.len() > 1 {
        let n_hosts = counted(hosts.len(), "host");
        let (name, to) = (&args.name, args.to);
        args.roll
            .ask(&format!("give {name} version {to} on {n_hosts}"))?;
    }
    let advice = format!(
        "muster history {} lists the versions that are kept",
        args.name
    );
    let body = RollbackBody {
        to: Some(args.to.into()),
        hosts: Some(hosts),
    };
    let results = client
        .post(&process_path(&args.name).join("rollback"), &body)
        .map_err(|failure: Failure| failure.advise_on(Kind::NotFound, &advice))?;
    let exit = register::report(&context.out, "rolled back", &args.name, &results)?;
    if results.results.iter().any(|one| one.changed) {
        context.out.note(super::update::RUNS_KEEP_IT);
    }
    Ok(exit)
}
