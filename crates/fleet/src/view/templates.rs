//! Config templates with their versions, bindings and files per instance. Contents are in the store.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hashbrown::HashMap;
use model::config_template::{
    Binding, ConfigFileRow, TemplateChanges, TemplateId, TemplateRow, VersionId, VersionRow,
    VersionState,
};
use model::topology::{BkProcessId, BusinessId};

use super::View;
use crate::cow::CowMap;

#[derive(Debug, Clone, Default)]
pub(super) struct Templates {
    templates: BTreeMap<TemplateId, Arc<TemplateRow>>,
    versions: BTreeMap<VersionId, Arc<VersionRow>>,
    versions_of: HashMap<TemplateId, BTreeSet<VersionId>>,
    bound: HashMap<Binding, BTreeSet<TemplateId>>,
    /// By process, then by instance and template.
    files: CowMap<BkProcessId, BTreeMap<(u32, TemplateId), Arc<ConfigFileRow>>>,
    next_template: u32,
    next_version: u32,
}

impl View {
    pub(crate) fn apply_templates(&mut self, changes: &TemplateChanges) {
        let all = Arc::make_mut(&mut self.templates);
        for id in &changes.versions_gone {
            if let Some(version) = all.versions.remove(id)
                && let Some(ids) = all.versions_of.get_mut(&version.template)
            {
                ids.remove(id);
            }
        }
        for id in &changes.templates_gone {
            if let Some(template) = all.templates.remove(id) {
                all.unbind(&template);
            }
            all.versions_of.remove(id);
        }
        for row in &changes.templates {
            let row = Arc::new(row.clone());
            if let Some(before) = all.templates.insert(row.id, row.clone()) {
                all.unbind(&before);
            }
            for binding in &row.bindings {
                all.bound.entry(*binding).or_default().insert(row.id);
            }
            all.next_template = all.next_template.max(row.id.0 + 1);
        }
        for row in &changes.versions {
            all.versions_of
                .entry(row.template)
                .or_default()
                .insert(row.id);
            all.versions.insert(row.id, Arc::new(row.clone()));
            all.next_version = all.next_version.max(row.id.0 + 1);
        }
        for row in &changes.files {
            let key = (row.local_inst_id, row.template);
            let files = all.files.get_or_default(row.process);
            match row.generated.is_none() && row.released.is_none() {
                true => drop(files.remove(&key)),
                false => drop(files.insert(key, Arc::new(row.clone()))),
            }
            if files.is_empty() {
                all.files.remove(&row.process);
            }
        }
    }

    /// The templates of a business, by id.
    pub fn templates_of(&self, business: BusinessId) -> impl Iterator<Item = &Arc<TemplateRow>> {
        let all = self.templates.templates.values();
        all.filter(move |template| template.business == business)
    }

    pub fn template(&self, id: TemplateId) -> Option<&Arc<TemplateRow>> {
        self.templates.templates.get(&id)
    }

    pub fn version(&self, id: VersionId) -> Option<&Arc<VersionRow>> {
        self.templates.versions.get(&id)
    }

    /// The versions of a template, by id.
    pub fn versions_of(&self, id: TemplateId) -> impl Iterator<Item = &Arc<VersionRow>> {
        let ids = self.templates.versions_of.get(&id).into_iter().flatten();
        ids.filter_map(|id| self.version(*id))
    }

    pub fn version_in(&self, id: TemplateId, state: VersionState) -> Option<&Arc<VersionRow>> {
        self.versions_of(id).find(|version| version.state == state)
    }

    /// The templates bound to a process or to its process template, by id.
    pub fn templates_for(&self, id: BkProcessId) -> Vec<&Arc<TemplateRow>> {
        let template = self.process(id).map_or(0, |row| row.process_template);
        let bound = |binding| self.templates.bound.get(&binding).into_iter().flatten();
        let of_template = (template != 0).then(|| bound(Binding::ProcessTemplate(template)));
        let own = bound(Binding::Process(id));
        let ids: BTreeSet<TemplateId> = of_template
            .into_iter()
            .flatten()
            .chain(own)
            .copied()
            .collect();
        ids.iter().filter_map(|id| self.template(*id)).collect()
    }

    /// The generated and released files of a process's instances.
    pub fn config_files(&self, id: BkProcessId) -> impl Iterator<Item = &Arc<ConfigFileRow>> {
        let files = self.templates.files.get(&id);
        files.into_iter().flat_map(BTreeMap::values)
    }

    pub fn config_file(
        &self,
        process: BkProcessId,
        local_inst_id: u32,
        template: TemplateId,
    ) -> Option<&Arc<ConfigFileRow>> {
        let files = self.templates.files.get(&process)?;
        files.get(&(local_inst_id, template))
    }

    pub fn next_template(&self) -> TemplateId {
        TemplateId(self.templates.next_template.max(1))
    }

    pub fn next_version(&self) -> VersionId {
        VersionId(self.templates.next_version.max(1))
    }
}

impl Templates {
    fn unbind(&mut self, template: &TemplateRow) {
        for binding in &template.bindings {
            if let Some(ids) = self.bound.get_mut(binding) {
                ids.remove(&template.id);
            }
        }
    }
}
