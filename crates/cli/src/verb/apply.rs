//! `muster apply`: makes the server's state what files declare.

use serde_json::{Value, json};

use super::Context;
use crate::confirm::ConfirmArgs;
use crate::declare::carry_out::{Outcome, carry_out};
use crate::declare::current::Current;
use crate::declare::plan::{Action, Plan, Prune, plan};
use crate::declare::{Declared, document, kinds, show};
use crate::failure::{Exit, Failure, Kind};
use crate::format::counted;

pub const EXAMPLES: &str = "\
Examples:
  muster apply -f fleet.yaml --dry-run        what would change; ends with 2 if something would
  muster apply -f fleet.yaml                  shows the plan and asks
  muster apply -f fleet/ --prune --yes        a folder, without asking; also removes what it leaves out
  muster export > fleet.yaml                  writes all of it; to apply that changes nothing

A document in YAML (the same keys in JSON or TOML):
  processes:
    - namespace: web
      name: nginx
      hosts: [10.0.0.1, 10.0.0.2]             or all, or {labels: \"zone=a,rack!=7\"}
      labels: {tier: front}
      identity: {setup_path: /opt/nginx, user: root}
      control: {start_cmd: ./sbin/nginx}
  groups:
    - {namespace: web, name: front, cpu: 50, mem: 40}       without hosts: where web has processes
  templates:
    - {business: 2, name: login.conf, path: /etc/login.conf, text_file: login.mako}
  webhooks:
    - {url: \"http://10.0.0.9/muster\", namespaces: [web], secret_file: hook.secret}
  grants:
    - {user: ann, role: operator, namespaces: [web]}
  namespaces: [web]                           also prune here where no process is declared

The plan: + is new, ~ changes, - is removed. Processes are registered and changed, never started,
stopped or restarted: muster ps --pending shows what runs with an old definition. --prune removes
only of the kinds and namespaces that the files declare, and never an instance of a business; a
process that runs is forgotten and keeps running.";

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A file in YAML, JSON or TOML, or a folder with such files; - reads standard input; several are one whole
    #[arg(short, long, value_name = "FILE|DIR", required = true)]
    pub file: Vec<String>,
    /// Also remove what the files leave out, in the kinds and namespaces that they declare
    #[arg(long)]
    pub prune: bool,
    /// Only show the plan; ends with 2 if something would change
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub confirm: ConfirmArgs,
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    // Check the files before the first request, and everything before the first change.
    let declared = kinds::declared(&document::read_all(&args.file)?)?;
    let prune = match args.prune {
        true => Prune::Yes,
        false => Prune::No,
    };
    apply(context, &declared, prune, args.dry_run, args.confirm)
}

/// Shows the plan, asks, and carries it out.
pub(super) fn apply(
    context: &Context,
    declared: &Declared,
    prune: Prune,
    dry_run: bool,
    confirm: ConfirmArgs,
) -> Result<Exit, Failure> {
    let out = &context.out;
    let client = context.client()?;
    let planned = plan(&Current::new(&client), declared, prune)?;
    if !out.is_document() {
        match planned.is_empty() {
            true => out.success(format!("nothing to change: {} as declared", planned.n_same))?,
            false => show::plan(out, &planned)?,
        }
    }
    if dry_run || planned.is_empty() {
        if out.is_document() {
            out.document(&planned.to_json())?;
        }
        return Ok(match planned.is_empty() {
            true => Exit::Ok,
            false => Exit::WouldChange,
        });
    }
    confirm.ask(&format!("apply {}", counted(planned.steps.len(), "change")))?;
    // What was asked about may have changed while the question stood.
    let again = plan(&Current::new(&client), declared, prune)?;
    if !planned.is_same(&again) {
        let what = "the server's state changed since the plan was made: nothing was applied";
        return Err(Failure::new(Kind::Failed, what).advise("run it again to see the new plan"));
    }
    let outcomes = carry_out(&client, &again, |step, outcome| {
        if !out.is_document() {
            // Standard output that is closed does not stop what was begun.
            show::outcome(out, step, outcome).ok();
        }
    });
    report(context, &again, &outcomes)
}

fn report(context: &Context, plan: &Plan, outcomes: &[Outcome]) -> Result<Exit, Failure> {
    let out = &context.out;
    let of = |wanted: fn(&Outcome) -> bool| outcomes.iter().filter(|one| wanted(one)).count();
    let n_done = of(|one| matches!(one, Outcome::Done(_)));
    let n_failed = of(|one| matches!(one, Outcome::Failed(_)));
    let n_rest = of(|one| matches!(one, Outcome::NotTried));
    let exit = Exit::some_failed(n_failed > 0);
    if out.is_document() {
        let results: Vec<Value> = plan
            .steps
            .iter()
            .zip(outcomes)
            .map(|(step, outcome)| {
                let mut result = step.to_json();
                result["result"] = outcome.to_json();
                result
            })
            .collect();
        out.document(&json!({
            "steps": results, "unchanged": plan.n_same,
            "done": n_done, "failed": n_failed, "not_tried": n_rest,
        }))?;
        return Ok(exit);
    }
    match n_failed {
        0 => out.success(format!("applied {}", counted(n_done, "change")))?,
        _ => {
            out.line(format!(
                "{n_done} applied, {n_failed} failed, {n_rest} not tried"
            ))?;
            out.note("what is applied stays; to apply the same files again does the rest");
        }
    }
    let waits = plan
        .steps
        .iter()
        .any(|step| matches!(step.action, Action::PutProcess(..)) && step.note.is_some());
    if waits {
        out.note(
            "a run keeps its old definition until it is restarted: muster ps --pending shows which, \
             muster restart --batch 10% restarts a few at a time",
        );
    }
    Ok(exit)
}
