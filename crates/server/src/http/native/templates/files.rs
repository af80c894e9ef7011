//! Config files: what was generated and released for the instances of a process.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use model::access::Permission;
use model::config_template::{ConfigFileRow, FileState, TemplateId};
use model::topology::{BkProcessId, BusinessId};
use model::{Invalid, UnixMillis};
use serde::Serialize;
use utoipa::ToSchema;

use super::super::ApiError;
use super::super::answer::ok;
use super::super::caller::Asking;
use super::super::read::{Params, Segments};
use super::super::responses::Refusals;
use crate::http::HttpState;

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ConfigFileList {
    files: Vec<ConfigFileShown>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ConfigFileShown {
    process: u32,
    local_inst_id: u32,
    template: u32,
    generated: Option<FileShown>,
    /// What the agent wrote last.
    released: Option<FileShown>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FileShown {
    version: u32,
    /// The whole path on the host.
    path: String,
    md5: String,
    #[schema(value_type = i64)]
    at: UnixMillis,
    by: String,
    /// Its text; lists leave it out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    content: Option<Arc<str>>,
}

impl FileShown {
    fn of(state: &FileState, content: Option<Arc<str>>) -> Self {
        Self {
            version: state.version.0,
            path: state.path.clone(),
            md5: state.md5.clone(),
            at: state.at,
            by: state.by.clone(),
            content,
        }
    }
}

impl ConfigFileShown {
    fn of(row: &ConfigFileRow) -> Self {
        let shown = |state: &Option<FileState>| {
            let state = state.as_ref();
            state.map(|state| FileShown::of(state, None))
        };
        Self {
            process: row.process.0,
            local_inst_id: row.local_inst_id,
            template: row.template.0,
            generated: shown(&row.generated),
            released: shown(&row.released),
        }
    }
}

/// Lists the config files of a process, by instance and template.
#[utoipa::path(get, path = "/api/v1/businesses/{id}/processes/{process}/config-files",
    operation_id = "list_config_files", tag = "templates", params(("id" = u32, Path), ("process" = u32, Path)),
    responses((status = 200, description = "Files", body = ConfigFileList), Refusals))]
pub(crate) async fn list(
    State(http): State<HttpState>,
    Asking(caller): Asking,
    Segments((id, process)): Segments<(u32, u32)>,
) -> Result<Response, ApiError> {
    let (business, process) = (BusinessId(id), BkProcessId(process));
    let files = http
        .control
        .templates()
        .config_files(&caller, business, process)?;
    Ok(ok(&ConfigFileList {
        files: files.iter().map(|row| ConfigFileShown::of(row)).collect(),
    }))
}

/// Shows a config file with its text.
#[utoipa::path(get, path = "/api/v1/businesses/{id}/processes/{process}/config-files/{local_inst_id}/{template}",
    operation_id = "show_config_file", tag = "templates", params(
    ("id" = u32, Path), ("process" = u32, Path), ("local_inst_id" = u32, Path), ("template" = u32, Path),
    ("of" = Option<String>, Query, description = "generated or released; generated if not given"),
), responses((status = 200, description = "The file", body = FileShown), Refusals))]
pub(crate) async fn show(
    State(http): State<HttpState>,
    Asking(caller): Asking,
    Segments((id, process, local, template)): Segments<(u32, u32, u32, u32)>,
    params: Params,
) -> Result<Response, ApiError> {
    let business = BusinessId(id);
    // Before anything is found, so that nobody learns what there is.
    http.control
        .access()
        .check(&caller, Permission::Operate, business)?;
    let files = http
        .control
        .templates()
        .config_files(&caller, business, BkProcessId(process))?;
    let wanted = (local, TemplateId(template));
    let row = files
        .iter()
        .find(|row| (row.local_inst_id, row.template) == wanted);
    let state = match params.text("of") {
        None | Some("generated") => row.and_then(|row| row.generated.as_ref()),
        Some("released") => row.and_then(|row| row.released.as_ref()),
        Some(other) => {
            let rule = format!("must be generated or released, not {other:?}");
            return Err(Invalid::new("of", rule).into());
        }
    };
    let state = state.ok_or_else(|| {
        ApiError::not_found(format!(
            "template {template} made no such file for instance {local} of process {process}"
        ))
    })?;
    let control = &http.control;
    let content = control
        .templates()
        .config_content(&caller, business, state.content)
        .await?;
    Ok(ok(&FileShown::of(state, Some(content))))
}
