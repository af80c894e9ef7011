//! `muster status`: one process with its specs and hosts.

mod probes;

use std::collections::BTreeMap;

use api::{DefinitionView, ProcessDetail, ProcessView};
use model::spec::restart::{
    DEFAULT_DELAY_MAX, DEFAULT_FACTOR, DEFAULT_JITTER, DEFAULT_RESET, GiveUp,
};
use model::spec::runtime::Runtime;
use model::spec::schedule::{Missed, Overlap};
use model::spec::{AutoType, Dependency, ProbeKind, Spec};
use model::{FullName, Host};
use serde_json::{Value, json};

use super::Context;
use super::ps;
use crate::client::{Client, processes_named};
use crate::colors::Style;
use crate::failure::{Exit, Failure, Kind};
use crate::format::{bytes, clean, count, counted, moment, now, pairs, yes_no};
use crate::out::Out;
use crate::processes::{NAMES_HELP, NameArgs};
use crate::state::{last_exit_text, live_pid, state_style, state_text};
use crate::table::FieldList;
use crate::target::{not_registered, unknown};
use crate::version_counts::{self, VersionCount};

const EXAMPLES: &str = "\
Examples:
  muster status web/nginx
  muster status web/nginx --host 10.0.0.1
  muster status 'app/*' -l tier=front                  one after the other
  muster status web/nginx -o json | jq '.definitions[0].spec'

Where hosts have different specs, each is shown with its hosts.
";

pub fn examples() -> String {
    format!("{EXAMPLES}\n{NAMES_HELP}")
}

/// How many hosts are listed.
const MAX_ROWS: usize = 1000;
/// How many hosts of a spec are named, where specs differ.
const MAX_NAMED: usize = 20;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    names: NameArgs,
    /// Only on this host: IP or CLOUD:IP
    #[arg(short = 'H', long, value_name = "HOST")]
    host: Option<Host>,
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let client = context.client()?;
    let out = &context.out;
    if let Some(name) = args.names.only() {
        match out.is_document() {
            true => out.document(&document(&client, &name, args.host)?)?,
            false => show(&client, out, &name, args.host)?,
        }
        return Ok(Exit::Ok);
    }
    let names = args.names.find_names(&client)?;
    if out.is_document() {
        let each = names.iter().map(|name| document(&client, name, args.host));
        let each = each.collect::<Result<Vec<Value>, _>>()?;
        out.document(&json!({ "processes": each }))?;
        return Ok(Exit::Ok);
    }
    for (index, name) in names.iter().enumerate() {
        if index > 0 {
            out.line("")?;
        }
        show(&client, out, name, args.host)?;
    }
    Ok(Exit::Ok)
}

/// Everything about one process, for programs.
fn document(client: &Client, name: &FullName, host: Option<Host>) -> Result<Value, Failure> {
    let mut document: Value = client
        .process(name)
        .map_err(|failure| not_registered(failure, name))?;
    let path = processes_named(name).maybe("host", host);
    let page = client.pages::<Value>(&path, "processes", None)?;
    must_exist(name, host, page.rows.is_empty())?;
    document["count"] = json!(page.count);
    document["processes"] = Value::Array(page.rows);
    Ok(document)
}

fn show(client: &Client, out: &Out, name: &FullName, host: Option<Host>) -> Result<(), Failure> {
    let detail: ProcessDetail = client
        .process(name)
        .map_err(|failure| not_registered(failure, name))?;
    let path = processes_named(name).maybe("host", host);
    let page = client.pages::<ProcessView>(&path, "processes", Some(MAX_ROWS))?;
    must_exist(name, host, page.rows.is_empty())?;
    let mut definitions = detail.definitions;
    if host.is_some() {
        definitions.retain(|view| page.rows.iter().any(|row| row.definition == view.id));
    }
    match page.rows.as_slice() {
        [only] => one(out, only)?,
        rows => {
            summary(out, name, rows, page.count)?;
            if let Some(line) = versions(&definitions) {
                out.line(line)?;
            }
            out.table(&ps::table(rows, false))?;
            ps::note_pending(out, rows);
        }
    }
    for (index, definition) in definitions.iter().enumerate() {
        let title = title(definition, index + 1, definitions.len(), &page.rows);
        show_definition(out, definition, &title)?;
    }
    Ok(())
}

