//! Errors of templates, with template name and line.

use std::fmt;

/// Why a template was not rendered, by what its author or caller can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The text is not a valid template.
    Syntax,
    /// The template reads a variable that is not set.
    Undefined,
    /// The template uses something that is not available in templates.
    Forbidden,
    /// An expression failed, such as `1 / 0`.
    Failed,
    /// An included template does not exist, or includes itself.
    Include,
    /// The deadline passed.
    TooLong,
    /// The output, the template text or intermediate values exceed the limits.
    TooLarge,
    /// The nesting of calls, values or includes exceeds the limits.
    TooDeep,
}

/// An error with its template and line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateError {
    pub kind: ErrorKind,
    /// The template that contains the error: the parsed one, or an included one.
    pub template: String,
    /// From 1.
    pub line: u32,
    pub message: String,
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} line {}: {}", self.template, self.line, self.message)
    }
}

impl std::error::Error for TemplateError {}

pub(crate) type Result<T, E = Problem> = std::result::Result<T, E>;

/// Formats a [`Problem`] of kind `Failed`.
macro_rules! failed {
    ($($message:tt)+) => {
        crate::error::Problem::failed(format!($($message)+))
    };
}

/// An error without its template. Its line is set where it is known.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    pub(crate) kind: ErrorKind,
    pub(crate) line: Option<u32>,
    pub(crate) message: String,
}

impl Problem {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Problem {
        Problem {
            kind,
            line: None,
            message: message.into(),
        }
    }

    pub(crate) fn syntax(line: u32, message: impl Into<String>) -> Problem {
        Problem::new(ErrorKind::Syntax, message).at(line)
    }

    pub(crate) fn forbidden(line: u32, message: impl Into<String>) -> Problem {
        Problem::new(ErrorKind::Forbidden, message).at(line)
    }

    pub(crate) fn failed(message: impl Into<String>) -> Problem {
        Problem::new(ErrorKind::Failed, message)
    }

    /// Sets the line unless a more exact one is already set.
    pub(crate) fn at(mut self, line: u32) -> Problem {
        self.line.get_or_insert(line);
        self
    }
}
