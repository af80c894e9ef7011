//! Splits template text into segments, by the rules of Mako's lexer and in the same order.

use super::tag::{self, Tag};
use crate::error::{Problem, Result};
use crate::place::Place;

#[derive(Debug)]
pub(crate) enum Segment<'a> {
    Text(&'a str),
    /// `%%` at the start of a line, which renders as `%`.
    EscapedPercent {
        blanks: &'a str,
        more: &'a str,
    },
    Expression {
        source: &'a str,
        filters: &'a str,
    },
    Control(&'a str),
    Code {
        source: &'a str,
        module: bool,
    },
    Tag(Tag),
    TagEnd(&'a str),
}

pub(crate) struct PlacedSegment<'a> {
    /// Where it begins; of a control line, where its first word does.
    pub(crate) place: Place,
    pub(crate) segment: Segment<'a>,
}

pub(crate) fn segments(text: &str) -> Result<Vec<PlacedSegment<'_>>> {
    let mut scanner = Scanner {
        text,
        at: 0,
        place: Place::BEGIN,
        begin: Place::BEGIN,
    };
    scanner.move_to(coding_comment(text));
    let mut found = Vec::new();
    while scanner.at < text.len() {
        scanner.begin = scanner.place;
        if let Some(segment) = scanner.next(&mut found)? {
            let place = scanner.begin;
            found.push(PlacedSegment { place, segment });
        }
    }
    Ok(found)
}

/// The most unclosed quotes in one segment of Python.
const MAX_UNCLOSED_QUOTES: u32 = 16;

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    /// Of `at`.
    place: Place,
    /// Of the segment that is being read.
    begin: Place,
}

impl<'a> Scanner<'a> {
    fn next(&mut self, found: &mut Vec<PlacedSegment<'a>>) -> Result<Option<Segment<'a>>> {
        let rest = &self.text[self.at..];
        if rest.starts_with("${") {
            return self.expression().map(Some);
        }
        if self.at_line_start()
            && let Some(control) = self.control_line()?
        {
            return Ok(control);
        }
        if let Some(inside) = rest.strip_prefix("<%doc>") {
            let length = inside.find("</%doc>");
            let length = length.ok_or_else(|| unclosed(self.begin, "<%doc>", "</%doc>"))?;
            self.move_by("<%doc>".len() + length + "</%doc>".len());
            return Ok(None);
        }
        if rest.starts_with("<%") {
            if let Some((tag, length)) = tag::read(rest) {
                return self.tag(tag, length, found);
            }
            return self.code().map(Some);
        }
        if rest.starts_with("</%") {
            return self.tag_end().map(Some);
        }
        if self.at_line_start()
            && let Some(percent) = self.percent()
        {
            return Ok(Some(percent));
        }
        Ok(self.plain_text())
    }

    fn at_line_start(&self) -> bool {
        self.at == 0 || self.text.as_bytes()[self.at - 1] == b'\n'
    }

    fn move_by(&mut self, length: usize) {
        self.move_to(self.at + length);
    }

    fn move_to(&mut self, at: usize) {
        self.place = self.place.after(&self.text[self.at..at]);
        self.at = at;
    }

    /// Parses `% …` and `## …`; the inner None is a comment.
    fn control_line(&mut self) -> Result<Option<Option<Segment<'a>>>> {
        let rest = &self.text[self.at..];
        let begin = rest.trim_start_matches([' ', '\t']);
        let comment = begin.starts_with("##");
        if !comment && (!begin.starts_with('%') || begin.starts_with("%%")) {
            return Ok(None);
        }
        let inside = begin[if comment { 2 } else { 1 }..].trim_start_matches([' ', '\t']);
        let offset = rest.len() - inside.len();
        let bytes = inside.as_bytes();
        let mut end = 0;
        // A backslash at the end of the line continues it on the next line, in comments too.
        while end < bytes.len() {
            let tail = &bytes[end..];
            if tail.starts_with(b"\\\n") {
                end += 2;
            } else if tail.starts_with(b"\\\r\n") {
                end += 3;
            } else if bytes[end] == b'\n' || bytes[end] == b'\r' {
                break;
            } else {
                end += 1;
            }
        }
        let after = &inside[end..];
        let line_end = match after.as_bytes() {
            [] => 0,
            [b'\n', ..] => 1,
            [b'\r', b'\n', ..] => 2,
            _ => return Err(self.wrong("a carriage return in the middle of a control line")),
        };
        self.begin = self.begin.after(&rest[..offset]);
        self.move_by(offset + end + line_end);
        Ok(Some((!comment).then_some(Segment::Control(&inside[..end]))))
    }

