//! Which processes a verb acts on: names with or without wildcards, labels and hosts, and how that is shown before it acts.
//!
//! What is shown is what is acted on: wildcards and labels are resolved to processes on hosts first. The request names these, or
//! sends the selection itself with their number, and the server refuses it when the number has changed.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use api::{HostRef, OperationPlanView, ProcessView};
use model::FullName;
use model::selector::{LabelSelector, NamePattern};
use serde_json::{Map, Value, json};

use crate::client::{Client, Path};
use crate::failure::{Failure, Kind};
use crate::format::{clean, count, counted};
use crate::out::Out;
use crate::table::{Cell, TextTable};
use crate::target::{TargetArgs, chosen_hosts, parse_host, several_hosts, unknown};

/// How many patterns one request holds.
const PATTERNS_A_REQUEST: usize = 50;
/// How many processes are shown before a verb acts, and how many hosts of each.
const MAX_SHOWN: usize = 20;
const MAX_HOSTS_SHOWN: usize = 4;

/// For help pages of verbs that take [`ProcessArgs`].
pub const NAMES_HELP: &str = "\
Names may have the wildcards * ? [a,b] [1-9] (quote them); \\ before a character takes it as it is.
Label tests: tier=front, tier!=front, 'tier in (a,b)', 'tier notin (a,b)', tier (it is there), !tier;
all that are given must hold. A label that a process does not have is its host's.";
/// For those of them that act on hosts.
pub const HOSTS_HELP: &str = "\
A plain name that is on several hosts needs --host or --all; wildcards and labels select every
host that matches.";

/// Names and labels of processes.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct NameArgs {
    /// The processes, with or without wildcards: web/nginx 'app/*' '[web,db]/api-?'
    #[arg(value_name = "NAMESPACE/NAME", required_unless_present = "selector")]
    pub names: Vec<NamePattern>,
    /// Only with these labels, or on hosts with them: tier=front,zone!=b,env in (a,b),!old
    #[arg(short = 'l', long, visible_alias = "label", value_name = "LABELS", value_parser = parse_selector)]
    pub selector: Vec<String>,
}

/// The labels as they are sent to the server, which tests them.
pub fn parse_selector(text: &str) -> Result<String, model::Invalid> {
    LabelSelector::parse(text).map(|_| text.to_owned())
}

impl NameArgs {
    /// The name, where it is a single one without wildcards and labels.
    pub fn only(&self) -> Option<FullName> {
        match (self.names.as_slice(), self.selector.is_empty()) {
            ([one], true) => one.literal(),
            _ => None,
        }
    }

    /// Every process that is selected, in the order of the server.
    pub fn find(&self, client: &Client) -> Result<Vec<ProcessView<'static>>, Failure> {
        self.find_fields(client, None)
    }

    /// The same with only these members of each row.
    fn find_fields(
        &self,
        client: &Client,
        fields: Option<&str>,
    ) -> Result<Vec<ProcessView<'static>>, Failure> {
        let mut rows = Vec::new();
        let mut seen = HashSet::new();
        let patterns: Vec<&[NamePattern]> = match self.names.is_empty() {
            true => vec![&[]],
            false => self.names.chunks(PATTERNS_A_REQUEST).collect(),
        };
        for patterns in patterns {
            let path = query(Path::new("processes"), patterns, &self.selector);
            let path = path.maybe("fields", fields);
            for row in client.pages::<ProcessView>(&path, "processes", None)?.rows {
                if seen.insert((full_name(&row)?, row.host.to_string())) {
                    rows.push(row);
                }
            }
        }
        Ok(rows)
    }

    /// The selected names, each once, in the order of the server; an error for a pattern that selects none.
    pub fn find_names(&self, client: &Client) -> Result<Vec<FullName>, Failure> {
        let rows = self.find(client)?;
        self.must_match(&rows)?;
        let mut names = Vec::new();
        for row in &rows {
            let name = full_name(row)?;
            if !names.contains(&name) {
                names.push(name);
            }
        }
        Ok(names)
    }

    /// Refuses a name or a pattern that selects nothing, because it is probably a typing error.
    fn must_match(&self, rows: &[ProcessView]) -> Result<(), Failure> {
        let names: BTreeSet<FullName> = rows.iter().map(full_name).collect::<Result<_, _>>()?;
        for pattern in &self.names {
            if !names.iter().any(|name| pattern.matches(name)) {
                return Err(match (pattern.literal(), self.selector.is_empty()) {
                    (Some(name), true) => unknown(&name),
                    _ => self.nothing(Some(pattern)),
                });
            }
        }
        match names.is_empty() {
            true => Err(self.nothing(None)),
            false => Ok(()),
        }
    }

    fn nothing(&self, pattern: Option<&NamePattern>) -> Failure {
        let pattern = pattern.map_or_else(String::new, |pattern| format!(" {pattern}"));
        let labels = match self.selector.is_empty() {
            true => String::new(),
            false => format!(" with the labels {}", self.selector.join(",")),
        };
        let what = format!("no process matches{pattern}{labels}");
        Failure::new(Kind::NotFound, what)
            .advise("nothing was done; muster ps --wide lists processes and labels")
    }
}

