//! Versions of a template: one draft, one active version, and past ones.

use std::sync::Arc;

use fleet::Fleet;
use fleet::view::View;
use model::access::{Audit, Caller, Permission};
use model::change::Changes;
use model::config_template::{
    MAX_CONTENT, TemplateChanges, TemplateId, VersionId, VersionRow, VersionState,
};
use model::topology::{BkProcessId, BusinessId};
use model::{Invalid, Reason, UnixMillis};
use template::Template;

use super::Templates;
use super::edit::find;
use super::render::{Rendering, bad_template, in_words};
use crate::answers::user_or_app;
use crate::{BadTemplate, ControlError};

/// How many instances are named for which a version cannot be rendered.
const MAX_FAILURES: usize = 5;

impl Templates {
    /// Creates or replaces the draft of a template. An invalid template is refused with the line of the error.
    pub async fn save_draft(
        &self,
        caller: &Caller,
        business: BusinessId,
        template: TemplateId,
        description: String,
        content: String,
    ) -> Result<VersionId, ControlError> {
        self.access.check(caller, Permission::Operate, business)?;
        let name = find(self.core.fleet().view(), business, template)?
            .template_name
            .clone();
        check_content(&name, &content)?;
        let content: Arc<str> = content.into();
        let (caller, at) = (caller.clone(), self.core.now());
        let core = &self.core;
        core.commit(move |world| {
            let view = world.fleet.view();
            find(view, business, template)?;
            let draft = view.version_in(template, VersionState::Draft);
            let row = VersionRow {
                id: draft.map_or_else(|| view.next_version(), |draft| draft.id),
                template,
                description: description.clone(),
                content: content.clone(),
                state: VersionState::Draft,
                updated_at: at,
                updated_by: user_or_app(&caller.user, &caller.app),
            };
            let id = row.id;
            let object = format!("template {template} draft {id}");
            Ok((changed(vec![row], &caller, at, "save_draft", object), id))
        })
        .await
    }

    /// Activates a version; the previously active one becomes past. Refused if it cannot be rendered for each instance that
    /// the template is bound to.
    pub async fn activate_version(
        &self,
        caller: &Caller,
        business: BusinessId,
        version: VersionId,
    ) -> Result<(), ControlError> {
        self.access.check(caller, Permission::Operate, business)?;
        self.check_instances(business, version).await?;
        let (caller, at) = (caller.clone(), self.core.now());
        let core = &self.core;
        core.commit(move |world| {
            let view = world.fleet.view();
            let row = find_version(view, business, version)?;
            if row.state == VersionState::Active {
                return Ok((Changes::default(), ()));
            }
            let stamped = |row: &VersionRow, state| VersionRow {
                state,
                updated_at: at,
                updated_by: user_or_app(&caller.user, &caller.app),
                ..row.clone()
            };
            let before = view.version_in(row.template, VersionState::Active);
            let mut rows = vec![stamped(&row, VersionState::Active)];
            rows.extend(before.map(|before| stamped(before, VersionState::Past)));
            let object = format!("template {} version {version}", row.template);
            let changes = changed(rows, &caller, at, "activate_version", object);
            Ok((changes, ()))
        })
        .await
    }

    /// Renders a version for every instance that its template is bound to. Stops after some failures, and names them.
    async fn check_instances(
        &self,
        business: BusinessId,
        version: VersionId,
    ) -> Result<(), ControlError> {
        let (version, name, instances) = {
            let fleet = self.core.fleet();
            let version = find_version(fleet.view(), business, version)?;
            let template = find(fleet.view(), business, version.template)?;
            let name = template.template_name.clone();
            let instances = bound_instances(&fleet, business, version.template);
            (version, name, instances)
        };
        let (mut failures, mut first) = (Vec::new(), None);
        for (process, local_inst_id) in instances {
            let (of, rendering) = {
                let fleet = self.core.fleet();
                // It may have gone meanwhile.
                let Some(row) = fleet.view_row(process) else {
                    continue;
                };
                let name = name.clone();
                let text = version.content.clone();
                let of = row.expression();
                (of, Rendering::new(&fleet, &row, local_inst_id, name, text))
            };
            if let Err(error) = rendering.rendered().await {
                let instance = format!("instance {local_inst_id} of {of}");
                failures.push(format!("{instance}: {}", in_words(&error)));
                first.get_or_insert(error);
            }
            if failures.len() == MAX_FAILURES {
                failures.push("others were not tried".to_owned());
                break;
            }
        }
        let Some(first) = first else {
            return Ok(());
        };
        let message = format!("cannot be rendered for {}", failures.join("; "));
        let reason = Reason::new("not_rendered").with("instances", failures.join("; "));
        Err(ControlError::BadTemplate(Box::new(BadTemplate {
            message,
            reason,
            ..bad_template("version", &name, &first)
        })))
    }