/// `38 of 40 hosts have version 7, 2 have version 6`, while they do not agree.
fn versions(definitions: &[DefinitionView]) -> Option<String> {
    let is_mixed = definitions.len() > 1;
    let is_known = definitions.iter().any(|view| view.spec_version.is_some());
    let counts = definitions.iter().map(|view| VersionCount {
        hosts: view.hosts,
        number: view.spec_version,
        note: "",
    });
    (is_mixed && is_known).then(|| version_counts::sentence(counts))
}

fn must_exist(name: &FullName, host: Option<Host>, is_empty: bool) -> Result<(), Failure> {
    match (is_empty, host) {
        (false, _) => Ok(()),
        (true, None) => Err(unknown(name)),
        (true, Some(host)) => Err(Failure::new(
            Kind::NotFound,
            format!("{name} is not registered on {host}"),
        )
        .advise(format!("muster status {name} shows where it is"))),
    }
}

/// Where definitions differ, which hosts have this one.
fn title(definition: &DefinitionView, number: usize, total: usize, rows: &[ProcessView]) -> String {
    let version = match definition.spec_version {
        Some(number) => format!(", version {number}"),
        None => String::new(),
    };
    if total == 1 {
        return format!("spec{version}");
    }
    let hosts = rows.iter().filter(|row| row.definition == definition.id);
    let hosts: Vec<String> = hosts
        .take(MAX_NAMED)
        .map(|row| row.host.to_string())
        .collect();
    let more = match (definition.hosts as usize).saturating_sub(hosts.len()) {
        0 => String::new(),
        more => format!(" and {} more", count(more)),
    };
    let n_hosts = counted(definition.hosts, "host");
    format!(
        "spec {number} of {total}{version}, on {n_hosts}: {}{more}",
        clean(&hosts.join(", "))
    )
}

fn one(out: &Out, row: &ProcessView) -> Result<(), Failure> {
    let now = now();
    let title = format!("{}/{}", row.namespace, row.name);
    out.line(out.paint(Style::Bold, &clean(&title)))?;
    let mut fields = FieldList::default();
    fields.put("host", &row.host.to_string());
    let state = state_text(row, now);
    fields.put("state", &out.paint(state_style(&row.state), &state));
    if row.restart_needed {
        let pending = "yes: it runs with an older spec; muster restart applies the new one";
        fields.put("restart needed", pending);
    }
    fields.put("message", &clean(&row.message));
    fields.put("managed", yes_no(row.managed));
    if let Some(pid) = live_pid(row) {
        fields.put("pid", &pid.to_string());
        fields.put("started", &moment(row.started_at, now));
        let usage = format!(
            "{:.1}% cpu, {:.1}% mem, {} descriptors, {} logs, {}/s network",
            row.cpu,
            row.mem,
            count(row.fd),
            bytes(row.disk),
            bytes(row.net)
        );
        fields.put("usage", &usage);
    }
    let probed = row.probes.as_ref();
    for (name, result) in [
        ("health", row.health.as_ref()),
        (
            "ready probe",
            probed.and_then(|probed| probed.ready.as_ref()),
        ),
        ("live probe", probed.and_then(|probed| probed.live.as_ref())),
    ] {
        if let Some(result) = result {
            fields.put(name, &probes::result_text(result, now));
        }
    }
    if let Some(next_at) = row.next_at {
        fields.put("next", &moment(next_at, now));
    }
    fields.put("restarts", &count(row.restarts));
    if let Some(last) = row.last_exit {
        let at = moment(last.at, now);
        fields.put("last exit", &format!("{}, {at}", last_exit_text(last)));
    }
    fields.put("version", &clean(&row.version));
    fields.put("agent", row.agent_id.as_deref().unwrap_or_default());
    fields.put("registered", &moment(row.registered_at, now));
    fields.put("reported", &moment(row.reported_at, now));
    out.text(&fields.render())
}

