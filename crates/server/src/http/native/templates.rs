//! Config templates of a business: made, changed, bound, deleted, previewed.

pub(crate) mod files;
pub(crate) mod versions;

use api::{
    Bindings, Preview, PreviewBody, TemplateBody, TemplateList, TemplateShown, VariableList,
};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use control::{NewTemplate, PreviewOf, TemplateView};
use model::Invalid;
use model::config_template::{Binding, LineSeparator, TemplateId};
use model::topology::{BkProcessId, BusinessId};

use super::ApiError;
use super::caller::Authenticated;
use super::refusals::Refusals;
use super::request::{JsonBody, PathParams, QueryParams};
use super::response::{json, ok};
use crate::http::HttpState;

fn shown(view: &TemplateView) -> TemplateShown {
    let template = &*view.template;
    TemplateShown {
        id: template.id.0,
        template_name: template.template_name.clone(),
        file_name: template.file_name.clone(),
        abs_path: template.abs_path.clone(),
        owner: template.owner.clone(),
        group: template.group.clone(),
        filemode: format!("{:04o}", template.filemode),
        line_separator: template.line_separator.as_str().into(),
        bindings: bindings(&template.bindings),
        draft: view.draft.map(|version| version.0),
        active: view.active.map(|version| version.0),
        versions: view.n_versions,
        updated_at: template.updated_at,
        updated_by: template.updated_by.clone(),
    }
}

fn bindings(bindings: &[Binding]) -> Bindings {
    let mut shown = Bindings::default();
    for binding in bindings {
        match binding {
            Binding::Process(id) => shown.processes.push(id.0),
            Binding::ProcessTemplate(id) => shown.process_templates.push(*id),
        }
    }
    shown
}

fn read_bindings(body: Bindings) -> Vec<Binding> {
    let processes = body.processes.into_iter().map(BkProcessId);
    let templates = body.process_templates.into_iter();
    processes
        .map(Binding::Process)
        .chain(templates.map(Binding::ProcessTemplate))
        .collect()
}

fn read_template(body: TemplateBody) -> Result<NewTemplate, Invalid> {
    let separator = body.line_separator.as_deref();
    let root = || "root".to_owned();
    Ok(NewTemplate {
        filemode: parse_mode(&body.filemode.to_text())?,
        line_separator: separator.map_or(Ok(LineSeparator::Lf), LineSeparator::parse)?,
        template_name: body.template_name,
        file_name: body.file_name,
        abs_path: body.abs_path,
        owner: body.owner.unwrap_or_else(root),
        group: body.group.unwrap_or_else(root),
    })
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
    Authenticated(caller): Authenticated,
    PathParams(id): PathParams<u32>,
) -> Result<Response, ApiError> {
    let templates = http.control.templates().list(&caller, BusinessId(id))?;
    Ok(ok(&TemplateList {
        templates: templates.iter().map(shown).collect(),
    }))
}

/// Makes a config template.
#[utoipa::path(post, path = "/api/v1/businesses/{id}/templates", operation_id = "create_template", tag = "templates",
    params(("id" = u32, Path)), request_body = TemplateBody, responses(
    (status = 201, description = "It is there, without a version", body = TemplateShown),
    (status = 409, description = "One of this name is there already"), Refusals))]
pub(crate) async fn create(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    PathParams(id): PathParams<u32>,
    JsonBody(body): JsonBody<TemplateBody>,
) -> Result<Response, ApiError> {
    let (control, business) = (&http.control, BusinessId(id));
    let new = read_template(body)?;
    let template = control.templates().create(&caller, business, new).await?;
    let view = control.templates().get(&caller, business, template)?;
    Ok(json(StatusCode::CREATED, &shown(&view)))
}

/// Shows a config template.
#[utoipa::path(get, path = "/api/v1/businesses/{id}/templates/{template}", operation_id = "show_template",
    tag = "templates", params(("id" = u32, Path), ("template" = u32, Path)),
    responses((status = 200, description = "The template", body = TemplateShown), Refusals))]
pub(crate) async fn show(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    PathParams((id, template)): PathParams<(u32, u32)>,
) -> Result<Response, ApiError> {
    let (business, template) = (BusinessId(id), TemplateId(template));
    let view = http.control.templates().get(&caller, business, template)?;
    Ok(ok(&shown(&view)))
}

/// Replaces the fields of a config template; its versions and bindings stay.
#[utoipa::path(put, path = "/api/v1/businesses/{id}/templates/{template}", operation_id = "update_template",
    tag = "templates", params(("id" = u32, Path), ("template" = u32, Path)), request_body = TemplateBody, responses(
    (status = 200, description = "The template", body = TemplateShown),
    (status = 409, description = "Another has this name"), Refusals))]
pub(crate) async fn update(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    PathParams((id, template)): PathParams<(u32, u32)>,
    JsonBody(body): JsonBody<TemplateBody>,
) -> Result<Response, ApiError> {
    let (control, new) = (&http.control, read_template(body)?);
    let (business, template) = (BusinessId(id), TemplateId(template));
    control
        .templates()
        .update(&caller, business, template, new)
        .await?;
    let view = control.templates().get(&caller, business, template)?;
    Ok(ok(&shown(&view)))
}

/// Forgets a config template with its versions. Files that it made stay on their hosts.
#[utoipa::path(delete, path = "/api/v1/businesses/{id}/templates/{template}", operation_id = "delete_template",
    tag = "templates", params(("id" = u32, Path), ("template" = u32, Path)),
    responses((status = 204, description = "It is gone"), Refusals))]
pub(crate) async fn delete(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    PathParams((id, template)): PathParams<(u32, u32)>,
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
    Authenticated(caller): Authenticated,
    PathParams((id, template)): PathParams<(u32, u32)>,
    JsonBody(body): JsonBody<Bindings>,
) -> Result<Response, ApiError> {
    let control = &http.control;
    let (business, template) = (BusinessId(id), TemplateId(template));
    control
        .templates()
        .bind(&caller, business, template, read_bindings(body))
        .await?;
    let view = control.templates().get(&caller, business, template)?;
    Ok(ok(&shown(&view)))
}

/// Renders a template, or any text, for one instance. Nothing is stored.
#[utoipa::path(post, path = "/api/v1/businesses/{id}/preview", operation_id = "preview_template", tag = "templates",
    params(("id" = u32, Path)), request_body = PreviewBody,
    responses((status = 200, description = "What it would be", body = Preview), Refusals))]
pub(crate) async fn preview(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    PathParams(id): PathParams<u32>,
    JsonBody(body): JsonBody<PreviewBody>,
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

/// Lists the variables that templates of an instance may use.
#[utoipa::path(get, path = "/api/v1/businesses/{id}/processes/{process}/variables", operation_id = "list_variables",
    tag = "templates", params(
        ("id" = u32, Path), ("process" = u32, Path),
        ("inst" = Option<u32>, Query, description = "The number of the instance on its host, 1 if not given"),
    ),
    responses((status = 200, description = "The variables", body = VariableList), Refusals))]
pub(crate) async fn variables(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    PathParams((id, process)): PathParams<(u32, u32)>,
    params: QueryParams,
) -> Result<Response, ApiError> {
    let local_inst_id = params.number("inst", 1..=u64::from(u32::MAX))?;
    let local_inst_id = local_inst_id.unwrap_or(1) as u32;
    let (business, process) = (BusinessId(id), BkProcessId(process));
    let templates = http.control.templates();
    let variables = templates.variables(&caller, business, process, local_inst_id)?;
    Ok(ok(&VariableList { variables }))
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
