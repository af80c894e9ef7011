//! Expressions, by which callers of the business view select processes: five parts, from set to process id.
//!
//! Each part is a [`Pattern`] that must match the whole name: case-sensitive, by code point. The last part may be a [`Slice`]
//! of the processes that the other parts selected, in order of process id. An absent or blank part is `*`.
//!
//! | written | matches |
//! |---|---|
//! | `*`, `?` | any number of characters; one character |
//! | `[a, b*, 1-3]` | one of the items; `，` and `、` also separate; an empty item is the empty string |
//! | `[a-c]`, `[1-100]` | one letter, one number of the range; `[01-12]` also numbers padded to two digits |
//! | `[!abc]`, `[!1-3]` | one character that is none of these; after `!` each character stands for itself |
//! | `[word]` | the word, also if it resembles a range: `[my-proc]` |
//! | `\` | escapes the next character |
//! | anything else | itself |
//!
//! The joined form, for command lines, is `set.module.service.process.id`. A dot outside of brackets ends a part, so a dot in a
//! name is written `\.`; missing parts at the end are `*`.

mod bits;
mod error;
mod explain;
mod intervals;
mod matcher;
mod number;
mod parse;
mod pattern;
mod product;
mod shell;
mod slice;
mod text;
mod token;

#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use error::ExpressionProblem::{BracketAcrossParts, TooManyParts, UnclosedBracket};
pub use error::{ExpressionError, ExpressionProblem};
pub use explain::Meaning;
pub use matcher::Matcher;
pub use number::MAX_DIGITS;
pub use pattern::{Pattern, escaped, unescaped};
pub use shell::TooManyShellPatterns;
pub use slice::{IdPart, Slice};
pub use text::optional as text_or_number;

/// The longest part, and the longest joined form, in characters.
pub const MAX_CHARACTERS: usize = 128 * 1024;
/// How many items the lists of one part may have together.
pub const MAX_ALTERNATIVES: usize = 10_000;
/// How many wildcards and brackets one part may have. Each costs time per name; the words and ranges of one bracket are looked
/// up together.
pub const MAX_WILDCARDS: usize = 200;

/// One of the five parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExpressionPart {
    Set,
    Module,
    Service,
    Process,
    Id,
}

variant_names!(ExpressionPart, field, {
    Set = "bk_set_name",
    Module = "bk_module_name",
    Service = "service_instance_name",
    Process = "bk_process_name",
    Id = "bk_process_id",
});

impl fmt::Display for ExpressionPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.field())
    }
}

/// A selection of processes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "ExpressionText", into = "ExpressionText")]
pub struct Expression {
    pub set: Pattern,
    pub module: Pattern,
    pub service: Pattern,
    pub process: Pattern,
    pub id: IdPart,
}

/// The five parts of a request, unparsed, each a string or a number: for callers that distinguish a wrong type from wrong
/// syntax.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ExpressionText {
    #[serde(deserialize_with = "text::optional")]
    pub bk_set_name: Option<String>,
    #[serde(deserialize_with = "text::optional")]
    pub bk_module_name: Option<String>,
    #[serde(deserialize_with = "text::optional")]
    pub service_instance_name: Option<String>,
    #[serde(deserialize_with = "text::optional")]
    pub bk_process_name: Option<String>,
    #[serde(deserialize_with = "text::optional")]
    pub bk_process_id: Option<String>,
}

impl Expression {
    /// Parses the parts from set to process id.
    pub fn parse_parts(parts: [Option<&str>; 5]) -> Result<Self, ExpressionError> {
        let texts = parts.map(Option::unwrap_or_default);
        let [set, module, service, process, id] = texts;
        let pattern =
            |part: ExpressionPart, text| Pattern::parse(text).map_err(|error| error.within(part));
        let all = || {
            Ok(Self {
                set: pattern(ExpressionPart::Set, set)?,
                module: pattern(ExpressionPart::Module, module)?,
                service: pattern(ExpressionPart::Service, service)?,
                process: pattern(ExpressionPart::Process, process)?,
                id: IdPart::parse(id).map_err(|error| error.within(ExpressionPart::Id))?,
            })
        };
        all().map_err(|error| explain_unclosed(error, texts))
    }

