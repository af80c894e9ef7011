//! Splits Python text into tokens.

use super::ast::Name;
use super::literal;
use crate::error::{Problem, Result};
use crate::place::Place;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Token {
    Name(Name),
    Int(i128),
    Float(f64),
    /// A string with resolved escapes.
    Text(String),
    /// The body of an f-string; `raw` if its escapes are not resolved.
    Format {
        source: String,
        raw: bool,
    },
    /// An operator or keyword.
    Op(&'static str),
    Newline,
    Indent,
    Dedent,
    End,
}

#[derive(Debug, Clone)]
pub(crate) struct PlacedToken {
    pub(crate) token: Token,
    pub(crate) place: Place,
}

/// The meaning of line ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// As inside brackets: line ends are blanks.
    Expression,
    /// Line ends and indentation are tokens.
    Statements,
}

/// Longest first, so that `**=` is not read as `**`.
const OPERATORS: [&str; 48] = [
    "**=", "//=", ">>=", "<<=", "...", "!=", "**", "//", ">>", "<<", "<=", ">=", "==", "->", "+=",
    "-=", "*=", "/=", "%=", "&=", "|=", "^=", "@=", ":=", "+", "-", "*", "/", "%", "@", "&", "|",
    "^", "~", "<", ">", "(", ")", "[", "]", "{", "}", ",", ":", ".", ";", "=", "!",
];

const KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue",
    "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import",
    "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while",
    "with", "yield",
];

/// A piece of Python, and where it stands in the template.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) text: &'a str,
    pub(crate) place: Place,
    /// How many characters were taken away in front of each line; None: tabs were expanded. Lines beyond are whole.
    pub(crate) removed: &'a [Option<u32>],
}

impl<'a> Source<'a> {
    /// A piece as it stands in the template.
    pub(crate) fn verbatim(text: &'a str, place: Place) -> Self {
        Self {
            text,
            place,
            removed: &[],
        }
    }
}

pub(crate) fn tokens(source: Source<'_>, layout: Layout) -> Result<Vec<PlacedToken>> {
    let mut removed = source.removed.iter();
    let place = match removed.next() {
        Some(first) => source.place.shifted(*first),
        None => source.place,
    };
    let mut reader = Reader {
        rest: source.text,
        place,
        removed,
        layout,
        open: 0,
        indents: vec![0],
        out: Vec::new(),
    };
    reader.read()?;
    Ok(reader.out)
}

struct Reader<'a> {
    rest: &'a str,
    place: Place,
    /// Of the lines that follow.
    removed: std::slice::Iter<'a, Option<u32>>,
    layout: Layout,
    /// The number of open brackets: line ends inside them are blanks.
    open: u32,
    indents: Vec<usize>,
    out: Vec<PlacedToken>,
}

impl<'a> Reader<'a> {
    fn read(&mut self) -> Result<()> {
        let mut at_line_start = self.layout == Layout::Statements;
        loop {
            if at_line_start {
                at_line_start = false;
                if !self.indentation()? {
                    at_line_start = true;
                    if self.rest.is_empty() {
                        break;
                    }
                    continue;
                }
            }
            let Some(first) = self.rest.chars().next() else {
                break;
            };
            match first {
                ' ' | '\t' | '\x0c' => self.skip(1),
                '\n' | '\r' => {
                    let ends_statement = self.layout == Layout::Statements && self.open == 0;
                    if ends_statement {
                        self.push(Token::Newline);
                    }
                    self.line_end();
                    at_line_start = ends_statement;
                }
                '\\' => {
                    let after = &self.rest[1..];
                    if after.starts_with('\n') || after.starts_with("\r\n") {
                        self.skip(1);
                        self.line_end();
                    } else {
                        return Err(self.wrong("a backslash that is not at the end of its line"));
                    }
                }
                '#' => {
                    let end = self.rest.find('\n').unwrap_or(self.rest.len());
                    self.skip(end);
                }
                '0'..='9' => self.number()?,
                '.' if self.rest[1..].starts_with(|c: char| c.is_ascii_digit()) => self.number()?,
                '"' | '\'' => self.string(0)?,
                _ if is_name_start(first) => self.name()?,
                _ => self.operator(first)?,
            }
        }
        if self.layout == Layout::Statements {
            self.push(Token::Newline);
            while self.indents.len() > 1 {
                self.indents.pop();
                self.push(Token::Dedent);
            }
        }
        self.push(Token::End);
        Ok(())
    }