/// Adds names and labels to the path of a list.
pub fn query(path: Path, patterns: &[NamePattern], selector: &[String]) -> Path {
    let path = patterns
        .iter()
        .fold(path, |path, pattern| path.query("process", pattern));
    selector
        .iter()
        .fold(path, |path, tests| path.query("label", tests))
}

pub fn full_name(row: &ProcessView) -> Result<FullName, Failure> {
    Ok(FullName::parse_registered(&row.namespace, &row.name)?)
}

/// Processes and the hosts to act on.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct ProcessArgs {
    #[command(flatten)]
    pub names: NameArgs,
    #[command(flatten)]
    pub targets: TargetArgs,
}

/// How many patterns the filter of one request may have.
const MAX_PATTERNS: usize = 100;

impl ProcessArgs {
    /// The selection as a filter of the server; None where it is not one: hosts that are named by their agents, or plain names
    /// together with hosts, which are targets also where they are not registered.
    pub fn filter(&self) -> Result<Option<Map<String, Value>>, Failure> {
        let names = &self.names;
        let hosts = self.targets.hosts.read()?;
        let is_plain = |pattern: &NamePattern| pattern.literal().is_some();
        let has_plain = names.selector.is_empty() && names.names.iter().any(is_plain);
        let texts = hosts.iter().map(|host| match host {
            HostRef::Text(host) => Some(Value::from(host.as_str())),
            HostRef::Parts(_) => None,
        });
        let Some(texts) = texts.collect::<Option<Vec<Value>>>() else {
            return Ok(None);
        };
        if has_plain || names.names.len() > MAX_PATTERNS {
            return Ok(None);
        }
        let patterns = names.names.iter().map(|one| one.to_string().into());
        let labels = names.selector.iter().map(|one| one.as_str().into());
        let members = [
            ("process", patterns.collect::<Vec<Value>>()),
            ("label", labels.collect()),
            ("host", texts),
        ];
        let given = members.into_iter().filter(|(_, values)| !values.is_empty());
        let filter = given.map(|(name, values)| (name.to_owned(), values.into()));
        Ok(Some(filter.collect()))
    }
}

/// What to do about a plain name that is registered nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unregistered {
    /// It is an error: nothing is done about the others.
    Refused,
    /// It is left out.
    LeftOut,
}

impl ProcessArgs {
    /// The processes on their hosts. Asks the server, unless a plain name and its hosts are given.
    pub fn choose(&self, client: &Client, unregistered: Unregistered) -> Result<Chosen, Failure> {
        let hosts = self.targets.hosts.read()?;
        if let Some(name) = self.names.only()
            && !hosts.is_empty()
        {
            return Ok(Chosen(vec![ChosenProcess { name, hosts }]));
        }
        let mut rows = self
            .names
            .find_fields(client, Some("namespace,name,host"))?;
        if unregistered == Unregistered::Refused {
            self.names.must_match(&rows)?;
        }
        let is_plain = |name: &FullName| {
            let mut patterns = self.names.names.iter();
            self.names.selector.is_empty()
                && patterns.all(|pattern| !pattern.matches(name) || pattern.literal().is_some())
        };
        if !hosts.is_empty() {
            rows.retain(|row| hosts.iter().any(|host| is_host(host, row)));
        }
        let mut chosen: Vec<ChosenProcess> = Vec::new();
        let mut places: BTreeMap<FullName, usize> = BTreeMap::new();
        for row in &rows {
            let name = full_name(row)?;
            let index = *places.entry(name.clone()).or_insert_with(|| {
                chosen.push(ChosenProcess {
                    name,
                    hosts: Vec::new(),
                });
                chosen.len() - 1
            });
            let host = parse_host(&row.host.to_string())?;
            chosen[index].hosts.push(host);
        }
        if !hosts.is_empty() {
            // A plain name is asked for on each host that is named, also where it is not registered: the answer says so.
            for name in self.names.names.iter().filter_map(NamePattern::literal) {
                if self.names.selector.is_empty() {
                    chosen.retain(|one| one.name != name);
                    let hosts = hosts.clone();
                    chosen.push(ChosenProcess { name, hosts });
                }
            }
        } else if !self.targets.all {
            let several = chosen
                .iter()
                .find(|one| one.hosts.len() > 1 && is_plain(&one.name));
            if let Some(one) = several {
                return Err(several_hosts(&one.name, &one.host_texts()));
            }
        }
        match chosen.is_empty() && unregistered == Unregistered::Refused {
            true => Err(Failure::new(
                Kind::NotFound,
                format!("nothing that is selected is on {}", chosen_hosts(&hosts)),
            )),
            false => Ok(Chosen(chosen)),
        }
    }
}

