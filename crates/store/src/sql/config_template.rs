//! Config templates and their versions as documents; files and contents in tables of their own.

pub(crate) mod content;
mod file;

use model::change::Revision;
use model::config_template::{TemplateChanges, TemplateId, TemplateRow, VersionId, VersionRow};

use super::document::{self, document};
use super::{Connection, Wanted};
use crate::StoreError;

document!(TemplateRow, TemplateId, "config_templates");
document!(VersionRow, VersionId, "template_versions");

pub(crate) async fn write(
    conn: &mut Connection,
    revision: Revision,
    changes: &TemplateChanges,
) -> Result<(), StoreError> {
    let TemplateChanges {
        templates,
        templates_gone,
        versions,
        versions_gone,
        files,
        contents,
    } = changes;
    document::gone::<TemplateRow>(conn, revision, templates_gone).await?;
    document::write(conn, revision, templates).await?;
    document::gone::<VersionRow>(conn, revision, versions_gone).await?;
    document::write(conn, revision, versions).await?;
    file::write(conn, revision, files).await?;
    content::write(conn, contents).await
}

pub(crate) async fn read(
    conn: &mut Connection,
    wanted: Wanted,
) -> Result<TemplateChanges, StoreError> {
    let (templates, templates_gone) = document::read(conn, wanted).await?;
    let (versions, versions_gone) = document::read(conn, wanted).await?;
    Ok(TemplateChanges {
        templates,
        templates_gone,
        versions,
        versions_gone,
        files: file::read(conn, wanted).await?,
        contents: Vec::new(),
    })
}
