//! `muster import --adopt`: registers what was imported, and lets the agent take over what runs, without restarting it.
//!
//! The agent finds a process by its pid file. Where the program writes none, this command asks the old supervisor for the
//! pid and writes the file, which is possible only on the host itself. It lets the agent manage a process only after the agent
//! has confirmed that it found that very pid: to manage a process that was not found would start a second copy.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use api::{HostRow, ProcessView};
use model::{FullName, Op};

use super::super::{Context, apply, operate};
use crate::client::{Client, Path as ApiPath};
use crate::confirm::ConfirmArgs;
use crate::declare::plan::Prune;
use crate::declare::{Declared, DeclaredHosts, DeclaredProcess, Kind, Place};
use crate::failure::{Exit, Failure};
use crate::follow;
use crate::format::{clean, counted};
use crate::import::{Imported, ImportedProcess, PidSource};
use crate::out::Out;
use crate::processes::{Chosen, ChosenProcess};
use crate::target::parse_host;

/// The longest wait for the agent.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A process that runs, and is to be taken over.
#[derive(Debug)]
struct Running {
    process: ImportedProcess,
    pid: i32,
}

pub(super) fn run(
    context: &Context,
    imported: Imported,
    confirm: ConfirmArgs,
) -> Result<Exit, Failure> {
    let out = &context.out;
    let client = context.client()?;
    let host = this_host(&client, &imported)?;
    let mut running = Vec::new();
    let n_all = imported.processes.len();
    for mut process in imported.processes {
        process.definition.hosts = vec![host.clone()];
        match pid_of(&process) {
            Ok(pid) => running.push(Running { process, pid }),
            Err(why) => out.warn(format!(
                "{} is not taken over: {why}",
                process.definition.name
            )),
        }
    }
    if running.is_empty() {
        let what = "nothing that runs here can be taken over: nothing was done";
        return Err(Failure::new(crate::failure::Kind::Failed, what)
            .advise("import without --adopt writes the definitions; stop the old program, apply them, and muster start"));
    }
    for one in &running {
        let name = &one.process.definition.name;
        out.line(format!("{name}: pid {} on {host} is taken over", one.pid))?;
    }
    note_left_out(out, &running);
    advise(out, &running);
    confirm.ask(&format!(
        "register {} and manage what runs",
        counted(running.len(), "process")
    ))?;
    let exit = apply::apply(
        context,
        &declared(&running)?,
        Prune::No,
        false,
        confirm.given(),
    )?;
    if exit != Exit::Ok {
        return Ok(exit);
    }
    let mut n_adopted = 0;
    for one in &running {
        match adopt(&client, out, one, &host) {
            Ok(()) => {
                n_adopted += 1;
                out.success(format!(
                    "{} runs on as pid {}, managed",
                    one.process.definition.name, one.pid
                ))?;
            }
            Err(why) => out.warn(format!(
                "{} is registered, and not managed: {}",
                one.process.definition.name,
                why.what()
            )),
        }
    }
    Ok(Exit::some_failed(n_adopted < n_all))
}

/// The host of the fleet that this machine is, by its name.
fn this_host(client: &Client, imported: &Imported) -> Result<String, Failure> {
    let own = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let own = own.trim();
    let rows: Vec<HostRow<'_>> = client.hosts(Some(true), None)?.rows;
    let named = imported
        .processes
        .first()
        .map(|one| one.definition.hosts.clone());
    let named = named.unwrap_or_default();
    let is_here = |row: &&HostRow<'_>| {
        let is_named = named.is_empty() || named.contains(&row.host.to_string());
        is_named && row.hostname.as_deref() == Some(own)
    };
    let here: Vec<&HostRow<'_>> = rows.iter().filter(is_here).collect();
    match here.as_slice() {
        [only] if named.len() <= 1 => Ok(only.host.to_string()),
        [] => Err(Failure::usage(format!(
            "--adopt: no connected host{} has the name of this machine, {}",
            if named.is_empty() {
                ""
            } else {
                " that --host names"
            },
            clean(own)
        ))
        .advise(
            "run it on the host whose processes are taken over: only there can their pids be found",
        )),
        _ => Err(
            Failure::usage("--adopt: takes over what runs on one host, this one")
                .advise("name it with --host"),
        ),
    }
}

/// The pid of what runs now: of its pid file, else of the old supervisor.
fn pid_of(process: &ImportedProcess) -> Result<i32, String> {
    if let PidSource::Pm2(app) = &process.pid {
        return Err(stays_with_pm2(app));
    }
    let path = &process.definition.spec.identity.pid_path;
    if let Ok(text) = std::fs::read_to_string(path)
        && let Some(pid) = alive(text.split_whitespace().next().unwrap_or_default())
    {
        return Ok(pid);
    }
    let (program, args): (&str, Vec<&str>) = match &process.pid {
        PidSource::Supervisorctl { config, name } => {
            let config = config.iter().flat_map(|file| ["-c", file]);
            ("supervisorctl", config.chain(["pid", name]).collect())
        }
        PidSource::Systemctl(unit) => (
            "systemctl",
            vec!["show", "--property=MainPID", "--value", unit],
        ),
        PidSource::Pm2(app) => return Err(stays_with_pm2(app)),
        PidSource::Nowhere(why) => return Err((*why).to_owned()),
    };
    let output = Command::new(program)
        .args(&args)
        .output()
        .map_err(|e| format!("{program} cannot be run: {e}"))?;
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    alive(&said).ok_or_else(|| {
        format!(
            "{program} {} names no process that runs: {:?}",
            args.join(" "),
            clean(&said)
        )
    })
}

