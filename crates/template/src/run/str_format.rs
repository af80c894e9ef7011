//! Formats `"{name:>8}".format(…)` and the fields of f-strings.

use super::Interpreter;
use super::call::Args;
use super::meter::BoundedText;
use super::value::Value;
use crate::error::{Problem, Result};

/// How positional fields are numbered: not yet known, automatically, or explicitly.
enum FieldNumbering {
    Unknown,
    Automatic(usize),
    Explicit,
}

impl Interpreter<'_> {
    pub(crate) fn format_field(
        &self,
        value: &Value,
        conversion: Option<char>,
        spec: &str,
    ) -> Result<String> {
        match conversion {
            Some('r') => {
                let text = self.text(self.repr(value)?)?;
                self.format_value(&text, spec)
            }
            Some(_) => {
                let text = self.text(self.display(value)?)?;
                self.format_value(&text, spec)
            }
            None => self.format_value(value, spec),
        }
    }

    pub(crate) fn brace_format(&self, template: &str, args: &Args) -> Result<String> {
        let mut counting = FieldNumbering::Unknown;
        self.brace_format_inner(template, args, &mut counting, 0)
    }

    fn brace_format_inner(
        &self,
        template: &str,
        args: &Args,
        counting: &mut FieldNumbering,
        level: u32,
    ) -> Result<String> {
        if level > 1 {
            return Err(Problem::failed("format fields nested too deeply"));
        }
        let mut out = BoundedText::new(&self.meter);
        let mut rest = template;
        while let Some(at) = rest.find(['{', '}']) {
            out.push(&rest[..at])?;
            let brace = &rest[at..=at];
            let after = &rest[at + 1..];
            if after.starts_with(brace) {
                out.push(brace)?;
                rest = &after[1..];
                continue;
            }
            if brace == "}" {
                return Err(Problem::failed("a single \"}\" in a format: write \"}}\""));
            }
            let end = field_end(after)
                .ok_or_else(|| Problem::failed("a \"{\" in a format without its \"}\""))?;
            let text = self.brace_field(&after[..end], args, counting, level)?;
            out.push(&text)?;
            rest = &after[end + 1..];
        }
        out.push(rest)?;
        Ok(out.finish())
    }

    fn brace_field(
        &self,
        field: &str,
        args: &Args,
        counting: &mut FieldNumbering,
        level: u32,
    ) -> Result<String> {
        let name_end = name_end(field);
        let (name, mut rest) = field.split_at(name_end);
        let mut conversion = None;
        if let Some(after) = rest.strip_prefix('!') {
            conversion = after.chars().next();
            if !matches!(conversion, Some('r' | 's')) {
                return Err(Problem::failed("\"!\" in a format is followed by r or s"));
            }
            rest = &after[1..];
        }
        let spec = match rest.strip_prefix(':') {
            Some(spec) => spec,
            None if rest.is_empty() => "",
            None => return Err(Problem::failed("a \":\" is expected in a format")),
        };
        let value = self.field_value(name, args, counting)?;
        if spec.contains(['{', '}']) {
            let spec = self.brace_format_inner(spec, args, counting, level + 1)?;
            return self.format_field(&value, conversion, &spec);
        }
        self.format_field(&value, conversion, spec)
    }

    /// `0`, `name`, `name.attribute`, `name[key]`.
    fn field_value(&self, name: &str, args: &Args, counting: &mut FieldNumbering) -> Result<Value> {
        let first_end = name.find(['.', '[']).unwrap_or(name.len());
        let (first, mut rest) = name.split_at(first_end);
        let mut value = if first.is_empty() || first.bytes().all(|b| b.is_ascii_digit()) {
            let at = counting.next(first)?;
            let found = args.positional.get(at).cloned();
            found.ok_or_else(|| failed!("format() has no argument {at}"))?
        } else {
            let found = args.keywords.iter().find(|(given, _)| **given == *first);
            let found = found.map(|(_, value)| value.clone());
            found.ok_or_else(|| failed!("format() has no argument \"{first}\""))?
        };
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix('.') {
                let end = after.find(['.', '[']).unwrap_or(after.len());
                value = self.attribute_by_text(&value, &after[..end])?;
                rest = &after[end..];
            } else if let Some((key, after)) =
                rest.strip_prefix('[').and_then(|rest| rest.split_once(']'))
            {
                let index = match key.parse() {
                    Ok(number) if key.bytes().all(|b| b.is_ascii_digit()) => Value::Int(number),
                    _ => Value::literal(key),
                };
                value = self.index(&value, &index)?;
                rest = after;
            } else {
                return Err(failed!("\"{name}\" is not a field of a format"));
            }
        }
        Ok(value)
    }
}

impl FieldNumbering {
    fn next(&mut self, written: &str) -> Result<usize> {
        let mixed = || Problem::failed("a format numbers all of its fields or none");
        if written.is_empty() {
            let at = match self {
                FieldNumbering::Unknown => 0,
                FieldNumbering::Automatic(at) => *at,
                FieldNumbering::Explicit => return Err(mixed()),
            };
            *self = FieldNumbering::Automatic(at + 1);
            return Ok(at);
        }
        if let FieldNumbering::Automatic(_) = self {
            return Err(mixed());
        }
        *self = FieldNumbering::Explicit;
        written
            .parse()
            .map_err(|_| Problem::failed("a number in a format is too large"))
    }
}

/// The end of a field, whose specification may contain fields.
fn field_end(text: &str) -> Option<usize> {
    let mut open = 0;
    for (at, c) in text.char_indices() {
        match c {
            '{' => open += 1,
            '}' if open == 0 => return Some(at),
            '}' => open -= 1,
            _ => {}
        }
    }
    None
}

/// The end of the name of a field. It includes "!" and ":" in brackets.
fn name_end(field: &str) -> usize {
    let mut bracket = false;
    for (at, c) in field.char_indices() {
        match c {
            '[' => bracket = true,
            ']' => bracket = false,
            '!' | ':' if !bracket => return at,
            _ => {}
        }
    }
    field.len()
}
