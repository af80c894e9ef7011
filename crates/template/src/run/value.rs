//! The values of a running template.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use super::builtin::Builtin;
use super::dict::{Dict, Set};
use super::iterate::Iter;
use super::meter::Held;
use super::scope::{LoopState, Scope};
use crate::error::{ErrorKind, Problem};
use crate::mako::Def;
use crate::python::ast::{Function, Name};

/// How deeply values may be nested: showing, comparing and dropping them is recursive.
pub(crate) const MAX_DEPTH: u16 = 100;
/// What an element of a list is taken to use.
pub(crate) const SLOT_BYTES: usize = 48;
/// What any value in its own allocation is taken to use.
pub(crate) const VALUE_BYTES: usize = 96;

#[derive(Clone)]
pub(crate) enum Value {
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Str(Str),
    List(Rc<List>),
    Tuple(Rc<Tuple>),
    Dict(Rc<Dict>),
    Set(Rc<Set>),
    Range(Rc<Range>),
    View(Rc<Dict>, View),
    Iter(Rc<Iter>),
    Function(Rc<Closure>),
    Def(Arc<Def>),
    Builtin(Builtin),
    Type(Type),
    Method(Rc<Bound>),
    TypeMethod(Type, &'static str),
    Loop(Rc<LoopState>),
    Context,
}

/// A string: from the template's text, or made by it.
#[derive(Clone)]
pub(crate) enum Str {
    Fixed(Arc<str>),
    Made(Rc<Made>),
}

pub(crate) struct Made {
    pub(crate) text: Box<str>,
    #[expect(dead_code, reason = "gives its bytes back when it is dropped")]
    pub(crate) held: Held,
}

impl std::ops::Deref for Str {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Str::Fixed(text) => text,
            Str::Made(made) => &made.text,
        }
    }
}

pub(crate) struct List {
    pub(crate) items: RefCell<Vec<Value>>,
    pub(crate) held: Held,
    pub(crate) depth: Cell<u16>,
    /// Whether the machine holds it until the end, because it may be part of a ring.
    pub(crate) kept: Cell<bool>,
}

pub(crate) struct Tuple {
    pub(crate) items: Vec<Value>,
    #[expect(dead_code, reason = "gives its bytes back when it is dropped")]
    pub(crate) held: Held,
    pub(crate) depth: u16,
}

#[derive(Clone, Copy)]
pub(crate) struct Range {
    pub(crate) start: i128,
    pub(crate) stop: i128,
    pub(crate) step: i128,
}

impl Range {
    pub(crate) fn len(self) -> i128 {
        let (low, high, step) = if self.step > 0 {
            (self.start, self.stop, self.step)
        } else {
            (self.stop, self.start, -self.step)
        };
        if low >= high {
            return 0;
        }
        (high - low - 1) / step + 1
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum View {
    Keys,
    Values,
    Items,
}

/// A function of the template, with what it remembers.
pub(crate) struct Closure {
    pub(crate) function: Arc<Function>,
    pub(crate) defaults: Vec<Option<Value>>,
    pub(crate) scope: Rc<Scope>,
    pub(crate) depth: u16,
    #[expect(dead_code, reason = "gives its bytes back when it is dropped")]
    pub(crate) held: Held,
}

/// A method with its owner, as `names.append` is.
pub(crate) struct Bound {
    pub(crate) owner: Value,
    pub(crate) name: &'static str,
    #[expect(dead_code, reason = "gives its bytes back when it is dropped")]
    pub(crate) held: Held,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Type {
    Str,
    Int,
    Float,
    Bool,
    List,
    Tuple,
    Dict,
    Set,
    Range,
}

impl Type {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Type::Str => "str",
            Type::Int => "int",
            Type::Float => "float",
            Type::Bool => "bool",
            Type::List => "list",
            Type::Tuple => "tuple",
            Type::Dict => "dict",
            Type::Set => "set",
            Type::Range => "range",
        }
    }
}

impl Value {
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Value::None => "None",
            Value::Context => "context",
            Value::View(_, View::Keys) => "dict_keys",
            Value::View(_, View::Values) => "dict_values",
            Value::View(_, View::Items) => "dict_items",
            Value::Iter(_) => "iterator",
            Value::Function(_) | Value::Def(_) | Value::Builtin(_) => "function",
            Value::Method(_) | Value::TypeMethod(..) => "method",
            Value::Type(_) => "type",
            Value::Loop(_) => "loop",
            other => other.type_of().map_or("value", Type::name),
        }
    }

    /// The type, for values whose type templates can name.
    pub(crate) fn type_of(&self) -> Option<Type> {
        match self {
            Value::Bool(_) => Some(Type::Bool),
            Value::Int(_) => Some(Type::Int),
            Value::Float(_) => Some(Type::Float),
            Value::Str(_) => Some(Type::Str),
            Value::List(_) => Some(Type::List),
            Value::Tuple(_) => Some(Type::Tuple),
            Value::Dict(_) => Some(Type::Dict),
            Value::Set(_) => Some(Type::Set),
            Value::Range(_) => Some(Type::Range),
            Value::None
            | Value::View(..)
            | Value::Iter(_)
            | Value::Function(_)
            | Value::Def(_)
            | Value::Builtin(_)
            | Value::Type(_)
            | Value::Method(_)
            | Value::TypeMethod(..)
            | Value::Loop(_)
            | Value::Context => None,
        }
    }

    /// How deeply nested it was when it was made.
    pub(crate) fn depth(&self) -> u16 {
        match self {
            Value::List(list) => list.depth.get(),
            Value::Tuple(tuple) => tuple.depth,
            Value::Dict(dict) | Value::View(dict, _) => dict.depth.get(),
            Value::Iter(iter) => iter.depth,
            Value::Function(closure) => closure.depth,
            Value::Method(bound) => bound.owner.depth().saturating_add(1),
            Value::Loop(state) => state.depth,
            Value::None
            | Value::Bool(_)
            | Value::Int(_)
            | Value::Float(_)
            | Value::Str(_)
            | Value::Set(_)
            | Value::Range(_)
            | Value::Def(_)
            | Value::Builtin(_)
            | Value::Type(_)
            | Value::TypeMethod(..)
            | Value::Context => 0,
        }
    }

    /// Whether it holds other values.
    pub(crate) fn holds_others(&self) -> bool {
        self.depth() > 0
    }

    pub(crate) fn fixed(text: &str) -> Value {
        Value::Str(Str::Fixed(Name::from(text)))
    }
}

/// The depth of something that holds these values.
pub(crate) fn depth_over<'a>(values: impl Iterator<Item = &'a Value>) -> Result<u16, Problem> {
    let depth = values.map(Value::depth).max().unwrap_or(0) + 1;
    if depth > MAX_DEPTH {
        return Err(too_deep());
    }
    Ok(depth)
}

pub(crate) fn too_deep() -> Problem {
    Problem::new(
        ErrorKind::TooDeep,
        format!("values are nested more than {MAX_DEPTH} levels deep"),
    )
}
