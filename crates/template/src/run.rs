//! Runs a template's tree. Everything that is made or repeated goes through the meter.

mod assign;
mod attribute;
mod brace;
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
mod index;
mod iterate;
mod list_method;
mod make;
mod meter;
mod number;
mod operate;
mod page;
mod percent;
mod scope;
mod show;
mod sort;
mod spec;
mod split;
mod str_method;
mod str_test;
mod value;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use meter::{Held, Meter};
use scope::{Frame, Owner, Scope};
use value::Value;

use crate::context::Context;
use crate::error::{ErrorKind, Problem};
use crate::limits::Limits;
use crate::mako::Page;
use crate::python::ast::Name;

/// Enough for everything that `MAX_EVALUATION_DEPTH` allows, in a build without optimisation too. Only what is used of it is backed by memory.
const STACK_BYTES: usize = 64 << 20;
/// How deeply expressions, statements and calls may be nested altogether.
const MAX_EVALUATION_DEPTH: u32 = 1500;

/// What a scope is taken to use.
const SCOPE_BYTES: usize = 512;

pub(crate) fn run(page: &Page, context: &Context, limits: &Limits) -> Result<String, Problem> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name("template".into())
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, || Machine::new(page, context, limits).run());
        let result = thread.map(|thread| thread.join());
        match result {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(Problem::failed("rendering ended unexpectedly")),
            Err(error) => Err(Problem::failed(format!(
                "rendering could not begin: {error}"
            ))),
        }
    })
}

pub(crate) struct Machine<'a> {
    page: &'a Page,
    context: &'a Context,
    limits: &'a Limits,
    meter: Rc<Meter>,
    /// Variables of the context that were read: each is made once, so that changes to it stay.
    given: RefCell<HashMap<Name, Value>>,
    /// What blocks of the body gave values to, for the defs.
    exported: RefCell<HashMap<Name, Value>>,
    /// The text so far, and those of defs that are being captured.
    outputs: RefCell<Vec<String>>,
    /// What may be part of a ring, to be taken apart at the end.
    kept: RefCell<Vec<Kept>>,
    depth: Cell<u32>,
    calls: Cell<u32>,
}

enum Kept {
    List(Rc<value::List>),
    Dict(Rc<dict::Dict>),
    Scope(
        Rc<Scope>,
        #[expect(dead_code, reason = "gives its bytes back when it is dropped")] Held,
    ),
}

impl<'a> Machine<'a> {
    fn new(page: &'a Page, context: &'a Context, limits: &'a Limits) -> Machine<'a> {
        Machine {
            page,
            context,
            limits,
            meter: Rc::new(Meter::new(limits)),
            given: RefCell::default(),
            exported: RefCell::default(),
            outputs: RefCell::new(vec![String::new()]),
            kept: RefCell::default(),
            depth: Cell::new(0),
            calls: Cell::new(0),
        }
    }

    fn run(self) -> Result<String, Problem> {
        let scope = Scope::new(Owner::Page, None, Frame::new(false));
        let result = self.nodes(&self.page.body, &scope);
        let flow = result.map(|_| ());
        drop(scope.names.take());
        self.take_apart();
        flow.map(|()| self.outputs.borrow_mut().pop().unwrap_or_default())
    }

    /// Empties what may be part of a ring, which would never be freed otherwise.
    fn take_apart(&self) {
        drop(self.exported.take());
        drop(self.given.take());
        let kept = std::mem::take(&mut *self.kept.borrow_mut());
        for kept in &kept {
            match kept {
                Kept::List(list) => drop(list.items.take()),
                Kept::Dict(dict) => drop(dict.pairs.take()),
                Kept::Scope(scope, _) => drop(scope.names.take()),
            }
        }
    }

    /// Holds a scope that a function remembers until the end.
    fn keep_scope(&self, scope: &Rc<Scope>) -> Result<(), Problem> {
        let mut scope = Some(Rc::clone(scope));
        while let Some(each) = scope {
            if each.kept.replace(true) {
                break;
            }
            scope = each.parent.clone();
            let held = Held::new(&self.meter, SCOPE_BYTES)?;
            self.kept.borrow_mut().push(Kept::Scope(each, held));
        }
        Ok(())
    }

    /// Runs one level deeper, if there may be one more.
    fn deeper<T>(&self, work: impl FnOnce() -> Result<T, Problem>) -> Result<T, Problem> {
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

    fn write(&self, text: &str) -> Result<(), Problem> {
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
