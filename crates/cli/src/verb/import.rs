//! `muster import`: turns files of other supervisors into definitions, and can take over what runs.

mod adopt;

use serde_json::{Value, json};

use super::Context;
use crate::confirm::ConfirmArgs;
use crate::declare::written::Written;
use crate::definition;
use crate::failure::{Exit, Failure, Kind};
use crate::format::counted;
use crate::import::ledger::Fate;
use crate::import::{self, Imported, Settings, SourceKind};
use crate::input::read_text;
use crate::processes::host_text;
use crate::target::HostArgs;

pub const EXAMPLES: &str = "\
Examples:
  muster import /etc/supervisor/supervisord.conf -n web > web.yaml
  muster import nginx.service --host 10.0.0.1,10.0.0.2 > nginx.yaml
  muster import backup.timer                       with backup.service beside it: a schedule
  muster import worker@.service --instance a,b     one process for each instance
  muster import ecosystem.json --env production
  muster import Procfile --user app --directory /srv/app
  muster import compose.yaml --explain             what became of every line
  muster apply -f web.yaml --dry-run               what the definitions would change

  muster import nginx.service --adopt              on the host itself: register it, and take over what
                                                   runs without restarting it; asks first

Definitions go to standard output, and change nothing by themselves. What cannot be carried over is
listed on standard error, with its line and the reason, and the command ends with 3; with 0 if
everything was carried over or has no effect here. Unknown settings are listed, too.";

/// The longest file that is read.
const MAX_FILE: u64 = 16 * 1024 * 1024;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// supervisord.conf, NAME.service, NAME.timer, ecosystem.json, Procfile, compose.yaml; several become one document
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<String>,
    /// What the files are [default: by their names and contents]
    #[arg(long, value_enum, value_name = "KIND")]
    pub kind: Option<SourceKind>,
    /// The namespace of the processes [default: name of the compose file, else imported]
    #[arg(short, long, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    #[command(flatten)]
    pub hosts: HostArgs,
    /// The user of processes whose file names none
    #[arg(long, value_name = "USER")]
    pub user: Option<String>,
    /// The working directory of processes whose file names none
    #[arg(long, value_name = "DIR")]
    pub directory: Option<String>,
    /// Instances of a systemd template NAME@.service, separated by commas
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub instance: Vec<String>,
    /// Of pm2: take the variables of env_NAME
    #[arg(long = "env", value_name = "NAME")]
    pub environment: Option<String>,
    /// The number of cores of the hosts, to carry over limits that count cores
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub cores: Option<u32>,
    /// Write the definitions into this file
    #[arg(long, value_name = "FILE")]
    pub to: Option<String>,
    /// Also write what was not carried over into the definitions, as comments
    #[arg(long)]
    pub comments: bool,
    /// List every line with what became of it
    #[arg(long)]
    pub explain: bool,
    /// On the host itself: register the processes, and manage what runs without restarting it
    #[arg(long, conflicts_with = "to")]
    pub adopt: bool,
    #[command(flatten)]
    pub confirm: ConfirmArgs,
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let hosts = args.hosts.read()?;
    let settings = Settings {
        namespace: args.namespace.clone(),
        user: args.user.clone(),
        directory: args.directory.clone(),
        instances: args.instance.clone(),
        environment: args.environment.clone(),
        cores: args.cores,
        hosts: hosts.iter().map(host_text).collect(),
    };
    let mut imported = Imported::default();
    for file in &args.files {
        read_file(file, args.kind, &settings, &mut imported)?;
    }
    imported.finish();
    refuse_repeated(&imported)?;
    if args.adopt {
        report(context, args, &imported);
        return adopt::run(context, imported, args.confirm);
    }
    write(context, args, &imported)?;
    report(context, args, &imported);
    Ok(match imported.ledger.reported().is_empty() {
        true => Exit::Ok,
        false => Exit::NotCarriedOver,
    })
}

