//! Mako templates to text, as Python's Mako would write it, without Python.
//!
//! The path of a template: `include` puts other templates in place of `# Ginclude` lines; `mako` cuts the text into what is written and
//! what is Python, by the rules of Mako's own lexer; `python` parses the Python; `run` executes the tree, under `Limits`. There is no
//! I/O, no clock, no chance in it: the same template and context always make the same text. What templates may not do, and what would
//! come out differently from Mako, is an error with its line.
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

mod context;
mod error;
mod include;
mod limits;
mod mako;
mod python;
mod run;
mod text;

pub use context::Context;
pub use error::{ErrorKind, TemplateError};
pub use include::{Includes, NoIncludes};
pub use limits::Limits;

use include::Source;
use mako::Page;

/// A template whose text was read. It can be rendered any number of times, from any thread.
#[derive(Debug)]
pub struct Template {
    source: Source,
    page: Page,
    includes: bool,
}

impl Template {
    /// Reads a template. Errors call it by this name.
    ///
    /// # Errors
    /// `Syntax` and `Forbidden`, with the line. A template that includes others must be whole by itself: what it opens it closes.
    pub fn parse(name: &str, text: &str) -> Result<Template, TemplateError> {
        let source = include::alone(name, text);
        let page = mako::parse(text).map_err(|problem| source.error(problem))?;
        Ok(Template {
            source,
            page,
            includes: include::includes_any(text),
        })
    }

    /// Writes the text for these variables.
    ///
    /// This computes for as long as the deadline allows: call it where blocking is allowed. `includes` is asked before anything is
    /// computed, and only for templates that are named in a `# Ginclude` line.
    ///
    /// # Errors
    /// All kinds; the error names the template, this one or an included one, and the line there.
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
