//! Creates, changes, binds, deletes and lists templates.

use std::sync::Arc;

use fleet::view::View;
use model::Invalid;
use model::access::{Audit, Caller, Permission};
use model::config_template::{
    Binding, ConfigFileRow, LineSeparator, TemplateId, TemplateRow, VersionId, VersionState,
};
use model::topology::BusinessId;

use super::Templates;
use crate::ControlError;
use crate::answers::user_or_app;
use crate::draft::Draft;
use crate::topology::no_such_business;

/// The fields of a new or changed template.
#[derive(Debug, Clone)]
pub struct NewTemplate {
    pub template_name: String,
    pub file_name: String,
    pub abs_path: String,
    pub owner: String,
    pub group: String,
    pub filemode: u32,
    pub line_separator: LineSeparator,
}

/// A template, with a summary of its versions.
#[derive(Debug, Clone)]
pub struct TemplateView {
    pub template: Arc<TemplateRow>,
    pub draft: Option<VersionId>,
    pub active: Option<VersionId>,
    pub n_versions: usize,
}

impl Templates {
    pub async fn create(
        &self,
        caller: &Caller,
        business: BusinessId,
        new: NewTemplate,
    ) -> Result<TemplateId, ControlError> {
        self.put(caller, business, None, new).await
    }

    /// Replaces the fields of a template; its versions and bindings stay.
    pub async fn update(
        &self,
        caller: &Caller,
        business: BusinessId,
        id: TemplateId,
        new: NewTemplate,
    ) -> Result<(), ControlError> {
        self.put(caller, business, Some(id), new).await.map(drop)
    }

    async fn put(
        &self,
        caller: &Caller,
        business: BusinessId,
        id: Option<TemplateId>,
        new: NewTemplate,
    ) -> Result<TemplateId, ControlError> {
        self.access.check(caller, Permission::Operate, business)?;
        let (caller, at) = (caller.clone(), self.core.now());
        let core = &self.core;
        core.commit(move |world| {
            let view = world.fleet.view();
            if view.business(business).is_none() {
                return Err(no_such_business(business));
            }
            let before = match id {
                Some(id) => Some(find(view, business, id)?),
                None => None,
            };
            let row = TemplateRow {
                id: id.unwrap_or_else(|| view.next_template()),
                business,
                template_name: new.template_name.clone(),
                file_name: new.file_name.clone(),
                abs_path: new.abs_path.clone(),
                owner: new.owner.clone(),
                group: new.group.clone(),
                filemode: new.filemode,
                line_separator: new.line_separator,
                bindings: before.map_or_else(Vec::new, |before| before.bindings.clone()),
                updated_at: at,
                updated_by: user_or_app(&caller.user, &caller.app),
            };
            row.check()?;
            let same_name = view
                .templates_of(business)
                .find(|other| other.template_name == row.template_name && other.id != row.id);
            if same_name.is_some() {
                let message = format!("template {} exists already", row.template_name);
                return Err(ControlError::Conflict(message));
            }
            let action = match id {
                Some(_) => "update_template",
                None => "create_template",
            };
            let (id, object) = (row.id, format!("template {} {}", row.id, row.template_name));
            let mut draft = Draft::new(world, at);
            draft.changes.templates.templates.push(row);
            draft.audit(Audit::new(&caller, at, action, object, String::new()));
            Ok((draft.finish(), id))
        })
        .await
    }

    /// Binds a template to processes, or to all processes of a process template.
    pub async fn bind(
        &self,
        caller: &Caller,
        business: BusinessId,
        id: TemplateId,
        bindings: Vec<Binding>,
    ) -> Result<(), ControlError> {
        self.access.check(caller, Permission::Operate, business)?;
        let (caller, at) = (caller.clone(), self.core.now());
        let core = &self.core;
        core.commit(move |world| {
            let view = world.fleet.view();
            let before = find(view, business, id)?;
            for binding in &bindings {
                check_binding(world.fleet, business, *binding)?;
            }
            let mut bindings = bindings.clone();
            bindings.sort_unstable();
            bindings.dedup();
            let row = TemplateRow {
                bindings,
                updated_at: at,
                updated_by: user_or_app(&caller.user, &caller.app),
                ..(**before).clone()
            };
            let object = format!("template {id} {}", row.template_name);
            let detail = format!("{} bindings", row.bindings.len());
            let mut draft = Draft::new(world, at);
            draft.changes.templates.templates.push(row);
            draft.audit(Audit::new(&caller, at, "bind_template", object, detail));
            Ok((draft.finish(), ()))
        })
        .await
    }

