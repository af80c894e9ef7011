//! Parses the statements of `<% %>` blocks.

use std::sync::Arc;

use super::ast::{BinaryOp, Body, Expr, ExprKind, ForStmt, Function, Item, Stmt, StmtKind, Target};
use super::function::param_names;
use super::names::assigned_by;
use super::parser::{Parser, RESERVED};
use super::token::Token;
use crate::error::{Problem, Result};

const REFUSED: [&str; 13] = [
    "import", "from", "while", "try", "with", "class", "raise", "global", "nonlocal", "assert",
    "async", "yield", "await",
];

impl Parser {
    pub(crate) fn file(&mut self) -> Result<Vec<Stmt>> {
        let mut stmts = Vec::new();
        while !self.at_end() {
            if *self.peek() == Token::Newline {
                self.next();
                continue;
            }
            self.statement(&mut stmts)?;
        }
        Ok(stmts)
    }

    fn statement(&mut self, into: &mut Vec<Stmt>) -> Result<()> {
        let place = self.place();
        if *self.peek() == Token::Indent {
            return Err(self.wrong("this line is indented more than the one above"));
        }
        if self.sees("@") {
            return Err(self.refused("decorators are not available in templates"));
        }
        let kind = if self.eat("if") {
            self.if_statement()?
        } else if self.eat("for") {
            self.for_statement()?
        } else if self.eat("def") {
            self.def_statement()?
        } else {
            return self.simple_statements(into);
        };
        into.push(Stmt { place, kind });
        Ok(())
    }

    fn if_statement(&mut self) -> Result<StmtKind> {
        let mut branches = Vec::new();
        let mut otherwise = Vec::new();
        let condition = self.expression()?;
        branches.push((condition, self.suite()?));
        loop {
            if self.eat("elif") {
                let condition = self.expression()?;
                branches.push((condition, self.suite()?));
            } else if self.eat("else") {
                otherwise = self.suite()?;
                break;
            } else {
                break;
            }
        }
        Ok(StmtKind::If(branches, otherwise))
    }

    fn for_statement(&mut self) -> Result<StmtKind> {
        let target = self.for_target()?;
        self.expect("in")?;
        let iterable = self.expression_or_tuple()?;
        let outside = std::mem::replace(&mut self.inside_loop, true);
        let body = self.suite();
        self.inside_loop = outside;
        let body = body?;
        let otherwise = if self.eat("else") {
            self.suite()?
        } else {
            Vec::new()
        };
        Ok(StmtKind::For(Box::new(ForStmt {
            target,
            iterable,
            body,
            otherwise,
        })))
    }

    fn def_statement(&mut self) -> Result<StmtKind> {
        let name = self.new_name()?;
        self.expect("(")?;
        let params = self.params(")")?;
        self.expect(")")?;
        if self.sees("->") {
            return Err(self.refused("type annotations are not available in templates"));
        }
        let outside = std::mem::replace(&mut self.inside_loop, false);
        let body = self.suite();
        self.inside_loop = outside;
        let body = body?;
        let mut locals = param_names(&params);
        assigned_by(&body, &mut locals);
        Ok(StmtKind::Def(Arc::new(Function {
            name,
            params,
            locals,
            body: Body::Block(body),
        })))
    }

    /// Parses the block after a colon: on the same line, or indented below.
    fn suite(&mut self) -> Result<Vec<Stmt>> {
        self.expect(":")?;
        let mut stmts = Vec::new();
        if *self.peek() != Token::Newline {
            self.simple_statements(&mut stmts)?;
            return Ok(stmts);
        }
        self.next();
        if *self.peek() != Token::Indent {
            return Err(self.wrong("expected an indented block"));
        }
        self.next();
        self.nested(|parser| {
            while *parser.peek() != Token::Dedent && !parser.at_end() {
                if *parser.peek() == Token::Newline {
                    parser.next();
                    continue;
                }
                parser.statement(&mut stmts)?;
            }
            parser.next();
            Ok(stmts)
        })
    }

    fn simple_statements(&mut self, into: &mut Vec<Stmt>) -> Result<()> {
        loop {
            let place = self.place();
            let kind = self.simple_statement()?;
            into.push(Stmt { place, kind });
            if self.eat(";") && *self.peek() != Token::Newline {
                continue;
            }
            if *self.peek() == Token::Newline {
                self.next();
                return Ok(());
            }
            return Err(self.unexpected("the end of the line"));
        }
    }

