//! Where names have their values.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use super::value::Value;
use crate::mako::Def;
use crate::python::ast::{Function, Name};

/// The names of one call, of one comprehension, or of the body of the template.
pub(crate) struct Scope {
    pub(crate) names: RefCell<HashMap<Name, Value>>,
    pub(crate) owner: Owner,
    pub(crate) parent: Option<Rc<Scope>>,
    pub(crate) frame: Rc<Frame>,
    /// Whether the machine holds it until the end, because a function remembers it.
    pub(crate) kept: Cell<bool>,
}

/// Who decides which names belong to a scope.
pub(crate) enum Owner {
    Page,
    Def(Arc<Def>),
    Function(Arc<Function>),
    Comprehension,
}

/// What a scope has in common with those of functions inside of it.
pub(crate) struct Frame {
    /// The `% for` loops that are running, the innermost last.
    pub(crate) loops: RefCell<Vec<Rc<LoopState>>>,
    /// Defs see what the body's blocks gave values to.
    pub(crate) inside_def: bool,
}

/// What `loop` is inside of `% for`.
pub(crate) struct LoopState {
    pub(crate) index: Cell<i128>,
    /// What the loop goes through, whose length is asked for when it is needed.
    pub(crate) iterable: Value,
    pub(crate) length: Cell<Option<i128>>,
    pub(crate) depth: u16,
    pub(crate) parent: Option<Rc<LoopState>>,
}

impl Scope {
    pub(crate) fn new(owner: Owner, parent: Option<Rc<Scope>>, frame: Rc<Frame>) -> Rc<Scope> {
        Rc::new(Scope {
            names: RefCell::new(HashMap::new()),
            owner,
            parent,
            frame,
            kept: Cell::new(false),
        })
    }

    pub(crate) fn inside(self: &Rc<Scope>) -> Rc<Scope> {
        let frame = Rc::clone(&self.frame);
        Scope::new(Owner::Comprehension, Some(Rc::clone(self)), frame)
    }

    pub(crate) fn set(&self, name: &Name, value: Value) {
        let before = self.names.borrow_mut().insert(Name::clone(name), value);
        // The old value goes after the borrow: it may hold a function that holds this scope.
        drop(before);
    }
}

impl Frame {
    pub(crate) fn new(inside_def: bool) -> Rc<Frame> {
        Rc::new(Frame {
            loops: RefCell::new(Vec::new()),
            inside_def,
        })
    }
}