    /// Deletes a template with its versions. Its files stay on their hosts, and are no longer watched.
    pub async fn delete(
        &self,
        caller: &Caller,
        business: BusinessId,
        id: TemplateId,
    ) -> Result<(), ControlError> {
        self.access.check(caller, Permission::Operate, business)?;
        let (caller, at) = (caller.clone(), self.core.now());
        let core = &self.core;
        core.commit(move |world| {
            let view = world.fleet.view();
            let name = find(view, business, id)?.template_name.clone();
            let mut draft = Draft::new(world, at);
            let ours = view.processes_of(business).into_iter().flatten();
            for process in ours.map(model::topology::BkProcessId) {
                let made: Vec<ConfigFileRow> = view
                    .config_files(process)
                    .filter(|file| file.template == id)
                    .map(|file| ConfigFileRow {
                        generated: None,
                        released: None,
                        ..(**file).clone()
                    })
                    .collect();
                if !made.is_empty() {
                    draft.watch_files(process, &made);
                    draft.changes.templates.files.extend(made);
                }
            }
            let versions = view.versions_of(id).map(|version| version.id);
            draft.changes.templates.versions_gone.extend(versions);
            draft.changes.templates.templates_gone.push(id);
            let object = format!("template {id} {name}");
            draft.audit(Audit::new(
                &caller,
                at,
                "delete_template",
                object,
                String::new(),
            ));
            Ok((draft.finish(), ()))
        })
        .await
    }

    /// The templates of a business, by id.
    pub fn list(
        &self,
        caller: &Caller,
        business: BusinessId,
    ) -> Result<Vec<TemplateView>, ControlError> {
        self.access.check(caller, Permission::View, business)?;
        let fleet = self.core.fleet();
        let view = fleet.view();
        if view.business(business).is_none() {
            return Err(no_such_business(business));
        }
        Ok(view
            .templates_of(business)
            .map(|template| shown(view, template))
            .collect())
    }

    /// The templates whose name or file name contains `term`, the newest first: their number, and a page of them.
    pub fn search(
        &self,
        caller: &Caller,
        business: BusinessId,
        term: &str,
        start: usize,
        limit: usize,
    ) -> Result<(usize, Vec<TemplateView>), ControlError> {
        self.access.check(caller, Permission::View, business)?;
        let fleet = self.core.fleet();
        let view = fleet.view();
        let matches = |template: &&Arc<TemplateRow>| {
            template.template_name.contains(term) || template.file_name.contains(term)
        };
        let mut found: Vec<&Arc<TemplateRow>> =
            view.templates_of(business).filter(matches).collect();
        found.reverse();
        let page = found.iter().skip(start).take(limit);
        Ok((
            found.len(),
            page.map(|template| shown(view, template)).collect(),
        ))
    }

    pub fn get(
        &self,
        caller: &Caller,
        business: BusinessId,
        id: TemplateId,
    ) -> Result<TemplateView, ControlError> {
        self.access.check(caller, Permission::View, business)?;
        let fleet = self.core.fleet();
        let template = find(fleet.view(), business, id)?;
        Ok(shown(fleet.view(), template))
    }
}

fn shown(view: &View, template: &Arc<TemplateRow>) -> TemplateView {
    let in_state = |state| {
        view.version_in(template.id, state)
            .map(|version| version.id)
    };
    TemplateView {
        template: template.clone(),
        draft: in_state(VersionState::Draft),
        active: in_state(VersionState::Active),
        n_versions: view.versions_of(template.id).count(),
    }
}

pub(super) fn find(
    view: &View,
    business: BusinessId,
    id: TemplateId,
) -> Result<&Arc<TemplateRow>, ControlError> {
    view.template(id)
        .filter(|template| template.business == business)
        .ok_or_else(|| ControlError::NotFound(format!("business {business} has no template {id}")))
}

fn check_binding(
    fleet: &fleet::Fleet,
    business: BusinessId,
    binding: Binding,
) -> Result<(), Invalid> {
    match binding {
        Binding::ProcessTemplate(0) => Err(Invalid::new(
            "process_template_id",
            "must not be 0, which stands for no template",
        )),
        Binding::ProcessTemplate(_) => Ok(()),
        Binding::Process(id) => {
            let here = fleet
                .view_row(id)
                .is_some_and(|row| row.business.id == business);
            match here {
                true => Ok(()),
                false => Err(Invalid::new(
                    "bk_process_id",
                    format!("business {business} has no process {id}"),
                )),
            }
        }
    }
}
