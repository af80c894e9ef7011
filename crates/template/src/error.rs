//! What can be wrong with a template, and where.

use std::fmt;

/// Why a template was not rendered, by what its author or caller can do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The text is not a template.
    Syntax,
    /// A variable that nobody set was read.
    Undefined,
    /// The template wants something that templates may not do.
    Forbidden,
    /// An expression failed, as `1 / 0` does.
    Failed,
    /// An included template does not exist, or includes itself.
    Include,
    /// The deadline passed.
    TooLong,
    /// The output, the text or the values in between are larger than the limits allow.
    TooLarge,
    /// Calls, values or includes are nested more deeply than the limits allow.
    TooDeep,
}

/// An error, the template in which it is, and its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateError {
    pub kind: ErrorKind,
    /// The name of the template whose text is wrong: the one given to `parse`, or an included one.
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

/// An error on its way out, which learns its line where it is known.
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

    /// Sets the line, unless a more exact one is known already.
    pub(crate) fn at(mut self, line: u32) -> Problem {
        self.line.get_or_insert(line);
        self
    }
}