    fn simple_statement(&mut self) -> Result<StmtKind> {
        if let Token::Op(word) = *self.peek() {
            if REFUSED.contains(&word) {
                return Err(self.unavailable(&format!("\"{word}\"")));
            }
            match word {
                "pass" => {
                    self.next();
                    return Ok(StmtKind::Pass);
                }
                "break" | "continue" => {
                    if !self.inside_loop {
                        return Err(self.wrong(format!("\"{word}\" outside of a loop")));
                    }
                    self.next();
                    return Ok(if word == "break" {
                        StmtKind::Break
                    } else {
                        StmtKind::Continue
                    });
                }
                "return" => {
                    self.next();
                    let bare = matches!(self.peek(), Token::Newline | Token::Op(";"));
                    return Ok(StmtKind::Return(if bare {
                        None
                    } else {
                        Some(self.expression_or_tuple()?)
                    }));
                }
                "del" => {
                    self.next();
                    let value = self.expression_or_tuple()?;
                    return Ok(StmtKind::Delete(vec![self.target(value)?]));
                }
                _ => {}
            }
        }
        self.assignment()
    }

    fn assignment(&mut self) -> Result<StmtKind> {
        let value = self.expression_or_tuple()?;
        if let Some(op) = self.augmented_op()? {
            let target = self.target(value)?;
            if matches!(target, Target::Tuple(_)) {
                return Err(self.wrong("only one value can be changed at a time"));
            }
            let by = self.expression_or_tuple()?;
            return Ok(StmtKind::AugmentedAssign(target, op, by));
        }
        if self.sees(":") {
            return Err(self.refused("type annotations are not available in templates"));
        }
        if !self.sees("=") {
            return Ok(StmtKind::Value(value));
        }
        let mut targets = Vec::new();
        let mut value = value;
        while self.eat("=") {
            targets.push(self.target(value)?);
            value = self.expression_or_tuple()?;
        }
        Ok(StmtKind::Assign(targets, value))
    }

    fn augmented_op(&mut self) -> Result<Option<BinaryOp>> {
        let Token::Op(sign) = self.peek() else {
            return Ok(None);
        };
        let op = match *sign {
            "+=" => BinaryOp::Add,
            "-=" => BinaryOp::Subtract,
            "*=" => BinaryOp::Multiply,
            "/=" => BinaryOp::Divide,
            "//=" => BinaryOp::FloorDivide,
            "%=" => BinaryOp::Modulo,
            "**=" => BinaryOp::Power,
            "&=" => BinaryOp::And,
            "|=" => BinaryOp::Or,
            "^=" => BinaryOp::Xor,
            "<<=" => BinaryOp::ShiftLeft,
            ">>=" => BinaryOp::ShiftRight,
            "@=" => return Err(self.unavailable("\"@\"")),
            _ => return Ok(None),
        };
        self.next();
        Ok(Some(op))
    }

    /// Parses the targets between `for` and `in`.
    pub(crate) fn for_target(&mut self) -> Result<Target> {
        let first = self.one_target()?;
        if !self.sees(",") {
            return Ok(first);
        }
        let mut targets = vec![first];
        while self.eat(",") {
            if self.sees("in") || self.sees(")") || self.sees("]") {
                break;
            }
            targets.push(self.one_target()?);
        }
        Ok(Target::Tuple(targets))
    }

    fn one_target(&mut self) -> Result<Target> {
        for (open, close) in [("(", ")"), ("[", "]")] {
            if self.eat(open) {
                let target = self.nested(Parser::for_target)?;
                self.expect(close)?;
                return Ok(target);
            }
        }
        if self.sees("*") {
            return Err(self.refused(
                "\"*\" in front of a name that is assigned to is not available in templates",
            ));
        }
        Ok(Target::Name(self.new_name()?))
    }

    /// Converts the expression on the left of a "=" to a target.
    fn target(&mut self, value: Expr) -> Result<Target> {
        let place = value.place;
        match value.kind {
            ExprKind::Name(name) => {
                if RESERVED.contains(&&*name) {
                    return Err(Problem::syntax(
                        place,
                        format!("\"{name}\" is a reserved name"),
                    ));
                }
                Ok(Target::Name(name))
            }
            ExprKind::Index(container, index) => Ok(Target::Index(*container, *index)),
            ExprKind::Tuple(items) | ExprKind::List(items) => {
                let mut targets = Vec::new();
                for item in items {
                    match item {
                        Item::Value(value) => targets.push(self.target(value)?),
                        Item::Unpacked(_) => {
                            let message = "\"*\" in front of a name that is assigned to is not available in templates";
                            return Err(Problem::forbidden(place, message));
                        }
                    }
                }
                Ok(Target::Tuple(targets))
            }
            ExprKind::Attribute(..) => Err(Problem::forbidden(
                place,
                "attributes cannot be assigned to in templates",
            )),
            ExprKind::Slice(..) => Err(Problem::forbidden(
                place,
                "slices cannot be assigned to in templates",
            )),
            _ => Err(Problem::syntax(place, "this cannot be assigned to")),
        }
    }
}
