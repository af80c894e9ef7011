//! Parses the supported part of Python into a tree. Refuses the rest with its line.
//!
//! `mako` calls the functions of this module for each segment of Python. They bound nesting, because evaluating and dropping a tree is
//! recursive. See `docs/decisions/0013` for why this is not a parser from a registry.

pub(crate) mod ast;
mod atom;
mod expression;
mod format_string;
mod function;
mod literal;
mod names;
mod parser;
mod statement;
mod token;

pub(crate) use names::{assigned_by, assigned_to};

use ast::{Expr, Name, Param, Stmt, Target};
use parser::Parser;
use token::{Layout, Source};

use crate::error::Result;
use crate::mako::Dedented;
use crate::place::Place;

/// Parses the value of `${ }`: one expression over any number of lines.
pub(crate) fn value(source: &str, place: Place) -> Result<Expr> {
    let mut parser = Parser::new(Source::verbatim(source, place), Layout::Expression)?;
    let value = parser.expression()?;
    parser.end()?;
    Ok(value)
}

/// Parses expressions separated by commas.
pub(crate) fn values(source: &str, place: Place) -> Result<Vec<Expr>> {
    let mut parser = Parser::new(Source::verbatim(source, place), Layout::Expression)?;
    let mut found = Vec::new();
    while !parser.at_end() {
        found.push(parser.expression()?);
        if !parser.eat(",") {
            break;
        }
    }
    parser.end()?;
    Ok(found)
}

/// Parses the text after `if` or `elif` in a control line, with its colon.
pub(crate) fn condition(source: &str, place: Place) -> Result<Expr> {
    let mut parser = Parser::new(Source::verbatim(source, place), Layout::Statements)?;
    let value = parser.expression()?;
    parser.control_line_end()?;
    Ok(value)
}

/// Parses the text after `for` in a control line, with its colon.
pub(crate) fn iteration(source: &str, place: Place) -> Result<(Target, Expr)> {
    let mut parser = Parser::new(Source::verbatim(source, place), Layout::Statements)?;
    let target = parser.for_target()?;
    parser.expect("in")?;
    let iterable = parser.expression_or_tuple()?;
    parser.control_line_end()?;
    Ok((target, iterable))
}

/// Parses the statements of a `<% %>` block, with its indentation removed.
pub(crate) fn block(source: &Dedented, place: Place, inside_loop: bool) -> Result<Vec<Stmt>> {
    let source = Source {
        text: &source.text,
        place,
        removed: &source.removed,
    };
    let mut parser = Parser::new(source, Layout::Statements)?;
    parser.set_inside_loop(inside_loop);
    parser.file()
}

/// Parses `name(parameters)` of `<%def>`.
pub(crate) fn signature(source: &str, place: Place) -> Result<(Name, Vec<Param>)> {
    let mut parser = Parser::new(Source::verbatim(source, place), Layout::Expression)?;
    let name = parser.new_name()?;
    parser.expect("(")?;
    let params = parser.params(")")?;
    parser.expect(")")?;
    parser.end()?;
    Ok((name, params))
}