    /// Copies a version into the draft of its template.
    pub async fn clone_version(
        &self,
        caller: &Caller,
        business: BusinessId,
        version: VersionId,
    ) -> Result<VersionId, ControlError> {
        self.access.check(caller, Permission::Operate, business)?;
        let row = find_version(self.core.fleet().view(), business, version)?;
        let description = format!("copy of version {version}");
        let content = row.content.to_string();
        self.save_draft(caller, business, row.template, description, content)
            .await
    }

    /// Every version of a template, newest first.
    pub fn versions(
        &self,
        caller: &Caller,
        business: BusinessId,
        template: TemplateId,
    ) -> Result<Vec<Arc<VersionRow>>, ControlError> {
        self.access.check(caller, Permission::Operate, business)?;
        let fleet = self.core.fleet();
        find(fleet.view(), business, template)?;
        let mut versions: Vec<Arc<VersionRow>> =
            fleet.view().versions_of(template).cloned().collect();
        versions.reverse();
        Ok(versions)
    }
}

/// The instances that a template makes files for. What has vanished from its source gets none.
pub(super) fn bound_instances(
    fleet: &Fleet,
    business: BusinessId,
    template: TemplateId,
) -> Vec<(BkProcessId, u32)> {
    let view = fleet.view();
    let processes = view.processes_of(business).into_iter().flatten();
    let bound = processes.map(BkProcessId).filter(|id| {
        let mut templates = view.templates_for(*id).into_iter();
        !view.has_vanished(*id) && templates.any(|bound| bound.id == template)
    });
    let instances = |id| (1..=view.expected_instances(id)).map(move |number| (id, number));
    bound.flat_map(instances).collect()
}

/// The name and content to preview: the draft, else the active version.
pub(super) fn to_preview(
    view: &View,
    business: BusinessId,
    id: TemplateId,
) -> Result<(String, Arc<str>), ControlError> {
    let template = find(view, business, id)?;
    let version = view
        .version_in(id, VersionState::Draft)
        .or_else(|| view.version_in(id, VersionState::Active))
        .ok_or_else(|| {
            let name = &template.template_name;
            ControlError::NotFound(format!("template {name} has no version yet"))
        })?;
    Ok((template.template_name.clone(), version.content.clone()))
}

fn find_version(
    view: &View,
    business: BusinessId,
    id: VersionId,
) -> Result<Arc<VersionRow>, ControlError> {
    let version = view.version(id).cloned();
    let version = version.ok_or_else(|| {
        ControlError::NotFound(format!("business {business} has no template version {id}"))
    })?;
    find(view, business, version.template)?;
    Ok(version)
}

fn check_content(name: &str, content: &str) -> Result<(), ControlError> {
    if content.len() > MAX_CONTENT {
        let rule = format!("must be at most {MAX_CONTENT} bytes");
        return Err(Invalid::new("content", rule).into());
    }
    match Template::parse(name, content) {
        Ok(_) => Ok(()),
        Err(error) => {
            let bad = bad_template("content", name, &error);
            Err(ControlError::BadTemplate(Box::new(bad)))
        }
    }
}

fn changed(
    versions: Vec<VersionRow>,
    caller: &Caller,
    at: UnixMillis,
    action: &str,
    object: String,
) -> Changes {
    Changes {
        templates: TemplateChanges {
            versions,
            ..TemplateChanges::default()
        },
        audit: vec![Audit::new(caller, at, action, object, String::new())],
        ..Changes::default()
    }
}
