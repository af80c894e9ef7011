//! Config templates and their versions as documents; files and contents in tables of their own.

pub(crate) mod content;
pub(crate) mod file;

use model::config_template::{TemplateChanges, TemplateId, TemplateRow, VersionId, VersionRow};

use super::Connection;
use super::document::{self, document};
use super::log::{LogEntry, LoggedTable};
use crate::StoreError;

document!(TemplateRow, TemplateId, ConfigTemplates);
document!(VersionRow, VersionId, TemplateVersions);

pub(crate) async fn write(
    conn: &mut Connection,
    log: &mut LogEntry,
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
    document::gone::<TemplateRow>(conn, log, templates_gone).await?;
    document::write(conn, log, templates).await?;
    document::gone::<VersionRow>(conn, log, versions_gone).await?;
    document::write(conn, log, versions).await?;
    file::write(conn, log, files).await?;
    content::write(conn, contents).await
}

pub(crate) async fn read(conn: &mut Connection) -> Result<TemplateChanges, StoreError> {
    Ok(TemplateChanges {
        templates: document::read(conn).await?,
        versions: document::read(conn).await?,
        files: file::read(conn).await?,
        ..TemplateChanges::default()
    })
}
