//! Methods of strings.

use super::Interpreter;
use super::call::Args;
use super::index::from_start;
use super::meter::BoundedText;
use super::value::{Str, Value};
use crate::error::Result;
use crate::text::{expand_tabs, is_space};

impl Interpreter<'_> {
    pub(crate) fn str_method(
        &self,
        text: &Str,
        name: &'static str,
        mut args: Args,
    ) -> Result<Value> {
        self.meter.step_bytes(text.len())?;
        match name {
            "format" => {
                let made = self.brace_format(text, &args)?;
                self.text(made)
            }
            "join" => self.join_texts(text, args.get(0)),
            "split" | "rsplit" => {
                args.fill_positional(&["sep", "maxsplit"]);
                if let Some(most) = args.take_keyword("maxsplit") {
                    args.positional.push(Value::None);
                    args.positional.push(most);
                }
                args.check_count(name, 0, 2)?;
                self.split(text, name == "rsplit", &args)
            }
            "splitlines" => {
                args.fill_positional(&["keepends"]);
                args.check_count(name, 0, 1)?;
                let keep = args
                    .positional
                    .first()
                    .is_some_and(|value| self.truth(value));
                self.texts(super::split::lines(text, keep))
            }
            "partition" | "rpartition" => {
                self.partition(text, self.text_arg(&args, 0, name)?, name == "rpartition")
            }
            "upper" => self.cased(text, str::to_uppercase),
            "lower" => self.cased(text, str::to_lowercase),
            "casefold" if text.is_ascii() => self.cased(text, str::to_lowercase),
            "capitalize" | "title" | "swapcase" if text.is_ascii() => {
                self.cased(text, |text| recased(text, name))
            }
            "capitalize" | "title" | "swapcase" | "casefold" => {
                Err(failed!("{name}() works with ASCII alone in templates"))
            }
            "strip" | "lstrip" | "rstrip" => self.stripped(text, name, &args),
            "startswith" | "endswith" => {
                let (part, _) = self.substring(text, &args, 1)?;
                self.begins_or_ends(part, args.get(0), name)
                    .map(Value::Bool)
            }
            "find" | "rfind" | "index" | "rindex" | "count" => self.found(text, name, &args),
            "replace" => self.replaced(text, &args),
            "removeprefix" => {
                let part = self.text_arg(&args, 0, name)?;
                self.text(text.strip_prefix(part).unwrap_or(text).to_owned())
            }
            "removesuffix" => {
                let part = self.text_arg(&args, 0, name)?;
                self.text(text.strip_suffix(part).unwrap_or(text).to_owned())
            }
            "center" | "ljust" | "rjust" | "zfill" => self.justified(text, name, &args),
            "expandtabs" => {
                args.fill_positional(&["tabsize"]);
                args.check_count(name, 0, 1)?;
                let size = match args.positional.first() {
                    Some(size) => self.int_arg(size, "the size of tabs")?,
                    None => 8,
                };
                let size = usize::try_from(size).unwrap_or(0);
                let tabs = text.matches('\t').count();
                self.meter
                    .fits(text.len().saturating_add(tabs.saturating_mul(size)))?;
                self.text(expand_tabs(text, size))
            }
            _ => super::str_test::test(text, name).map(Value::Bool),
        }
    }

    pub(crate) fn text_arg<'v>(
        &self,
        args: &'v Args,
        at: usize,
        function: &str,
    ) -> Result<&'v str> {
        match args.get(at) {
            Value::Str(text) => Ok(text),
            other => Err(other.mismatch(format_args!("{function}() takes a string"))),
        }
    }

    fn cased(&self, text: &str, change: impl Fn(&str) -> String) -> Result<Value> {
        self.meter.fits(text.len().saturating_mul(3))?;
        self.text(change(text))
    }

    fn join_texts(&self, between: &str, parts: &Value) -> Result<Value> {
        let mut out = BoundedText::new(&self.meter);
        let iter = self.iter(parts)?;
        let mut first = true;
        while let Some(part) = self.next(&iter)? {
            let Value::Str(part) = part else {
                let name = part.type_name();
                return Err(failed!("join() takes strings, not values of type {name}"));
            };
            if !first {
                out.push(between)?;
            }
            first = false;
            out.push(&part)?;
        }
        self.text(out.finish())
    }

    fn stripped(&self, text: &str, name: &str, args: &Args) -> Result<Value> {
        let set = match args.positional.first() {
            None | Some(Value::None) => None,
            Some(_) => Some(self.text_arg(args, 0, name)?),
        };
        let drops = |c: char| set.map_or_else(|| is_space(c), |set| set.contains(c));
        let mut text = text;
        if name != "rstrip" {
            text = text.trim_start_matches(drops);
        }
        if name != "lstrip" {
            text = text.trim_end_matches(drops);
        }
        self.text(text.to_owned())
    }

    fn begins_or_ends(&self, text: Option<&str>, wanted: &Value, name: &str) -> Result<bool> {
        match wanted {
            Value::Str(part) => Ok(text.is_some_and(|text| {
                if name == "startswith" {
                    text.starts_with(&**part)
                } else {
                    text.ends_with(&**part)
                }
            })),
            Value::Tuple(parts) => {
                for part in &parts.items {
                    if matches!(part, Value::Tuple(_)) {
                        break;
                    }
                    if self.begins_or_ends(text, part, name)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            other => Err(other.mismatch(format_args!(
                "{name}() takes a string or a tuple of strings"
            ))),
        }
    }

    /// The substring between two optional index arguments, and its start. None if the end precedes the start.
    fn substring<'t>(
        &self,
        text: &'t str,
        args: &Args,
        at: usize,
    ) -> Result<(Option<&'t str>, usize)> {
        if args.positional.len() <= at {
            return Ok((Some(text), 0));
        }
        let length = i128::try_from(text.chars().count()).unwrap_or(i128::MAX);
        let index = |value: Option<&Value>, default: i128| -> Result<i128> {
            let index = match value {
                None | Some(Value::None) => return Ok(default),
                Some(value) => self.int_arg(value, "an index of a string")?,
            };
            Ok(from_start(index, length).max(0))
        };
        let begin = index(args.positional.get(at), 0)?;
        let end = index(args.positional.get(at + 1), length)?.min(length);
        if begin > end {
            return Ok((None, 0));
        }
        let offset = |index: i128| {
            let index = usize::try_from(index).unwrap_or(usize::MAX);
            text.char_indices()
                .nth(index)
                .map_or(text.len(), |(offset, _)| offset)
        };
        let first = usize::try_from(begin).unwrap_or(usize::MAX);
        Ok((Some(&text[offset(begin)..offset(end)]), first))
    }

    fn found(&self, text: &str, name: &str, args: &Args) -> Result<Value> {
        let wanted = self.text_arg(args, 0, name)?;
        let (part, begin) = self.substring(text, args, 1)?;
        if name == "count" {
            let count = match part {
                None => 0,
                Some(part) if wanted.is_empty() => part.chars().count() + 1,
                Some(part) => part.matches(wanted).count(),
            };
            return Ok(Value::Int(i128::try_from(count).unwrap_or(i128::MAX)));
        }
        let offset = part.and_then(|part| {
            let offset = if name.starts_with('r') {
                part.rfind(wanted)
            } else {
                part.find(wanted)
            };
            offset.map(|offset| part[..offset].chars().count() + begin)
        });
        match offset {
            Some(index) => Ok(Value::Int(i128::try_from(index).unwrap_or(i128::MAX))),
            None if name.ends_with("find") => Ok(Value::Int(-1)),
            None => Err(failed!("{name}() did not find the string")),
        }
    }

    fn replaced(&self, text: &str, args: &Args) -> Result<Value> {
        let (old, new) = (
            self.text_arg(args, 0, "replace")?,
            self.text_arg(args, 1, "replace")?,
        );
        let most = match args.positional.get(2) {
            Some(most) => usize::try_from(self.int_arg(most, "the number of replacements")?)
                .unwrap_or(usize::MAX),
            None => usize::MAX,
        };
        let mut out = BoundedText::new(&self.meter);
        let mut at = 0;
        for (offset, _) in text.match_indices(old).take(most) {
            out.push(&text[at..offset])?;
            out.push(new)?;
            at = offset + old.len();
        }
        out.push(&text[at..])?;
        self.text(out.finish())
    }

    fn justified(&self, text: &str, name: &str, args: &Args) -> Result<Value> {
        let width = usize::try_from(self.int_arg(args.get(0), "a width")?).unwrap_or(0);
        if name == "zfill" {
            let (sign, digits) = match text.strip_prefix(['+', '-']) {
                Some(digits) => (&text[..1], digits),
                None => ("", text),
            };
            return self.text(self.padded(sign, digits, width, '0', '=')?);
        }
        let fill = match args.positional.get(1) {
            None => ' ',
            Some(_) => {
                let fill = self.text_arg(args, 1, name)?;
                let mut chars = fill.chars();
                match (chars.next(), chars.next()) {
                    (Some(fill), None) => fill,
                    _ => {
                        return Err(failed!("{name}() fills with one character"));
                    }
                }
            }
        };
        let made = match name {
            "ljust" => self.padded("", text, width, fill, '<')?,
            "rjust" => self.padded("", text, width, fill, '>')?,
            _ => self.centered(text, width, fill)?,
        };
        self.text(made)
    }

    /// Like Python's center(): an odd blank goes to the left if the width is odd.
    fn centered(&self, text: &str, width: usize, fill: char) -> Result<String> {
        let missing = width.saturating_sub(text.chars().count());
        let left = missing / 2 + (missing & width & 1);
        let mut out = BoundedText::new(&self.meter);
        out.fill(fill, left)?;
        out.push(text)?;
        out.fill(fill, missing - left)?;
        Ok(out.finish())
    }
}

/// `capitalize`, `title` and `swapcase` for ASCII.
fn recased(text: &str, name: &str) -> String {
    let mut inside_word = false;
    let mut first = true;
    text.chars()
        .map(|c| {
            let upper = match name {
                "capitalize" => first,
                "title" => !inside_word,
                _ => c.is_ascii_lowercase(),
            };
            first = false;
            inside_word = c.is_ascii_alphabetic();
            if upper {
                c.to_ascii_uppercase()
            } else {
                c.to_ascii_lowercase()
            }
        })
        .collect()
}
