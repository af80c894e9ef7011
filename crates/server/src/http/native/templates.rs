//! Config templates of a business: made, changed, bound, deleted, previewed.

pub(crate) mod files;
pub(crate) mod versions;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use control::{NewTemplate, PreviewOf, TemplateView};
use model::config_template::{Binding, LineSeparator, TemplateId};
use model::topology::{BkProcessId, BusinessId};
use model::{Invalid, UnixMillis};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::ApiError;
use super::answer::{json, ok};
use super::caller::Asking;
use super::read::{Read, Segments};
use super::responses::Refusals;
use crate::http::HttpState;
use crate::http::json::Scalar;

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TemplateList {
    templates: Vec<TemplateShown>,
}

/// A config template: what is written where, without its text.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TemplateShown {
    id: u32,
    template_name: String,
    file_name: String,
    /// The folder of the file.
    abs_path: String,
    owner: String,
    group: String,
    /// Octal, such as `0644`.
    filemode: String,
    /// `LF`, `CRLF` or `CR`.
    line_separator: &'static str,
    bindings: Bindings,
    /// The version that is being written, if there is one.
    draft: Option<u32>,
    /// The version that is generated from, if there is one.
    active: Option<u32>,
    versions: usize,
    #[schema(value_type = i64)]
    updated_at: UnixMillis,
    updated_by: String,
}

impl TemplateShown {
    fn of(view: &TemplateView) -> Self {
        let template = &*view.template;
        Self {
            id: template.id.0,
            template_name: template.template_name.clone(),
            file_name: template.file_name.clone(),
            abs_path: template.abs_path.clone(),
            owner: template.owner.clone(),
            group: template.group.clone(),
            filemode: format!("{:04o}", template.filemode),
            line_separator: template.line_separator.as_str(),
            bindings: Bindings::of(&template.bindings),
            draft: view.draft.map(|version| version.0),
            active: view.active.map(|version| version.0),
            versions: view.n_versions,
            updated_at: template.updated_at,
            updated_by: template.updated_by.clone(),
        }
    }
}

/// What a template makes files for.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Bindings {
    /// Ids of processes.
    processes: Vec<u32>,
    /// Ids of process templates: every process that was made from one.
    process_templates: Vec<u32>,
}

impl Bindings {
    fn of(bindings: &[Binding]) -> Self {
        let mut shown = Self::default();
        for binding in bindings {
            match binding {
                Binding::Process(id) => shown.processes.push(id.0),
                Binding::ProcessTemplate(id) => shown.process_templates.push(*id),
            }
        }
        shown
    }

    fn read(self) -> Vec<Binding> {
        let processes = self.processes.into_iter().map(BkProcessId);
        let templates = self.process_templates.into_iter();
        processes
            .map(Binding::Process)
            .chain(templates.map(Binding::ProcessTemplate))
            .collect()
    }
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TemplateBody {
    /// Unique in its business.
    #[serde(default)]
    template_name: String,
    #[serde(default)]
    file_name: String,
    /// The folder of the file.
    #[serde(default)]
    abs_path: String,
    /// root if not given
    owner: Option<String>,
    /// root if not given
    group: Option<String>,
    /// Octal; 0644 if not given
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    filemode: Scalar,
    /// LF, CRLF or CR; LF if not given
    line_separator: Option<String>,
}

impl TemplateBody {
    fn read(self) -> Result<NewTemplate, Invalid> {
        let separator = self.line_separator.as_deref();
        let root = || "root".to_owned();
        Ok(NewTemplate {
            filemode: parse_mode(&self.filemode.to_text())?,
            line_separator: separator.map_or(Ok(LineSeparator::Lf), LineSeparator::parse)?,
            template_name: self.template_name,
            file_name: self.file_name,
            abs_path: self.abs_path,
            owner: self.owner.unwrap_or_else(root),
            group: self.group.unwrap_or_else(root),
        })
    }
}

fn parse_mode(text: &str) -> Result<u32, Invalid> {
    match text {
        "" => Ok(0o644),
        text => u32::from_str_radix(text, 8).map_err(|_| {
            let rule = format!("must be octal, such as 0644, not {text:?}");
            Invalid::new("filemode", rule)
        }),
    }
}

/// Lists the config templates of a business.
#[utoipa::path(get, path = "/api/v1/businesses/{id}/templates", operation_id = "list_templates", tag = "templates",
    params(("id" = u32, Path)),
    responses((status = 200, description = "Templates", body = TemplateList), Refusals))]
pub(crate) async fn list(
    State(http): State<HttpState>,
    Asking(caller): Asking,
    Segments(id): Segments<u32>,
) -> Result<Response, ApiError> {
    let templates = http.control.templates().list(&caller, BusinessId(id))?;
    Ok(ok(&TemplateList {
        templates: templates.iter().map(TemplateShown::of).collect(),
    }))
}

/// Makes a config template.
#[utoipa::path(post, path = "/api/v1/businesses/{id}/templates", operation_id = "create_template", tag = "templates",
    params(("id" = u32, Path)), request_body = TemplateBody, responses(
    (status = 201, description = "It is there, without a version", body = TemplateShown),
    (status = 409, description = "One of this name is there already"), Refusals))]
pub(crate) async fn create(
    State(http): State<HttpState>,
    Asking(caller): Asking,
    Segments(id): Segments<u32>,
    Read(body): Read<TemplateBody>,
) -> Result<Response, ApiError> {
    let (control, business) = (&http.control, BusinessId(id));
    let new = body.read()?;
    let template = control.templates().create(&caller, business, new).await?;
    let view = control.templates().get(&caller, business, template)?;
    Ok(json(StatusCode::CREATED, &TemplateShown::of(&view)))
}

