//! Tests of the public API.

#![expect(clippy::unwrap_used, reason = "a test that fails says so by panicking")]

mod golden;
mod include;
mod limits;
mod properties;
mod refused;

use template::{Context, ErrorKind, Includes, Limits, NoIncludes, Template, TemplateError};

/// Renders with default limits and without includes.
fn render(text: &str, context: &Context) -> Result<String, TemplateError> {
    render_within(text, context, &Limits::default(), &NoIncludes)
}

fn render_within(
    text: &str,
    context: &Context,
    limits: &Limits,
    includes: &dyn Includes,
) -> Result<String, TemplateError> {
    Template::parse("test.conf", text)?.render(context, limits, includes)
}

/// The kind and line of the error of a template that must fail.
#[track_caller]
fn problem(text: &str) -> (ErrorKind, u32) {
    match render(text, &Context::new()) {
        Ok(rendered) => panic!("{text:?} was rendered as {rendered:?}"),
        Err(error) => (error.kind, error.line),
    }
}
