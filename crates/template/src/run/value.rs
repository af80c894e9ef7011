//! The values of the interpreter.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use super::builtin::Builtin;
use super::dict::{Dict, Set};
use super::iterate::Iter;
use super::meter::Reservation;
use super::method::Method;
use super::scope::{LoopState, Scope};
use crate::error::{ErrorKind, Problem, Result};
use crate::mako::Def;
use crate::python::ast::{Function, Name};

/// The deepest nesting of values, because displaying, comparing and dropping them is recursive.
pub(crate) const MAX_DEPTH: u16 = 100;
/// The estimated memory of a list item.
pub(crate) const SLOT_BYTES: usize = 48;
/// The estimated memory of an allocated value.
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
    Method(Rc<BoundMethod>),
    TypeMethod(Type, Method),
    Loop(Rc<LoopState>),
    Context,
}

/// A string: a literal of the template, or computed.
#[derive(Clone)]
pub(crate) enum Str {
    Literal(Arc<str>),
    Computed(Rc<ComputedText>),
}

pub(crate) struct ComputedText {
    pub(crate) text: Box<str>,
    #[expect(dead_code, reason = "releases its memory when dropped")]
    pub(crate) reserved: Reservation,
}

impl std::ops::Deref for Str {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Str::Literal(text) => text,
            Str::Computed(made) => &made.text,
        }
    }
}

pub(crate) struct List {
    pub(crate) items: RefCell<Vec<Value>>,
    pub(crate) reserved: Reservation,
    pub(crate) depth: Cell<u16>,
    /// Whether it is tracked as a possible cycle.
    pub(crate) is_tracked: Cell<bool>,
}

pub(crate) struct Tuple {
    pub(crate) items: Vec<Value>,
    #[expect(dead_code, reason = "releases its memory when dropped")]
    pub(crate) reserved: Reservation,
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

/// A function of the template, with its defaults and scope.
pub(crate) struct Closure {
    pub(crate) function: Arc<Function>,
    pub(crate) defaults: Vec<Option<Value>>,
    pub(crate) scope: Rc<Scope>,
    pub(crate) depth: u16,
    #[expect(dead_code, reason = "releases its memory when dropped")]
    pub(crate) reserved: Reservation,
}

/// A method with its owner, such as `names.append`.
pub(crate) struct BoundMethod {
    pub(crate) owner: Value,
    pub(crate) method: Method,
    #[expect(dead_code, reason = "releases its memory when dropped")]
    pub(crate) reserved: Reservation,
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
    pub(crate) const ALL: [Type; 9] = [
        Type::Str,
        Type::Int,
        Type::Float,
        Type::Bool,
        Type::List,
        Type::Tuple,
        Type::Dict,
        Type::Set,
        Type::Range,
    ];

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

    /// The type, if templates can name it.
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
            _ => None,
        }
    }

    /// The nesting depth.
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

    /// Whether it contains other values.
    pub(crate) fn is_container(&self) -> bool {
        self.depth() > 0
    }

    /// The problem that this value cannot be used as `what` says.
    pub(crate) fn problem(&self, what: impl fmt::Display) -> Problem {
        failed!("a value of type {} {what}", self.type_name())
    }

    /// The problem that another type is `wanted`.
    pub(crate) fn mismatch(&self, wanted: impl fmt::Display) -> Problem {
        failed!("{wanted}, not a value of type {}", self.type_name())
    }

    pub(crate) fn literal(text: &str) -> Value {
        Value::Str(Str::Literal(Name::from(text)))
    }
}

/// The depth of a container of these values.
pub(crate) fn depth_over<'a>(values: impl Iterator<Item = &'a Value>) -> Result<u16> {
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