    /// Parses the indentation of a line. False if the line is blank or a comment.
    fn indentation(&mut self) -> Result<bool> {
        let mut column = 0;
        let mut length = 0;
        for c in self.rest.chars() {
            match c {
                ' ' => column += 1,
                '\t' => column += 8 - column % 8,
                '\x0c' => column = 0,
                _ => break,
            }
            length += 1;
        }
        self.skip(length);
        if self.rest.starts_with('#') {
            let end = self.rest.find('\n').unwrap_or(self.rest.len());
            self.skip(end);
        }
        if self.rest.is_empty() {
            return Ok(false);
        }
        if self.rest.starts_with('\n') || self.rest.starts_with("\r\n") {
            self.line_end();
            return Ok(false);
        }
        let current = *self.indents.last().unwrap_or(&0);
        if column > current {
            self.indents.push(column);
            if self.indents.len() > 50 {
                return Err(self.wrong("too many levels of indentation"));
            }
            self.push(Token::Indent);
        }
        while column < *self.indents.last().unwrap_or(&0) {
            self.indents.pop();
            self.push(Token::Dedent);
            if column > *self.indents.last().unwrap_or(&0) {
                return Err(self.wrong(
                    "this line is indented less than the one above, but as no line before",
                ));
            }
        }
        Ok(true)
    }

    fn name(&mut self) -> Result<()> {
        let end = self
            .rest
            .find(|c: char| !is_name_part(c))
            .unwrap_or(self.rest.len());
        let word = &self.rest[..end];
        if self.rest[end..].starts_with(['"', '\'']) && word.len() <= 2 {
            let lower = word.to_ascii_lowercase();
            if matches!(lower.as_str(), "r" | "u" | "f" | "fr" | "rf") {
                return self.string(end);
            }
            if matches!(lower.as_str(), "b" | "br" | "rb") {
                return Err(Problem::forbidden(
                    self.place,
                    "bytes are not available in templates",
                ));
            }
        }
        if !word.is_ascii() {
            return Err(self.wrong("names are made of ASCII letters, digits and _"));
        }
        let keyword = KEYWORDS.iter().find(|keyword| **keyword == word);
        self.push(match keyword {
            Some(keyword) => Token::Op(keyword),
            None => Token::Name(Name::from(word)),
        });
        self.skip(end);
        Ok(())
    }

    fn string(&mut self, prefix: usize) -> Result<()> {
        let marks = self.rest[..prefix].to_ascii_lowercase();
        let raw = marks.contains('r');
        let begin = &self.rest[prefix..];
        let quote = if begin.starts_with("\"\"\"") || begin.starts_with("'''") {
            &begin[..3]
        } else {
            &begin[..1]
        };
        let body = &begin[quote.len()..];
        let Some(length) = literal::length(body, quote) else {
            return Err(self
                .wrong("a string without its closing quote")
                .coded("unclosed_string"));
        };
        let inside = body[..length].replace("\r\n", "\n");
        let token = if marks.contains('f') {
            Token::Format {
                source: inside,
                raw,
            }
        } else if raw {
            Token::Text(inside)
        } else {
            Token::Text(literal::unescape(&inside).map_err(|message| self.wrong(message))?)
        };
        self.push(token);
        let whole = prefix + 2 * quote.len() + length;
        self.skip(whole);
        Ok(())
    }

    fn number(&mut self) -> Result<()> {
        let length = literal::number_length(self.rest);
        let text = &self.rest[..length];
        let token = literal::number(text).map_err(|message| self.wrong(message))?;
        if self.rest[length..].starts_with(is_name_part) {
            return Err(self.wrong(format!("\"{text}\" is followed by a letter or digit")));
        }
        self.push(token);
        self.skip(length);
        Ok(())
    }

    fn operator(&mut self, first: char) -> Result<()> {
        let Some(op) = OPERATORS.iter().find(|op| self.rest.starts_with(**op)) else {
            return Err(self.wrong(format!("unexpected {first:?}")));
        };
        match *op {
            "(" | "[" | "{" => self.open += 1,
            ")" | "]" | "}" => self.open = self.open.saturating_sub(1),
            _ => {}
        }
        self.push(Token::Op(op));
        self.skip(op.len());
        Ok(())
    }

    fn skip(&mut self, length: usize) {
        let (passed, rest) = self.rest.split_at(length);
        self.place = self.place.after(passed);
        let removed = passed.matches('\n').map(|_| self.removed.next());
        if let Some(Some(removed)) = removed.last() {
            self.place = self.place.shifted(*removed);
        }
        self.rest = rest;
    }

    fn line_end(&mut self) {
        match self.rest.starts_with("\r\n") {
            true => self.skip(2),
            false => self.skip(1),
        }
    }

    fn push(&mut self, token: Token) {
        self.out.push(PlacedToken {
            token,
            place: self.place,
        });
    }

    fn wrong(&self, message: impl Into<String>) -> Problem {
        Problem::syntax(self.place, message)
    }
}

fn is_name_start(c: char) -> bool {
    c == '_' || c.is_alphabetic()
}

fn is_name_part(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}
