//! Config templates: text with versions, bound to processes; rendered for each instance, released onto its host.
//!
//! A template has at most one draft, which is edited, and one active version, which files are generated from. What was generated
//! and released for an instance is a row; the store keeps each content once, by its hash. The md5 of a released file is in the
//! `configmap` of the instance's spec, so the agent watches it and reports a manual change as an event.

mod context;
mod edit;
mod files;
mod render;
mod result;
mod unified;
mod versions;
mod work;

pub use edit::{NewTemplate, TemplateView};
pub use files::{Drift, FileFilter, FileStage, TemplateFile, TemplateFiles};
pub(crate) use render::{BAD_TEMPLATE, FORBIDDEN, NO_ACTIVE_VERSION};
pub(crate) use result::ConfigResult;
pub(crate) use work::{has_templates, work};

use std::sync::Arc;

use model::Host;
use model::access::{Caller, Permission};
use model::config_template::{ConfigFileRow, ContentId, TemplateId};
use model::scope::ViewFilter;
use model::topology::{BkProcessId, BusinessId};
use serde_json::{Map, Value};

use crate::core::Core;
use crate::{Access, ControlError, Sessions};

/// What a preview renders.
#[derive(Debug, Clone)]
pub enum PreviewOf {
    /// The draft of a template, else its active version.
    Template(TemplateId),
    /// A text that is not stored.
    Text(String),
}

/// Which config files to list.
#[derive(Debug)]
pub struct FileQuery {
    /// Files of the processes that match.
    pub processes: ViewFilter,
    /// Of these templates; of all if not given.
    pub templates: Option<Vec<TemplateId>>,
    /// Whether what was generated differs from what was released.
    pub changed: Option<bool>,
}

/// Some of the config files that match a query.
#[derive(Debug)]
pub struct FilePage {
    /// How many match.
    pub count: u64,
    /// How many would match without `changed`.
    pub total: u64,
    pub files: Vec<FileOf>,
}

/// A config file, and the process that it is for.
#[derive(Debug)]
pub struct FileOf {
    pub file: Arc<ConfigFileRow>,
    /// The alias of the process.
    pub name: String,
    pub host: Host,
}

/// Config templates, and the files that they make.
#[derive(Debug)]
pub struct Templates {
    core: Arc<Core>,
    access: Arc<Access>,
    sessions: Arc<Sessions>,
}

impl Templates {
    pub(crate) fn new(core: &Arc<Core>, access: &Arc<Access>, sessions: &Arc<Sessions>) -> Self {
        Self {
            core: core.clone(),
            access: access.clone(),
            sessions: sessions.clone(),
        }
    }

    /// Renders a template for one instance.
    pub async fn preview(
        &self,
        caller: &Caller,
        business: BusinessId,
        of: PreviewOf,
        process: BkProcessId,
        local_inst_id: u32,
    ) -> Result<String, ControlError> {
        self.access.check(caller, Permission::Operate, business)?;
        let job = {
            let fleet = self.core.fleet();
            let row = fleet
                .view_row(process)
                .filter(|row| row.business.id == business);
            let row = row.ok_or_else(|| {
                ControlError::NotFound(format!("business {business} has no process {process}"))
            })?;
            let (name, text) = match of {
                PreviewOf::Text(text) => ("the text".to_owned(), text.into()),
                PreviewOf::Template(id) => versions::to_preview(fleet.view(), business, id)?,
            };
            render::Rendering::new(&fleet, &row, local_inst_id, name, text)
        };
        job.preview().await
    }

    /// The variables that templates of an instance may use. They may hold secrets, so they need the role that previews need.
    pub fn variables(
        &self,
        caller: &Caller,
        business: BusinessId,
        process: BkProcessId,
        local_inst_id: u32,
    ) -> Result<Map<String, Value>, ControlError> {
        self.access.check(caller, Permission::Operate, business)?;
        let fleet = self.core.fleet();
        let row = fleet
            .view_row(process)
            .filter(|row| row.business.id == business);
        let row = row.ok_or_else(|| {
            ControlError::NotFound(format!("business {business} has no process {process}"))
        })?;
        Ok(context::of(&row, local_inst_id))
    }

    /// The generated and released files of a process's instances.
    pub fn config_files(
        &self,
        caller: &Caller,
        business: BusinessId,
        process: BkProcessId,
    ) -> Result<Vec<Arc<ConfigFileRow>>, ControlError> {
        self.access.check(caller, Permission::View, business)?;
        let fleet = self.core.fleet();
        let here = fleet
            .view_row(process)
            .is_some_and(|row| row.business.id == business);
        match here {
            true => Ok(fleet.view().config_files(process).cloned().collect()),
            false => Err(ControlError::NotFound(format!(
                "business {business} has no process {process}"
            ))),
        }
    }

    /// A page of the files of a business, in order of process, instance and template.
    pub fn files_page(
        &self,
        caller: &Caller,
        query: &FileQuery,
        start: u64,
        limit: usize,
    ) -> Result<FilePage, ControlError> {
        self.access
            .check(caller, Permission::View, query.processes.business)?;
        let fleet = self.core.fleet();
        let mut page = FilePage {
            count: 0,
            total: 0,
            files: Vec::new(),
        };
        for process in fleet.view_matching(&query.processes) {
            let process = BkProcessId(process);
            let of_template = |file: &&Arc<ConfigFileRow>| {
                let wanted = query.templates.as_ref();
                wanted.is_none_or(|ids| ids.contains(&file.template))
            };
            for file in fleet.view().config_files(process).filter(of_template) {
                page.total += 1;
                if query
                    .changed
                    .is_some_and(|wanted| wanted != file.is_changed())
                {
                    continue;
                }
                page.count += 1;
                if page.count <= start || page.files.len() >= limit {
                    continue;
                }
                if let Some(row) = fleet.view_row(process) {
                    page.files.push(FileOf {
                        file: file.clone(),
                        name: row.program.bk_process_name.to_string(),
                        host: row.machine.host,
                    });
                }
            }
        }
        Ok(page)
    }

    /// The text of a generated or released file.
    pub async fn config_content(
        &self,
        caller: &Caller,
        business: BusinessId,
        content: ContentId,
    ) -> Result<Arc<str>, ControlError> {
        self.access.check(caller, Permission::Operate, business)?;
        let found = self.core.store.content(content).await?;
        found.ok_or_else(|| ControlError::NotFound("this content is no longer kept".to_owned()))
    }
}
