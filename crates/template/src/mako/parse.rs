//! Builds the tree from segments: matches control lines and tags with their ends.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::dedent::dedent;
use super::output::output;
use super::segment::{PlacedSegment, Segment, segments, unclosed};
use super::tag::Tag;
use super::{Code, Def, For, Node, ParsedTemplate};
use crate::error::{Problem, Result};
use crate::place::Place;
use crate::python::ast::{Expr, ExprKind, Name};
use crate::python::{self, assigned_by, assigned_to};

/// The deepest nesting of control lines.
const MAX_NESTING: usize = 40;
/// Mako tags that access other templates.
const REFUSED_TAGS: [&str; 6] = ["include", "inherit", "namespace", "page", "block", "call"];

pub(crate) fn parse(text: &str) -> Result<ParsedTemplate> {
    let mut builder = TreeBuilder {
        segments: segments(text)?.into_iter().peekable(),
        open: Vec::new(),
        locals: HashSet::new(),
        defs: HashMap::new(),
    };
    let body = builder.nodes()?;
    if let Some(PlacedSegment { place, segment }) = builder.segments.next() {
        return Err(unopened(place, &segment));
    }
    Ok(ParsedTemplate {
        body,
        locals: builder.locals,
        defs: builder.defs,
    })
}

fn unopened(place: Place, segment: &Segment<'_>) -> Problem {
    let problem = |what: String, without: &str| {
        let problem = Problem::syntax(place, format!("{what} without {without}"));
        problem.coded("unopened").with("what", what)
    };
    match segment {
        Segment::Control(text) => problem(
            format!("\"% {}\"", text.trim_end()),
            "the control line that it belongs to",
        ),
        Segment::TagEnd(keyword) => problem(format!("</%{keyword}>"), &format!("its <%{keyword}>")),
        Segment::Text(_)
        | Segment::EscapedPercent { .. }
        | Segment::Expression { .. }
        | Segment::Code { .. }
        | Segment::Tag(_) => Problem::syntax(place, "unexpected"),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum OpenBlock {
    If,
    For,
    Def,
}

struct TreeBuilder<'a> {
    segments: std::iter::Peekable<std::vec::IntoIter<PlacedSegment<'a>>>,
    open: Vec<OpenBlock>,
    /// Names that the current body or def assigns.
    locals: HashSet<Name>,
    defs: HashMap<Name, Arc<Def>>,
}

impl TreeBuilder<'_> {
    /// Parses nodes up to, and without, a control line or end tag that belongs to an open block.
    fn nodes(&mut self) -> Result<Vec<Node>> {
        let mut nodes = Vec::new();
        while let Some(PlacedSegment { place, segment }) = self.segments.peek() {
            let place = *place;
            match segment {
                Segment::Control(text) if !begins_block(text) => {
                    if matches!(keyword(text), "") {
                        return Err(Problem::syntax(
                            place,
                            "\"%\" at the start of a line that is no control line: write \"%%\" for a percent sign",
                        ));
                    }
                    return Ok(nodes);
                }
                Segment::TagEnd(_) => return Ok(nodes),
                _ => {}
            }
            let Some(PlacedSegment { segment, .. }) = self.segments.next() else {
                break;
            };
            match segment {
                Segment::Text(text) => nodes.push(Node::Text(text.to_owned())),
                Segment::EscapedPercent { blanks, more } => {
                    nodes.push(Node::Text(format!("{blanks}%{more}")));
                }
                Segment::Expression { source, filters } => {
                    nodes.push(Node::Output(output(place, source, filters)?));
                }
                Segment::Code { source, module } => nodes.push(self.code(place, source, module)?),
                Segment::Control(text) => nodes.push(self.control(place, text)?),
                Segment::Tag(tag) => self.tag(place, &tag)?,
                Segment::TagEnd(_) => {}
            }
        }
        Ok(nodes)
    }

    fn code(&mut self, place: Place, source: &str, module: bool) -> Result<Node> {
        if module {
            return Err(Problem::forbidden(
                place,
                "<%! %> blocks are not available in templates",
            ));
        }
        let innermost = self.open.iter().rev();
        let inside_loop = innermost
            .take_while(|open| **open != OpenBlock::Def)
            .any(|open| *open == OpenBlock::For);
        let block = python::block(&dedent(source), place.after("<%"), inside_loop)?;
        let mut names = HashSet::new();
        assigned_by(&block, &mut names);
        self.locals.extend(names.iter().cloned());
        Ok(Node::Code(Code { block, names }))
    }

    fn control(&mut self, place: Place, text: &str) -> Result<Node> {
        if self.open.len() >= MAX_NESTING {
            return Err(Problem::syntax(
                place,
                format!("control lines nested more than {MAX_NESTING} levels deep"),
            ));
        }
        match keyword(text) {
            "if" => self.if_lines(place, text),
            "for" => self.for_lines(place, text),
            word @ ("while" | "try" | "except" | "finally" | "with") => {
                Err(Problem::unavailable(&format!("\"% {word}\"")).at(place))
            }
            word => Err(Problem::syntax(
                place,
                format!("\"% {word}\" is no control line: write \"%%\" for a percent sign"),
            )),
        }
    }

    fn if_lines(&mut self, place: Place, text: &str) -> Result<Node> {
        self.open.push(OpenBlock::If);
        let mut branches = Vec::new();
        let mut otherwise = None;
        let mut condition = Some(python::condition(
            after_keyword(text),
            place.after(before_code(text)),
        )?);
        loop {
            let nodes = self.nodes()?;
            match condition.take() {
                Some(condition) => branches.push((condition, nodes)),
                None => otherwise = Some(nodes),
            }
            let (at, text) = self.next_control(place, "if")?;
            match keyword(text) {
                "endif" => break,
                "elif" if otherwise.is_none() => {
                    condition = Some(python::condition(
                        after_keyword(text),
                        at.after(before_code(text)),
                    )?);
                }
                "else" if otherwise.is_none() => check_else(text, at)?,
                _ => return Err(misplaced(at, text, "if", place)),
            }
        }
        self.open.pop();
        Ok(Node::If(branches, otherwise.unwrap_or_default()))
    }

    fn for_lines(&mut self, place: Place, text: &str) -> Result<Node> {
        let (target, iterable) =
            python::iteration(after_keyword(text), place.after(before_code(text)))?;
        assigned_to(&target, &mut self.locals);
        self.open.push(OpenBlock::For);
        let body = self.nodes()?;
        self.open.pop();
        let mut otherwise = Vec::new();
        let (mut at, mut text) = self.next_control(place, "for")?;
        if keyword(text) == "else" {
            check_else(text, at)?;
            self.open.push(OpenBlock::If);
            otherwise = self.nodes()?;
            self.open.pop();
            (at, text) = self.next_control(place, "for")?;
        }
        if keyword(text) != "endfor" {
            return Err(misplaced(at, text, "for", place));
        }
        Ok(Node::For(Box::new(For {
            place,
            target,
            iterable,
            body,
            otherwise,
        })))
    }

    fn next_control(&mut self, place: Place, word: &str) -> Result<(Place, &str)> {
        match self.segments.next() {
            Some(PlacedSegment {
                place,
                segment: Segment::Control(text),
            }) => Ok((place, text)),
            Some(PlacedSegment { place, segment }) => Err(unopened(place, &segment)),
            None => {
                let (opened, missing) = (format!("\"% {word}\""), format!("\"% end{word}\""));
                Err(unclosed(place, &opened, &missing))
            }
        }
    }

    fn tag(&mut self, place: Place, tag: &Tag) -> Result<()> {
        let keyword = tag.keyword.as_str();
        match keyword {
            "def" => self.def(place, tag),
            // <%text/> without content.
            "text" => Ok(()),
            _ if REFUSED_TAGS.contains(&keyword) || keyword.contains(':') => {
                Err(Problem::unavailable(&format!("<%{keyword}>")).at(place))
            }
            _ => Err(Problem::syntax(
                place,
                format!("there is no tag <%{keyword}>"),
            )),
        }
    }

    fn def(&mut self, place: Place, tag: &Tag) -> Result<()> {
        if self.open.contains(&OpenBlock::Def) {
            return Err(Problem::forbidden(
                place,
                "a <%def> inside of a <%def> is not available in templates",
            ));
        }
        let mut declaration = None;
        for (name, value) in &tag.attributes {
            if name != "name" {
                return Err(Problem::forbidden(
                    place,
                    format!("\"{name}\" of <%def> is not available in templates"),
                ));
            }
            declaration = Some(value.as_str());
        }
        let Some(declaration) = declaration else {
            return Err(Problem::syntax(place, "<%def> without a name=\"...\""));
        };
        let (name, params) = python::signature(declaration, place.shifted(None))?;
        if self.defs.contains_key(&name) {
            return Err(Problem::syntax(
                place,
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
                    place,
                    "defaults of a <%def> are numbers, strings, True, False or None in templates",
                ));
            }
        }
        let outside = std::mem::take(&mut self.locals);
        let mut body = Vec::new();
        if !tag.closed {
            self.open.push(OpenBlock::Def);
            body = self.nodes()?;
            self.open.pop();
            match self.segments.next() {
                Some(PlacedSegment {
                    segment: Segment::TagEnd("def"),
                    ..
                }) => {}
                Some(PlacedSegment { place, segment }) => return Err(unopened(place, &segment)),
                None => return Err(unclosed(place, "<%def>", "</%def>")),
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

/// The first word of a control line.
fn keyword(text: &str) -> &str {
    let end = text
        .find(|c: char| c != '_' && !c.is_alphanumeric())
        .unwrap_or(text.len());
    &text[..end]
}

/// Whether a control line opens a block instead of continuing or closing one.
fn begins_block(text: &str) -> bool {
    let word = keyword(text);
    let continues =
        matches!(word, "" | "else" | "elif") || (word.starts_with("end") && word.len() > 3);
    !continues
}

fn after_keyword(text: &str) -> &str {
    text[keyword(text).len()..].trim_start_matches([' ', '\t'])
}

/// The keyword, and the blanks behind it.
fn before_code(text: &str) -> &str {
    &text[..text.len() - after_keyword(text).len()]
}

fn check_else(text: &str, place: Place) -> Result<()> {
    let rest = after_keyword(text).trim_end();
    let after = rest.strip_prefix(':').map(str::trim_start);
    match after {
        Some(after) if after.is_empty() || after.starts_with('#') => Ok(()),
        _ => Err(Problem::syntax(
            place,
            "expected \"else:\" and nothing else on the line",
        )),
    }
}

fn misplaced(place: Place, text: &str, open: &str, opened: Place) -> Problem {
    let word = keyword(text);
    let message = format!(
        "\"% {word}\" where \"% end{open}\" of line {} is expected",
        opened.line
    );
    let problem = Problem::syntax(place, message).coded("misplaced");
    problem
        .with("found", format!("% {word}"))
        .with("wanted", format!("% end{open}"))
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
