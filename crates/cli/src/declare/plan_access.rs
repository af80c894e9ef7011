//! The part of a plan about webhooks and grants.

use std::collections::{BTreeMap, BTreeSet};

use api::{AppList, GrantBody, GrantRow, UserList, WebhookBody, WebhookList, WebhookRow};
use serde_json::{Value, json};

use super::current::Current;
use super::plan::{Action, Plan, Prune, Sign, Step, changes};
use super::{Declared, DeclaredWebhook, GrantAtom, GrantPlace, Grantee, Kind, Place};
use crate::failure::{Failure, Kind as FailureKind};
use crate::verb::resource::{APPS, USERS, WEBHOOKS};

const REPLACED: &str = "it is replaced by a new one, because a webhook cannot be changed in place: \
    its secret is that of secret_file, else a new one that is shown once";

pub(super) fn plan_webhooks(
    current: &Current<'_>,
    declared: &Declared,
    prune: Prune,
    plan: &mut Plan,
) -> Result<(), Failure> {
    if !declared.kinds.contains(&Kind::Webhook) {
        return Ok(());
    }
    let list: WebhookList = current.client.get(&WEBHOOKS.path())?;
    let mut rows = list.webhooks;
    let mut wanted = Vec::new();
    for one in &declared.webhooks {
        let filter = declared_filter(one);
        match rows
            .iter()
            .position(|row| row.url == one.url && row_filter(row) == filter)
        {
            Some(index) => {
                rows.remove(index);
                plan.n_same += 1;
            }
            None => wanted.push((one, filter)),
        }
    }
    let step = |sign, name: &str, changes, note, action| Step {
        sign,
        kind: Kind::Webhook,
        name: name.to_owned(),
        hosts: Vec::new(),
        n_declared: 0,
        changes,
        note,
        action,
    };
    for (one, filter) in wanted {
        // One that is left with the same URL is the one that was changed.
        let replaced = rows.iter().position(|row| row.url == one.url);
        let body = webhook_body(one);
        plan.steps
            .push(match replaced.map(|index| rows.remove(index)) {
                None => {
                    let note = one
                        .secret
                        .is_none()
                        .then(|| "its secret is shown once".to_owned());
                    step(
                        Sign::Add,
                        &one.url,
                        Vec::new(),
                        note,
                        Action::CreateWebhook(body),
                    )
                }
                Some(row) => {
                    let found = changes(&row_filter(&row), &filter);
                    let action = Action::ReplaceWebhook(row.id, body);
                    step(
                        Sign::Change,
                        &one.url,
                        found,
                        Some(REPLACED.to_owned()),
                        action,
                    )
                }
            });
    }
    for row in rows {
        match prune {
            Prune::No => plan.left.push(format!("webhook {}", row.url)),
            Prune::Yes => {
                let action = Action::DeleteWebhook(row.id);
                let step = step(Sign::Remove, &row.url, Vec::new(), None, action);
                plan.steps.push(step);
            }
        }
    }
    Ok(())
}

fn declared_filter(one: &DeclaredWebhook) -> Value {
    json!({"namespaces": one.namespaces, "kinds": one.kinds, "label": one.label})
}

fn row_filter(row: &WebhookRow) -> Value {
    let namespaces = row
        .namespaces
        .as_ref()
        .map(|list| list.iter().collect::<BTreeSet<_>>());
    let kinds = row
        .kinds
        .as_ref()
        .map(|list| list.iter().collect::<BTreeSet<_>>());
    json!({"namespaces": namespaces, "kinds": kinds, "label": row.label})
}

fn webhook_body(one: &DeclaredWebhook) -> WebhookBody {
    let list =
        |set: &Option<BTreeSet<String>>| set.as_ref().map(|set| set.iter().cloned().collect());
    WebhookBody {
        url: Some(one.url.clone()),
        namespaces: list(&one.namespaces),
        kinds: list(&one.kinds),
        label: one.label.clone(),
        secret: one.secret.clone(),
    }
}

