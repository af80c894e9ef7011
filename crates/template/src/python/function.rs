//! Parses lambdas and parameters.

use std::collections::HashSet;
use std::sync::Arc;

use super::ast::{Body, Expr, ExprKind, Function, Name, Param, ParamKind};
use super::parser::Parser;
use crate::error::Result;

/// The most parameters of a function.
const MAX_PARAMS: usize = 255;

impl Parser {
    pub(super) fn lambda(&mut self) -> Result<Expr> {
        let place = self.place();
        self.expect("lambda")?;
        let params = self.params(":")?;
        self.expect(":")?;
        let value = self.expression()?;
        let function = Function {
            name: Name::from("<lambda>"),
            locals: param_names(&params),
            params,
            body: Body::Value(value),
        };
        // A call evaluates the body and counts its depth.
        self.node(place, 0, ExprKind::Lambda(Arc::new(function)))
    }

    /// Parses parameters up to, and without, the closing sign.
    pub(crate) fn params(&mut self, close: &str) -> Result<Vec<Param>> {
        let mut params: Vec<Param> = Vec::new();
        let mut kind = ParamKind::Positional;
        while !self.sees(close) {
            if self.sees("/") {
                return Err(self.unavailable("\"/\" among parameters"));
            }
            let param = if self.eat("**") {
                self.param(ParamKind::VarKeyword)?
            } else if self.eat("*") {
                if kind == ParamKind::KeywordOnly {
                    return Err(self.wrong("\"*\" twice among parameters"));
                }
                kind = ParamKind::KeywordOnly;
                if self.eat(",") {
                    continue;
                }
                self.param(ParamKind::VarPositional)?
            } else {
                let mut param = self.param(kind)?;
                if self.eat("=") {
                    param.default = Some(self.expression()?);
                } else if kind == ParamKind::Positional
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
            let last = param.kind == ParamKind::VarKeyword;
            params.push(param);
            if !self.eat(",") || last {
                break;
            }
        }
        Ok(params)
    }

    fn param(&mut self, kind: ParamKind) -> Result<Param> {
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
