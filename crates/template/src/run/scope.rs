//! Scopes: the values of names.

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
    /// Whether it is tracked as a possible cycle, because a closure refers to it.
    pub(crate) is_tracked: Cell<bool>,
}

/// The construct that decides which names are local to a scope.
pub(crate) enum Owner {
    Body,
    Def(Arc<Def>),
    Function(Arc<Function>),
    Comprehension,
}

/// State that a scope shares with the scopes of functions defined in it.
pub(crate) struct Frame {
    /// The running `% for` loops, the innermost last.
    pub(crate) loops: RefCell<Vec<Rc<LoopState>>>,
    /// Defs see names that blocks of the body assigned.
    pub(crate) inside_def: bool,
}

/// The value of `loop` inside `% for`.
pub(crate) struct LoopState {
    pub(crate) index: Cell<i128>,
    /// The iterable of the loop; its length is computed on demand.
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
            is_tracked: Cell::new(false),
        })
    }

    pub(crate) fn inside(self: &Rc<Scope>) -> Rc<Scope> {
        let frame = Rc::clone(&self.frame);
        Scope::new(Owner::Comprehension, Some(Rc::clone(self)), frame)
    }

    pub(crate) fn set(&self, name: &Name, value: Value) {
        let old = self.names.borrow_mut().insert(Name::clone(name), value);
        // Drops the old value after the borrow ends: it may contain a closure over this scope.
        drop(old);
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
