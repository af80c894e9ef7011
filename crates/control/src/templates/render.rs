//! Renders a template for one instance, on a blocking thread: it may compute until its time limit.

use std::collections::BTreeMap;
use std::sync::Arc;

use fleet::Fleet;
use fleet::view::{View, ViewRow};
use model::config_template::VersionState;
use model::topology::BusinessId;
use model::{Code, Reason};
use serde_json::{Map, Value};
use template::{Context, ErrorKind, Includes, Limits, Template, TemplateError};

use super::context;
use crate::{BadTemplate, ControlError};

/// A variable or expression of the template is wrong.
pub(crate) const BAD_TEMPLATE: Code = Code(4_101_004);
/// The template uses what is forbidden.
pub(crate) const FORBIDDEN: Code = Code(4_101_007);
/// The template has no active version.
pub(crate) const NO_ACTIVE_VERSION: Code = Code(4_101_009);

/// Why no file was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) code: Code,
    pub(crate) reason: String,
}

impl From<TemplateError> for Failure {
    fn from(error: TemplateError) -> Self {
        Self {
            code: match error.kind {
                ErrorKind::Forbidden => FORBIDDEN,
                ErrorKind::Syntax
                | ErrorKind::Undefined
                | ErrorKind::Failed
                | ErrorKind::Include
                | ErrorKind::TooLong
                | ErrorKind::TooLarge
                | ErrorKind::TooDeep => BAD_TEMPLATE,
            },
            reason: in_words(&error),
        }
    }
}

/// With the place, where it is known.
pub(super) fn in_words(error: &TemplateError) -> String {
    match error.line {
        0 => error.message.clone(),
        _ => error.to_string(),
    }
}

/// The refusal of a text that a field of the request has, or names; `name` is its template.
pub(super) fn bad_template(field: &'static str, name: &str, error: &TemplateError) -> BadTemplate {
    let is_here = error.template == name && error.line > 0;
    BadTemplate {
        field,
        line: is_here.then_some(error.line),
        column: error.column.filter(|_| is_here),
        message: in_words(error),
        reason: reason(name, error),
    }
}

/// `template_undefined` with `name`; each with `line` and, in English, `detail`, and with `template` where another one than
/// this is wrong, which it includes.
fn reason(name: &str, error: &TemplateError) -> Reason {
    let mut reason = Reason {
        code: format!("template_{}", error.code).into(),
        ..Reason::default()
    };
    for (name, value) in &error.params {
        reason = reason.with(name, value);
    }
    if error.line > 0 {
        reason = reason.with("line", error.line);
    }
    if error.template != name {
        reason = reason.with("template", &error.template);
    }
    reason.with("detail", &error.message)
}

/// The input of a rendering, copied from the fleet at one revision.
#[derive(Debug)]
pub(crate) struct Rendering {
    name: String,
    text: Arc<str>,
    variables: Map<String, Value>,
    includes: ActiveVersions,
}

/// The active versions of a business, by the name of their template.
#[derive(Debug)]
struct ActiveVersions(BTreeMap<String, Arc<str>>);

impl ActiveVersions {
    fn of(view: &View, business: BusinessId) -> Self {
        let active = view.templates_of(business).filter_map(|template| {
            let version = view.version_in(template.id, VersionState::Active)?;
            Some((template.template_name.clone(), version.content.clone()))
        });
        Self(active.collect())
    }
}

impl Includes for ActiveVersions {
    fn text(&self, name: &str) -> Option<String> {
        self.0.get(name).map(|text| text.to_string())
    }
}

impl Rendering {
    pub(super) fn new(
        fleet: &Fleet,
        row: &ViewRow<'_>,
        local_inst_id: u32,
        name: String,
        text: Arc<str>,
    ) -> Self {
        Self {
            name,
            text,
            variables: context::of(row, local_inst_id),
            includes: ActiveVersions::of(fleet.view(), row.business.id),
        }
    }

    pub(crate) async fn run(self) -> Result<String, Failure> {
        Ok(self.rendered().await?)
    }

    /// For its author: an error in this template itself has its line.
    pub(super) async fn preview(self) -> Result<String, ControlError> {
        let name = self.name.clone();
        self.rendered()
            .await
            .map_err(|error| Box::new(bad_template("template", &name, &error)))
            .map_err(ControlError::BadTemplate)
    }

    pub(super) async fn rendered(self) -> Result<String, TemplateError> {
        let name = self.name.clone();
        let work = tokio::task::spawn_blocking(move || self.render());
        work.await.unwrap_or_else(|_| {
            let message = "the template could not be rendered";
            Err(TemplateError::failed(name, message))
        })
    }

    fn render(self) -> Result<String, TemplateError> {
        let template = Template::parse(&self.name, &self.text)?;
        let mut context = Context::new();
        for (name, value) in self.variables {
            match value {
                // Older templates access its fields with a dot.
                Value::Object(_) => context.insert_object(name, value),
                Value::Null
                | Value::Bool(_)
                | Value::Number(_)
                | Value::String(_)
                | Value::Array(_) => context.insert(name, value),
            }
        }
        template.render(&context, &Limits::default(), &self.includes)
    }
}