    fn percent(&mut self) -> Option<Segment<'a>> {
        let rest = &self.text[self.at..];
        let begin = rest.trim_start_matches(crate::text::is_space);
        let after = begin.strip_prefix("%%")?;
        let more = after.len() - after.trim_start_matches('%').len();
        let blanks = &rest[..rest.len() - begin.len()];
        self.move_by(blanks.len() + 2 + more);
        Some(Segment::EscapedPercent {
            blanks,
            more: &after[..more],
        })
    }

    fn expression(&mut self) -> Result<Segment<'a>> {
        self.move_by(2);
        let (source, end) = self.until(&["|", "}"], true)?;
        let filters = if end == "|" {
            self.until(&["}"], true)?.0
        } else {
            ""
        };
        Ok(Segment::Expression { source, filters })
    }

    fn code(&mut self) -> Result<Segment<'a>> {
        self.move_by(2);
        let module = self.text[self.at..].starts_with('!');
        if module {
            self.move_by(1);
        }
        let (source, _) = self.until(&["%>"], false)?;
        Ok(Segment::Code { source, module })
    }

    fn tag(
        &mut self,
        tag: Tag,
        length: usize,
        found: &mut Vec<PlacedSegment<'a>>,
    ) -> Result<Option<Segment<'a>>> {
        let place = self.begin;
        let is_text = tag.keyword == "text" && !tag.closed;
        self.move_by(length);
        if is_text {
            let rest = &self.text[self.at..];
            let Some(length) = rest.find("</%text>") else {
                return Err(unclosed(place, "<%text>", "</%text>"));
            };
            if !tag.attributes.is_empty() {
                return Err(Problem::forbidden(
                    place,
                    "attributes of <%text> are not supported",
                ));
            }
            self.move_by(length);
            self.move_by("</%text>".len());
            found.push(PlacedSegment {
                place,
                segment: Segment::Text(&rest[..length]),
            });
            return Ok(None);
        }
        Ok(Some(Segment::Tag(tag)))
    }

    fn tag_end(&mut self) -> Result<Segment<'a>> {
        let rest = &self.text[self.at..];
        let inside = rest[3..].trim_start_matches(['\t', ' ']);
        let close = inside.find('>');
        let keyword = close.map(|close| inside[..close].trim_end_matches(['\t', ' ']));
        match (close, keyword) {
            (Some(close), Some(keyword))
                if !keyword.is_empty() && !keyword.contains(['\t', ' ']) =>
            {
                self.move_by(rest.len() - inside.len() + close + 1);
                Ok(Segment::TagEnd(keyword))
            }
            _ => Err(self.wrong("\"</%\" that closes no tag")),
        }
    }

    fn plain_text(&mut self) -> Option<Segment<'a>> {
        let rest = &self.text[self.at..];
        let bytes = rest.as_bytes();
        let mut end = 0;
        let mut dropped = 0;
        while end < bytes.len() {
            let tail = &rest.as_bytes()[end..];
            if tail.starts_with(b"${") || tail.starts_with(b"<%") || tail.starts_with(b"</%") {
                break;
            }
            if tail.starts_with(b"\\\n") {
                dropped = 2;
                break;
            }
            if tail.starts_with(b"\\\r\n") {
                dropped = 3;
                break;
            }
            end += 1;
            if tail[0] == b'\n' && begins_line_construct(&bytes[end..]) {
                break;
            }
        }
        self.move_by(end + dropped);
        (end > 0).then(|| Segment::Text(&rest[..end]))
    }

    /// Python up to one of `ends` outside of strings and comments, and outside of brackets if `nesting`.
    fn until(&mut self, ends: &[&'static str], nesting: bool) -> Result<(&'a str, &'static str)> {
        let text = &self.text[self.at..];
        let mut at = 0;
        let mut open = [0i64; 3];
        let mut unclosed = 0;
        while at < text.len() {
            let rest = &text[at..];
            if rest.starts_with('#')
                && let Some(end) = rest.find('\n')
            {
                at += end + 1;
                continue;
            }
            if rest.starts_with(['"', '\'']) {
                if let Some(length) = string_length(rest) {
                    at += length;
                    continue;
                }
                // Mako continues after such a quote. This is right only in comments, and takes quadratic time for many quotes.
                unclosed += 1;
                if unclosed > MAX_UNCLOSED_QUOTES {
                    return Err(self
                        .wrong("a string without its closing quote")
                        .coded("unclosed_string"));
                }
            }
            if !nesting || open.iter().all(|level| *level <= 0) {
                for end in ends {
                    if rest.starts_with(end) {
                        self.move_by(at + end.len());
                        return Ok((&text[..at], end));
                    }
                }
            }
            match rest.as_bytes()[0] {
                b'{' => open[0] += 1,
                b'}' => open[0] -= 1,
                b'(' => open[1] += 1,
                b')' => open[1] -= 1,
                b'[' => open[2] += 1,
                b']' => open[2] -= 1,
                _ => {}
            }
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
        let end = ends.last().copied().unwrap_or_default();
        let message = format!("expected \"{end}\" before the end of the text");
        let problem = Problem::syntax(self.begin, message).coded("unclosed");
        Err(problem.with("missing", end))
    }

    fn wrong(&self, message: &str) -> Problem {
        Problem::syntax(self.place, message)
    }
}

/// What was opened at a place is not closed.
pub(super) fn unclosed(place: Place, opened: &str, missing: &str) -> Problem {
    let problem = Problem::syntax(place, format!("{opened} without its {missing}"));
    problem
        .coded("unclosed")
        .with("opened", opened)
        .with("missing", missing)
}

fn begins_line_construct(line: &[u8]) -> bool {
    let blanks = line
        .iter()
        .take_while(|b| matches!(b, b' ' | b'\t'))
        .count();
    let begin = &line[blanks..];
    begin.starts_with(b"%") || begin.starts_with(b"##")
}

/// The length of the string literal at the start of the text, over any number of lines.
fn string_length(text: &str) -> Option<usize> {
    let first = *text.as_bytes().first()?;
    if first != b'"' && first != b'\'' {
        return None;
    }
    let triple = [first; 3];
    if text.as_bytes().starts_with(&triple)
        && let Some(end) = closing(&text.as_bytes()[3..], &triple)
    {
        return Some(3 + end);
    }
    closing(&text.as_bytes()[1..], &[first]).map(|end| 1 + end)
}

/// The end of a string literal whose opening quote precedes `bytes`.
fn closing(bytes: &[u8], quote: &[u8]) -> Option<usize> {
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b'\\' {
            at += 2;
        } else if bytes[at..].starts_with(quote) {
            return Some(at + quote.len());
        } else {
            at += 1;
        }
    }
    None
}

/// The length of an encoding comment on the first line, which Mako does not render.
fn coding_comment(text: &str) -> usize {
    if !text.starts_with('#') {
        return 0;
    }
    let first_line = text.find('\n').unwrap_or(text.len());
    let mut search = first_line;
    while let Some(at) = text[..search].rfind("coding") {
        search = at;
        let after = &text[at + "coding".len()..];
        let Some(value) = after.strip_prefix([':', '=']) else {
            continue;
        };
        let value = value.trim_start_matches(crate::text::is_space);
        if value.starts_with(|c: char| c == '-' || c == '.' || c == '_' || c.is_alphanumeric()) {
            let begin = text.len() - value.len();
            return value.find('\n').map_or(0, |end| begin + end + 1);
        }
    }
    0
}
