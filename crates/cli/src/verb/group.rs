//! `muster group`: process groups, the pools of cpu and memory that a namespace's processes share on a host.

use std::collections::BTreeSet;
use std::str::FromStr;

use api::{GroupList, GroupsBody, HostGroups, HostRef, ProcessView, Results};
use model::Namespace;
use model::group::{self, ProcessGroup, RawPool, RawProcessGroup};

use super::{Context, register};
use crate::client::{Client, Path};
use crate::confirm::ConfirmArgs;
use crate::failure::{Exit, Failure, Kind};
use crate::format::{clean, counted};
use crate::table::{Cell, TextTable};
use crate::target::{self, HostArgs};

pub const EXAMPLES: &str = "\
Examples:
  muster group list web                              on every host that has processes of web
  muster group list web --host 10.0.0.1
  muster group set web --host 10.0.0.1 --group front:cpu=50,mem=40 --group batch:mem=20
  muster group set web --all --group web:mem=60,mem-weight=1
  muster group set web --all --none                  no group any more; asks first, or needs --yes

A group has a name and limits in percent of the whole machine. A process belongs to the group that
its label process_group names (muster register … --label process_group=front); without that label it
belongs to every group of its namespace. While a group is over a limit, the agent kills its member
that uses most; with cpu-weight=1 or mem-weight=1 the one that uses most of its own limit.";

/// How many hosts one request asks for: their names are part of its path.
const HOSTS_A_REQUEST: usize = 100;

#[derive(Debug, clap::Subcommand)]
pub enum Action {
    /// List the groups of a namespace
    #[command(after_help = EXAMPLES)]
    List(ListArgs),
    /// Replace all groups of a namespace on hosts
    #[command(after_help = EXAMPLES)]
    Set(SetArgs),
}

#[derive(Debug, clap::Args)]
pub struct ListArgs {
    #[arg(value_name = "NAMESPACE", value_parser = Namespace::parse)]
    namespace: Namespace,
    #[command(flatten)]
    hosts: HostArgs,
}

#[derive(Debug, clap::Args)]
pub struct SetArgs {
    #[arg(value_name = "NAMESPACE", value_parser = Namespace::parse)]
    namespace: Namespace,
    #[command(flatten)]
    hosts: HostArgs,
    /// Every host that has processes of the namespace
    #[arg(long, conflicts_with = "hosts")]
    all: bool,
    /// A group: NAME:cpu=PERCENT,mem=PERCENT[,cpu-weight=1][,mem-weight=1]; repeat it for several
    #[arg(long = "group", value_name = "GROUP", required_unless_present = "none")]
    groups: Vec<GroupText>,
    /// Remove all groups
    #[arg(long, conflicts_with = "groups")]
    none: bool,
    #[command(flatten)]
    confirm: ConfirmArgs,
}

pub fn run(context: &Context, action: &Action) -> Result<Exit, Failure> {
    match action {
        Action::List(args) => list(context, args),
        Action::Set(args) => set(context, args),
    }
}

fn list(context: &Context, args: &ListArgs) -> Result<Exit, Failure> {
    let client = context.client()?;
    let named = args.hosts.read()?;
    let hosts = match named.is_empty() {
        true => hosts_of(&client, &args.namespace)?,
        false => named
            .iter()
            .map(|host| match host {
                HostRef::Text(host) => Ok(host.clone()),
                HostRef::Parts(_) => Err(Failure::usage(
                    "--host: name the host by its address here, not by its agent",
                )),
            })
            .collect::<Result<_, _>>()?,
    };
    let mut list = GroupList::default();
    for hosts in hosts.chunks(HOSTS_A_REQUEST) {
        let path = groups_path(&args.namespace).list("host", hosts);
        let part: GroupList<'_> = client.get(&path)?;
        list.groups.extend(part.groups);
    }
    if context.out.is_document() {
        context.out.document(&list)?;
        return Ok(Exit::Ok);
    }
    let remark = format!(
        "{} has no groups there: muster group set makes them",
        args.namespace
    );
    context.out.table_or(&table(&list.groups), &remark)?;
    Ok(Exit::Ok)
}

