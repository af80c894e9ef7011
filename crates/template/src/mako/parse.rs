//! Pieces to a tree: control lines and tags find their ends.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::dedent::dedent;
use super::output::output;
use super::scan::{Piece, Placed, pieces};
use super::tag::Tag;
use super::{Code, Def, For, Node, Page};
use crate::error::Problem;
use crate::python::ast::{Expr, ExprKind, Name};
use crate::python::{self, assigned_by, assigned_to};

/// How deeply control lines may be nested.
const MAX_NESTING: usize = 40;
/// Tags of Mako that reach outside of the template.
const REFUSED_TAGS: [&str; 6] = ["include", "inherit", "namespace", "page", "block", "call"];

pub(crate) fn parse(text: &str) -> Result<Page, Problem> {
    let mut builder = Builder {
        pieces: pieces(text)?.into_iter().peekable(),
        open: Vec::new(),
        locals: HashSet::new(),
        defs: HashMap::new(),
    };
    let body = builder.nodes()?;
    if let Some(Placed { line, piece }) = builder.pieces.next() {
        return Err(unopened(line, &piece));
    }
    Ok(Page {
        body,
        locals: builder.locals,
        defs: builder.defs,
    })
}

fn unopened(line: u32, piece: &Piece<'_>) -> Problem {
    let what = match piece {
        Piece::Control(text) => format!("\"% {}\" without what it belongs to", text.trim_end()),
        Piece::TagEnd(keyword) => format!("</%{keyword}> without its <%{keyword}>"),
        Piece::Text(_)
        | Piece::Percent { .. }
        | Piece::Expression { .. }
        | Piece::Code { .. }
        | Piece::Tag(_) => "unexpected".to_owned(),
    };
    Problem::syntax(line, what)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    If,
    For,
    Def,
}

struct Builder<'a> {
    pieces: std::iter::Peekable<std::vec::IntoIter<Placed<'a>>>,
    open: Vec<Open>,
    /// Names the body or the def being read gives values to.
    locals: HashSet<Name>,
    defs: HashMap<Name, Arc<Def>>,
}

