//! Does what a plan says, one step after the other, and reports of each step what came of it.

use std::collections::BTreeSet;

use api::{CreatedWebhook, GrantList, GroupsBody, HostsBody, Results};
use model::Code;
use model::group::{ProcessGroup, RawPool, RawProcessGroup};
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::plan::{Action, Plan, Sign, Step};
use super::plan_access::atoms_of;
use super::{GrantAtom, Grantee};
use crate::client::{Client, Path, process_path};
use crate::failure::{Failure, Kind as FailureKind};
use crate::format::counted;
use crate::target::parse_host;
use crate::verb::resource::{APPS, USERS, WEBHOOKS};
use crate::verb::template::{first_version, id_of, template_path, templates_path};

/// How a step ended.
#[derive(Debug)]
pub enum Outcome {
    /// With what is shown only once, such as the secret of a webhook.
    Done(Option<String>),
    /// Some hosts, or the whole of it.
    Failed(String),
    /// A step before it failed.
    NotTried,
}

impl Outcome {
    pub fn to_json(&self) -> Value {
        match self {
            Self::Done(shown) => json!({"outcome": "done", "shown": shown}),
            Self::Failed(why) => json!({"outcome": "failed", "message": why}),
            Self::NotTried => json!({"outcome": "not_tried"}),
        }
    }
}

/// Carries out all steps. After a failure nothing is removed; where the server cannot be reached or refuses, nothing more is
/// tried.
pub fn carry_out(
    client: &Client,
    plan: &Plan,
    mut tell: impl FnMut(&Step, &Outcome),
) -> Vec<Outcome> {
    let mut outcomes = Vec::with_capacity(plan.steps.len());
    let (mut has_failed, mut is_over) = (false, false);
    for step in &plan.steps {
        let outcome = match is_over || (has_failed && step.sign == Sign::Remove) {
            true => Outcome::NotTried,
            false => match run(client, step) {
                Ok(shown) => Outcome::Done(shown),
                Err(failure) => {
                    has_failed = true;
                    is_over = matches!(
                        failure.kind,
                        FailureKind::Unreachable | FailureKind::Refused
                    );
                    Outcome::Failed(failure.to_string())
                }
            },
        };
        tell(step, &outcome);
        outcomes.push(outcome);
    }
    outcomes
}

fn run(client: &Client, step: &Step) -> Result<Option<String>, Failure> {
    let hosts = || {
        step.hosts
            .iter()
            .map(|host| parse_host(host))
            .collect::<Result<Vec<_>, _>>()
    };
    match &step.action {
        Action::PutProcess(name, body) => all_of(client.put(&process_path(name), body)?),
        Action::Forget(name) => {
            let hosts = Some(hosts()?);
            all_of(client.delete_with(&process_path(name), &HostsBody { hosts })?)
        }
        Action::SetGroups(namespace, groups) => {
            let body = GroupsBody {
                hosts: Some(hosts()?),
                process_group: Some(groups.iter().map(|group| Some(raw(group))).collect()),
            };
            all_of(client.put(&Path::new("groups").join(namespace), &body)?)
        }
        Action::CreateTemplate(business, body, text, bindings) => {
            let path = templates_path(*business);
            let created: Value = client.post(&path, body)?;
            let path = path.join(id_of(&created)?);
            change_template(client, &path, text.as_deref(), bindings.as_ref())
        }
        Action::ChangeTemplate(business, id, body, text, bindings) => {
            let path = template_path(*business, *id);
            if let Some(body) = body {
                client.put::<IgnoredAny>(&path, body)?;
            }
            change_template(client, &path, text.as_deref(), bindings.as_ref())
        }
        Action::DeleteTemplate(business, id) => {
            client.delete::<IgnoredAny>(&template_path(*business, *id))?;
            Ok(None)
        }
        Action::CreateWebhook(body) => create_webhook(client, body),
        Action::ReplaceWebhook(id, body) => {
            let shown = create_webhook(client, body)?;
            client.delete::<IgnoredAny>(&WEBHOOKS.path().join(id))?;
            Ok(shown)
        }
        Action::DeleteWebhook(id) => {
            client.delete::<IgnoredAny>(&WEBHOOKS.path().join(id))?;
            Ok(None)
        }
        Action::Grant(grantee, body) => {
            client.post::<IgnoredAny>(&grants_path(grantee), body)?;
            Ok(None)
        }
        Action::Revoke(grantee, body, declared) => {
            let path = grants_path(grantee);
            let left: GrantList = client.delete_with(&path, body)?;
            let left: BTreeSet<GrantAtom> = left.grants.iter().flat_map(atoms_of).collect();
            for atom in declared.difference(&left) {
                client.post::<IgnoredAny>(&path, &atom.body())?;
            }
            Ok(None)
        }
    }
}

fn grants_path(grantee: &Grantee) -> Path {
    match grantee {
        Grantee::App(code) => APPS.path().join(code).join("grants"),
        Grantee::User(name) => USERS.path().join(name).join("grants"),
    }
}

/// Fails with the first reason where some host failed.
fn all_of(results: Results<'_>) -> Result<Option<String>, Failure> {
    let failed: Vec<_> = results
        .results
        .iter()
        .filter(|one| one.code != Code::OK.0)
        .collect();
    let Some(first) = failed.first() else {
        return Ok(None);
    };
    let of = counted(results.results.len(), "host");
    let what = format!(
        "failed on {} of {of}; on {} ({}): {}",
        failed.len(),
        first.host,
        first.code,
        first.message
    );
    Err(Failure::new(FailureKind::Failed, what))
}

fn change_template(
    client: &Client,
    path: &Path,
    text: Option<&str>,
    bindings: Option<&api::Bindings>,
) -> Result<Option<String>, Failure> {
    if let Some(bindings) = bindings {
        client.put::<IgnoredAny>(&path.clone().join("bindings"), bindings)?;
    }
    if let Some(text) = text {
        first_version(client, path, text)?;
    }
    Ok(None)
}

fn create_webhook(client: &Client, body: &api::WebhookBody) -> Result<Option<String>, Failure> {
    let created: CreatedWebhook = client.post(&WEBHOOKS.path(), body)?;
    let is_given = body.secret.is_some();
    Ok((!is_given).then(|| {
        format!(
            "MUSTER_WEBHOOK_ID={} MUSTER_WEBHOOK_SECRET={}",
            created.id, created.secret
        )
    }))
}

fn raw(group: &ProcessGroup) -> RawProcessGroup {
    let pool = group.resource;
    RawProcessGroup {
        id: Some(group.id.clone().into()),
        resource: Some(RawPool {
            cpu_pool_limit: Some(pool.cpu_pool_limit),
            mem_pool_limit: Some(pool.mem_pool_limit),
            cpu_pool_weight: Some(i64::from(pool.cpu_pool_weight)),
            mem_pool_weight: Some(i64::from(pool.mem_pool_weight)),
        }),
    }
}