fn summary(out: &Out, name: &FullName, rows: &[ProcessView], total: u64) -> Result<(), Failure> {
    let mut states: BTreeMap<&str, u64> = BTreeMap::new();
    for row in rows {
        *states.entry(&row.state).or_default() += 1;
    }
    let states: Vec<String> = states
        .iter()
        .map(|(state, n)| format!("{} {state}", count(*n)))
        .collect();
    let of = match rows.len() as u64 == total {
        true => String::new(),
        false => format!(" (of the first {})", count(rows.len())),
    };
    out.line(format!(
        "{}  on {}: {}{of}",
        out.paint(Style::Bold, &name.to_string()),
        counted(total, "host"),
        states.join(", ")
    ))
}

fn show_definition(out: &Out, definition: &DefinitionView, title: &str) -> Result<(), Failure> {
    out.line(format!("\n{}", out.paint(Style::Bold, title)))?;
    let mut fields = FieldList::default();
    fields.put("labels", &clean(&pairs(&definition.labels, " ")));
    spec_fields(&mut fields, &definition.spec);
    out.text(&fields.render())
}

fn spec_fields(fields: &mut FieldList, spec: &Spec) {
    let identity = &spec.identity;
    fields.put("program", &clean(&identity.proc_name));
    fields.put("user", &identity.user);
    fields.put("setup path", &clean(&identity.setup_path));
    fields.put("pid path", &clean(&identity.pid_path));
    fields.put("config path", &clean(&identity.config_path));
    fields.put("log path", &clean(&identity.log_path));
    let control = &spec.control;
    fields.put("start", &clean(&control.start_cmd));
    fields.put("stop", &clean(&control.stop_cmd));
    fields.put("restart", &clean(&control.restart_cmd));
    fields.put("reload", &clean(&control.reload_cmd));
    fields.put("kill", &clean(&control.kill_cmd));
    fields.put("version", &clean(&control.version_cmd));
    fields.put("health", &clean(&control.health_cmd));
    for kind in ProbeKind::ALL {
        if let Some(rule) = spec.probes.get(kind) {
            fields.put(kind.as_str(), &clean(&probes::rule_text(rule, kind)));
        }
    }
    let limits = spec.resource;
    let mut texts = Vec::new();
    if limits.cpu > 0.0 {
        texts.push(format!("{}% cpu", limits.cpu));
    }
    if limits.mem > 0.0 {
        texts.push(format!("{}% mem", limits.mem));
    }
    let runtime = &spec.runtime;
    let ours = [
        runtime
            .fd_max
            .map(|fd| format!("{} descriptors", count(fd))),
        runtime
            .log_bytes_max
            .map(|most| format!("{} logs", bytes(most))),
        runtime
            .net_max
            .map(|most| format!("{}/s network", bytes(most))),
    ];
    texts.extend(ours.into_iter().flatten());
    fields.put("limits", &texts.join(", "));
    runtime_fields(fields, runtime);
    let policy = &spec.monitor_policy;
    let kind = match policy.auto_type {
        AutoType::Resident => "resident: restarted when it dies".to_owned(),
        AutoType::Periodic if policy.crontab_rule.is_empty() => {
            "periodic, without a rule: run when asked".to_owned()
        }
        AutoType::Periodic => format!("periodic: {}", policy.crontab_rule),
        AutoType::OneShot => "one-shot: run once".to_owned(),
    };
    fields.put("policy", &kind);
    fields.put(
        "times",
        &format!(
            "start check {} s, stop check {} s, {} retries {} s apart, commands at most {} s",
            policy.start_check_secs,
            policy.stop_check_secs,
            policy.start_retries,
            policy.start_interval,
            policy.op_timeout
        ),
    );
    fields.put("restarts", &restart_text(spec));
    let rules = spec.schedule;
    if !rules.is_default() {
        let missed = match rules.missed {
            Missed::Skip => "missed runs are skipped",
            Missed::Once => "one run for those missed",
        };
        let overlap = match rules.overlap {
            Overlap::Skip => "skipped while one goes on",
            Overlap::Wait => "waits while one goes on",
            Overlap::Kill => "kills one that goes on",
        };
        let kept = match rules.history {
            0 => String::new(),
            history => format!(", output of {history} runs kept"),
        };
        let text = format!("up to {} s late, {missed}, {overlap}{kept}", rules.jitter);
        fields.put("schedule", &text);
    }
    if !spec.stop.is_default() {
        let signals = spec.stop.sequence().iter().map(|signal| signal.as_str());
        let signals = Vec::from_iter(signals).join(", ");
        let grace = spec.stop.grace_secs();
        fields.put("stops", &format!("{signals}, {grace} s each, then SIGKILL"));
    }
    for dependency in &spec.after {
        fields.put("after", &clean(&after_text(dependency)));
    }
    for file in &spec.configmap {
        let watched = match (file.path.is_empty(), file.md5.is_empty()) {
            (true, _) => continue,
            (false, true) => format!("{} (for changes)", clean(&file.path)),
            (false, false) => format!("{} ({})", clean(&file.path), file.md5),
        };
        fields.put("watches", &watched);
    }
    if spec.warn_report_policy.report_id != 0 {
        fields.put("report id", &spec.warn_report_policy.report_id.to_string());
    }
}

