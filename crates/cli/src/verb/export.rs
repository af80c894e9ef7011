//! `muster export`: writes registered definitions as files.

use std::path::Path;

use api::{HostRef, ProcessView};
use model::selector::NamePattern;
use model::{FullName, Namespace};

use super::Context;
use super::update::Registered;
use crate::client::Client;
use crate::declare::current::Current;
use crate::declare::written::{self, Written};
use crate::definition::{self, Exported};
use crate::failure::{Exit, Failure, Kind};
use crate::format::counted;
use crate::processes::{NAMES_HELP, NameArgs, ProcessArgs, Unregistered, is_host, parse_selector};
use crate::target::{TargetArgs, unknown};

pub fn examples() -> String {
    format!(
        "\
Examples:
  muster export web/nginx > nginx.toml
  muster export 'app/*' -l tier=front > front.toml
  muster update --file front.toml                            changes nothing, and says so
  muster export web/nginx --host 10.0.0.1                the definition of that host
  muster export web/nginx -o json
  muster export > fleet.yaml                             everything, as muster apply -f takes it
  muster export -n web,db --to fleet/                    one file for each namespace

Writes each definition with the hosts that have it, without what has its default. register, update
and edit take it; a process with different definitions is written once for each of them. Without
names it writes everything in YAML: processes, groups, config templates, webhooks and grants; with -n
the processes and groups of these namespaces. No secret is in it.

{NAMES_HELP}"
    )
}

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The processes, with or without wildcards: web/nginx 'app/*' '[web,db]/api-?'
    #[arg(value_name = "NAMESPACE/NAME")]
    names: Vec<NamePattern>,
    /// Only with these labels, or on hosts with them: tier=front,zone!=b,env in (a,b),!old
    #[arg(short = 'l', long, visible_alias = "label", value_name = "LABELS", value_parser = parse_selector)]
    selector: Vec<String>,
    #[command(flatten)]
    targets: TargetArgs,
    /// All of these namespaces, separated by commas
    #[arg(short, long, value_name = "NAMESPACE", value_delimiter = ',', value_parser = Namespace::parse, conflicts_with_all = ["names", "selector", "hosts", "all"])]
    namespace: Vec<Namespace>,
    /// Write into this file; or into this folder, one file for each namespace, if it is one or ends in /
    #[arg(long, value_name = "FILE|DIR", conflicts_with_all = ["names", "selector", "hosts", "all"])]
    to: Option<String>,
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let client = context.client()?;
    let is_chosen = !args.names.is_empty() || !args.selector.is_empty();
    if !is_chosen && !args.targets.is_given() {
        return whole(context, &client, args);
    }
    if !is_chosen {
        return Err(Failure::usage(
            "which processes? name them: muster export 'web/*' --host HOST",
        ));
    }
    let mut processes = ProcessArgs {
        names: NameArgs {
            names: args.names.clone(),
            selector: args.selector.clone(),
        },
        targets: args.targets.clone(),
    };
    // Nothing is touched, so that a name on several hosts means all of them.
    processes.targets.all |= processes.targets.hosts.hosts.is_empty();
    let chosen = processes.choose(&client, Unregistered::Refused)?;
    let mut exported = Vec::new();
    for one in &chosen.0 {
        exported.extend(definitions(&client, &one.name, Some(&one.hosts))?);
    }
    if exported.is_empty() {
        let what = format!(
            "nothing that is selected is registered there: {}",
            chosen.words()
        );
        return Err(Failure::new(Kind::NotFound, what));
    }
    match context.out.is_document() {
        true => context.out.document(&definition::to_json(&exported))?,
        false => context.out.text(&definition::to_text(&exported)?)?,
    }
    Ok(Exit::Ok)
}

/// Everything, or all of some namespaces, as one document or as a folder of them.
fn whole(context: &Context, client: &Client, args: &Args) -> Result<Exit, Failure> {
    let out = &context.out;
    let (written, remarks) = written::read(&Current::new(client), &args.namespace)?;
    for remark in remarks {
        out.note(remark);
    }
    if written.is_empty() {
        return Err(Failure::new(Kind::NotFound, "there is nothing to export"));
    }
    let Some(to) = &args.to else {
        match out.is_document() {
            true => out.document(&written)?,
            false => out.text(&written.to_yaml()?)?,
        }
        return Ok(Exit::Ok);
    };
    let path = Path::new(to);
    let files = match to.ends_with('/') || path.is_dir() {
        false => vec![(path.to_owned(), written)],
        true => {
            std::fs::create_dir_all(path).map_err(|e| cannot_write(path, &e))?;
            let (parts, rest) = written.by_namespace();
            let mut files: Vec<_> = parts
                .into_iter()
                .map(|(namespace, part)| (path.join(file_name(&namespace)), part))
                .collect();
            if !rest.is_empty() {
                files.push((path.join("fleet.yaml"), rest));
            }
            files
        }
    };
    for (file, part) in &files {
        write_file(file, part)?;
    }
    out.success(format!("wrote {} to {to}", counted(files.len(), "file")))?;
    Ok(Exit::Ok)
}

fn write_file(file: &Path, part: &Written) -> Result<(), Failure> {
    std::fs::write(file, part.to_yaml()?).map_err(|e| cannot_write(file, &e))
}

fn cannot_write(file: &Path, error: &std::io::Error) -> Failure {
    Failure::new(
        Kind::Failed,
        format!("{}: cannot be written: {error}", file.display()),
    )
}

/// A file for a namespace; apply passes over hidden files.
fn file_name(namespace: &str) -> String {
    match namespace.strip_prefix('.') {
        Some(rest) => format!("_{rest}.namespace.yaml"),
        None if namespace == "fleet" => "fleet.namespace.yaml".to_owned(),
        None => format!("{namespace}.yaml"),
    }
}

/// Every definition of a process on some hosts or on all, with its hosts.
pub(super) fn definitions(
    client: &Client,
    name: &FullName,
    hosts: Option<&[HostRef]>,
) -> Result<Vec<Exported>, Failure> {
    let registered = Registered::read(client, name)?;
    if registered.rows.is_empty() {
        return Err(unknown(name));
    }
    let mut exported: Vec<(u32, Exported)> = Vec::new();
    let is_wanted =
        |row: &ProcessView| hosts.is_none_or(|hosts| hosts.iter().any(|host| is_host(host, row)));
    for row in registered.rows.iter().filter(|row| is_wanted(row)) {
        let host = row.host.to_string();
        match exported.iter_mut().find(|(id, _)| *id == row.definition) {
            Some((_, one)) => one.hosts.push(host),
            None => {
                let view = registered.definition(row.definition)?;
                let one = Exported {
                    name: name.clone(),
                    hosts: vec![host],
                    labels: view.labels.clone().into_owned(),
                    spec: view.spec.clone().into_owned(),
                };
                exported.push((row.definition, one));
            }
        }
    }
    Ok(exported.into_iter().map(|(_, one)| one).collect())
}
