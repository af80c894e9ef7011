//! Parses adjacent strings and f-strings.

use super::ast::{Expr, ExprKind, FormatPart};
use super::parser::Parser;
use super::token::{Layout, Source, Token};
use super::{ast, literal};
use crate::error::{Problem, Result};
use crate::place::Place;

impl Parser {
    /// Parses one string, or several adjacent ones, which Python joins.
    pub(super) fn strings(&mut self) -> Result<Expr> {
        let place = self.place();
        let mut parts: Vec<FormatPart> = Vec::new();
        let mut formatted = false;
        loop {
            match self.peek().clone() {
                Token::Text(text) => parts.push(FormatPart::Text(text)),
                Token::Format { source, raw } => {
                    formatted = true;
                    let reader = FormatReader {
                        place: self.place(),
                        raw,
                    };
                    parts.extend(self.nested(|_| reader.parts(&source, 0))?);
                }
                _ => break,
            }
            self.next();
        }
        if formatted {
            let below = parts.iter().map(part_depth).max().unwrap_or(0);
            return self.node(place, below, ExprKind::Format(parts));
        }
        let mut whole = String::new();
        for part in &parts {
            if let FormatPart::Text(text) = part {
                whole.push_str(text);
            }
        }
        self.node(place, 0, ExprKind::Text(ast::Name::from(whole)))
    }
}

struct FormatReader {
    place: Place,
    raw: bool,
}

impl FormatReader {
    fn parts(&self, source: &str, level: u32) -> Result<Vec<FormatPart>> {
        let mut parts = Vec::new();
        let mut text = String::new();
        let mut rest = source;
        while let Some(at) = rest.find(['{', '}']) {
            text.push_str(&rest[..at]);
            let brace = &rest[at..=at];
            let after = &rest[at + 1..];
            // Inside a format specification `}}` is not an escape.
            if after.starts_with(brace) && level == 0 {
                text.push_str(brace);
                rest = &after[1..];
                continue;
            }
            if brace == "}" {
                return Err(self.wrong("a single \"}\" in an f-string: write \"}}\""));
            }
            parts.extend(self.text(&mut text)?);
            let (field, used) = self.field(after, level)?;
            parts.push(field);
            rest = &after[used..];
        }
        text.push_str(rest);
        parts.extend(self.text(&mut text)?);
        Ok(parts)
    }

    fn text(&self, text: &mut String) -> Result<Option<FormatPart>> {
        let text = std::mem::take(text);
        if text.is_empty() {
            return Ok(None);
        }
        if self.raw {
            return Ok(Some(FormatPart::Text(text)));
        }
        let text = literal::unescape(&text).map_err(|message| self.wrong(message))?;
        Ok(Some(FormatPart::Text(text)))
    }

    /// Parses a field after its "{", up to and with its "}".
    fn field(&self, source: &str, level: u32) -> Result<(FormatPart, usize)> {
        if level > 1 {
            return Err(self.wrong("an f-string nested too deeply"));
        }
        let length = self.value_length(source)?;
        let inside = &source[..length];
        if inside.trim().is_empty() {
            return Err(self.wrong("an f-string with nothing between its braces"));
        }
        if inside.trim_end().ends_with('=') {
            return Err(Problem::forbidden(
                self.place,
                "\"=\" in f-strings is not available in templates",
            ));
        }
        if inside.contains('\\') {
            return Err(self.wrong("a backslash inside of the braces of an f-string"));
        }
        let mut parser = Parser::new(self.source(inside), Layout::Expression)?;
        let value = parser.expression_or_tuple()?;
        parser.end()?;

        let mut at = length;
        let mut conversion = None;
        if source[at..].starts_with('!') {
            let kind = source[at + 1..].chars().next();
            match kind {
                Some('r' | 's') => conversion = kind,
                Some('a') => {
                    return Err(Problem::forbidden(
                        self.place,
                        "\"!a\" is not available in templates",
                    ));
                }
                _ => return Err(self.wrong("\"!\" in an f-string is followed by r or s")),
            }
            at += 2;
        }
        let mut spec = Vec::new();
        if source[at..].starts_with(':') {
            at += 1;
            let length = spec_length(&source[at..]);
            spec = self.parts(&source[at..at + length], level + 1)?;
            at += length;
        }
        if !source[at..].starts_with('}') {
            return Err(self.wrong("an f-string without the \"}\" of a \"{\""));
        }
        let field = FormatPart::Field {
            value,
            conversion,
            spec,
        };
        Ok((field, at + 1))
    }

    /// The length of the value: up to a "!", ":" or "}" outside of brackets and strings.
    fn value_length(&self, source: &str) -> Result<usize> {
        let mut open = 0u32;
        let mut at = 0;
        while let Some(c) = source[at..].chars().next() {
            match c {
                '\'' | '"' => {
                    let begin = &source[at..];
                    let triple = begin.len() >= 3
                        && begin[1..].starts_with(&[c; 2][..].iter().collect::<String>());
                    let quote = if triple { &begin[..3] } else { &begin[..1] };
                    let inner = literal::length(&begin[quote.len()..], quote);
                    let inner =
                        inner.ok_or_else(|| self.wrong("a string without its closing quote"))?;
                    at += inner + 2 * quote.len();
                    continue;
                }
                '(' | '[' | '{' => open += 1,
                '}' | ':' if open == 0 => return Ok(at),
                ')' | ']' | '}' => open = open.saturating_sub(1),
                '!' if open == 0 && !source[at + 1..].starts_with('=') => return Ok(at),
                '#' => return Err(self.wrong("\"#\" inside of the braces of an f-string")),
                _ => {}
            }
            at += c.len_utf8();
        }
        Err(self.wrong("an f-string without the \"}\" of a \"{\""))
    }

    /// Escapes and line ends may have moved what stands inside, so only the line is known.
    fn source<'a>(&self, inside: &'a str) -> Source<'a> {
        Source::verbatim(inside, self.place.shifted(None))
    }

    fn wrong(&self, message: impl Into<String>) -> Problem {
        Problem::syntax(self.place, message)
    }
}

/// The length of a specification: up to the brace that closes its field.
fn spec_length(source: &str) -> usize {
    let mut open = 0;
    for (at, c) in source.char_indices() {
        match c {
            '{' => open += 1,
            '}' if open == 0 => return at,
            '}' => open -= 1,
            _ => {}
        }
    }
    source.len()
}

fn part_depth(part: &FormatPart) -> u16 {
    match part {
        FormatPart::Text(_) => 0,
        FormatPart::Field { value, spec, .. } => {
            let inner = spec.iter().map(part_depth).max().unwrap_or(0);
            value.depth.max(inner)
        }
    }
}
