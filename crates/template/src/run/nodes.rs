//! Renders the nodes of a template.

use std::cell::Cell;
use std::rc::Rc;

use super::Interpreter;
use super::execute::Flow;
use super::scope::{LoopState, Scope};
use super::value::depth_over;
use crate::error::Result;
use crate::mako::{Code, For, Node};

impl Interpreter<'_> {
    pub(crate) fn nodes(&self, nodes: &[Node], scope: &Rc<Scope>) -> Result<Flow> {
        for node in nodes {
            let flow = match node {
                Node::Text(text) => {
                    self.write(text)?;
                    Flow::Next
                }
                Node::Output(output) => {
                    let written = self.output(output, scope);
                    written.map_err(|problem| problem.at(output.place))?;
                    Flow::Next
                }
                Node::Code(code) => self.code(code, scope)?,
                Node::If(branches, otherwise) => {
                    let mut chosen = otherwise;
                    for (condition, body) in branches {
                        if self.truth(&self.evaluate(condition, scope)?) {
                            chosen = body;
                            break;
                        }
                    }
                    self.deeper(|| self.nodes(chosen, scope))?
                }
                Node::For(each) => {
                    let flow = self.deeper(|| self.for_lines(each, scope));
                    flow.map_err(|problem| problem.at(each.place))?
                }
            };
            match flow {
                Flow::Next => {}
                ended => return Ok(ended),
            }
        }
        Ok(Flow::Next)
    }

    fn code(&self, code: &Code, scope: &Rc<Scope>) -> Result<Flow> {
        let flow = self.block(&code.block, scope)?;
        // Mako exports names to defs only from blocks that ran to their end.
        if matches!(flow, Flow::Next) && !scope.frame.inside_def {
            let names = scope.names.borrow();
            let mut exported = self.exported.borrow_mut();
            for name in &code.names {
                if let Some(value) = names.get(name) {
                    exported.insert(name.clone(), value.clone());
                }
            }
        }
        Ok(flow)
    }

    fn for_lines(&self, each: &For, scope: &Rc<Scope>) -> Result<Flow> {
        let iterable = self.evaluate(&each.iterable, scope)?;
        let iter = self.iter(&iterable)?;
        let loops = &scope.frame.loops;
        let parent = loops.borrow().last().cloned();
        let state = Rc::new(LoopState {
            index: Cell::new(0),
            depth: depth_over(std::iter::once(&iterable))?,
            iterable,
            length: Cell::new(None),
            parent,
        });
        loops.borrow_mut().push(Rc::clone(&state));
        let flow = self.iterations(each, &iter, &state, scope);
        loops.borrow_mut().pop();
        flow
    }

    fn iterations(
        &self,
        each: &For,
        iter: &super::iterate::Iter,
        state: &LoopState,
        scope: &Rc<Scope>,
    ) -> Result<Flow> {
        while let Some(value) = self.next(iter)? {
            self.assign(&each.target, value, scope)?;
            match self.nodes(&each.body, scope)? {
                Flow::Next | Flow::Continue => {}
                Flow::Break => return Ok(Flow::Next),
                Flow::Return(value) => return Ok(Flow::Return(value)),
            }
            state.index.set(state.index.get() + 1);
        }
        self.nodes(&each.otherwise, scope)
    }
}
