//! Config files: what was generated and released, of a process or of a template.

use std::sync::Arc;

use api::{
    ConfigFileList, ConfigFileOf, ConfigFilePage, ConfigFileShown, FileShown, TemplateFileList,
    TemplateFileRow,
};
use axum::extract::State;
use axum::response::Response;
use control::{Drift, FileFilter, FileQuery, FileStage, TemplateFile};
use model::Invalid;
use model::access::Permission;
use model::config_template::{ConfigFileRow, FileState, TemplateId};
use model::topology::{BkProcessId, BusinessId};

use super::super::ApiError;
use super::super::caller::Authenticated;
use super::super::filter::parse_id;
use super::super::refusals::Refusals;
use super::super::request::{PathParams, QueryParams};
use super::super::response::{fit, ok};
use super::super::view::{ViewFilterParams, filter_of};
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

/// Lists the files of a config template, by process and instance, and whether what is on the host differs from what was
/// released.
#[utoipa::path(get, path = "/api/v1/businesses/{id}/templates/{template}/files", operation_id = "list_template_files",
    tag = "templates", params(
    ("id" = u32, Path), ("template" = u32, Path),
    ("drift" = Option<bool>, Query, description = "Only files that differ on their host, or only those that do not; files of which that is not known are in neither"),
    ("state" = Option<String>, Query, description = "Only files in this state: none, generated, changed or released"),
    ("q" = Option<String>, Query, description = "Words; each must be part of the path, the expression or the host"),
    ("start" = Option<u64>, Query), ("limit" = Option<u32>, Query, description = "At most 1000; 100 if not given"),
), responses((status = 200, description = "Files", body = TemplateFileList), Refusals))]
pub(crate) async fn of_template(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    PathParams((id, template)): PathParams<(u32, u32)>,
    params: QueryParams,
) -> Result<Response, ApiError> {
    let words = params.text("q").unwrap_or_default().split_whitespace();
    let filter = FileFilter {
        drift: params.flag("drift")?,
        state: params.text("state").map(parse_stage).transpose()?,
        words: words.map(str::to_lowercase).collect(),
    };
    let (start, limit) = params.page()?;
    let page = (usize::try_from(start).unwrap_or(usize::MAX), limit);
    let (business, template) = (BusinessId(id), TemplateId(template));
    let templates = http.control.templates();
    let found = templates.files(&caller, business, template, &filter, page)?;
    Ok(ok(&TemplateFileList {
        count: found.count,
        start,
        active: found.active.map(|version| version.0),
        files: fit(found.files.into_iter().map(template_file)),
    }))
}

fn parse_stage(text: &str) -> Result<FileStage, Invalid> {
    let mut all = FileStage::ALL.into_iter();
    all.find(|stage| stage.as_str() == text).ok_or_else(|| {
        let rule = format!("must be none, generated, changed or released, not {text:?}");
        Invalid::new("state", rule)
    })
}

fn template_file(file: TemplateFile) -> TemplateFileRow {
    let state = |state: Option<&FileState>| state.map(|state| shown(state, None));
    let row = file.row.as_deref();
    let drift = file.drift.differs();
    let (drift_text, drift_reason) = match file.drift {
        Drift::None => (String::new(), None),
        Drift::Unknown(reason) => (String::new(), Some(reason)),
        Drift::Differs { text, reason } => (text, Some(reason)),
    };
    TemplateFileRow {
        process: file.process.0,
        local_inst_id: file.local_inst_id,
        expression: file.expression,
        host: file.host.to_string(),
        connected: file.is_connected,
        state: file.state.as_str().into(),
        generated: state(row.and_then(|row| row.generated.as_ref())),
        released: state(row.and_then(|row| row.released.as_ref())),
        drift,
        drift_text,
        drift_reason: drift_reason.map(Into::into),
    }
}

/// Lists the config files of all processes of a business that match, with the exact number.
#[utoipa::path(get, path = "/api/v1/businesses/{id}/config-files", operation_id = "list_business_files", tag = "templates", params(
    ("id" = u32, Path),
    ViewFilterParams,
    ("template" = Option<String>, Query, description = "Ids of templates"),
    ("changed" = Option<bool>, Query, description = "Whether what was generated differs from what was released, or was never released"),
    ("start" = Option<u64>, Query, description = "The first row, from 0"),
    ("limit" = Option<u64>, Query, description = "1 to 1000, 100 if not given"),
), responses((status = 200, description = "A page of files", body = ConfigFilePage), Refusals))]
pub(crate) async fn list_of_business(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    PathParams(id): PathParams<u32>,
    params: QueryParams,
) -> Result<Response, ApiError> {
    let (start, limit) = params.page()?;
    let templates = params.list("template", parse_id)?;
    let query = FileQuery {
        processes: filter_of(BusinessId(id), &params)?,
        templates: templates.map(|ids| ids.into_iter().map(TemplateId).collect()),
        changed: params.flag("changed")?,
    };
    let page = http
        .control
        .templates()
        .files_page(&caller, &query, start, limit)?;
    let state = |state: &Option<FileState>| state.as_ref().map(|state| shown(state, None));
    let files = page.files.iter().map(|of| ConfigFileOf {
        process: of.file.process.0,
        name: of.name.clone(),
        host: of.host.into(),
        local_inst_id: of.file.local_inst_id,
        template: of.file.template.0,
        generated: state(&of.file.generated),
        released: state(&of.file.released),
    });
    Ok(ok(&ConfigFilePage {
        count: page.count,
        total: page.total,
        start,
        files: fit(files),
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