fn read_file(
    file: &str,
    kind: Option<SourceKind>,
    settings: &Settings,
    imported: &mut Imported,
) -> Result<(), Failure> {
    if import::is_script(file) {
        return Err(Failure::usage(format!("{file}: is a program, which import does not run")).advise(
            format!("make JSON of it where it runs: node -p 'JSON.stringify(require(\"./{file}\"))' > ecosystem.json"),
        ));
    }
    let text = read_text(file, MAX_FILE)
        .map_err(|e| Failure::usage(format!("{file}: cannot be read: {e}")))?;
    let kind = kind
        .or_else(|| import::detect(file, &text))
        .ok_or_else(|| {
            Failure::usage(format!("{file}: it is not clear what kind of file this is"))
                .advise("say it: --kind supervisord, systemd, pm2, procfile or compose")
        })?;
    import::read(kind, file, &text, settings, imported)
}

/// Two processes of one name would be one.
fn refuse_repeated(imported: &Imported) -> Result<(), Failure> {
    for (index, one) in imported.processes.iter().enumerate() {
        let name = &one.definition.name;
        if imported.processes[..index]
            .iter()
            .any(|other| other.definition.name == *name)
        {
            return Err(
                Failure::usage(format!("{name} comes out of the files twice"))
                    .advise("import the files one by one, each with its own --namespace"),
            );
        }
    }
    Ok(())
}

fn write(context: &Context, args: &Args, imported: &Imported) -> Result<(), Failure> {
    let out = &context.out;
    let ledger = &imported.ledger;
    let tables = imported
        .processes
        .iter()
        .map(|one| definition::to_table(&one.definition));
    let processes = tables.collect::<Result<Vec<_>, _>>()?;
    if out.is_document() && args.to.is_none() {
        let entries: Vec<Value> = ledger.entries().iter().map(|entry| json!(entry)).collect();
        return out.document(&json!({
            "processes": processes, "settings": entries,
            "not_carried_over": ledger.reported(), "notes": ledger.notes(),
        }));
    }
    let mut text = format!("# From {} by muster import.\n", args.files.join(", "));
    if args.comments {
        for line in ledger.reported().iter().chain(ledger.notes()) {
            text.push_str(&format!("# {line}\n"));
        }
    }
    if settings_have_no_hosts(imported) {
        text.push_str("# Name the hosts of each process before muster apply takes it.\n");
    }
    let written = Written::of_processes(processes);
    let body = serde_norway::to_string(&written)
        .map_err(|e| Failure::new(Kind::Failed, format!("cannot be written as YAML: {e}")))?;
    // An empty document is written as {}.
    match written.processes.is_empty() {
        true => text.push_str("processes: []\n"),
        false => text.push_str(&body),
    }
    match &args.to {
        None => out.text(&text),
        Some(file) => std::fs::write(file, text)
            .map_err(|e| Failure::new(Kind::Failed, format!("{file}: cannot be written: {e}"))),
    }
}

fn settings_have_no_hosts(imported: &Imported) -> bool {
    imported
        .processes
        .iter()
        .any(|one| one.definition.hosts.is_empty())
}

/// What was not carried over, line by line, and how much was.
fn report(context: &Context, args: &Args, imported: &Imported) {
    let (out, ledger) = (&context.out, &imported.ledger);
    if args.explain {
        for entry in ledger.entries() {
            let fate = match &entry.fate {
                Fate::Open => continue,
                Fate::Carried(field) => format!("→ {field}"),
                Fate::NoEffect(why) => format!("has no effect: {why}"),
                Fate::NotCarried(why) => format!("NOT CARRIED OVER: {why}"),
            };
            out.note(format!(
                "{}:{}: {}: {fate}",
                entry.file, entry.line, entry.text
            ));
        }
    } else {
        for line in ledger.reported() {
            out.warn(line);
        }
    }
    for note in ledger.notes() {
        out.note(format!("note: {note}"));
    }
    let of = |wanted: fn(&Fate) -> bool| {
        ledger
            .entries()
            .iter()
            .filter(|entry| wanted(&entry.fate))
            .count()
    };
    out.note(format!(
        "{}: {} carried over, {} without effect here, {} not carried over",
        counted(imported.processes.len(), "process"),
        counted(of(|fate| matches!(fate, Fate::Carried(_))), "setting"),
        of(|fate| matches!(fate, Fate::NoEffect(_))),
        of(|fate| matches!(fate, Fate::NotCarried(_))),
    ));
}
