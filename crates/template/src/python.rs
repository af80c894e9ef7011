//! Python as far as templates need it: text to tree. What is left out is refused here, with its line.

pub(crate) mod ast;
mod display;
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
use token::Layout;

use crate::error::Problem;

/// The value inside of `${ }`: one expression over any number of lines.
pub(crate) fn value(source: &str, line: u32) -> Result<Expr, Problem> {
    let mut parser = Parser::new(source, line, Layout::Inside)?;
    let value = parser.expression()?;
    parser.end()?;
    Ok(value)
}

/// Expressions with commas between them.
pub(crate) fn values(source: &str, line: u32) -> Result<Vec<Expr>, Problem> {
    let mut parser = Parser::new(source, line, Layout::Inside)?;
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

/// What is between `if` or `elif` and the end of a control line, with its colon.
pub(crate) fn condition(source: &str, line: u32) -> Result<Expr, Problem> {
    let mut parser = Parser::new(source, line, Layout::Lines)?;
    let value = parser.expression()?;
    parser.control_line_end()?;
    Ok(value)
}

/// What is between `for` and the end of a control line, with its colon.
pub(crate) fn iteration(source: &str, line: u32) -> Result<(Target, Expr), Problem> {
    let mut parser = Parser::new(source, line, Layout::Lines)?;
    let target = parser.for_target()?;
    parser.expect_word("in")?;
    let iterable = parser.expression_or_tuple()?;
    parser.control_line_end()?;
    Ok((target, iterable))
}

/// The statements of a `<% %>` block.
pub(crate) fn block(source: &str, line: u32, inside_loop: bool) -> Result<Vec<Stmt>, Problem> {
    let mut parser = Parser::new(source, line, Layout::Lines)?;
    parser.set_inside_loop(inside_loop);
    parser.file()
}

/// `name(parameters)`, as `<%def>` has it.
pub(crate) fn signature(source: &str, line: u32) -> Result<(Name, Vec<Param>), Problem> {
    let mut parser = Parser::new(source, line, Layout::Inside)?;
    let name = parser.new_name()?;
    parser.expect("(")?;
    let params = parser.params(")")?;
    parser.expect(")")?;
    parser.end()?;
    Ok((name, params))
}
