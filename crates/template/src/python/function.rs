//! Lambdas, and the parameters of functions.

use std::collections::HashSet;
use std::sync::Arc;

use super::ast::{Body, Expr, ExprKind, Function, Name, Param, ParamKind};
use super::parser::Parser;
use crate::error::Problem;

/// How many parameters a function may have.
const MAX_PARAMS: usize = 255;

impl Parser {
    pub(super) fn lambda(&mut self) -> Result<Expr, Problem> {
        let line = self.line();
        self.expect_word("lambda")?;
        let params = self.params(":")?;
        self.expect(":")?;
        let value = self.expression()?;
        let function = Function {
            name: Name::from("<lambda>"),
            locals: param_names(&params),
            params,
            body: Body::Value(value),
        };
        // The body is evaluated by a call, which counts its own depth.
        self.node(line, 0, ExprKind::Lambda(Arc::new(function)))
    }

    /// Parameters up to the closing sign, which stays.
    pub(crate) fn params(&mut self, close: &str) -> Result<Vec<Param>, Problem> {
        let mut params: Vec<Param> = Vec::new();
        let mut kind = ParamKind::Plain;
        while !self.sees(close) {
            if self.sees("/") {
                return Err(self.refused("\"/\" among parameters is not available in templates"));
            }
            let param = if self.eat("**") {
                self.param(ParamKind::NamedRest)?
            } else if self.eat("*") {
                if kind == ParamKind::NamedOnly {
                    return Err(self.wrong("\"*\" twice among parameters"));
                }
                kind = ParamKind::NamedOnly;
                if self.eat(",") {
                    continue;
                }
                self.param(ParamKind::Rest)?
            } else {
                let mut param = self.param(kind)?;
                if self.eat("=") {
                    param.default = Some(self.expression()?);
                } else if kind == ParamKind::Plain
                    && params.last().is_some_and(|before| before.default.is_some())
                {
                    return Err(
                        self.wrong("a parameter without a default after one with a default")
                    );
                }
                param
            };
            if params.iter().any(|before| before.name == param.name) {
                return Err(self.wrong(format!("parameter \"{}\" twice", param.name)));
            }
            if params.len() >= MAX_PARAMS {
                return Err(self.wrong(format!("more than {MAX_PARAMS} parameters")));
            }
            let last = param.kind == ParamKind::NamedRest;
            params.push(param);
            if !self.eat(",") || last {
                break;
            }
        }
        Ok(params)
    }

    fn param(&mut self, kind: ParamKind) -> Result<Param, Problem> {
        Ok(Param {
            name: self.new_name()?,
            kind,
            default: None,
        })
    }
}

pub(super) fn param_names(params: &[Param]) -> HashSet<Name> {
    params.iter().map(|param| param.name.clone()).collect()
}