pub fn is_host(host: &HostRef, row: &ProcessView) -> bool {
    match host {
        HostRef::Text(host) => *host == row.host.to_string(),
        HostRef::Parts(parts) => {
            let agent = parts.agent_id.to_text();
            row.agent_id.as_deref() == Some(&*agent)
        }
    }
}

/// A process, and the hosts to act on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenProcess {
    pub name: FullName,
    pub hosts: Vec<HostRef>,
}

impl ChosenProcess {
    fn host_texts(&self) -> Vec<String> {
        self.hosts.iter().map(host_text).collect()
    }
}

/// Everything that a verb acts on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Chosen(pub Vec<ChosenProcess>);

impl Chosen {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many processes on hosts.
    pub fn n_targets(&self) -> usize {
        self.0.iter().map(|one| one.hosts.len()).sum()
    }

    /// `web/nginx on 2 hosts`, `12 processes on 3 hosts`.
    pub fn words(&self) -> String {
        let hosts: HashSet<&HostRef> = self.0.iter().flat_map(|one| &one.hosts).collect();
        let hosts = match hosts.len() {
            1 => hosts.iter().map(|host| host_text(host)).collect(),
            several => counted(several, "host"),
        };
        let what = match self.0.as_slice() {
            [one] => clean(&one.name.to_string()),
            _ => counted(self.n_targets(), "process"),
        };
        format!("{what} on {hosts}")
    }

    /// Shows what `verb` is about to touch, where it is more than one process.
    pub fn announce(&self, out: &Out, verb: &str) {
        if self.n_targets() < 2 {
            return;
        }
        out.note(format!("{verb} {}:", self.words()));
        let width = self
            .0
            .iter()
            .take(MAX_SHOWN)
            .map(|one| one.name.to_string().len());
        let width = width.max().unwrap_or(0);
        for one in self.0.iter().take(MAX_SHOWN) {
            let hosts = one.host_texts();
            let shown = hosts[..hosts.len().min(MAX_HOSTS_SHOWN)].join(", ");
            let more = match hosts.len().saturating_sub(MAX_HOSTS_SHOWN) {
                0 => String::new(),
                more => format!(" and {} more", count(more)),
            };
            let name = clean(&one.name.to_string());
            out.note(format!("  {name:width$}  {}{more}", clean(&shown)));
        }
        if self.0.len() > MAX_SHOWN {
            let more = count(self.0.len() - MAX_SHOWN);
            out.note(format!("  and {more} more names: --dry-run lists all"));
        }
    }

    /// The processes on hosts as a filter of the server, for a dry run; None where hosts are named by their agents.
    pub fn filter(&self) -> Option<Map<String, Value>> {
        let names = self.0.iter();
        let names: BTreeSet<String> = names
            .map(|one| NamePattern::exactly(&one.name).to_string())
            .collect();
        let hosts = self.0.iter().flat_map(|one| &one.hosts);
        let hosts = hosts.map(|host| match host {
            HostRef::Text(host) => Some(host.clone()),
            HostRef::Parts(_) => None,
        });
        let hosts: BTreeSet<String> = hosts.collect::<Option<_>>()?;
        let filter = json!({"process": names, "host": hosts});
        match filter {
            Value::Object(filter) if self.0.len() == 1 => Some(filter),
            _ => None,
        }
    }

