//! config_template_list: the config templates of a business, the newest first.

use control::TemplateView;
use model::UnixMillis;
use model::config_template::Binding;
use serde::Serialize;

use super::refusal::Refusal;
use super::request::RawRequest;
use super::{RequestContext, success};

pub(crate) async fn config_template_list(
    context: &RequestContext<'_>,
    request: RawRequest,
) -> Result<Vec<u8>, Refusal> {
    let business = context.viewed_business(&request)?;
    let (start, limit) = request.page_or_first()?;
    let start = usize::try_from(start).unwrap_or(usize::MAX);
    let term = request.search.to_text();
    let templates = context.http.control.templates();
    let (count, page) = templates.search(context.caller, business, &term, start, limit)?;
    Ok(success(Templates {
        count,
        list: page.iter().map(Template::of).collect(),
    }))
}

#[derive(Serialize)]
struct Templates<'a> {
    count: usize,
    list: Vec<Template<'a>>,
}

#[derive(Serialize)]
struct Template<'a> {
    config_template_id: u32,
    bk_biz_id: u32,
    template_name: &'a str,
    file_name: &'a str,
    abs_path: &'a str,
    owner: &'a str,
    group: &'a str,
    filemode: String,
    line_separator: &'static str,
    has_version: bool,
    is_bound: bool,
    relation_count: Relations,
    updated_at: String,
    updated_by: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "UPPERCASE")]
struct Relations {
    template: usize,
    instance: usize,
}

impl<'a> Template<'a> {
    fn of(view: &'a TemplateView) -> Self {
        let template = &view.template;
        let of_templates = |binding: &&Binding| matches!(binding, Binding::ProcessTemplate(_));
        let n_templates = template.bindings.iter().filter(of_templates).count();
        Self {
            config_template_id: template.id.0,
            bk_biz_id: template.business.0,
            template_name: &template.template_name,
            file_name: &template.file_name,
            abs_path: &template.abs_path,
            owner: &template.owner,
            group: &template.group,
            filemode: format!("{:04o}", template.filemode),
            line_separator: template.line_separator.as_str(),
            has_version: view.n_versions > 0,
            is_bound: !template.bindings.is_empty(),
            relation_count: Relations {
                template: n_templates,
                instance: template.bindings.len() - n_templates,
            },
            updated_at: clock(template.updated_at),
            updated_by: &template.updated_by,
        }
    }
}

fn clock(at: UnixMillis) -> String {
    at.to_rfc3339().replace('T', " ").replace('Z', "+00:00")
}
