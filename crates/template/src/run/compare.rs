//! Equality, order, membership, truth.

use std::cmp::Ordering;
use std::rc::Rc;

use super::Interpreter;
use super::dict::Key;
use super::value::{MAX_DEPTH, Value, too_deep};
use crate::error::{Problem, Result};
use crate::python::ast::CompareOp;

impl Interpreter<'_> {
    pub(crate) fn truth(&self, value: &Value) -> bool {
        match value {
            Value::None => false,
            Value::Bool(value) => *value,
            Value::Int(value) => *value != 0,
            Value::Float(value) => *value != 0.0,
            Value::Str(text) => !text.is_empty(),
            other => self.length(other) != Some(0),
        }
    }

    pub(crate) fn compare(&self, op: CompareOp, left: &Value, right: &Value) -> Result<bool> {
        match op {
            CompareOp::Equal => self.equal(left, right),
            CompareOp::NotEqual => Ok(!self.equal(left, right)?),
            CompareOp::Less => self.in_order(left, right, "<", Ordering::is_lt),
            CompareOp::LessOrEqual => self.in_order(left, right, "<=", Ordering::is_le),
            CompareOp::Greater => self.in_order(left, right, ">", Ordering::is_gt),
            CompareOp::GreaterOrEqual => self.in_order(left, right, ">=", Ordering::is_ge),
            CompareOp::In => self.contains(right, left),
            CompareOp::NotIn => Ok(!self.contains(right, left)?),
            CompareOp::Is => is_same(left, right),
            CompareOp::IsNot => Ok(!is_same(left, right)?),
        }
    }

    pub(crate) fn equal(&self, left: &Value, right: &Value) -> Result<bool> {
        self.equal_at(left, right, 0)
    }

    fn equal_at(&self, left: &Value, right: &Value, depth: u16) -> Result<bool> {
        self.meter.step(1)?;
        if depth > MAX_DEPTH {
            return Err(too_deep());
        }
        if let Some(order) = number_order(left, right) {
            return Ok(order == Some(Ordering::Equal));
        }
        Ok(match (left, right) {
            (Value::None, Value::None) | (Value::Context, Value::Context) => true,
            (Value::Str(a), Value::Str(b)) => {
                self.meter.step_bytes(a.len().min(b.len()))?;
                **a == **b
            }
            (Value::List(a), Value::List(b)) => {
                if Rc::ptr_eq(a, b) {
                    return Ok(true);
                }
                let (a, b) = (a.items.borrow(), b.items.borrow());
                self.all_equal(&a, &b, depth)?
            }
            (Value::Tuple(a), Value::Tuple(b)) => {
                Rc::ptr_eq(a, b) || self.all_equal(&a.items, &b.items, depth)?
            }
            (Value::Dict(a), Value::Dict(b)) => {
                if Rc::ptr_eq(a, b) {
                    return Ok(true);
                }
                if a.len() != b.len() {
                    return Ok(false);
                }
                for (key, (_, value)) in a.pairs.borrow().iter() {
                    let same = match b.get(key) {
                        Some(other) => self.equal_at(value, &other, depth + 1)?,
                        None => false,
                    };
                    if !same {
                        return Ok(false);
                    }
                }
                true
            }
            (Value::Set(a), Value::Set(b)) => a.keys() == b.keys(),
            (Value::Range(a), Value::Range(b)) => {
                let length = a.len();
                length == b.len()
                    && (length == 0 || (a.start == b.start && (length == 1 || a.step == b.step)))
            }
            (Value::Type(a), Value::Type(b)) => a == b,
            (Value::Function(a), Value::Function(b)) => Rc::ptr_eq(a, b),
            (Value::Iter(a), Value::Iter(b)) => Rc::ptr_eq(a, b),
            (Value::Builtin(a), Value::Builtin(b)) => a == b,
            (Value::View(..), Value::View(..)) | (Value::Method(_), Value::Method(_)) => {
                return Err(Problem::failed(
                    "these cannot be compared in templates: make lists of them",
                ));
            }
            _ => false,
        })
    }

    fn all_equal(&self, left: &[Value], right: &[Value], depth: u16) -> Result<bool> {
        if left.len() != right.len() {
            return Ok(false);
        }
        for (a, b) in left.iter().zip(right) {
            if !self.equal_at(a, b, depth + 1)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn in_order(
        &self,
        left: &Value,
        right: &Value,
        sign: &str,
        wanted: fn(Ordering) -> bool,
    ) -> Result<bool> {
        if let (Value::Set(a), Value::Set(b)) = (left, right) {
            let (a, b) = (a.keys(), b.keys());
            return Ok(match sign {
                "<" => a.len() < b.len() && a.is_subset(&b),
                "<=" => a.is_subset(&b),
                ">" => b.len() < a.len() && b.is_subset(&a),
                _ => b.is_subset(&a),
            });
        }
        Ok(self.order(left, right, sign, 0)?.is_some_and(wanted))
    }

    /// The order of two values; None if they have none, as numbers and nan.
    pub(crate) fn order(
        &self,
        left: &Value,
        right: &Value,
        sign: &str,
        depth: u16,
    ) -> Result<Option<Ordering>> {
        self.meter.step(1)?;
        if depth > MAX_DEPTH {
            return Err(too_deep());
        }
        if let Some(order) = number_order(left, right) {
            return Ok(order);
        }
        match (left, right) {
            (Value::Str(a), Value::Str(b)) => {
                self.meter.step_bytes(a.len().min(b.len()))?;
                Ok(Some((**a).cmp(&**b)))
            }
            (Value::List(a), Value::List(b)) => {
                self.order_all(&a.items.borrow(), &b.items.borrow(), sign, depth)
            }
            (Value::Tuple(a), Value::Tuple(b)) => self.order_all(&a.items, &b.items, sign, depth),
            _ => Err(failed!(
                "\"{sign}\" does not work between {} and {}",
                left.type_name(),
                right.type_name()
            )),
        }
    }

    fn order_all(
        &self,
        left: &[Value],
        right: &[Value],
        sign: &str,
        depth: u16,
    ) -> Result<Option<Ordering>> {
        for (a, b) in left.iter().zip(right) {
            if !self.equal_at(a, b, depth + 1)? {
                return self.order(a, b, sign, depth + 1);
            }
        }
        Ok(Some(left.len().cmp(&right.len())))
    }

    pub(crate) fn contains(&self, container: &Value, wanted: &Value) -> Result<bool> {
        match container {
            Value::Str(text) => {
                let Value::Str(part) = wanted else {
                    return Err(wanted.mismatch("only a string can be in a string"));
                };
                self.meter.step_bytes(text.len())?;
                Ok(text.contains(&**part))
            }
            Value::Dict(dict) => Ok(dict.get(&Key::of(wanted)?).is_some()),
            Value::Set(set) => Ok(set.items.borrow().contains_key(&Key::of(wanted)?)),
            other => {
                let iter = self.iter(other)?;
                while let Some(value) = self.next(&iter)? {
                    if self.equal(&value, wanted)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
        }
    }
}

/// `is`, for values whose identity is the same in every Python: None, bools, containers, types.
fn is_same(left: &Value, right: &Value) -> Result<bool> {
    Ok(match (left, right) {
        (Value::None, Value::None) => true,
        (Value::None, _) | (_, Value::None) => false,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Bool(_), _) | (_, Value::Bool(_)) => false,
        (Value::List(a), Value::List(b)) => Rc::ptr_eq(a, b),
        (Value::Dict(a), Value::Dict(b)) => Rc::ptr_eq(a, b),
        (Value::Set(a), Value::Set(b)) => Rc::ptr_eq(a, b),
        (Value::Type(a), Value::Type(b)) => a == b,
        _ => {
            return Err(Problem::failed(
                "\"is\" works with None, True and False: write \"==\" to compare values",
            ));
        }
    })
}

/// The order of two numbers; None if one of them is no number, `Some(None)` if one is NaN.
fn number_order(left: &Value, right: &Value) -> Option<Option<Ordering>> {
    Some(match (number(left)?, number(right)?) {
        (Number::Int(a), Number::Int(b)) => Some(a.cmp(&b)),
        (Number::Float(a), Number::Float(b)) => a.partial_cmp(&b),
        (Number::Int(a), Number::Float(b)) => int_to_float(a, b),
        (Number::Float(a), Number::Int(b)) => int_to_float(b, a).map(Ordering::reverse),
    })
}

enum Number {
    Int(i128),
    Float(f64),
}

fn number(value: &Value) -> Option<Number> {
    match value {
        Value::Bool(value) => Some(Number::Int(i128::from(*value))),
        Value::Int(value) => Some(Number::Int(*value)),
        Value::Float(value) => Some(Number::Float(*value)),
        _ => None,
    }
}

/// Compares without rounding the int.
fn int_to_float(int: i128, float: f64) -> Option<Ordering> {
    if float.is_nan() {
        return None;
    }
    if float.abs() >= 1e38 {
        return Some(if float > 0.0 {
            Ordering::Less
        } else {
            Ordering::Greater
        });
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "floored, and smaller than i128 can hold"
    )]
    let whole = float.floor() as i128;
    Some(int.cmp(&whole).then(if float.fract() == 0.0 {
        Ordering::Equal
    } else {
        Ordering::Less
    }))
}
