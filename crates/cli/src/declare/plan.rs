//! The difference between what files declare and what the server has, as steps that can be shown and carried out.

use std::collections::{BTreeMap, BTreeSet};

use api::{GrantBody, RegisterBody, TemplateBody, WebhookBody};
use model::group::ProcessGroup;
use model::{FullName, Namespace};
use serde::Serialize;
use serde_json::{Value, json};

use super::current::Current;
use super::{Declared, Grantee, Kind, plan_access, plan_processes, plan_templates};
use crate::failure::Failure;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sign {
    Add,
    Change,
    Remove,
}

impl Sign {
    pub fn character(self) -> char {
        match self {
            Self::Add => '+',
            Self::Change => '~',
            Self::Remove => '-',
        }
    }
}

/// A field that gets another value. None: it has none.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FieldChange {
    pub field: String,
    pub old: Option<Value>,
    pub new: Option<Value>,
}

/// One request.
#[derive(Debug)]
pub enum Action {
    PutProcess(FullName, Box<RegisterBody>),
    Forget(FullName),
    SetGroups(Namespace, Vec<ProcessGroup>),
    CreateTemplate(u32, TemplateBody, Option<String>, Option<api::Bindings>),
    /// Business and id; what differs: the file, the text, the bindings.
    ChangeTemplate(
        u32,
        u32,
        Option<TemplateBody>,
        Option<String>,
        Option<api::Bindings>,
    ),
    DeleteTemplate(u32, u32),
    CreateWebhook(WebhookBody),
    /// The id of the webhook that is deleted after the new one is made.
    ReplaceWebhook(String, WebhookBody),
    DeleteWebhook(String),
    Grant(Grantee, GrantBody),
    /// Every role that the files leave is given again where the server takes more than was asked.
    Revoke(Grantee, GrantBody, BTreeSet<super::GrantAtom>),
}

#[derive(Debug)]
pub struct Step {
    pub sign: Sign,
    pub kind: Kind,
    pub name: String,
    /// `CLOUD:IP`; empty for what is on no host.
    pub hosts: Vec<String>,
    /// On how many hosts it is declared.
    pub n_declared: usize,
    pub changes: Vec<FieldChange>,
    /// What else a reader must know before saying yes.
    pub note: Option<String>,
    pub action: Action,
}

impl Step {
    pub fn to_json(&self) -> Value {
        json!({
            "sign": self.sign.character().to_string(),
            "kind": self.kind.word(),
            "name": self.name,
            "hosts": self.hosts,
            "changes": self.changes,
            "note": self.note,
        })
    }
}

#[derive(Debug, Default)]
pub struct Plan {
    pub steps: Vec<Step>,
    /// Things, on each of their hosts, that are as declared.
    pub n_same: usize,
    /// What is there, is not declared, and stays because `--prune` was not given.
    pub left: Vec<String>,
}

impl Plan {
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// How many things are added, changed and removed on each host.
    pub fn per_host(&self) -> BTreeMap<String, [usize; 3]> {
        let mut counts: BTreeMap<String, [usize; 3]> = BTreeMap::new();
        for step in &self.steps {
            for host in &step.hosts {
                counts.entry(host.clone()).or_default()[step.sign as usize] += 1;
            }
        }
        counts
    }

    /// Whether another plan does the same.
    pub fn is_same(&self, other: &Self) -> bool {
        let all = |plan: &Self| plan.steps.iter().map(Step::to_json).collect::<Vec<_>>();
        all(self) == all(other)
    }

    pub fn to_json(&self) -> Value {
        let steps: Vec<Value> = self.steps.iter().map(Step::to_json).collect();
        let hosts: BTreeMap<String, Value> = self
            .per_host()
            .into_iter()
            .map(|(host, [add, change, remove])| {
                (
                    host,
                    json!({"add": add, "change": change, "remove": remove}),
                )
            })
            .collect();
        json!({"steps": steps, "hosts": hosts, "unchanged": self.n_same, "left": self.left})
    }
}

/// Whether what the files leave out is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prune {
    Yes,
    No,
}

pub fn plan(current: &Current<'_>, declared: &Declared, prune: Prune) -> Result<Plan, Failure> {
    let mut plan = Plan::default();
    plan_templates::plan(current, declared, prune, &mut plan)?;
    let hosts = plan_processes::plan(current, declared, prune, &mut plan)?;
    plan_processes::plan_groups(current, declared, prune, &hosts, &mut plan)?;
    plan_access::plan_webhooks(current, declared, prune, &mut plan)?;
    plan_access::plan_grants(current, declared, prune, &mut plan)?;
    // Removals come last, and in the opposite order.
    let (removals, mut steps): (Vec<Step>, Vec<Step>) = std::mem::take(&mut plan.steps)
        .into_iter()
        .partition(|step| step.sign == Sign::Remove);
    steps.extend(removals.into_iter().rev());
    plan.steps = steps;
    Ok(plan)
}

/// The fields that differ between two documents.
pub fn changes(old: &Value, new: &Value) -> Vec<FieldChange> {
    let mut found = Vec::new();
    compare("", old, new, &mut found);
    found
}

fn compare(path: &str, old: &Value, new: &Value, found: &mut Vec<FieldChange>) {
    let (Value::Object(before), Value::Object(after)) = (old, new) else {
        if old != new {
            let given = |value: &Value| (!value.is_null()).then(|| value.clone());
            found.push(FieldChange {
                field: path.to_owned(),
                old: given(old),
                new: given(new),
            });
        }
        return;
    };
    let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    for key in keys {
        let path = super::lines::member(path, key);
        let [old, new] = [before, after].map(|side| side.get(key).unwrap_or(&Value::Null));
        // A section that only one side has is shown field by field, too.
        match (old, new) {
            (Value::Null, Value::Object(_)) => compare(&path, &json!({}), new, found),
            (Value::Object(_), Value::Null) => compare(&path, old, &json!({}), found),
            _ => compare(&path, old, new, found),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_fields_that_differ_are_changes() {
        let old = json!({"a": {"x": 1, "y": [1]}, "gone": {"z": 1}, "same": 2});
        let new = json!({"a": {"x": 2, "y": [1]}, "made": "m", "same": 2});
        let found = changes(&old, &new);
        let shown: Vec<String> = found
            .iter()
            .map(|one| format!("{} {:?} {:?}", one.field, one.old, one.new))
            .collect();
        assert_eq!(
            shown,
            [
                "a.x Some(Number(1)) Some(Number(2))",
                "gone.z Some(Number(1)) None",
                "made None Some(String(\"m\"))",
            ]
        );
    }
}
