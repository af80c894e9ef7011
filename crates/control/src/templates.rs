//! Config templates: text with versions, bound to processes; rendered for each instance, released onto its host.
//!
//! A template has at most one draft, which is written, and one active version, which is generated from. What was generated
//! and released for an instance is a row; its content is in the store once, by its hash. A released file is watched by the
//! agent: its md5 stands in the `configmap` of the instance's spec, so a change by hand is an event.

mod context;
mod done;
mod edit;
mod render;
mod unified;
mod versions;
mod work;

pub(crate) use done::ConfigDone;
pub use edit::{NewTemplate, TemplateView};
pub(crate) use work::{has_templates, work};

use std::sync::Arc;

use model::Invalid;
use model::access::{Caller, Permission};
use model::config_template::{ConfigFileRow, ContentId, TemplateId};
use model::topology::{BkProcessId, BusinessId};

use crate::{Control, ControlError};

/// What a preview renders.
#[derive(Debug, Clone)]
pub enum PreviewOf {
    /// The draft of a template, or its active version where it has none.
    Template(TemplateId),
    /// A text that is not stored.
    Text(String),
}

impl Control {
    /// What a template would be for one instance.
    pub async fn preview_template(
        &self,
        caller: &Caller,
        business: BusinessId,
        of: PreviewOf,
        process: BkProcessId,
        local_inst_id: u32,
    ) -> Result<String, ControlError> {
        self.check(caller, Permission::Operate, business)?;
        let job = {
            let fleet = self.fleet();
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
        job.run()
            .await
            .map_err(|failure| Invalid::new("template", failure.reason).into())
    }

    /// What was generated and released for the instances of a process.
    pub fn config_files(
        &self,
        caller: &Caller,
        business: BusinessId,
        process: BkProcessId,
    ) -> Result<Vec<Arc<ConfigFileRow>>, ControlError> {
        self.check(caller, Permission::View, business)?;
        let fleet = self.fleet();
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

    /// The text of a generated or released file.
    pub async fn config_content(
        &self,
        caller: &Caller,
        business: BusinessId,
        content: ContentId,
    ) -> Result<Arc<str>, ControlError> {
        self.check(caller, Permission::Operate, business)?;
        let found = self.0.store.content(content).await?;
        found.ok_or_else(|| ControlError::NotFound("this content is no longer kept".to_owned()))
    }
}
