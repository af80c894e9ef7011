//! Renders Mako templates byte for byte like Python's Mako, without Python.
//!
//! The path of a template: `include` replaces `# Ginclude` lines; `mako` splits the text into literal text and Python, by the rules of
//! Mako's lexer; `python` parses the Python; `run` interprets the tree within `Limits`. Rendering does no I/O and is deterministic: the
//! same template and context give the same text. Constructs that templates may not use, or that would render differently from Mako, are
//! errors with their line and column.
//!
//! ```
//! use template::{Context, Limits, NoIncludes, Template};
//!
//! let template = Template::parse("nginx.conf", "listen ${port + 1};\n")?;
//! let mut context = Context::new();
//! context.insert("port", 8080);
//! assert_eq!(template.render(&context, &Limits::default(), &NoIncludes)?, "listen 8081;\n");
//! # Ok::<(), template::TemplateError>(())
//! ```

#[macro_use]
mod error;

mod context;
mod include;
mod limits;
mod mako;
mod place;
mod python;
mod run;
mod text;

pub use context::Context;
pub use error::{ErrorKind, TemplateError};
pub use include::{Includes, NoIncludes};
pub use limits::Limits;

use include::Source;
use mako::ParsedTemplate;

/// A parsed template. It can be rendered any number of times, from any thread.
#[derive(Debug)]
pub struct Template {
    source: Source,
    page: ParsedTemplate,
    includes: bool,
}

impl Template {
    /// Parses a template. Errors contain its name.
    ///
    /// # Errors
    /// `Syntax` and `Forbidden`, with the line. A template with includes must be valid without them: it closes every block that it opens.
    pub fn parse(name: &str, text: &str) -> Result<Template, TemplateError> {
        let source = include::alone(name, text);
        let page = mako::parse(text).map_err(|problem| source.error(problem))?;
        Ok(Template {
            source,
            page,
            includes: include::includes_any(text),
        })
    }

    /// Renders the template with these variables.
    ///
    /// Computes until the deadline, so call it where blocking is allowed. Asks `includes` before rendering starts, and only for templates
    /// that a `# Ginclude` line names.
    ///
    /// # Errors
    /// All kinds, with the template (this one or an included one) and the line.
    pub fn render(
        &self,
        context: &Context,
        limits: &Limits,
        includes: &dyn Includes,
    ) -> Result<String, TemplateError> {
        if !self.includes {
            if self.source.text.len() > limits.source_bytes {
                return Err(self.source.error(include::too_large(limits)));
            }
            return run::run(&self.page, context, limits)
                .map_err(|problem| self.source.error(problem));
        }
        let name = self.source.name();
        let whole = include::expand(name, &self.source.text, includes, limits)?;
        let error = |problem| whole.error(problem);
        let page = mako::parse(&whole.text).map_err(error)?;
        run::run(&page, context, limits).map_err(error)
    }
}
