//! The last part: a pattern for process ids, or a slice of the processes that the other parts selected.

use std::fmt;
use std::fmt::Write;
use std::ops::Range;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::error::ExpressionError;
use super::error::ExpressionProblem::{SliceWithMore, SliceWithStep, SliceWithoutNumbers};
use super::pattern::Pattern;
use super::text;
use super::token::{self, Token};

/// Selects process ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IdPart {
    Pattern(Pattern),
    Slice(Slice),
}

/// `[start:end]` as in Python: counted from 0, negative from the end, `end` exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice {
    pub start: Option<i64>,
    pub end: Option<i64>,
}

impl Slice {
    /// The selected range of a list of this length.
    pub fn bounds(&self, length: usize) -> Range<usize> {
        let position = |bound: i64| match usize::try_from(bound) {
            Ok(from_the_front) => from_the_front.min(length),
            Err(_) => {
                length.saturating_sub(usize::try_from(bound.unsigned_abs()).unwrap_or(length))
            }
        };
        let start = self.start.map_or(0, position);
        let end = self.end.map_or(length, position);
        start..end.max(start)
    }
}

impl IdPart {
    /// A bracket with a colon is a slice; no other text may surround it.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        let tokens = token::tokens(text)?;
        match slice(token::trim(&tokens))? {
            Some(slice) => Ok(Self::Slice(slice)),
            None => Pattern::parse(text).map(Self::Pattern),
        }
    }

    /// Filters the ids that the other parts selected, which are in ascending order.
    pub fn select(&self, ids: &[u64]) -> Vec<u64> {
        match self {
            Self::Pattern(pattern) if pattern.is_any() => ids.to_vec(),
            Self::Pattern(pattern) => {
                let mut matcher = pattern.matcher();
                let mut digits = String::new();
                let mut fits = |id: &u64| {
                    digits.clear();
                    write!(digits, "{id}").expect("writing to a String cannot fail");
                    matcher.matches(&digits)
                };
                ids.iter().copied().filter(|id| fits(id)).collect()
            }
            Self::Slice(slice) => ids[slice.bounds(ids.len())].to_vec(),
        }
    }
}

fn slice(tokens: &[Token]) -> Result<Option<Slice>, ExpressionError> {
    let mut index = 0;
    while let Some(token) = tokens.get(index) {
        if !token.is('[') {
            index += 1;
            continue;
        }
        let close = token::closing(tokens, index)?;
        let content = &tokens[index + 1..close];
        let is_exclusion = content.first().is_some_and(|token| token.is('!'));
        if !is_exclusion && content.iter().any(|token| token.is(':')) {
            let outside = tokens[..index].first().or(tokens[close + 1..].first());
            return match outside {
                Some(token) => Err(ExpressionError::new(token.at, SliceWithMore)),
                None => bounds(*token, content).map(Some),
            };
        }
        index = close + 1;
    }
    Ok(None)
}

fn bounds(open: Token, content: &[Token]) -> Result<Slice, ExpressionError> {
    let mut colons = content.iter().filter(|token| token.is(':'));
    if let Some(second) = colons.nth(1) {
        return Err(ExpressionError::new(second.at, SliceWithStep));
    }
    let mut bounds = content.split(|token| token.is(':')).map(token::trim);
    let mut bound = || match bounds.next() {
        Some(tokens @ [first, ..]) => number(tokens).map(Some).ok_or_else(|| {
            let found = token::word(tokens);
            ExpressionError::new(first.at, SliceWithoutNumbers { found })
        }),
        Some([]) => Ok(None),
        None => Err(ExpressionError::new(
            open.at,
            SliceWithoutNumbers {
                found: String::new(),
            },
        )),
    };
    Ok(Slice {
        start: bound()?,
        end: bound()?,
    })
}

/// Saturates: a number beyond i64 is beyond any list.
fn number(tokens: &[Token]) -> Option<i64> {
    let (is_negative, digits) = match tokens {
        [sign, digits @ ..] if sign.is('-') => (true, digits),
        [sign, digits @ ..] if sign.is('+') => (false, digits),
        digits => (false, digits),
    };
    if digits.is_empty() {
        return None;
    }
    let mut value = 0_i64;
    for token in digits {
        let digit = token.character.to_digit(10).filter(|_| !token.escaped)?;
        value = value.saturating_mul(10).saturating_add(i64::from(digit));
    }
    Some(if is_negative { -value } else { value })
}

/// `*`
impl Default for IdPart {
    fn default() -> Self {
        Self::Pattern(Pattern::default())
    }
}

impl fmt::Display for Slice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('[')?;
        self.start.map_or(Ok(()), |start| write!(f, "{start}"))?;
        f.write_char(':')?;
        self.end.map_or(Ok(()), |end| write!(f, "{end}"))?;
        f.write_char(']')
    }
}

impl fmt::Display for IdPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pattern(pattern) => pattern.fmt(f),
            Self::Slice(slice) => slice.fmt(f),
        }
    }
}

impl FromStr for IdPart {
    type Err = ExpressionError;

    fn from_str(text: &str) -> Result<Self, ExpressionError> {
        Self::parse(text)
    }
}

impl Serialize for IdPart {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for IdPart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = text::optional(deserializer)?.unwrap_or_default();
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}
