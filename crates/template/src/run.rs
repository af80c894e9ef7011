//! Interprets the tree of a template. The meter counts all work and all memory.
//!
//! `Interpreter` has one `impl` block per file: statements, expressions, operators, methods, formats.

mod allocate;
mod assign;
mod attribute;
mod builtin;
mod builtin_call;
mod call;
mod compare;
mod construct;
mod container;
mod dict;
mod dict_method;
mod evaluate;
mod execute;
mod filter;
mod format_spec;
mod index;
mod iterate;
mod list_method;
mod meter;
mod method;
mod nodes;
mod number;
mod operators;
mod percent_format;
mod repr;
mod scope;
mod sort;
mod split;
mod str_format;
mod str_method;
mod str_test;
mod value;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use meter::{Meter, Reservation};
use scope::{Frame, Owner, Scope};
use value::Value;

use crate::context::Context;
use crate::error::{ErrorKind, Problem, Result};
use crate::limits::Limits;
use crate::mako::ParsedTemplate;
use crate::python::ast::Name;

/// Enough stack for `MAX_EVALUATION_DEPTH`, also in a build without optimisation. The kernel backs only the used part with memory.
const STACK_BYTES: usize = 64 << 20;
/// The deepest nesting of expressions, statements and calls together.
const MAX_EVALUATION_DEPTH: u32 = 1500;

/// The estimated memory of a scope.
const SCOPE_BYTES: usize = 512;

pub(crate) fn run(page: &ParsedTemplate, context: &Context, limits: &Limits) -> Result<String> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name("template".into())
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, || Interpreter::new(page, context, limits).run());
        let result = thread.map(|thread| thread.join());
        match result {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(Problem::failed("rendering ended unexpectedly")),
            Err(error) => Err(failed!("rendering could not begin: {error}")),
        }
    })
}

pub(crate) struct Interpreter<'a> {
    page: &'a ParsedTemplate,
    context: &'a Context,
    limits: &'a Limits,
    meter: Rc<Meter>,
    /// Context variables that were read. Each is converted once, so that changes to it persist.
    variables: RefCell<HashMap<Name, Value>>,
    /// Names that blocks of the body assigned, for the defs.
    exported: RefCell<HashMap<Name, Value>>,
    /// The rendered text, followed by the texts of active `capture` calls.
    outputs: RefCell<Vec<String>>,
    /// Objects that may be part of a reference cycle; emptied at the end.
    possible_cycles: RefCell<Vec<PossibleCycle>>,
    depth: Cell<u32>,
    calls: Cell<u32>,
}

enum PossibleCycle {
    List(Rc<value::List>),
    Dict(Rc<dict::Dict>),
    Scope(
        Rc<Scope>,
        #[expect(dead_code, reason = "releases its memory when dropped")] Reservation,
    ),
}

impl<'a> Interpreter<'a> {
    fn new(page: &'a ParsedTemplate, context: &'a Context, limits: &'a Limits) -> Interpreter<'a> {
        Interpreter {
            page,
            context,
            limits,
            meter: Rc::new(Meter::new(limits)),
            variables: RefCell::default(),
            exported: RefCell::default(),
            outputs: RefCell::new(vec![String::new()]),
            possible_cycles: RefCell::default(),
            depth: Cell::new(0),
            calls: Cell::new(0),
        }
    }

    fn run(self) -> Result<String> {
        let scope = Scope::new(Owner::Body, None, Frame::new(false));
        let result = self.nodes(&self.page.body, &scope);
        let flow = result.map(|_| ());
        drop(scope.names.take());
        self.break_cycles();
        flow.map(|()| self.outputs.borrow_mut().pop().unwrap_or_default())
    }

    /// Empties objects that may be part of a reference cycle, which would leak otherwise.
    fn break_cycles(&self) {
        drop(self.exported.take());
        drop(self.variables.take());
        let cycles = std::mem::take(&mut *self.possible_cycles.borrow_mut());
        for object in &cycles {
            match object {
                PossibleCycle::List(list) => drop(list.items.take()),
                PossibleCycle::Dict(dict) => drop(dict.pairs.take()),
                PossibleCycle::Scope(scope, _) => drop(scope.names.take()),
            }
        }
    }

    /// Tracks the scope of a closure and its parents as possible cycles.
    fn track_scope(&self, scope: &Rc<Scope>) -> Result<()> {
        let mut scope = Some(Rc::clone(scope));
        while let Some(each) = scope {
            if each.is_tracked.replace(true) {
                break;
            }
            scope = each.parent.clone();
            let reserved = Reservation::new(&self.meter, SCOPE_BYTES)?;
            self.possible_cycles
                .borrow_mut()
                .push(PossibleCycle::Scope(each, reserved));
        }
        Ok(())
    }

    /// Runs `work` one level deeper, up to `MAX_EVALUATION_DEPTH`.
    fn deeper<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let depth = self.depth.get();
        if depth >= MAX_EVALUATION_DEPTH {
            return Err(Problem::new(
                ErrorKind::TooDeep,
                "calls and expressions are nested too deeply",
            ));
        }
        self.depth.set(depth + 1);
        let result = work();
        self.depth.set(depth);
        result
    }

    fn write(&self, text: &str) -> Result<()> {
        self.meter.step_bytes(text.len())?;
        let mut outputs = self.outputs.borrow_mut();
        let total: usize = outputs.iter().map(String::len).sum();
        if total + text.len() > self.limits.output_bytes {
            return Err(Problem::new(
                ErrorKind::TooLarge,
                format!(
                    "the rendered text is larger than {} bytes",
                    self.limits.output_bytes
                ),
            ));
        }
        if let Some(output) = outputs.last_mut() {
            output.push_str(text);
        }
        Ok(())
    }
}
