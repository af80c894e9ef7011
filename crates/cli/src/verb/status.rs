//! `muster status`: one process, whole.

use std::collections::BTreeMap;

use model::spec::{AutoType, Spec};
use model::{FullName, Host};
use serde_json::{Value, json};

use super::Context;
use super::ps;
use crate::client::{DefinitionRow, ProcessFilter, ProcessRow, ProcessView};
use crate::failure::{Exit, Failure, Kind};
use crate::out::Out;
use crate::show::{bytes, clean, count, counted, moment, now, yes_no};
use crate::target::not_registered;
use crate::tone::Tone;

pub const EXAMPLES: &str = "\
Examples:
  muster status web/nginx
  muster status web/nginx --host 10.0.0.1
  muster status web/nginx -o json | jq '.definitions[0].spec'";

/// How many hosts are listed.
const MAX_ROWS: usize = 1000;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The process
    #[arg(value_name = "NAMESPACE/NAME")]
    name: FullName,
    /// Only on this host: IP or CLOUD:IP
    #[arg(short = 'H', long, value_name = "HOST")]
    host: Option<Host>,
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let client = context.client()?;
    let out = &context.out;
    let mut raw: Value = client
        .process(&args.name)
        .map_err(|failure| not_registered(failure, &args.name))?;
    let filter = ProcessFilter {
        namespace: Some(args.name.namespace.to_string()),
        name: Some(args.name.name.to_string()),
        host: args.host.map(|host| host.to_string()),
        ..ProcessFilter::default()
    };
    if out.is_json() {
        let page = client.processes::<Value>(&filter, None)?;
        none_there(args, page.rows.is_empty())?;
        raw["count"] = json!(page.count);
        raw["processes"] = Value::Array(page.rows);
        out.json(&raw)?;
        return Ok(Exit::Ok);
    }
    let view: ProcessView = serde_json::from_value(raw).map_err(|e| {
        Failure::new(
            Kind::Failed,
            format!("the server's answer is not as expected: {e}"),
        )
    })?;
    let page = client.processes::<ProcessRow>(&filter, Some(MAX_ROWS))?;
    none_there(args, page.rows.is_empty())?;
    match page.rows.as_slice() {
        [only] => one(out, only)?,
        rows => {
            summary(out, &args.name, rows, page.count)?;
            out.table(&ps::table(rows, false))?;
        }
    }
    for (index, definition) in view.definitions.iter().enumerate() {
        show_definition(out, definition, index + 1, view.definitions.len())?;
    }
    Ok(Exit::Ok)
}

fn none_there(args: &Args, is_empty: bool) -> Result<(), Failure> {
    match (is_empty, args.host) {
        (false, _) => Ok(()),
        (true, None) => Err(not_registered(Failure::new(Kind::NotFound, ""), &args.name)),
        (true, Some(host)) => Err(Failure::new(
            Kind::NotFound,
            format!("{} is not registered on {host}", args.name),
        )
        .advise(format!("muster status {} shows where it is", args.name))),
    }
}

fn one(out: &Out, row: &ProcessRow) -> Result<(), Failure> {
    let now = now();
    let tone = match row.state.as_str() {
        "running" => Tone::Good,
        "stopped" => Tone::Dim,
        _ => Tone::Warn,
    };
    let title = format!("{}/{}", row.namespace, row.name);
    out.line(out.paint(Tone::Bold, &clean(&title)))?;
    let mut fields = Fields(Vec::new());
    fields.put("host", &row.host);
    fields.put("state", &out.paint(tone, &row.state));
    fields.put("message", &clean(&row.message));
    fields.put("managed", yes_no(row.managed));
    if row.state == "running" {
        fields.put("pid", &row.pid.to_string());
        fields.put("started", &moment(row.started_at, now));
        fields.put(
            "usage",
            &format!(
                "{:.1}% cpu, {:.1}% mem, {} descriptors, {} logs, {}/s network",
                row.cpu,
                row.mem,
                count(row.fd),
                bytes(row.disk.max(0).unsigned_abs()),
                bytes(row.net.max(0).unsigned_abs())
            ),
        );
    }
    fields.put("version", &clean(&row.version));
    fields.put("agent", row.agent_id.as_deref().unwrap_or_default());
    fields.put("registered", &moment(row.registered_at, now));
    fields.put("reported", &moment(row.reported_at, now));
    out.text(&fields.text())
}

fn summary(out: &Out, name: &FullName, rows: &[ProcessRow], total: u64) -> Result<(), Failure> {
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
        false => format!(" (of the first {})", count(rows.len() as u64)),
    };
    out.line(format!(
        "{}  on {}: {}{of}",
        out.paint(Tone::Bold, &name.to_string()),
        counted(total, "host"),
        states.join(", ")
    ))
}

fn show_definition(
    out: &Out,
    definition: &DefinitionRow,
    number: usize,
    total: usize,
) -> Result<(), Failure> {
    let title = match total {
        1 => "spec".to_owned(),
        _ => format!(
            "spec {number} of {total}, on {}",
            counted(definition.hosts, "host")
        ),
    };
    out.line(format!("\n{}", out.paint(Tone::Bold, &title)))?;
    let labels: Vec<String> = definition
        .labels
        .iter()
        .map(|(k, v)| format!("{k}={v}"))
        .collect();
    let mut fields = Fields(Vec::new());
    fields.put("labels", &clean(&labels.join(" ")));
    spec_fields(&mut fields, &definition.spec);
    out.text(&fields.text())
}

fn spec_fields(fields: &mut Fields, spec: &Spec) {
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
    for file in &spec.configmap {
        let watched = match (file.path.is_empty(), file.md5.is_empty()) {
            (true, _) => continue,
            (false, true) => format!("{} (for changes)", clean(&file.path)),
            (false, false) => format!("{} ({})", clean(&file.path), file.md5),
        };
        fields.put("watches", &watched);
    }
}

/// Names and values below each other; empty values are left out.
#[derive(Debug)]
pub(super) struct Fields(pub(super) Vec<(&'static str, String)>);

impl Fields {
    pub(super) fn put(&mut self, name: &'static str, value: &str) {
        if !value.is_empty() {
            self.0.push((name, value.to_owned()));
        }
    }

    pub(super) fn text(&self) -> String {
        let width = self.0.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        self.0
            .iter()
            .map(|(name, value)| format!("  {name:<width$}  {value}\n"))
            .collect()
    }
}
