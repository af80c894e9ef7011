//! Statements of `<% %>` blocks.

use std::sync::Arc;

use super::ast::{BinaryOp, Body, Expr, ExprKind, ForStmt, Function, Item, Stmt, StmtKind, Target};
use super::function::param_names;
use super::names::assigned_by;
use super::parser::Parser;
use super::token::Token;
use crate::error::Problem;

const REFUSED: [&str; 13] = [
    "import", "from", "while", "try", "with", "class", "raise", "global", "nonlocal", "assert",
    "async", "yield", "await",
];

impl Parser {
    pub(crate) fn file(&mut self) -> Result<Vec<Stmt>, Problem> {
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

    fn statement(&mut self, into: &mut Vec<Stmt>) -> Result<(), Problem> {
        let line = self.line();
        if *self.peek() == Token::Indent {
            return Err(self.wrong("this line is indented more than the one above"));
        }
        if self.sees("@") {
            return Err(self.refused("decorators are not available in templates"));
        }
        let kind = if self.eat_word("if") {
            self.if_statement()?
        } else if self.eat_word("for") {
            self.for_statement()?
        } else if self.eat_word("def") {
            self.def_statement()?
        } else {
            return self.simple_statements(into);
        };
        into.push(Stmt { line, kind });
        Ok(())
    }

    fn if_statement(&mut self) -> Result<StmtKind, Problem> {
        let mut branches = Vec::new();
        let mut otherwise = Vec::new();
        let condition = self.expression()?;
        branches.push((condition, self.suite()?));
        loop {
            if self.eat_word("elif") {
                let condition = self.expression()?;
                branches.push((condition, self.suite()?));
            } else if self.eat_word("else") {
                otherwise = self.suite()?;
                break;
            } else {
                break;
            }
        }
        Ok(StmtKind::If(branches, otherwise))
    }

    fn for_statement(&mut self) -> Result<StmtKind, Problem> {
        let target = self.for_target()?;
        self.expect_word("in")?;
        let iterable = self.expression_or_tuple()?;
        let outside = std::mem::replace(&mut self.inside_loop, true);
        let body = self.suite();
        self.inside_loop = outside;
        let body = body?;
        let otherwise = if self.eat_word("else") {
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

    fn def_statement(&mut self) -> Result<StmtKind, Problem> {
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

    /// The block behind a colon: on the same line, or indented below.
    fn suite(&mut self) -> Result<Vec<Stmt>, Problem> {
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

    fn simple_statements(&mut self, into: &mut Vec<Stmt>) -> Result<(), Problem> {
        loop {
            let line = self.line();
            let kind = self.simple_statement()?;
            into.push(Stmt { line, kind });
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

    fn simple_statement(&mut self) -> Result<StmtKind, Problem> {
        if let Token::Name(word) = self.peek().clone() {
            if REFUSED.contains(&&*word) {
                return Err(self.refused(format!("\"{word}\" is not available in templates")));
            }
            match &*word {
                "pass" => {
                    self.next();
                    return Ok(StmtKind::Pass);
                }
                "break" | "continue" => {
                    if !self.inside_loop {
                        return Err(self.wrong(format!("\"{word}\" outside of a loop")));
                    }
                    self.next();
                    return Ok(if &*word == "break" {
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

    fn assignment(&mut self) -> Result<StmtKind, Problem> {
        let value = self.expression_or_tuple()?;
        if let Some(op) = self.change_op()? {
            let target = self.target(value)?;
            if matches!(target, Target::Many(_)) {
                return Err(self.wrong("only one value can be changed at a time"));
            }
            let by = self.expression_or_tuple()?;
            return Ok(StmtKind::Change(target, op, by));
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

    fn change_op(&mut self) -> Result<Option<BinaryOp>, Problem> {
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
            "@=" => return Err(self.refused("\"@\" is not available in templates")),
            _ => return Ok(None),
        };
        self.next();
        Ok(Some(op))
    }

    /// What stands between `for` and `in`.
    pub(crate) fn for_target(&mut self) -> Result<Target, Problem> {
        let first = self.one_target()?;
        if !self.sees(",") {
            return Ok(first);
        }
        let mut targets = vec![first];
        while self.eat(",") {
            if self.sees_word("in") || self.sees(")") || self.sees("]") {
                break;
            }
            targets.push(self.one_target()?);
        }
        Ok(Target::Many(targets))
    }

    fn one_target(&mut self) -> Result<Target, Problem> {
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

    /// Reads an expression that was found in front of a "=" as what is assigned to.
    fn target(&mut self, value: Expr) -> Result<Target, Problem> {
        let line = value.line;
        match value.kind {
            ExprKind::Name(name) => {
                if matches!(&*name, "context" | "loop" | "UNDEFINED" | "STOP_RENDERING") {
                    return Err(Problem::syntax(
                        line,
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
                        Item::One(value) => targets.push(self.target(value)?),
                        Item::All(_) => {
                            let message = "\"*\" in front of a name that is assigned to is not available in templates";
                            return Err(Problem::forbidden(line, message));
                        }
                    }
                }
                Ok(Target::Many(targets))
            }
            ExprKind::Attribute(..) => Err(Problem::forbidden(
                line,
                "attributes cannot be assigned to in templates",
            )),
            ExprKind::Slice(..) => Err(Problem::forbidden(
                line,
                "slices cannot be assigned to in templates",
            )),
            _ => Err(Problem::syntax(line, "this cannot be assigned to")),
        }
    }
}
