//! Parses the supported part of Mako into a tree of nodes with parsed Python.

mod dedent;
mod output;
mod parse;
mod segment;
mod tag;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::place::Place;
use crate::python::ast::{Expr, Name, Param, Stmt, Target};

pub(crate) use dedent::Dedented;
pub(crate) use parse::parse;

/// A parsed template.
#[derive(Debug)]
pub(crate) struct ParsedTemplate {
    pub(crate) body: Vec<Node>,
    /// Names that the body assigns: they are never read from the context.
    pub(crate) locals: HashSet<Name>,
    pub(crate) defs: HashMap<Name, Arc<Def>>,
}

/// `<%def name="name(params)">`.
#[derive(Debug)]
pub(crate) struct Def {
    pub(crate) name: Name,
    pub(crate) params: Vec<Param>,
    pub(crate) locals: HashSet<Name>,
    pub(crate) body: Vec<Node>,
}

#[derive(Debug)]
pub(crate) enum Node {
    Text(String),
    Output(Output),
    Code(Code),
    If(Vec<(Expr, Vec<Node>)>, Vec<Node>),
    For(Box<For>),
}

/// `${value | filters}`.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) place: Place,
    /// None for `${}`, which writes nothing.
    pub(crate) value: Option<Expr>,
    pub(crate) filters: Vec<Filter>,
}

#[derive(Debug)]
pub(crate) enum Filter {
    Str,
    Html,
    Xml,
    Url,
    Trim,
    Decode,
    Call(Expr),
}

/// `<% block %>`.
#[derive(Debug)]
pub(crate) struct Code {
    pub(crate) block: Vec<Stmt>,
    /// Names that the block assigns. Defs see them after the block.
    pub(crate) names: HashSet<Name>,
}

#[derive(Debug)]
pub(crate) struct For {
    pub(crate) place: Place,
    pub(crate) target: Target,
    pub(crate) iterable: Expr,
    pub(crate) body: Vec<Node>,
    pub(crate) otherwise: Vec<Node>,
}