fn table(hosts: &[HostGroups<'_>]) -> TextTable {
    let mut table = TextTable::new("HOST|GROUP|>CPU LIMIT|>MEM LIMIT|KILLS FOR CPU|KILLS FOR MEM");
    for host in hosts {
        for ProcessGroup { id, resource } in host.process_group.iter() {
            table.row([
                Cell::from(clean(&host.host)),
                clean(id).into(),
                limit(resource.cpu_pool_limit),
                limit(resource.mem_pool_limit),
                weight(resource.cpu_pool_limit, resource.cpu_pool_weight),
                weight(resource.mem_pool_limit, resource.mem_pool_weight),
            ]);
        }
    }
    table
}

fn limit(percent: f64) -> Cell {
    match percent == 0.0 {
        true => "none".into(),
        false => format!("{percent}%").into(),
    }
}

fn weight(percent: f64, weight: u8) -> Cell {
    match (percent == 0.0, weight) {
        (true, _) => "".into(),
        (false, 0) => "most used".into(),
        (false, _) => "most of its own limit".into(),
    }
}

fn set(context: &Context, args: &SetArgs) -> Result<Exit, Failure> {
    let groups: Vec<Option<RawProcessGroup>> = args
        .groups
        .iter()
        .map(|group| Some(group.0.clone()))
        .collect();
    // Check everything before the first request.
    group::complete(groups.clone())?;
    let named = args.hosts.read()?;
    let client = context.client()?;
    let hosts = match (named.is_empty(), args.all) {
        (false, _) => named,
        (true, all) => choose(&client, &args.namespace, all)?,
    };
    if args.none {
        let hosts = counted(hosts.len(), "host");
        let what = format!("remove all groups of {} on {hosts}", args.namespace);
        args.confirm.ask(&what)?;
    }
    let body = GroupsBody {
        hosts: Some(hosts),
        process_group: Some(groups),
    };
    let results: Results<'_> = client.put(&groups_path(&args.namespace), &body)?;
    report(context, args, &results)
}

/// All hosts of the namespace, or its only one.
fn choose(client: &Client, namespace: &Namespace, all: bool) -> Result<Vec<HostRef>, Failure> {
    let hosts = hosts_of(client, namespace)?;
    match (hosts.as_slice(), all) {
        ([], _) => Err(Failure::new(
            Kind::NotFound,
            format!("no host has processes of {namespace}"),
        )
        .advise("name the hosts: --host IP[,IP…]")),
        ([_], false) | (_, true) => hosts.iter().map(|host| target::parse_host(host)).collect(),
        (several, false) => Err(Failure::usage(format!(
            "{namespace} has processes on {}",
            counted(several.len(), "host")
        ))
        .advise("choose some with --host, or take --all")),
    }
}

fn hosts_of(client: &Client, namespace: &Namespace) -> Result<Vec<String>, Failure> {
    let path = Path::new("processes").query("namespace", namespace);
    let page = client.pages::<ProcessView<'_>>(&path, "processes", None)?;
    let hosts: BTreeSet<String> = page.rows.iter().map(|row| row.host.to_string()).collect();
    Ok(hosts.into_iter().collect())
}

fn groups_path(namespace: &Namespace) -> Path {
    Path::new("groups").join(namespace)
}

fn report(context: &Context, args: &SetArgs, results: &Results<'_>) -> Result<Exit, Failure> {
    let out = &context.out;
    let failed = register::failed(results);
    let exit = Exit::some_failed(!failed.is_empty());
    if out.is_document() {
        out.document(results)?;
        return Ok(exit);
    }
    register::show_failures(out, &failed)?;
    let n_done = results.results.len() - failed.len();
    let (groups, hosts) = (counted(args.groups.len(), "group"), counted(n_done, "host"));
    if n_done > 0 {
        out.success(format!("{} has {groups} on {hosts}", args.namespace))?;
    }
    Ok(exit)
}

/// `NAME:cpu=50,mem=40,mem-weight=1`
#[derive(Debug, Clone)]
struct GroupText(RawProcessGroup);

impl FromStr for GroupText {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (id, limits) = text
            .rsplit_once(':')
            .filter(|(id, _)| !id.is_empty())
            .ok_or("write NAME:cpu=PERCENT,mem=PERCENT")?;
        let mut pool = RawPool::default();
        for limit in limits.split(',').map(str::trim) {
            let (key, value) = limit.split_once('=').unwrap_or((limit, ""));
            let percent = || match value.trim_end_matches('%').parse::<f64>() {
                Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(Some(percent)),
                _ => Err(format!(
                    "{key} must be a percentage from 0 to 100, not {value:?}"
                )),
            };
            let weight = || match value {
                "0" => Ok(Some(0)),
                "1" => Ok(Some(1)),
                _ => Err(format!("{key} must be 0 or 1, not {value:?}")),
            };
            match key {
                "cpu" => pool.cpu_pool_limit = percent()?,
                "mem" => pool.mem_pool_limit = percent()?,
                "cpu-weight" => pool.cpu_pool_weight = weight()?,
                "mem-weight" => pool.mem_pool_weight = weight()?,
                _ => {
                    return Err(format!(
                        "{key:?} is none of cpu, mem, cpu-weight, mem-weight"
                    ));
                }
            }
        }
        if pool.cpu_pool_limit.is_none() && pool.mem_pool_limit.is_none() {
            return Err("a group needs a limit: cpu=PERCENT, mem=PERCENT or both".to_owned());
        }
        Ok(Self(RawProcessGroup {
            id: Some(id.into()),
            resource: Some(pool),
        }))
    }
}
