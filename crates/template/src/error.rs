//! Errors of templates, with template name, line and column.

use std::fmt;

use crate::place::Place;

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

impl ErrorKind {
    /// The code of errors that have no code of their own.
    pub fn code(self) -> &'static str {
        match self {
            Self::Syntax => "syntax",
            Self::Undefined => "undefined",
            Self::Forbidden => "forbidden",
            Self::Failed => "failed",
            Self::Include => "include",
            Self::TooLong => "too_long",
            Self::TooLarge => "too_large",
            Self::TooDeep => "too_deep",
        }
    }
}

/// An error with its template and place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateError {
    pub kind: ErrorKind,
    /// What the message says, for programs: that of the kind, or a more exact one.
    pub code: &'static str,
    /// What differs from case to case, for a more exact code.
    pub params: Vec<(&'static str, String)>,
    /// The template that contains the error: the parsed one, or an included one.
    pub template: String,
    /// From 1.
    pub line: u32,
    /// In characters, from 1, where it is known.
    pub column: Option<u32>,
    pub message: String,
}

impl TemplateError {
    /// An error of a template as a whole.
    pub fn failed(template: String, message: impl Into<String>) -> Self {
        Self {
            kind: ErrorKind::Failed,
            code: ErrorKind::Failed.code(),
            params: Vec::new(),
            template,
            line: 0,
            column: None,
            message: message.into(),
        }
    }
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

/// An error without its template. Its place is set where it is known.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    pub(crate) kind: ErrorKind,
    pub(crate) code: &'static str,
    pub(crate) params: Vec<(&'static str, String)>,
    pub(crate) place: Option<Place>,
    pub(crate) message: String,
}

impl Problem {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Problem {
        Problem {
            kind,
            code: kind.code(),
            params: Vec::new(),
            place: None,
            message: message.into(),
        }
    }

    /// A more exact code than that of its kind.
    pub(crate) fn coded(mut self, code: &'static str) -> Problem {
        self.code = code;
        self
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Problem {
        self.params.push((name, value.into()));
        self
    }

    pub(crate) fn syntax(place: Place, message: impl Into<String>) -> Problem {
        Problem::new(ErrorKind::Syntax, message).at(place)
    }

    pub(crate) fn forbidden(place: Place, message: impl Into<String>) -> Problem {
        Problem::new(ErrorKind::Forbidden, message).at(place)
    }

    /// Something that is Mako or Python, and not available in templates.
    pub(crate) fn unavailable(what: &str) -> Problem {
        let message = format!("{what} is not available in templates");
        let problem = Problem::new(ErrorKind::Forbidden, message);
        problem.coded("unavailable").with("what", what)
    }

    pub(crate) fn failed(message: impl Into<String>) -> Problem {
        Problem::new(ErrorKind::Failed, message)
    }

    /// Sets the place unless a more exact one is already set.
    pub(crate) fn at(mut self, place: Place) -> Problem {
        self.place.get_or_insert(place);
        self
    }
}
