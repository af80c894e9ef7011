//! The part of a plan about config templates.

use std::collections::BTreeMap;

use api::{Bindings, TemplateBody, TemplateShown, VersionShown};
use serde_json::{Value, json};

use super::current::Current;
use super::plan::{Action, Plan, Prune, Sign, Step, changes};
use super::repeated::twice;
use super::{Declared, DeclaredTemplate, Kind};
use crate::failure::Failure;
use crate::verb::template::{template_path, templates};

pub(super) fn plan(
    current: &Current<'_>,
    declared: &Declared,
    prune: Prune,
    plan: &mut Plan,
) -> Result<(), Failure> {
    let mut by_business: BTreeMap<u32, Vec<&DeclaredTemplate>> = BTreeMap::new();
    for one in &declared.templates {
        let business = one.business.id(current.client).map_err(|failure| {
            Failure::new(failure.kind, format!("{}: {}", one.place, failure.what()))
        })?;
        by_business.entry(business).or_default().push(one);
    }
    for (business, wanted) in by_business {
        let registered = templates(current.client, business)?;
        for (index, one) in wanted.iter().enumerate() {
            // A business may be named by its id and by its name.
            if let Some(other) = wanted[..index].iter().find(|other| other.name == one.name) {
                return Err(twice(
                    &format!("template {}", one.name),
                    &one.place,
                    &other.place,
                ));
            }
            let found = registered.iter().find(|row| row.template_name == one.name);
            plan_one(current, business, one, found, plan)?;
        }
        for row in &registered {
            if wanted.iter().any(|one| one.name == row.template_name) {
                continue;
            }
            let name = format!("{} of business {business}", row.template_name);
            if prune == Prune::No {
                plan.left.push(format!("template {name}"));
                continue;
            }
            plan.steps.push(Step {
                sign: Sign::Remove,
                kind: Kind::Template,
                name,
                hosts: Vec::new(),
                n_declared: 0,
                changes: Vec::new(),
                note: Some("with its versions; files that it made stay on their hosts".to_owned()),
                action: Action::DeleteTemplate(business, row.id),
            });
        }
    }
    Ok(())
}

fn plan_one(
    current: &Current<'_>,
    business: u32,
    one: &DeclaredTemplate,
    found: Option<&TemplateShown>,
    plan: &mut Plan,
) -> Result<(), Failure> {
    let name = format!("{} of business {business}", one.name);
    let step = |sign, changes, action| Step {
        sign,
        kind: Kind::Template,
        name: name.clone(),
        hosts: Vec::new(),
        n_declared: 0,
        changes,
        note: None,
        action,
    };
    let Some(row) = found else {
        let action = Action::CreateTemplate(
            business,
            body(one),
            one.text.clone(),
            one.bindings.clone().map(sorted),
        );
        plan.steps.push(step(Sign::Add, Vec::new(), action));
        return Ok(());
    };
    let text = match (&one.text, row.active) {
        (None, _) => None,
        (Some(_), None) => Some(String::new()),
        (Some(_), Some(version)) => Some(active_text(current, business, row.id, version)?),
    };
    let old = document(
        [
            &row.abs_path,
            &row.file_name,
            &row.owner,
            &row.group,
            &row.filemode,
            &row.line_separator,
        ],
        text.as_deref(),
        one.bindings.as_ref().map(|_| sorted(row.bindings.clone())),
    );
    let line_ends = one.line_ends.as_str();
    let new = document(
        [
            &one.folder,
            &one.file_name,
            &one.owner,
            &one.group,
            &one.mode,
            line_ends,
        ],
        one.text.as_deref(),
        one.bindings.clone().map(sorted),
    );
    let found = changes(&old, &new);
    if found.is_empty() {
        plan.n_same += 1;
        return Ok(());
    }
    let differs = |field: &str| found.iter().any(|one| one.field.starts_with(field));
    let action = Action::ChangeTemplate(
        business,
        row.id,
        differs("file.").then(|| body(one)),
        one.text.clone().filter(|_| differs("text")),
        one.bindings
            .clone()
            .map(sorted)
            .filter(|_| differs("bindings")),
    );
    plan.steps.push(step(Sign::Change, found, action));
    Ok(())
}

pub(super) fn active_text(
    current: &Current<'_>,
    business: u32,
    id: u32,
    version: u32,
) -> Result<String, Failure> {
    let path = template_path(business, id).join("versions").join(version);
    let version: VersionShown = current.client.get(&path)?;
    Ok(version.content.as_deref().unwrap_or_default().to_owned())
}

fn sorted(mut bindings: Bindings) -> Bindings {
    for ids in [&mut bindings.processes, &mut bindings.process_templates] {
        ids.sort_unstable();
        ids.dedup();
    }
    bindings
}

fn document(file: [&str; 6], text: Option<&str>, bindings: Option<Bindings>) -> Value {
    let [folder, name, owner, group, mode, line_ends] = file;
    let folder = match folder {
        "/" => "",
        folder => folder.trim_end_matches('/'),
    };
    json!({
        "file": {"path": format!("{folder}/{name}"), "owner": owner, "group": group, "mode": mode, "line_ends": line_ends},
        "text": text,
        "bindings": bindings,
    })
}

fn body(one: &DeclaredTemplate) -> TemplateBody {
    TemplateBody {
        template_name: one.name.clone(),
        file_name: one.file_name.clone(),
        abs_path: one.folder.clone(),
        owner: Some(one.owner.clone()),
        group: Some(one.group.clone()),
        filemode: one.mode.as_str().into(),
        line_separator: Some(one.line_ends.clone()),
    }
}
