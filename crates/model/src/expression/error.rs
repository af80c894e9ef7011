//! Errors of expressions, with their position.

use std::fmt;

use crate::reason::Reason;

use super::{ExpressionPart, MAX_ALTERNATIVES, MAX_CHARACTERS, MAX_DIGITS, MAX_WILDCARDS};

/// A refused expression: the part, the character, and the problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpressionError {
    /// None if a single pattern was parsed, or if the joined form has too many parts.
    pub part: Option<ExpressionPart>,
    /// Counted from 1, in code points of the parsed text: one part, or the whole joined form.
    pub character: usize,
    pub problem: ExpressionProblem,
}

impl ExpressionError {
    pub(super) fn new(character: usize, problem: ExpressionProblem) -> Self {
        Self {
            part: None,
            character,
            problem,
        }
    }

    pub(super) fn within(self, part: ExpressionPart) -> Self {
        Self {
            part: Some(part),
            ..self
        }
    }

    /// Moves the position into a longer text.
    pub(super) fn shifted(self, characters: usize) -> Self {
        Self {
            character: self.character + characters,
            ..self
        }
    }
}

impl fmt::Display for ExpressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expression")?;
        if let Some(part) = self.part {
            write!(f, " {part}")?;
        }
        write!(f, ", character {}: {}", self.character, self.problem)
    }
}

impl std::error::Error for ExpressionError {}

/// The rule that an expression breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExpressionProblem {
    UnclosedBracket,
    /// A later part would close the bracket.
    BracketAcrossParts,
    /// The character at which the outer bracket opened.
    NestedBracket {
        outer: usize,
    },
    ReversedRange {
        from: String,
        to: String,
    },
    EmptyExclusion,
    DanglingEscape,
    TooLong,
    TooManyAlternatives,
    TooManyWildcards,
    TooManyDigits,
    TooManyParts,
    SliceWithMore,
    SliceWithStep,
    SliceWithoutNumbers {
        found: String,
    },
}

impl ExpressionProblem {
    /// The code and its parameters, as the native API has them.
    pub fn reason(&self) -> Reason {
        match self {
            Self::UnclosedBracket => Reason::new("unclosed_bracket"),
            Self::BracketAcrossParts => Reason::new("bracket_across_parts"),
            Self::NestedBracket { outer } => Reason::new("nested_bracket").with("outer", outer),
            Self::ReversedRange { from, to } => Reason::new("reversed_range")
                .with("from", from)
                .with("to", to),
            Self::EmptyExclusion => Reason::new("empty_exclusion"),
            Self::DanglingEscape => Reason::new("dangling_escape"),
            Self::TooLong => Reason::new("expression_too_long").with("most", MAX_CHARACTERS),
            Self::TooManyAlternatives => {
                Reason::new("too_many_alternatives").with("most", MAX_ALTERNATIVES)
            }
            Self::TooManyWildcards => Reason::new("too_many_wildcards").with("most", MAX_WILDCARDS),
            Self::TooManyDigits => Reason::new("too_many_digits").with("most", MAX_DIGITS),
            Self::TooManyParts => Reason::new("too_many_parts"),
            Self::SliceWithMore => Reason::new("slice_with_more"),
            Self::SliceWithStep => Reason::new("slice_with_step"),
            Self::SliceWithoutNumbers { found } => {
                Reason::new("slice_without_numbers").with("found", found)
            }
        }
    }
}

impl fmt::Display for ExpressionProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnclosedBracket => f.write_str(
                r"a bracket is not closed; write ] after its content, or \[ for the character itself",
            ),
            Self::BracketAcrossParts => f.write_str(
                "a bracket is not closed; it must close within its part, and cannot reach into the next one",
            ),
            Self::NestedBracket { outer } => write!(
                f,
                r"a bracket inside the one that opened at character {outer}; brackets do not nest: write \[ for the character itself",
            ),
            Self::ReversedRange { from, to } => {
                write!(f, "the range {from}-{to} is reversed; write {to}-{from}")
            }
            Self::EmptyExclusion => f.write_str(
                r"[!] excludes nothing; write the excluded characters after !, or ? for any character, or \! for the character itself",
            ),
            Self::DanglingEscape => f.write_str(
                r"a backslash escapes the character after it, and there is none; write \\ for the character itself",
            ),
            Self::TooLong => write!(f, "an expression may have at most {MAX_CHARACTERS} characters"),
            Self::TooManyAlternatives => write!(
                f,
                "a part may list at most {MAX_ALTERNATIVES} alternatives; ranges and wildcards say more with less"
            ),
            Self::TooManyWildcards => write!(
                f,
                "a part may hold at most {MAX_WILDCARDS} wildcards and brackets; a list of words and ranges counts once"
            ),
            Self::TooManyDigits => {
                write!(f, "a number in a range may have at most {MAX_DIGITS} digits")
            }
            Self::TooManyParts => f.write_str(
                r"a sixth part; there are five, set.module.service.process.id: write \. for a dot that belongs to a name",
            ),
            Self::SliceWithMore => f.write_str(
                r"a slice stands alone, with nothing before or after it; write \: where the character itself is meant",
            ),
            Self::SliceWithStep => f.write_str("a slice has no step; write [start:end]"),
            Self::SliceWithoutNumbers { found } => write!(
                f,
                "a slice is [start:end] with whole numbers, either of which may be left out; {found:?} is none"
            ),
        }
    }
}