    /// Parses the joined form: up to five parts with dots between them. Positions in errors refer to the whole text.
    pub fn parse_dotted(text: &str) -> Result<Self, ExpressionError> {
        let tokens = token::tokens(text)?;
        let mut starts = vec![0];
        let mut in_brackets = false;
        for token in &tokens {
            in_brackets = (in_brackets || token.is('[')) && !token.is(']');
            if token.is('.') && !in_brackets {
                if starts.len() == ExpressionPart::ALL.len() {
                    return Err(ExpressionError::new(token.at, TooManyParts));
                }
                starts.push(token.end);
            }
        }
        let mut parts = [None; 5];
        for (index, start) in starts.iter().enumerate() {
            let end = starts.get(index + 1).map_or(text.len(), |next| next - 1);
            parts[index] = Some(&text[*start..end]);
        }
        Self::parse_parts(parts).map_err(|error| {
            let index = ExpressionPart::ALL
                .iter()
                .position(|part| error.part == Some(*part));
            let before = &text[..starts[index.unwrap_or(0)]];
            error.shifted(before.chars().count())
        })
    }

    /// Describes each part.
    pub fn explain(&self) -> [(ExpressionPart, Meaning); 5] {
        [
            (ExpressionPart::Set, self.set.explain()),
            (ExpressionPart::Module, self.module.explain()),
            (ExpressionPart::Service, self.service.explain()),
            (ExpressionPart::Process, self.process.explain()),
            (ExpressionPart::Id, self.id.explain()),
        ]
    }
}

/// Explains an unclosed bracket that a later part closes: brackets cannot span parts.
fn explain_unclosed(error: ExpressionError, texts: [&str; 5]) -> ExpressionError {
    let closes = |text: &&str| {
        let closed = text.find(']');
        closed.is_some_and(|at| !text[..at].contains('['))
    };
    let part = ExpressionPart::ALL
        .iter()
        .position(|part| error.part == Some(*part));
    let mut later = texts.iter().skip(part.map_or(texts.len(), |part| part + 1));
    match error.problem == UnclosedBracket && later.any(closes) {
        true => ExpressionError {
            problem: BracketAcrossParts,
            ..error
        },
        false => error,
    }
}

impl TryFrom<ExpressionText> for Expression {
    type Error = ExpressionError;

    fn try_from(text: ExpressionText) -> Result<Self, ExpressionError> {
        Self::parse_parts([
            text.bk_set_name.as_deref(),
            text.bk_module_name.as_deref(),
            text.service_instance_name.as_deref(),
            text.bk_process_name.as_deref(),
            text.bk_process_id.as_deref(),
        ])
    }
}

impl From<Expression> for ExpressionText {
    fn from(expression: Expression) -> Self {
        Self {
            bk_set_name: Some(expression.set.to_string()),
            bk_module_name: Some(expression.module.to_string()),
            service_instance_name: Some(expression.service.to_string()),
            bk_process_name: Some(expression.process.to_string()),
            bk_process_id: Some(expression.id.to_string()),
        }
    }
}

/// The joined form.
impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for pattern in [&self.set, &self.module, &self.service, &self.process] {
            write!(f, "{}.", without_dots(pattern.as_str()))?;
        }
        match &self.id {
            IdPart::Pattern(pattern) => f.write_str(&without_dots(pattern.as_str())),
            IdPart::Slice(slice) => slice.fmt(f),
        }
    }
}

/// Escapes every dot that would end a part of the joined form.
fn without_dots(written: &str) -> String {
    let mut joined = String::with_capacity(written.len());
    let (mut in_brackets, mut is_escaped) = (false, false);
    for character in written.chars() {
        if character == '.' && !in_brackets && !is_escaped {
            joined.push('\\');
        }
        joined.push(character);
        in_brackets = match character {
            '[' => in_brackets || !is_escaped,
            ']' => in_brackets && is_escaped,
            _ => in_brackets,
        };
        is_escaped = character == '\\' && !is_escaped;
    }
    joined
}

impl FromStr for Expression {
    type Err = ExpressionError;

    fn from_str(text: &str) -> Result<Self, ExpressionError> {
        Self::parse_dotted(text)
    }
}
