//! Mako as far as templates need it: text to a tree of what is written, with the Python in it parsed.

mod dedent;
mod output;
mod parse;
mod scan;
mod tag;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::python::ast::{Expr, Name, Param, Stmt, Target};

pub(crate) use parse::parse;

/// A whole template.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) body: Vec<Node>,
    /// Names that the body gives values to: they are never read from the context.
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
    pub(crate) line: u32,
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
    /// What the block gives values to, which defs see from then on.
    pub(crate) names: HashSet<Name>,
}

#[derive(Debug)]
pub(crate) struct For {
    pub(crate) line: u32,
    pub(crate) target: Target,
    pub(crate) iterable: Expr,
    pub(crate) body: Vec<Node>,
    pub(crate) otherwise: Vec<Node>,
}