pub(super) fn plan_grants(
    current: &Current<'_>,
    declared: &Declared,
    prune: Prune,
    plan: &mut Plan,
) -> Result<(), Failure> {
    let mut wanted: BTreeMap<Grantee, (BTreeSet<GrantAtom>, Place)> = BTreeMap::new();
    for one in &declared.grants {
        let mut places: Vec<GrantPlace> = one
            .namespaces
            .iter()
            .cloned()
            .map(GrantPlace::Namespace)
            .collect();
        for business in &one.businesses {
            let id = business.id(current.client).map_err(|failure| {
                Failure::new(failure.kind, format!("{}: {}", one.place, failure.what()))
            })?;
            places.push(GrantPlace::Business(id));
        }
        if places.is_empty() {
            places.push(GrantPlace::Everything);
        }
        let known = wanted.entry(one.grantee.clone());
        let (atoms, _) = known.or_insert_with(|| (BTreeSet::new(), one.place.clone()));
        for scope in places {
            let atom = GrantAtom {
                role: one.role.clone(),
                scope,
                label: one.label.clone(),
            };
            if !atoms.insert(atom.clone()) {
                return Err(Failure::usage(format!(
                    "{}: {} is declared twice for {}",
                    one.place, atom, one.grantee
                )));
            }
        }
    }
    if wanted.is_empty() {
        return Ok(());
    }
    let known = grants(current)?;
    for (grantee, (atoms, place)) in wanted {
        let Some(rows) = known.get(&grantee) else {
            let verb = match &grantee {
                Grantee::App(code) => format!("muster app create {code}"),
                Grantee::User(name) => format!("muster user create {name}"),
            };
            let what = format!("{place}: there is no {grantee}");
            return Err(
                Failure::new(FailureKind::NotFound, what).advise(format!("{verb} makes it"))
            );
        };
        let have: BTreeSet<GrantAtom> = rows.iter().flat_map(atoms_of).collect();
        plan.n_same += atoms.intersection(&have).count();
        let step = |sign, atom: &GrantAtom, action| Step {
            sign,
            kind: Kind::Grant,
            name: format!("{grantee}: {atom}"),
            hosts: Vec::new(),
            n_declared: 0,
            changes: Vec::new(),
            note: None,
            action,
        };
        for atom in atoms.difference(&have) {
            let action = Action::Grant(grantee.clone(), atom.body());
            plan.steps.push(step(Sign::Add, atom, action));
        }
        for atom in have.difference(&atoms) {
            if prune == Prune::No {
                plan.left.push(format!("grant of {grantee}: {atom}"));
                continue;
            }
            let action = Action::Revoke(grantee.clone(), atom.body(), atoms.clone());
            plan.steps.push(step(Sign::Remove, atom, action));
        }
    }
    Ok(())
}

/// The grants of every app and user.
pub(super) fn grants(current: &Current<'_>) -> Result<BTreeMap<Grantee, Vec<GrantRow>>, Failure> {
    let apps: AppList = current.client.get(&APPS.path())?;
    let users: UserList = current.client.get(&USERS.path())?;
    let apps = apps
        .apps
        .into_iter()
        .map(|row| (Grantee::App(row.code), row.grants));
    let users = users
        .users
        .into_iter()
        .map(|row| (Grantee::User(row.name), row.grants));
    Ok(apps.chain(users).collect())
}

/// The single roles of a grant of the server.
pub(super) fn atoms_of(row: &GrantRow) -> Vec<GrantAtom> {
    let namespaces = row.namespaces.iter().cloned().map(GrantPlace::Namespace);
    let businesses = row.businesses.iter().copied().map(GrantPlace::Business);
    let mut places: Vec<GrantPlace> = namespaces.chain(businesses).collect();
    if places.is_empty() {
        places.push(GrantPlace::Everything);
    }
    let atom = |scope| GrantAtom {
        role: row.role.to_string(),
        scope,
        label: row.label.clone(),
    };
    places.into_iter().map(atom).collect()
}

impl GrantAtom {
    pub(super) fn body(&self) -> GrantBody {
        let (namespaces, businesses) = match &self.scope {
            GrantPlace::Everything => (Vec::new(), Vec::new()),
            GrantPlace::Namespace(namespace) => (vec![namespace.clone()], Vec::new()),
            GrantPlace::Business(id) => (Vec::new(), vec![i64::from(*id)]),
        };
        GrantBody {
            role: Some(self.role.clone()),
            namespaces: Some(namespaces),
            businesses: Some(businesses),
            label: self.label.clone(),
        }
    }
}
