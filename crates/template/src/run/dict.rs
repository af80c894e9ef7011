//! Dicts and sets, in insertion order.

use std::cell::{Cell, RefCell};
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use indexmap::{IndexMap, IndexSet};

use super::meter::Reservation;
use super::value::{Str, Value};
use crate::error::{Problem, Result};

/// The estimated memory of a dict item.
pub(crate) const PAIR_BYTES: usize = 192;
/// The most values of a tuple that is a key.
const MAX_KEY_PARTS: usize = 1000;

/// A hashable value. Equal numbers are equal keys regardless of their types, as in Python.
#[derive(Clone)]
pub(crate) enum Key {
    None,
    Int(i128),
    Float(u64),
    Str(Str),
    Tuple(Rc<[Key]>),
}

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        match (self, other) {
            (Key::None, Key::None) => true,
            (Key::Int(a), Key::Int(b)) => a == b,
            (Key::Float(a), Key::Float(b)) => a == b,
            (Key::Str(a), Key::Str(b)) => **a == **b,
            (Key::Tuple(a), Key::Tuple(b)) => a == b,
            (Key::None | Key::Int(_) | Key::Float(_) | Key::Str(_) | Key::Tuple(_), _) => false,
        }
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Key::None => 0u8.hash(state),
            Key::Int(value) => value.hash(state),
            Key::Float(bits) => bits.hash(state),
            Key::Str(text) => (**text).hash(state),
            Key::Tuple(parts) => parts.hash(state),
        }
    }
}

impl Key {
    pub(crate) fn of(value: &Value) -> Result<Key> {
        let mut parts = 0;
        Key::counted(value, &mut parts)
    }

    fn counted(value: &Value, parts: &mut usize) -> Result<Key> {
        *parts += 1;
        if *parts > MAX_KEY_PARTS {
            return Err(Problem::failed("this tuple is too large for a key"));
        }
        Ok(match value {
            Value::None => Key::None,
            Value::Bool(value) => Key::Int(i128::from(*value)),
            Value::Int(value) => Key::Int(*value),
            Value::Float(value) => Key::of_float(*value)?,
            Value::Str(text) => Key::Str(text.clone()),
            Value::Tuple(tuple) => {
                let keys: Result<Vec<Key>> = tuple
                    .items
                    .iter()
                    .map(|item| Key::counted(item, parts))
                    .collect();
                Key::Tuple(keys?.into())
            }
            other => return Err(other.problem("cannot be a key")),
        })
    }

    fn of_float(value: f64) -> Result<Key> {
        if value.is_nan() {
            return Err(Problem::failed("nan cannot be a key"));
        }
        if value.fract() == 0.0 && value.abs() < 1e38 {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "whole, and smaller than i128 can hold"
            )]
            return Ok(Key::Int(value as i128));
        }
        Ok(Key::Float(value.to_bits()))
    }
}

pub(crate) struct Dict {
    /// By key: the original key object, and the value.
    pub(crate) pairs: RefCell<IndexMap<Key, (Value, Value)>>,
    pub(crate) reserved: Reservation,
    pub(crate) depth: Cell<u16>,
    pub(crate) is_tracked: Cell<bool>,
    /// Whether fields are also attributes.
    pub(crate) object: bool,
}

impl Dict {
    pub(crate) fn get(&self, key: &Key) -> Option<Value> {
        self.pairs.borrow().get(key).map(|(_, value)| value.clone())
    }

    pub(crate) fn field(&self, name: &str) -> Option<Value> {
        self.get(&Key::Str(Str::Literal(name.into())))
    }

    pub(crate) fn len(&self) -> usize {
        self.pairs.borrow().len()
    }

    pub(crate) fn pair_at(&self, index: usize) -> Option<(Value, Value)> {
        let pairs = self.pairs.borrow();
        pairs.get_index(index).map(|(_, pair)| pair.clone())
    }
}

/// A set. Templates cannot observe its order, because in Python it differs between runs.
pub(crate) struct Set {
    pub(crate) items: RefCell<IndexMap<Key, Value>>,
    pub(crate) reserved: Reservation,
}

impl Set {
    pub(crate) fn len(&self) -> usize {
        self.items.borrow().len()
    }

    pub(crate) fn keys(&self) -> IndexSet<Key> {
        self.items.borrow().keys().cloned().collect()
    }

    pub(crate) fn values(&self) -> Vec<Value> {
        self.items.borrow().values().cloned().collect()
    }
}
