//! Takes strings apart.

use super::Machine;
use super::call::Args;
use super::value::Value;
use crate::error::Problem;
use crate::text::is_space;

impl Machine<'_> {
    /// `split` and `rsplit`, at a separator or at white space.
    pub(crate) fn split(
        &self,
        text: &str,
        from_right: bool,
        args: &Args,
    ) -> Result<Value, Problem> {
        let most = match args.plain.get(1) {
            Some(most) => {
                usize::try_from(self.small_int(most, "the number of splits")?).unwrap_or(usize::MAX)
            }
            None => usize::MAX,
        };
        let separator = match args.plain.first() {
            None | Some(Value::None) => None,
            Some(_) => Some(self.text_arg(args, 0, "split")?),
        };
        let pieces = most.saturating_add(1);
        match separator {
            Some("") => Err(Problem::failed("split() at nothing")),
            Some(separator) if from_right => {
                let mut parts: Vec<&str> = text.rsplitn(pieces, separator).collect();
                parts.reverse();
                self.texts(parts.into_iter())
            }
            Some(separator) => self.texts(text.splitn(pieces, separator)),
            None if from_right => {
                let mut parts = words_from_right(text, most);
                parts.reverse();
                self.texts(parts.into_iter())
            }
            None => self.texts(words(text, most).into_iter()),
        }
    }

    /// What is in front of a part, the part, and what is behind.
    pub(crate) fn partition(
        &self,
        text: &str,
        part: &str,
        from_right: bool,
    ) -> Result<Value, Problem> {
        if part.is_empty() {
            return Err(Problem::failed("partition() at nothing"));
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

fn words(text: &str, most: usize) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text.trim_start_matches(is_space);
    while !rest.is_empty() {
        if found.len() == most {
            found.push(rest);
            break;
        }
        let end = rest.find(is_space).unwrap_or(rest.len());
        found.push(&rest[..end]);
        rest = rest[end..].trim_start_matches(is_space);
    }
    found
}

fn words_from_right(text: &str, most: usize) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text.trim_end_matches(is_space);
    while !rest.is_empty() {
        if found.len() == most {
            found.push(rest);
            break;
        }
        let begin = rest.rfind(is_space).map_or(0, |at| {
            at + rest[at..].chars().next().map_or(1, char::len_utf8)
        });
        found.push(&rest[begin..]);
        rest = rest[..begin].trim_end_matches(is_space);
    }
    found
}

/// Lines, by all the line ends that Python knows.
pub(crate) fn lines(text: &str, keep: bool) -> Vec<&str> {
    let mut found = Vec::new();
    let mut begin = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if !matches!(
            c,
            '\n' | '\r' | '\x0b' | '\x0c' | '\x1c'..='\x1e' | '\u{85}' | '\u{2028}' | '\u{2029}'
        ) {
            continue;
        }
        let mut end = at + c.len_utf8();
        if c == '\r' && matches!(chars.peek(), Some((_, '\n'))) {
            chars.next();
            end += 1;
        }
        found.push(&text[begin..if keep { end } else { at }]);
        begin = end;
    }
    if begin < text.len() {
        found.push(&text[begin..]);
    }
    found
}
