//! The token cursor that all parts of the parser share.

use super::ast::{Expr, ExprKind, Name};
use super::token::{Layout, PlacedToken, Source, Token, tokens};
use crate::error::{Problem, Result};
use crate::place::Place;

/// The deepest nesting of brackets and blocks, because parsing is recursive.
const MAX_NESTING: u32 = 80;
/// The deepest tree. Long chains of operators are deep, too.
const MAX_DEPTH: u16 = 200;

/// Names that Mako reserves: templates cannot assign them.
pub(super) const RESERVED: [&str; 4] = ["context", "loop", "UNDEFINED", "STOP_RENDERING"];

pub(crate) struct Parser {
    tokens: Vec<PlacedToken>,
    at: usize,
    nesting: u32,
    pub(super) inside_loop: bool,
    /// Whether the next parenthesis is a call argument of its own, which may be a generator.
    pub(super) at_argument: bool,
}

impl Parser {
    pub(crate) fn new(source: Source<'_>, layout: Layout) -> Result<Parser> {
        Ok(Parser {
            tokens: tokens(source, layout)?,
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

    pub(super) fn place(&self) -> Place {
        self.tokens[self.at].place
    }

    /// Takes a token, except the end token.
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

    pub(crate) fn eat(&mut self, op: &str) -> bool {
        let found = self.sees(op);
        if found {
            self.next();
        }
        found
    }

    pub(crate) fn expect(&mut self, op: &str) -> Result<()> {
        if self.eat(op) {
            return Ok(());
        }
        Err(self.unexpected(&format!("\"{op}\"")))
    }

    pub(crate) fn end(&mut self) -> Result<()> {
        if self.at_end() {
            return Ok(());
        }
        Err(self.unexpected("the end"))
    }

    /// Expects the colon of a control line, followed by at most a comment.
    pub(crate) fn control_line_end(&mut self) -> Result<()> {
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
        let problem = self.wrong(format!("expected {wanted}, found {found}"));
        problem
            .coded("unexpected")
            .with("wanted", wanted)
            .with("found", found)
    }

    pub(super) fn wrong(&self, message: impl Into<String>) -> Problem {
        Problem::syntax(self.place(), message)
    }

    pub(super) fn unavailable(&self, what: &str) -> Problem {
        Problem::unavailable(what).at(self.place())
    }

    pub(super) fn refused(&self, message: impl Into<String>) -> Problem {
        Problem::forbidden(self.place(), message)
    }

    /// Parses one level deeper, up to `MAX_NESTING`.
    pub(super) fn nested<T>(&mut self, read: impl FnOnce(&mut Parser) -> Result<T>) -> Result<T> {
        if self.nesting >= MAX_NESTING {
            return Err(self.wrong(format!("nested more than {MAX_NESTING} levels deep")));
        }
        self.nesting += 1;
        let result = read(self);
        self.nesting -= 1;
        result
    }

    /// Makes an expression node over children of this depth.
    pub(super) fn node(&self, place: Place, below: u16, kind: ExprKind) -> Result<Expr> {
        if below >= MAX_DEPTH {
            return Err(Problem::syntax(
                place,
                "this expression is too long: split it into several",
            ));
        }
        Ok(Expr {
            place,
            depth: below + 1,
            kind,
        })
    }

    /// Checks a name that is read.
    pub(super) fn checked_name(&self, name: &str) -> Result<()> {
        if name.starts_with("__") {
            return Err(self.refused(format!(
                "names that begin with two underscores are not available in templates: {name}"
            )));
        }
        Ok(())
    }

    /// Parses a name that is assigned.
    pub(crate) fn new_name(&mut self) -> Result<Name> {
        let Token::Name(name) = self.peek().clone() else {
            return Err(self.unexpected("a name"));
        };
        self.checked_name(&name)?;
        if RESERVED.contains(&&*name) {
            return Err(self.wrong(format!("\"{name}\" is a reserved name")));
        }
        self.next();
        Ok(name)
    }
}