/// pm2 has no command for it: `pm2 delete` ends the app first, and the daemon restarts what ends otherwise.
fn stays_with_pm2(app: &str) -> String {
    format!(
        "pm2 cannot let go of an app without ending it: pm2 delete {app}, apply the definitions without --adopt, then muster start"
    )
}

fn alive(text: &str) -> Option<i32> {
    let pid = text.parse::<i32>().ok().filter(|pid| *pid > 1)?;
    Path::new(&format!("/proc/{pid}/stat"))
        .exists()
        .then_some(pid)
}

/// Says which processes wait, at their next start, for one that is not taken over with them.
fn note_left_out(out: &Out, running: &[Running]) {
    let definitions = || running.iter().map(|one| &one.process.definition);
    for definition in definitions() {
        for after in &definition.spec.after {
            if !definitions().any(|other| other.name == after.process) {
                out.note(format!(
                    "{} waits at its next start for {}, which is not taken over: register that, too",
                    definition.name, after.process
                ));
            }
        }
    }
}

/// What the operator must do about the old supervisor, which would restart the process beside the agent.
fn advise(out: &Out, running: &[Running]) {
    let is = |wanted: fn(&PidSource) -> bool| running.iter().any(|one| wanted(&one.process.pid));
    if is(|pid| matches!(pid, PidSource::Systemctl(_))) {
        out.note(
            "systemd goes on supervising until it is told to let go. For each unit, in a drop-in (systemctl edit UNIT):\n  \
             [Service]\n  Restart=no\n  KillMode=none\n  ExecStop=\n\
             then systemctl daemon-reload, systemctl disable UNIT, and systemctl stop UNIT, which leaves the process running",
        );
    }
    if is(|pid| matches!(pid, PidSource::Supervisorctl { .. })) {
        out.note(
            "supervisord goes on supervising: supervisorctl stop would end the process. When all of its programs are taken over,\n\
             disable its service and end supervisord itself with SIGKILL, which leaves its programs running (where systemd runs it,\n\
             its unit needs KillMode=process). supervisord reads what they write to their output: a program that writes there\n\
             afterwards fails to write (EPIPE): most end, and the agent starts them again; others run on without output",
        );
    }
}

fn declared(running: &[Running]) -> Result<Declared, Failure> {
    let mut declared = Declared::default();
    let place = Place {
        file: Arc::from("import"),
        line: 1,
    };
    for one in running {
        let definition = &one.process.definition;
        let hosts = definition.hosts.iter().map(|host| parse_host(host));
        declared.processes.push(DeclaredProcess {
            place: place.clone(),
            name: definition.name.clone(),
            hosts: DeclaredHosts::Listed(hosts.collect::<Result<_, _>>()?),
            labels: definition.labels.clone(),
            spec: definition.spec.clone(),
        });
        let namespace = definition.name.namespace.clone();
        declared
            .namespaces
            .entry(namespace)
            .or_insert_with(|| place.clone());
    }
    // Nothing is pruned, and what else is registered is no matter of an import.
    declared.kinds.remove(&Kind::Process);
    Ok(declared)
}

/// Writes the pid file where there is none, and manages the process once the agent has found this pid.
fn adopt(client: &Client, out: &Out, one: &Running, host: &str) -> Result<(), Failure> {
    let failed = |what: String| Failure::new(crate::failure::Kind::Failed, what);
    let definition = &one.process.definition;
    let path = &definition.spec.identity.pid_path;
    let known = std::fs::read_to_string(path).ok();
    let is_known = known
        .is_some_and(|text| alive(text.split_whitespace().next().unwrap_or_default()).is_some());
    if !is_known {
        std::fs::write(path, format!("{}\n", one.pid))
            .map_err(|e| failed(format!("its pid file {path} cannot be written: {e}")))?;
    }
    operate_on(client, out, &definition.name, host, Op::Query)?;
    let found = ApiPath::new("processes")
        .query("namespace", &definition.name.namespace)
        .query("name", &definition.name.name)
        .query("host", host);
    let rows: Vec<ProcessView<'_>> = client.pages(&found, "processes", None)?.rows;
    let row = rows
        .first()
        .ok_or_else(|| failed("it is not registered any more".to_owned()))?;
    if row.pid != Some(one.pid) {
        return Err(failed(format!(
            "the agent does not find pid {} by {path} (it has to be alive, of the user {}, and called {}): {}",
            one.pid,
            definition.spec.identity.user,
            definition.spec.identity.proc_name,
            clean(&row.message)
        )));
    }
    operate_on(client, out, &definition.name, host, Op::Manage)
}

fn operate_on(
    client: &Client,
    out: &Out,
    name: &FullName,
    host: &str,
    op: Op,
) -> Result<(), Failure> {
    let chosen = Chosen(vec![ChosenProcess {
        name: name.clone(),
        hosts: vec![parse_host(host)?],
    }]);
    let task = operate::begin(client, op, &chosen, None)?;
    let ended = follow::task(client, out, &task.task_id, Some(TIMEOUT))?;
    match ended.counts.failed {
        0 => Ok(()),
        _ => Err(Failure::new(
            crate::failure::Kind::Failed,
            format!("{op} failed: muster task {} says why", task.task_id),
        )),
    }
}
