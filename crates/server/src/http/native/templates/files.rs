//! Config files: what was generated and released for the instances of a process.

use std::sync::Arc;

use api::{ConfigFileList, ConfigFileShown, FileShown};
use axum::extract::State;
use axum::response::Response;
use model::Invalid;
use model::access::Permission;
use model::config_template::{ConfigFileRow, FileState, TemplateId};
use model::topology::{BkProcessId, BusinessId};

use super::super::ApiError;
use super::super::caller::Authenticated;
use super::super::refusals::Refusals;
use super::super::request::{PathParams, QueryParams};
use super::super::response::ok;
use crate::http::HttpState;

fn shown(state: &FileState, content: Option<Arc<str>>) -> FileShown {
    FileShown {
        version: state.version.0,
        path: state.path.clone(),
        md5: state.md5.clone(),
        at: state.at,
        by: state.by.clone(),
        content,
    }
}

fn row(row: &ConfigFileRow) -> ConfigFileShown {
    let state = |state: &Option<FileState>| state.as_ref().map(|state| shown(state, None));
    ConfigFileShown {
        process: row.process.0,
        local_inst_id: row.local_inst_id,
        template: row.template.0,
        generated: state(&row.generated),
        released: state(&row.released),
    }
}

/// Lists the config files of a process, by instance and template.
#[utoipa::path(get, path = "/api/v1/businesses/{id}/processes/{process}/config-files",
    operation_id = "list_config_files", tag = "templates", params(("id" = u32, Path), ("process" = u32, Path)),
    responses((status = 200, description = "Files", body = ConfigFileList), Refusals))]
pub(crate) async fn list(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    PathParams((id, process)): PathParams<(u32, u32)>,
) -> Result<Response, ApiError> {
    let (business, process) = (BusinessId(id), BkProcessId(process));
    let files = http
        .control
        .templates()
        .config_files(&caller, business, process)?;
    Ok(ok(&ConfigFileList {
        files: files.iter().map(|file| row(file)).collect(),
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
    Authenticated(caller): Authenticated,
    PathParams((id, process, local, template)): PathParams<(u32, u32, u32, u32)>,
    params: QueryParams,
) -> Result<Response, ApiError> {
    let business = BusinessId(id);
    // Before the lookup, so that a caller without the permission does not learn which files exist.
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
    Ok(ok(&shown(state, Some(content))))
}