/// `db/postgres ready on this host, for at most 30 s; restarted with it`.
fn after_text(dependency: &Dependency) -> String {
    let (process, when) = (&dependency.process, dependency.when.as_str());
    let mut text = format!("{process} {when} {}", dependency.place.words());
    if let Some(patience) = dependency.patience {
        text.push_str(&format!(", for at most {patience} s"));
    }
    if dependency.restart {
        text.push_str("; restarted with it");
    }
    text
}

/// `after 1 s, 2 times longer each time up to 60 s, never given up`; empty without `spec.restart`.
fn restart_text(spec: &Spec) -> String {
    let restart = &spec.restart;
    if restart.is_default() {
        return String::new();
    }
    let delay = restart.delay.unwrap_or(spec.monitor_policy.start_interval);
    let factor = restart.factor.unwrap_or(DEFAULT_FACTOR);
    let most = restart.delay_max.unwrap_or(DEFAULT_DELAY_MAX);
    let jitter = restart.jitter.unwrap_or(DEFAULT_JITTER);
    let reset = restart.reset.unwrap_or(DEFAULT_RESET);
    let give_up = restart
        .give_up
        .unwrap_or(GiveUp::After(spec.monitor_policy.start_retries));
    format!(
        "after {delay} s, each wait {factor} times longer, at most {most} s, give or take {jitter}%; \
         a run of {reset} s clears the count; gives up {give_up}"
    )
}

fn runtime_fields(fields: &mut FieldList, runtime: &Runtime) {
    let join = |texts: Vec<Option<String>>| {
        let texts: Vec<String> = texts.into_iter().flatten().collect();
        texts.join(", ")
    };
    let by_kernel = join(vec![
        runtime
            .memory_max
            .map(|most| format!("{} memory", bytes(most))),
        runtime.cpu_max.map(|most| format!("{most}% cpu")),
        runtime
            .pids_max
            .map(|most| format!("{} processes", count(most))),
    ]);
    fields.put("kernel limits", &by_kernel);
    let resources = join(vec![
        runtime.nofile.map(|n| format!("nofile {}", count(n))),
        runtime.nproc.map(|n| format!("nproc {}", count(n))),
        runtime.core.map(|n| format!("core {}", bytes(n))),
    ]);
    fields.put("ulimits", &resources);
    if let Some(nice) = runtime.nice {
        fields.put("nice", &nice.to_string());
    }
    if let Some(umask) = runtime.umask {
        fields.put("umask", &format!("{umask:03o}"));
    }
    let rotation = join(vec![
        runtime
            .log_max_bytes
            .map(|most| format!("at {}", bytes(most))),
        runtime.log_keep.map(|keep| format!("{keep} kept")),
    ]);
    fields.put("log rotation", &rotation);
    for (name, value) in &runtime.env {
        fields.put("env", &clean(&format!("{name}={value}")));
    }
}