impl Builder<'_> {
    /// Reads up to a control line or end tag that belongs to what is open, which stays.
    fn nodes(&mut self) -> Result<Vec<Node>, Problem> {
        let mut nodes = Vec::new();
        while let Some(Placed { line, piece }) = self.pieces.peek() {
            let line = *line;
            match piece {
                Piece::Control(text) if !begins_block(text) => {
                    if matches!(keyword(text), "") {
                        return Err(Problem::syntax(
                            line,
                            "\"%\" at the begin of a line that is no control line: write \"%%\" for a percent sign",
                        ));
                    }
                    return Ok(nodes);
                }
                Piece::TagEnd(_) => return Ok(nodes),
                _ => {}
            }
            let Some(Placed { piece, .. }) = self.pieces.next() else {
                break;
            };
            match piece {
                Piece::Text(text) => nodes.push(Node::Text(text.to_owned())),
                Piece::Percent { blanks, more } => {
                    nodes.push(Node::Text(format!("{blanks}%{more}")));
                }
                Piece::Expression { source, filters } => {
                    nodes.push(Node::Output(output(line, source, filters)?));
                }
                Piece::Code { source, module } => nodes.push(self.code(line, source, module)?),
                Piece::Control(text) => nodes.push(self.control(line, text)?),
                Piece::Tag(tag) => self.tag(line, &tag)?,
                Piece::TagEnd(_) => {}
            }
        }
        Ok(nodes)
    }

    fn code(&mut self, line: u32, source: &str, module: bool) -> Result<Node, Problem> {
        if module {
            return Err(Problem::forbidden(
                line,
                "<%! %> blocks are not available in templates",
            ));
        }
        let innermost = self.open.iter().rev();
        let inside_loop = innermost
            .take_while(|open| **open != Open::Def)
            .any(|open| *open == Open::For);
        let block = python::block(&dedent(source), line, inside_loop)?;
        let mut names = HashSet::new();
        assigned_by(&block, &mut names);
        self.locals.extend(names.iter().cloned());
        Ok(Node::Code(Code { block, names }))
    }

    fn control(&mut self, line: u32, text: &str) -> Result<Node, Problem> {
        if self.open.len() >= MAX_NESTING {
            return Err(Problem::syntax(
                line,
                format!("control lines nested more than {MAX_NESTING} levels deep"),
            ));
        }
        match keyword(text) {
            "if" => self.if_lines(line, text),
            "for" => self.for_lines(line, text),
            word @ ("while" | "try" | "except" | "finally" | "with") => Err(Problem::forbidden(
                line,
                format!("\"% {word}\" is not available in templates"),
            )),
            word => Err(Problem::syntax(
                line,
                format!("\"% {word}\" is no control line: write \"%%\" for a percent sign"),
            )),
        }
    }

    fn if_lines(&mut self, line: u32, text: &str) -> Result<Node, Problem> {
        self.open.push(Open::If);
        let mut branches = Vec::new();
        let mut otherwise = None;
        let mut condition = Some(python::condition(behind_keyword(text), line)?);
        loop {
            let nodes = self.nodes()?;
            match condition.take() {
                Some(condition) => branches.push((condition, nodes)),
                None => otherwise = Some(nodes),
            }
            let (at, text) = self.next_control(line, "if")?;
            match keyword(text) {
                "endif" => break,
                "elif" if otherwise.is_none() => {
                    condition = Some(python::condition(behind_keyword(text), at)?);
                }
                "else" if otherwise.is_none() => check_else(text, at)?,
                _ => return Err(misplaced(at, text, "if", line)),
            }
        }
        self.open.pop();
        Ok(Node::If(branches, otherwise.unwrap_or_default()))
    }

    fn for_lines(&mut self, line: u32, text: &str) -> Result<Node, Problem> {
        let (target, iterable) = python::iteration(behind_keyword(text), line)?;
        assigned_to(&target, &mut self.locals);
        self.open.push(Open::For);
        let body = self.nodes()?;
        self.open.pop();
        let mut otherwise = Vec::new();
        let (mut at, mut text) = self.next_control(line, "for")?;
        if keyword(text) == "else" {
            check_else(text, at)?;
            self.open.push(Open::If);
            otherwise = self.nodes()?;
            self.open.pop();
            (at, text) = self.next_control(line, "for")?;
        }
        if keyword(text) != "endfor" {
            return Err(misplaced(at, text, "for", line));
        }
        Ok(Node::For(Box::new(For {
            line,
            target,
            iterable,
            body,
            otherwise,
        })))
    }

    fn next_control(&mut self, line: u32, word: &str) -> Result<(u32, &str), Problem> {
        match self.pieces.next() {
            Some(Placed {
                line,
                piece: Piece::Control(text),
            }) => Ok((line, text)),
            Some(Placed { line, piece }) => Err(unopened(line, &piece)),
            None => Err(Problem::syntax(
                line,
                format!("\"% {word}\" without its \"% end{word}\""),
            )),
        }
    }

    fn tag(&mut self, line: u32, tag: &Tag) -> Result<(), Problem> {
        let keyword = tag.keyword.as_str();
        match keyword {
            "def" => self.def(line, tag),
            // <%text/>: nothing inside.
            "text" => Ok(()),
            _ if REFUSED_TAGS.contains(&keyword) || keyword.contains(':') => Err(
                Problem::forbidden(line, format!("<%{keyword}> is not available in templates")),
            ),
            _ => Err(Problem::syntax(
                line,
                format!("there is no tag <%{keyword}>"),
            )),
        }
    }

    fn def(&mut self, line: u32, tag: &Tag) -> Result<(), Problem> {
        if self.open.contains(&Open::Def) {
            return Err(Problem::forbidden(
                line,
                "a <%def> inside of a <%def> is not available in templates",
            ));
        }
        let mut declaration = None;
        for (name, value) in &tag.attributes {
            if name != "name" {
                return Err(Problem::forbidden(
                    line,
                    format!("\"{name}\" of <%def> is not available in templates"),
                ));
            }
            declaration = Some(value.as_str());
        }
        let Some(declaration) = declaration else {
            return Err(Problem::syntax(line, "<%def> without a name=\"...\""));
        };
        let (name, params) = python::signature(declaration, line)?;
        if self.defs.contains_key(&name) {
            return Err(Problem::syntax(
                line,
                format!("a second <%def> with the name \"{name}\""),
            ));
        }
        for param in &params {
            if param
                .default
                .as_ref()
                .is_some_and(|value| !is_constant(value))
            {
                return Err(Problem::forbidden(
                    line,
                    "defaults of a <%def> are numbers, strings, True, False or None in templates",
                ));
            }
        }
        let outside = std::mem::take(&mut self.locals);
        let mut body = Vec::new();
        if !tag.closed {
            self.open.push(Open::Def);
            body = self.nodes()?;
            self.open.pop();
            match self.pieces.next() {
                Some(Placed {
                    piece: Piece::TagEnd("def"),
                    ..
                }) => {}
                Some(Placed { line, piece }) => return Err(unopened(line, &piece)),
                None => return Err(Problem::syntax(line, "<%def> without its </%def>")),
            }
        }
        let mut locals = std::mem::replace(&mut self.locals, outside);
        locals.extend(params.iter().map(|param| param.name.clone()));
        let def = Def {
            name: name.clone(),
            params,
            locals,
            body,
        };
        self.defs.insert(name, Arc::new(def));
        Ok(())
    }
}

/// The word a control line begins with.
fn keyword(text: &str) -> &str {
    let end = text
        .find(|c: char| c != '_' && !c.is_alphanumeric())
        .unwrap_or(text.len());
    &text[..end]
}

/// Whether a control line opens something, rather than going on with what is open.
fn begins_block(text: &str) -> bool {
    let word = keyword(text);
    let goes_on =
        matches!(word, "" | "else" | "elif") || (word.starts_with("end") && word.len() > 3);
    !goes_on
}

fn behind_keyword(text: &str) -> &str {
    // The keyword, and the blanks behind it: the rest is not indented then.
    text[keyword(text).len()..].trim_start_matches([' ', '\t'])
}

fn check_else(text: &str, line: u32) -> Result<(), Problem> {
    let rest = behind_keyword(text).trim_end();
    let after = rest.strip_prefix(':').map(str::trim_start);
    match after {
        Some(after) if after.is_empty() || after.starts_with('#') => Ok(()),
        _ => Err(Problem::syntax(
            line,
            "expected \"else:\" and nothing else on the line",
        )),
    }
}

fn misplaced(line: u32, text: &str, open: &str, opened: u32) -> Problem {
    let word = keyword(text);
    let message = format!("\"% {word}\" where \"% end{open}\" of line {opened} is expected");
    Problem::syntax(line, message)
}

fn is_constant(value: &Expr) -> bool {
    match &value.kind {
        ExprKind::None
        | ExprKind::Bool(_)
        | ExprKind::Int(_)
        | ExprKind::Float(_)
        | ExprKind::Text(_) => true,
        ExprKind::Unary(_, inner) => is_constant(inner),
        _ => false,
    }
}
