//! The reader of tokens that all parts of the parser share.

use super::ast::{Expr, ExprKind, Name};
use super::token::{Layout, Placed, Token, tokens};
use crate::error::Problem;

/// How deeply brackets and blocks may be nested: parsing is recursive.
const MAX_NESTING: u32 = 80;
/// How deep a tree may become, which long chains of operators make too.
const MAX_DEPTH: u16 = 200;

/// Words that are no names.
const KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue",
    "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import",
    "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while",
    "with", "yield",
];
/// Names that Mako keeps for itself: nothing is assigned to them.
const RESERVED: [&str; 4] = ["context", "loop", "UNDEFINED", "STOP_RENDERING"];

pub(crate) struct Parser {
    tokens: Vec<Placed>,
    at: usize,
    nesting: u32,
    pub(super) inside_loop: bool,
    /// Whether the next bracket is an argument of a call by itself, which may be a generator.
    pub(super) at_argument: bool,
}

impl Parser {
    pub(crate) fn new(source: &str, line: u32, layout: Layout) -> Result<Parser, Problem> {
        Ok(Parser {
            tokens: tokens(source, line, layout)?,
            at: 0,
            nesting: 0,
            inside_loop: false,
            at_argument: false,
        })
    }

    pub(crate) fn set_inside_loop(&mut self, inside_loop: bool) {
        self.inside_loop = inside_loop;
    }

    pub(super) fn peek(&self) -> &Token {
        &self.tokens[self.at].token
    }

    pub(super) fn peek_second(&self) -> &Token {
        let last = self.tokens.len() - 1;
        &self.tokens[(self.at + 1).min(last)].token
    }

    pub(super) fn line(&self) -> u32 {
        self.tokens[self.at].line
    }

    /// Takes a token; the last one, the end, is never passed.
    pub(super) fn next(&mut self) -> Token {
        let token = self.tokens[self.at].token.clone();
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
        token
    }

    pub(crate) fn at_end(&self) -> bool {
        *self.peek() == Token::End
    }

    pub(super) fn sees(&self, op: &str) -> bool {
        matches!(self.peek(), Token::Op(found) if *found == op)
    }

    pub(super) fn sees_word(&self, word: &str) -> bool {
        matches!(self.peek(), Token::Name(found) if &**found == word)
    }

    pub(crate) fn eat(&mut self, op: &str) -> bool {
        let found = self.sees(op);
        if found {
            self.next();
        }
        found
    }

    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let found = self.sees_word(word);
        if found {
            self.next();
        }
        found
    }

    pub(crate) fn expect(&mut self, op: &str) -> Result<(), Problem> {
        if self.eat(op) {
            return Ok(());
        }
        Err(self.unexpected(&format!("\"{op}\"")))
    }

    pub(crate) fn expect_word(&mut self, word: &str) -> Result<(), Problem> {
        if self.eat_word(word) {
            return Ok(());
        }
        Err(self.unexpected(&format!("\"{word}\"")))
    }

    pub(crate) fn end(&mut self) -> Result<(), Problem> {
        if self.at_end() {
            return Ok(());
        }
        Err(self.unexpected("the end"))
    }

    /// The colon of a control line, and nothing but a comment behind it.
    pub(crate) fn control_line_end(&mut self) -> Result<(), Problem> {
        self.expect(":")?;
        if *self.peek() == Token::Newline {
            self.next();
        }
        self.end()
    }

    pub(super) fn unexpected(&self, wanted: &str) -> Problem {
        let found = match self.peek() {
            Token::Name(name) => format!("\"{name}\""),
            Token::Int(value) => value.to_string(),
            Token::Float(value) => value.to_string(),
            Token::Text(_) | Token::Format { .. } => "a string".into(),
            Token::Op(op) => format!("\"{op}\""),
            Token::Newline => "the end of the line".into(),
            Token::Indent => "an indented line".into(),
            Token::Dedent => "the end of the block".into(),
            Token::End => "the end".into(),
        };
        self.wrong(format!("expected {wanted}, found {found}"))
    }

    pub(super) fn wrong(&self, message: impl Into<String>) -> Problem {
        Problem::syntax(self.line(), message)
    }

    pub(super) fn refused(&self, message: impl Into<String>) -> Problem {
        Problem::forbidden(self.line(), message)
    }

    /// Runs one level deeper, if there may be one more.
    pub(super) fn nested<T>(
        &mut self,
        read: impl FnOnce(&mut Parser) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        if self.nesting >= MAX_NESTING {
            return Err(self.wrong(format!("nested more than {MAX_NESTING} levels deep")));
        }
        self.nesting += 1;
        let result = read(self);
        self.nesting -= 1;
        result
    }

    /// An expression node over children of the given depth.
    pub(super) fn node(&self, line: u32, below: u16, kind: ExprKind) -> Result<Expr, Problem> {
        if below >= MAX_DEPTH {
            return Err(Problem::syntax(
                line,
                "this expression is too long: split it into several",
            ));
        }
        Ok(Expr {
            line,
            depth: below + 1,
            kind,
        })
    }

    pub(super) fn is_keyword(word: &str) -> bool {
        KEYWORDS.contains(&word)
    }

    /// A name that is read.
    pub(super) fn checked_name(&self, name: &str) -> Result<(), Problem> {
        if name.starts_with("__") {
            return Err(self.refused(format!(
                "names that begin with two underscores are not available in templates: {name}"
            )));
        }
        Ok(())
    }

    /// A name that is given a value.
    pub(crate) fn new_name(&mut self) -> Result<Name, Problem> {
        let Token::Name(name) = self.peek().clone() else {
            return Err(self.unexpected("a name"));
        };
        if Parser::is_keyword(&name) {
            return Err(self.unexpected("a name"));
        }
        self.checked_name(&name)?;
        if RESERVED.contains(&&*name) {
            return Err(self.wrong(format!("\"{name}\" is a reserved name")));
        }
        self.next();
        Ok(name)
    }
}
