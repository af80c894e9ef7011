//! `# Ginclude "name"`: replaces the line by the text of another template, before the template is parsed.

use crate::error::{ErrorKind, Problem, TemplateError};
use crate::limits::Limits;
use crate::text::{self, is_space};

/// The source of included templates.
pub trait Includes {
    /// The text of the template with this name, if it exists.
    fn text(&self, name: &str) -> Option<String>;
}

/// Has no templates.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoIncludes;

impl Includes for NoIncludes {
    fn text(&self, _name: &str) -> Option<String> {
        None
    }
}

/// A template text, and the origin of each of its lines.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) text: String,
    names: Vec<String>,
    /// By line: index into `names`, and line in that template.
    origins: Vec<Option<(usize, u32)>>,
}

impl Source {
    /// The name of the outermost template.
    pub(crate) fn name(&self) -> &str {
        &self.names[0]
    }

    /// Adds the template that contains the problem, and the place there: an included text keeps its lines whole.
    pub(crate) fn error(&self, problem: Problem) -> TemplateError {
        let line = problem.place.map_or(1, |place| place.line);
        let at = usize::try_from(line)
            .unwrap_or(usize::MAX)
            .saturating_sub(1);
        let origin = self.origins.get(at).copied().flatten();
        let (template, line) = origin.unwrap_or((0, line));
        TemplateError {
            kind: problem.kind,
            code: problem.code,
            params: problem.params,
            template: self.names[template].clone(),
            line,
            column: problem.place.and_then(|place| place.column),
            message: problem.message,
        }
    }
}

/// Whether a text includes other templates.
pub(crate) fn includes_any(text: &str) -> bool {
    next_include(text, 0).is_some()
}

/// The problem that a text exceeds `Limits::source_bytes`.
pub(crate) fn too_large(limits: &Limits) -> Problem {
    let most = limits.source_bytes;
    let message = format!("the template and what it includes are larger than {most} bytes");
    Problem::new(ErrorKind::TooLarge, message)
}

/// A text without includes.
pub(crate) fn alone(name: &str, text: &str) -> Source {
    Source {
        text: text.to_owned(),
        names: vec![name.to_owned()],
        origins: Vec::new(),
    }
}

/// Replaces all include lines.
pub(crate) fn expand(
    name: &str,
    text: &str,
    includes: &dyn Includes,
    limits: &Limits,
) -> Result<Source, TemplateError> {
    let mut expander = Expander {
        includes,
        limits,
        open: Vec::new(),
        source: Source {
            text: String::new(),
            names: Vec::new(),
            origins: vec![None],
        },
    };
    expander.template(name, text)?;
    Ok(expander.source)
}

/// The most includes of one template, nested ones included.
const MAX_INCLUDES: usize = 1000;

struct Expander<'a> {
    includes: &'a dyn Includes,
    limits: &'a Limits,
    /// Names of the open templates, the innermost last.
    open: Vec<String>,
    source: Source,
}

impl Expander<'_> {
    fn template(&mut self, name: &str, text: &str) -> Result<(), TemplateError> {
        let template = self.source.names.len();
        self.source.names.push(name.to_owned());
        self.open.push(name.to_owned());
        let mut at = 0;
        let mut line = 1;
        while let Some(include) = next_include(text, at) {
            line = self.push(template, line, &text[at..include.begin], name)?;
            self.included(name, line, include.name)?;
            line += count_lines(&text[include.begin..include.end]);
            at = include.end;
        }
        self.push(template, line, &text[at..], name)?;
        self.open.pop();
        Ok(())
    }

    fn included(&mut self, by: &str, line: u32, name: &str) -> Result<(), TemplateError> {
        let error = |problem: Problem| in_line(problem, by, line);
        let failed = |kind, message: String| error(Problem::new(kind, message));
        if self.open.iter().any(|open| open == name) {
            let message = format!("template \"{name}\" includes itself");
            let problem = Problem::new(ErrorKind::Include, message).coded("includes_itself");
            return Err(error(problem.with("name", name)));
        }
        let depth = u32::try_from(self.open.len()).unwrap_or(u32::MAX);
        if depth > self.limits.include_depth {
            let message = format!(
                "more than {} includes inside of each other",
                self.limits.include_depth
            );
            return Err(failed(ErrorKind::TooDeep, message));
        }
        if self.source.names.len() > MAX_INCLUDES {
            let message = format!("more than {MAX_INCLUDES} includes altogether");
            return Err(failed(ErrorKind::TooLarge, message));
        }
        let Some(text) = self.includes.text(name) else {
            let message = format!("there is no template \"{name}\" to include");
            let problem = Problem::new(ErrorKind::Include, message).coded("no_include");
            return Err(error(problem.with("name", name)));
        };
        self.template(name, &text)
    }

    /// Appends text of a template and returns the line where it ends.
    fn push(
        &mut self,
        template: usize,
        mut line: u32,
        text: &str,
        name: &str,
    ) -> Result<u32, TemplateError> {
        if self.source.text.len() + text.len() > self.limits.source_bytes {
            return Err(in_line(too_large(self.limits), name, line));
        }
        for part in text.split_inclusive('\n') {
            if let Some(last) = self.source.origins.last_mut() {
                last.get_or_insert((template, line));
            }
            if part.ends_with('\n') {
                line += 1;
                self.source.origins.push(None);
            }
        }
        self.source.text.push_str(text);
        Ok(line)
    }
}

fn count_lines(text: &str) -> u32 {
    text::count(text.matches('\n'))
}

/// A problem of a whole line of a template.
fn in_line(problem: Problem, template: &str, line: u32) -> TemplateError {
    TemplateError {
        kind: problem.kind,
        code: problem.code,
        params: problem.params,
        template: template.to_owned(),
        line,
        column: None,
        message: problem.message,
    }
}

struct Include<'a> {
    begin: usize,
    end: usize,
    name: &'a str,
}

/// Finds the next `# Ginclude "name"` line, with either quote.
fn next_include(text: &str, from: usize) -> Option<Include<'_>> {
    let mut at = from;
    while let Some(found) = text[at..].find('#') {
        let begin = at + found;
        at = begin + 1;
        if begin > 0 && text.as_bytes()[begin - 1] != b'\n' {
            continue;
        }
        if let Some(include) = read_include(text, begin) {
            return Some(include);
        }
    }
    None
}

fn read_include(text: &str, begin: usize) -> Option<Include<'_>> {
    let word = text[begin + 1..].trim_start_matches(is_space);
    let behind = word.strip_prefix("Ginclude")?;
    let quoted = behind.trim_start_matches(is_space);
    if quoted.len() == behind.len() {
        return None;
    }
    let inside = quoted.strip_prefix(['"', '\''])?;
    let length = inside.find(['"', '\''])?;
    let behind = &inside[length + 1..];
    let rest = behind.trim_start_matches(is_space);
    let blanks = &behind[..behind.len() - rest.len()];
    // The line includes following blank lines, without the last line end.
    let taken = if rest.is_empty() {
        blanks.len()
    } else {
        blanks.rfind('\n')?
    };
    Some(Include {
        begin,
        end: text.len() - behind.len() + taken,
        name: &inside[..length],
    })
}
