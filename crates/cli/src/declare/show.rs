//! Shows plans to people.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Kind;
use super::carry_out::Outcome;
use super::plan::{FieldChange, Plan, Sign, Step};
use crate::colors::Style;
use crate::failure::Failure;
use crate::format::{clean, counted};
use crate::out::Out;

/// How many fields of a change are shown, how long each value, and how many things that stay.
const MAX_CHANGES: usize = 12;
const MAX_VALUE: usize = 60;
const MAX_LEFT: usize = 10;

/// The whole plan, with how many things change on how many hosts.
pub fn plan(out: &Out, plan: &Plan) -> Result<(), Failure> {
    for step in &plan.steps {
        out.line(head(out, step))?;
        for change in step.changes.iter().take(MAX_CHANGES) {
            out.line(format!("    {}", change_text(change)))?;
        }
        if step.changes.len() > MAX_CHANGES {
            let more = step.changes.len() - MAX_CHANGES;
            out.line(format!("    … and {}", counted(more, "more field")))?;
        }
        if let Some(note) = &step.note {
            out.line(format!("    {note}"))?;
        }
    }
    for (counts, hosts) in by_counts(plan) {
        let [add, change, remove] = counts;
        let named = match hosts.as_slice() {
            [one] => one.clone(),
            several => counted(several.len(), "host"),
        };
        out.line(format!("{named}: +{add} ~{change} -{remove}"))?;
    }
    let of = |sign: Sign| plan.steps.iter().filter(|step| step.sign == sign).count();
    out.line(format!(
        "plan: {} to add, {} to change, {} to remove; {} as declared",
        of(Sign::Add),
        of(Sign::Change),
        of(Sign::Remove),
        plan.n_same
    ))?;
    if !plan.left.is_empty() {
        let shown: Vec<String> = plan
            .left
            .iter()
            .take(MAX_LEFT)
            .map(|one| clean(one))
            .collect();
        let more = match plan.left.len().saturating_sub(MAX_LEFT) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        out.note(format!(
            "not declared, and left alone (--prune removes it): {}{more}",
            shown.join(", ")
        ));
    }
    Ok(())
}

/// Hosts with equal counts stand together.
fn by_counts(plan: &Plan) -> BTreeMap<[usize; 3], Vec<String>> {
    let mut by_counts: BTreeMap<[usize; 3], Vec<String>> = BTreeMap::new();
    for (host, counts) in plan.per_host() {
        by_counts.entry(counts).or_default().push(host);
    }
    by_counts
}

fn head(out: &Out, step: &Step) -> String {
    let style = match step.sign {
        Sign::Add => Style::Good,
        Sign::Change => Style::Warn,
        Sign::Remove => Style::Bad,
    };
    let sign = out.paint(style, &step.sign.character().to_string());
    format!("{sign} {}", what(step))
}

/// `process web/nginx on 3 of 40 hosts`
pub fn what(step: &Step) -> String {
    let hosts = match (step.hosts.len(), step.n_declared) {
        (0, _) => String::new(),
        (1, 1) => format!(" on {}", step.hosts[0]),
        (n, all) if n == all || step.kind == Kind::Group => format!(" on {}", counted(n, "host")),
        (n, all) => format!(" on {n} of {}", counted(all, "host")),
    };
    format!("{} {}{hosts}", step.kind.word(), clean(&step.name))
}

fn change_text(change: &FieldChange) -> String {
    let text = |value: &Option<Value>| match value {
        None => "none".to_owned(),
        Some(value) => {
            let text = value.to_string();
            match text.chars().count() > MAX_VALUE {
                true => format!("{}…", text.chars().take(MAX_VALUE).collect::<String>()),
                false => text,
            }
        }
    };
    format!(
        "{}: {} → {}",
        clean(&change.field),
        text(&change.old),
        text(&change.new)
    )
}

/// One step that was carried out.
pub fn outcome(out: &Out, step: &Step, outcome: &Outcome) -> Result<(), Failure> {
    match outcome {
        Outcome::Done(None) => out.success(format!("done    {}", what(step))),
        Outcome::Done(Some(shown)) => {
            out.success(format!("done    {}", what(step)))?;
            out.line(shown)
        }
        Outcome::Failed(why) => {
            let word = out.paint(Style::Bad, "failed");
            out.line(format!("{word}  {}: {why}", what(step)))
        }
        Outcome::NotTried => {
            let word = out.paint(Style::Warn, "not tried");
            out.line(format!("{word}  {}", what(step)))
        }
    }
}