/// Shows a config template.
#[utoipa::path(get, path = "/api/v1/businesses/{id}/templates/{template}", operation_id = "show_template",
    tag = "templates", params(("id" = u32, Path), ("template" = u32, Path)),
    responses((status = 200, description = "The template", body = TemplateShown), Refusals))]
pub(crate) async fn show(
    State(http): State<HttpState>,
    Asking(caller): Asking,
    Segments((id, template)): Segments<(u32, u32)>,
) -> Result<Response, ApiError> {
    let (business, template) = (BusinessId(id), TemplateId(template));
    let view = http.control.templates().get(&caller, business, template)?;
    Ok(ok(&TemplateShown::of(&view)))
}

/// Replaces the fields of a config template; its versions and bindings stay.
#[utoipa::path(put, path = "/api/v1/businesses/{id}/templates/{template}", operation_id = "update_template",
    tag = "templates", params(("id" = u32, Path), ("template" = u32, Path)), request_body = TemplateBody, responses(
    (status = 200, description = "The template", body = TemplateShown),
    (status = 409, description = "Another has this name"), Refusals))]
pub(crate) async fn update(
    State(http): State<HttpState>,
    Asking(caller): Asking,
    Segments((id, template)): Segments<(u32, u32)>,
    Read(body): Read<TemplateBody>,
) -> Result<Response, ApiError> {
    let (control, new) = (&http.control, body.read()?);
    let (business, template) = (BusinessId(id), TemplateId(template));
    control
        .templates()
        .update(&caller, business, template, new)
        .await?;
    let view = control.templates().get(&caller, business, template)?;
    Ok(ok(&TemplateShown::of(&view)))
}

/// Forgets a config template with its versions. Files that it made stay on their hosts.
#[utoipa::path(delete, path = "/api/v1/businesses/{id}/templates/{template}", operation_id = "delete_template",
    tag = "templates", params(("id" = u32, Path), ("template" = u32, Path)),
    responses((status = 204, description = "It is gone"), Refusals))]
pub(crate) async fn delete(
    State(http): State<HttpState>,
    Asking(caller): Asking,
    Segments((id, template)): Segments<(u32, u32)>,
) -> Result<Response, ApiError> {
    let (business, template) = (BusinessId(id), TemplateId(template));
    let control = &http.control;
    control
        .templates()
        .delete(&caller, business, template)
        .await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Says what a config template makes files for; what was bound before and is not named any more is not.
#[utoipa::path(put, path = "/api/v1/businesses/{id}/templates/{template}/bindings", operation_id = "bind_template",
    tag = "templates", params(("id" = u32, Path), ("template" = u32, Path)), request_body = Bindings,
    responses((status = 200, description = "The template", body = TemplateShown), Refusals))]
pub(crate) async fn bind(
    State(http): State<HttpState>,
    Asking(caller): Asking,
    Segments((id, template)): Segments<(u32, u32)>,
    Read(body): Read<Bindings>,
) -> Result<Response, ApiError> {
    let control = &http.control;
    let (business, template) = (BusinessId(id), TemplateId(template));
    control
        .templates()
        .bind(&caller, business, template, body.read())
        .await?;
    let view = control.templates().get(&caller, business, template)?;
    Ok(ok(&TemplateShown::of(&view)))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PreviewBody {
    /// Its draft, or its active version where it has none.
    template: Option<u32>,
    /// In place of `template`: a text that is not stored.
    text: Option<String>,
    /// The id of the process.
    #[schema(required)]
    process: Option<u32>,
    /// 1 if not given
    local_inst_id: Option<u32>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Preview {
    content: String,
}

/// Renders a template, or any text, for one instance. Nothing is stored.
#[utoipa::path(post, path = "/api/v1/businesses/{id}/preview", operation_id = "preview_template", tag = "templates",
    params(("id" = u32, Path)), request_body = PreviewBody,
    responses((status = 200, description = "What it would be", body = Preview), Refusals))]
pub(crate) async fn preview(
    State(http): State<HttpState>,
    Asking(caller): Asking,
    Segments(id): Segments<u32>,
    Read(body): Read<PreviewBody>,
) -> Result<Response, ApiError> {
    let of = match (body.template, body.text) {
        (Some(template), None) => PreviewOf::Template(TemplateId(template)),
        (None, Some(text)) => PreviewOf::Text(text),
        (Some(_), Some(_)) | (None, None) => {
            let rule = "is required, or text in its place, and not both";
            return Err(Invalid::new("template", rule).into());
        }
    };
    let process = body.process.ok_or_else(|| Invalid::required("process"))?;
    let content = http
        .control
        .templates()
        .preview(
            &caller,
            BusinessId(id),
            of,
            BkProcessId(process),
            body.local_inst_id.unwrap_or(1),
        )
        .await?;
    Ok(ok(&Preview { content }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_octal() {
        assert_eq!(parse_mode("").unwrap(), 0o644);
        assert_eq!(parse_mode("0755").unwrap(), 0o755);
        assert_eq!(parse_mode("755").unwrap(), 0o755);
        assert_eq!(parse_mode("rwx").unwrap_err().field, "filemode");
        assert_eq!(parse_mode("8").unwrap_err().field, "filemode");
    }
}