    /// These names on these hosts, or wherever they are registered if there are none, as a filter of the server; None where
    /// hosts are named by their agents.
    pub fn registered_filter(&self, hosts: &[HostRef]) -> Option<Map<String, Value>> {
        let names = self.0.iter();
        let names: Vec<Value> = names
            .map(|one| NamePattern::exactly(&one.name).to_string().into())
            .collect();
        let hosts = hosts.iter().map(|host| match host {
            HostRef::Text(host) => Some(Value::from(host.as_str())),
            HostRef::Parts(_) => None,
        });
        let hosts: Vec<Value> = hosts.collect::<Option<_>>()?;
        let mut filter = Map::from_iter([("process".to_owned(), names.into())]);
        if !hosts.is_empty() {
            filter.insert("host".to_owned(), hosts.into());
        }
        Some(filter)
    }

    /// The result of `--dry-run`: each process on each host, and what the server says about them.
    pub fn list(
        &self,
        out: &Out,
        verb: &str,
        plan: Option<&OperationPlanView>,
    ) -> Result<(), Failure> {
        let pairs = || {
            let each = |one: &'_ ChosenProcess| -> Vec<(String, String)> {
                let hosts = one.host_texts().into_iter();
                hosts.map(|host| (one.name.to_string(), host)).collect()
            };
            self.0.iter().flat_map(each)
        };
        if out.is_document() {
            let targets: Vec<Value> = pairs()
                .map(|(process, host)| json!({"process": process, "host": host}))
                .collect();
            let mut document = json!({"dry_run": true, "op": verb, "targets": targets});
            if let Some(plan) = plan {
                document["plan"] = json!(plan);
            }
            return out.document(&document);
        }
        let mut table = TextTable::new("PROCESS|HOST");
        for (process, host) in pairs() {
            table.row([Cell::from(process), host.into()]);
        }
        out.table(&table)?;
        out.note(format!("would {verb} {}", self.words()));
        for line in plan.map(plan_lines).unwrap_or_default() {
            out.note(line);
        }
        Ok(())
    }
}

/// What a dry run says beyond the list of processes.
fn plan_lines(plan: &OperationPlanView) -> Vec<String> {
    let mut lines = Vec::new();
    let environments = plan.environments.iter();
    let environments: Vec<String> = environments
        .map(|one| format!("{} {}", count(one.count), one.value))
        .collect();
    if !environments.is_empty() {
        lines.push(format!("  environments: {}", environments.join(", ")));
    }
    for group in &plan.blocked {
        let reason = match group.reason.as_str() {
            "role" => "you may not: your role",
            "agent_away" => "the agent is away",
            "no_command" => "there is no command for it",
            "not_running" => "not running",
            "already_running" => "already running",
            "already_stopped" => "already stopped",
            "already_managed" => "already managed",
            "already_unmanaged" => "already not managed",
            other => other,
        };
        let more = if group.count > group.hosts.len() as u64 {
            ", …"
        } else {
            ""
        };
        let hosts = clean(&group.hosts.join(", "));
        let n = count(group.count);
        lines.push(format!("  {n}: {} ({hosts}{more})", clean(reason)));
    }
    for one in &plan.commands {
        let times = counted(one.count, "process");
        lines.push(format!("  runs {} on {times}", clean(&one.command)));
    }
    lines
}

/// As it is written on the command line.
pub fn host_text(host: &HostRef) -> String {
    match host {
        HostRef::Text(host) => host.clone(),
        HostRef::Parts(parts) => format!("agent:{}", parts.agent_id.to_text()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(names: &[(&str, &[&str])]) -> Chosen {
        let each = names.iter().map(|(name, hosts)| ChosenProcess {
            name: name.parse().unwrap(),
            hosts: hosts.iter().map(|host| parse_host(host).unwrap()).collect(),
        });
        Chosen(each.collect())
    }

    #[test]
    fn a_choice_is_described_in_words() {
        let one = chosen(&[("web/nginx", &["10.0.0.1"])]);
        assert_eq!(one.words(), "web/nginx on 0:10.0.0.1");
        let two = chosen(&[("web/nginx", &["10.0.0.1", "10.0.0.2"])]);
        assert_eq!(two.words(), "web/nginx on 2 hosts");
        let many = chosen(&[
            ("web/nginx", &["10.0.0.1", "10.0.0.2"]),
            ("db/redis", &["10.0.0.1", "agent:x"]),
        ]);
        assert_eq!(many.words(), "4 processes on 3 hosts");
        assert_eq!(many.n_targets(), 4);
    }
}
