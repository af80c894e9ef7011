//! Executes statements.

use std::rc::Rc;

use super::Interpreter;
use super::scope::Scope;
use super::value::Value;
use crate::error::Result;
use crate::python::ast::{ForStmt, Stmt, StmtKind};

/// How a block ended.
pub(crate) enum Flow {
    Next,
    Break,
    Continue,
    Return(Value),
}

impl Interpreter<'_> {
    pub(crate) fn block(&self, block: &[Stmt], scope: &Rc<Scope>) -> Result<Flow> {
        for stmt in block {
            self.meter
                .step(1)
                .map_err(|problem| problem.at(stmt.place))?;
            let flow = self.deeper(|| self.statement(stmt, scope));
            match flow.map_err(|problem| problem.at(stmt.place))? {
                Flow::Next => {}
                ended => return Ok(ended),
            }
        }
        Ok(Flow::Next)
    }

    fn statement(&self, stmt: &Stmt, scope: &Rc<Scope>) -> Result<Flow> {
        match &stmt.kind {
            StmtKind::Value(value) => {
                self.evaluate(value, scope)?;
            }
            StmtKind::Assign(targets, value) => {
                let value = self.evaluate(value, scope)?;
                for target in targets {
                    self.assign(target, value.clone(), scope)?;
                }
            }
            StmtKind::AugmentedAssign(target, op, by) => {
                self.augmented_assign(target, *op, by, scope)?
            }
            StmtKind::Delete(targets) => {
                for target in targets {
                    self.delete(target, scope)?;
                }
            }
            StmtKind::If(branches, otherwise) => {
                for (condition, body) in branches {
                    if self.truth(&self.evaluate(condition, scope)?) {
                        return self.block(body, scope);
                    }
                }
                return self.block(otherwise, scope);
            }
            StmtKind::For(each) => return self.for_statement(each, scope),
            StmtKind::Def(function) => {
                let closure = self.closure(function, scope)?;
                scope.set(&function.name, closure);
            }
            StmtKind::Return(value) => {
                return Ok(Flow::Return(match value {
                    Some(value) => self.evaluate(value, scope)?,
                    None => Value::None,
                }));
            }
            StmtKind::Break => return Ok(Flow::Break),
            StmtKind::Continue => return Ok(Flow::Continue),
            StmtKind::Pass => {}
        }
        Ok(Flow::Next)
    }

    fn for_statement(&self, each: &ForStmt, scope: &Rc<Scope>) -> Result<Flow> {
        let iter = self.iter(&self.evaluate(&each.iterable, scope)?)?;
        while let Some(value) = self.next(&iter)? {
            self.assign(&each.target, value, scope)?;
            match self.block(&each.body, scope)? {
                Flow::Next | Flow::Continue => {}
                Flow::Break => return Ok(Flow::Next),
                Flow::Return(value) => return Ok(Flow::Return(value)),
            }
        }
        self.block(&each.otherwise, scope)
    }
}
