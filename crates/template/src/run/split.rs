//! Splits strings.

use super::Interpreter;
use super::call::Args;
use super::value::Value;
use crate::error::{Problem, Result};
use crate::text::is_space;

impl Interpreter<'_> {
    /// `split` and `rsplit`, at a separator or at white space.
    pub(crate) fn split(&self, text: &str, from_right: bool, args: &Args) -> Result<Value> {
        let most = match args.positional.get(1) {
            Some(most) => {
                usize::try_from(self.int_arg(most, "the number of splits")?).unwrap_or(usize::MAX)
            }
            None => usize::MAX,
        };
        let separator = match args.positional.first() {
            None | Some(Value::None) => None,
            Some(_) => Some(self.text_arg(args, 0, "split")?),
        };
        let n_parts = most.saturating_add(1);
        match separator {
            Some("") => Err(Problem::failed(
                "split() takes a separator that is not empty",
            )),
            Some(separator) if from_right => {
                self.reserve_parts(text.matches(separator).count().min(most))?;
                let mut parts: Vec<&str> = text.rsplitn(n_parts, separator).collect();
                parts.reverse();
                self.texts(parts.into_iter())
            }
            Some(separator) => self.texts(text.splitn(n_parts, separator)),
            None if from_right => {
                self.reserve_parts(text.split(is_space).count().min(most))?;
                let mut parts: Vec<&str> = words_from_right(text, most).collect();
                parts.reverse();
                self.texts(parts.into_iter())
            }
            None => self.texts(words(text, most)),
        }
    }

    fn reserve_parts(&self, count: usize) -> Result<()> {
        self.meter.fits(count.saturating_mul(size_of::<&str>()))
    }

    /// The text before a part, the part, and the text after it.
    pub(crate) fn partition(&self, text: &str, part: &str, from_right: bool) -> Result<Value> {
        if part.is_empty() {
            return Err(Problem::failed(
                "partition() takes a separator that is not empty",
            ));
        }
        let found = if from_right {
            text.rsplit_once(part)
        } else {
            text.split_once(part)
        };
        let (before, part, after) = match found {
            Some((before, after)) => (before, part, after),
            None if from_right => ("", "", text),
            None => (text, "", ""),
        };
        let mut parts = Vec::new();
        for part in [before, part, after] {
            parts.push(self.text(part.to_owned())?);
        }
        self.tuple(parts)
    }
}

fn words(text: &str, most: usize) -> impl Iterator<Item = &str> {
    let mut rest = text.trim_start_matches(is_space);
    let mut left = most;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = match left {
            0 => rest.len(),
            _ => rest.find(is_space).unwrap_or(rest.len()),
        };
        left = left.saturating_sub(1);
        let word = &rest[..end];
        rest = rest[end..].trim_start_matches(is_space);
        Some(word)
    })
}

fn words_from_right(text: &str, most: usize) -> impl Iterator<Item = &str> {
    let mut rest = text.trim_end_matches(is_space);
    let mut left = most;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let behind_space = |at: usize| at + rest[at..].chars().next().map_or(1, char::len_utf8);
        let begin = match left {
            0 => 0,
            _ => rest.rfind(is_space).map_or(0, behind_space),
        };
        left = left.saturating_sub(1);
        let word = &rest[begin..];
        rest = rest[..begin].trim_end_matches(is_space);
        Some(word)
    })
}

/// Splits at all line ends of Python.
pub(crate) fn lines(text: &str, keep: bool) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let Some((at, end)) = line_end(rest) else {
            return Some(std::mem::take(&mut rest));
        };
        let line = &rest[..if keep { end } else { at }];
        rest = &rest[end..];
        Some(line)
    })
}

/// The end of the first line, and the start of the next.
fn line_end(text: &str) -> Option<(usize, usize)> {
    let ends = |c: char| {
        matches!(
            c,
            '\n' | '\r' | '\x0b' | '\x0c' | '\x1c'..='\x1e' | '\u{85}' | '\u{2028}' | '\u{2029}'
        )
    };
    let at = text.find(ends)?;
    let length = if text[at..].starts_with("\r\n") {
        2
    } else {
        text[at..].chars().next().map_or(1, char::len_utf8)
    };
    Some((at, at + length))
}
