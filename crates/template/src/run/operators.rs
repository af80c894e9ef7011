//! Arithmetic, bitwise and sequence operators.

use std::rc::Rc;

use super::Interpreter;
use super::number::{int_to_float, too_large};
use super::value::{SLOT_BYTES, Value};
use crate::error::{Problem, Result};
use crate::python::ast::{BinaryOp, UnaryOp};

impl Interpreter<'_> {
    pub(crate) fn unary(&self, op: UnaryOp, value: &Value) -> Result<Value> {
        let int = match value {
            Value::Bool(value) => i128::from(*value),
            Value::Int(value) => *value,
            Value::Float(value) if op == UnaryOp::Minus => return Ok(Value::Float(-value)),
            Value::Float(value) if op == UnaryOp::Plus => return Ok(Value::Float(*value)),
            other => return Err(other.problem("has no sign")),
        };
        let result = match op {
            UnaryOp::Plus => Some(int),
            UnaryOp::Minus => int.checked_neg(),
            UnaryOp::Invert => Some(!int),
        };
        result.map(Value::Int).ok_or_else(too_large)
    }

    pub(crate) fn binary(&self, op: BinaryOp, left: &Value, right: &Value) -> Result<Value> {
        match (left, right) {
            (Value::Bool(a), Value::Bool(b)) => match op {
                BinaryOp::And => return Ok(Value::Bool(*a && *b)),
                BinaryOp::Or => return Ok(Value::Bool(*a || *b)),
                BinaryOp::Xor => return Ok(Value::Bool(a != b)),
                _ => {}
            },
            (Value::Str(format), _) if op == BinaryOp::Modulo => {
                return self.percent_format(format, right);
            }
            (Value::Set(a), Value::Set(b)) => {
                if let Some(made) = self.combine_sets(op, a, b)? {
                    return Ok(made);
                }
            }
            (Value::Dict(a), Value::Dict(b)) if op == BinaryOp::Or => {
                let made = self.copy_dict(a)?;
                self.update_dict(&made, b)?;
                return Ok(Value::Dict(made));
            }
            _ => {}
        }
        if let (Some(a), Some(b)) = (as_int(left), as_int(right)) {
            return int_operation(op, a, b);
        }
        if let (Some(a), Some(b)) = (as_float(left), as_float(right))
            && let Some(result) = float_operation(op, a, b)?
        {
            return Ok(Value::Float(result));
        }
        match op {
            BinaryOp::Add => self.join(left, right),
            BinaryOp::Multiply => self.repeat(left, right),
            _ => Err(no_operator(op, left, right)),
        }
    }

    fn join(&self, left: &Value, right: &Value) -> Result<Value> {
        match (left, right) {
            (Value::Str(a), Value::Str(b)) => {
                let bytes = a.len() + b.len();
                self.meter.step_bytes(bytes)?;
                self.meter.fits(bytes)?;
                let mut text = String::with_capacity(bytes);
                text.push_str(a);
                text.push_str(b);
                self.text(text)
            }
            (Value::List(a), Value::List(b)) => {
                let mut items = a.items.borrow().clone();
                let more = b.items.borrow();
                self.meter.fits((items.len() + more.len()) * SLOT_BYTES)?;
                items.extend(more.iter().cloned());
                drop(more);
                self.list(items)
            }
            (Value::Tuple(a), Value::Tuple(b)) => {
                self.meter
                    .fits((a.items.len() + b.items.len()) * SLOT_BYTES)?;
                self.tuple([a.items.as_slice(), b.items.as_slice()].concat())
            }
            _ => Err(no_operator(BinaryOp::Add, left, right)),
        }
    }

    /// `"-" * 20`, in either order.
    fn repeat(&self, left: &Value, right: &Value) -> Result<Value> {
        let (what, times) = match (as_int(left), as_int(right)) {
            (None, Some(times)) => (left, times),
            (Some(times), None) => (right, times),
            _ => return Err(no_operator(BinaryOp::Multiply, left, right)),
        };
        let times = usize::try_from(times.max(0)).unwrap_or(usize::MAX);
        let room = |bytes: usize| self.meter.fits(bytes.saturating_mul(times));
        match what {
            Value::Str(text) => {
                if text.is_empty() {
                    return Ok(what.clone());
                }
                room(text.len())?;
                self.text(text.repeat(times))
            }
            Value::List(list) => {
                let items = list.items.borrow().clone();
                room(items.len() * SLOT_BYTES)?;
                self.list(repeated(&items, times))
            }
            Value::Tuple(tuple) => {
                room(tuple.items.len() * SLOT_BYTES)?;
                self.tuple(repeated(&tuple.items, times))
            }
            _ => Err(no_operator(BinaryOp::Multiply, left, right)),
        }
    }

    /// `target op= value`: modifies lists and dicts, creates a new value for other types.
    pub(crate) fn augmented(&self, op: BinaryOp, target: &Value, by: &Value) -> Result<Value> {
        match (op, target, by) {
            (BinaryOp::Add, Value::List(list), _) => {
                let more = self.items(by)?;
                self.extend_list(list, more)?;
                Ok(target.clone())
            }
            (BinaryOp::Multiply, Value::List(_), _)
            | (
                BinaryOp::And | BinaryOp::Or | BinaryOp::Xor | BinaryOp::Subtract,
                Value::Set(_),
                _,
            ) => Err(failed!(
                "\"{}=\" on a value of type {} is not available in templates",
                op.sign(),
                target.type_name()
            )),
            (BinaryOp::Or, Value::Dict(dict), Value::Dict(more)) => {
                self.update_dict(dict, more)?;
                Ok(Value::Dict(Rc::clone(dict)))
            }
            _ => self.binary(op, target, by),
        }
    }
}

fn repeated(items: &[Value], times: usize) -> Vec<Value> {
    if items.is_empty() {
        return Vec::new();
    }
    let mut made = Vec::with_capacity(items.len() * times);
    for _ in 0..times {
        made.extend_from_slice(items);
    }
    made
}

fn no_operator(op: BinaryOp, left: &Value, right: &Value) -> Problem {
    failed!(
        "\"{}\" does not work between {} and {}",
        op.sign(),
        left.type_name(),
        right.type_name()
    )
}

pub(crate) fn as_int(value: &Value) -> Option<i128> {
    match value {
        Value::Bool(value) => Some(i128::from(*value)),
        Value::Int(value) => Some(*value),
        _ => None,
    }
}

pub(crate) fn as_float(value: &Value) -> Option<f64> {
    match value {
        Value::Float(value) => Some(*value),
        other => as_int(other).map(int_to_float),
    }
}

fn by_zero() -> Problem {
    Problem::failed("division by zero").coded("division_by_zero")
}

fn int_operation(op: BinaryOp, a: i128, b: i128) -> Result<Value> {
    let result = match op {
        BinaryOp::Or => Some(a | b),
        BinaryOp::Xor => Some(a ^ b),
        BinaryOp::And => Some(a & b),
        BinaryOp::Add => a.checked_add(b),
        BinaryOp::Subtract => a.checked_sub(b),
        BinaryOp::Multiply => a.checked_mul(b),
        BinaryOp::Divide => return divide(a, b),
        BinaryOp::FloorDivide => floor_divide(a, b)?,
        BinaryOp::Modulo => modulo(a, b)?,
        BinaryOp::ShiftLeft => {
            let by = shift(b)?;
            if a == 0 { Some(0) } else { shift_left(a, by) }
        }
        BinaryOp::ShiftRight => Some(a >> shift(b)?.min(127)),
        BinaryOp::Power if b < 0 => {
            return float_operation(op, int_to_float(a), int_to_float(b))?
                .map(Value::Float)
                .ok_or_else(too_large);
        }
        BinaryOp::Power => match u32::try_from(b) {
            Ok(b) => a.checked_pow(b),
            Err(_) => match a {
                0 | 1 => Some(a),
                -1 => Some(if b % 2 == 0 { 1 } else { -1 }),
                _ => None,
            },
        },
    };
    result.map(Value::Int).ok_or_else(too_large)
}

fn shift(by: i128) -> Result<u32> {
    if by < 0 {
        return Err(Problem::failed("a shift by a negative number"));
    }
    Ok(u32::try_from(by).unwrap_or(u32::MAX))
}

fn shift_left(a: i128, by: u32) -> Option<i128> {
    let moved = a.checked_shl(by)?;
    (moved >> by == a).then_some(moved)
}

/// Divides ints. Python rounds once for ints of any size, so larger ones are refused.
fn divide(a: i128, b: i128) -> Result<Value> {
    const EXACT: u128 = 1 << 53;
    if b == 0 {
        return Err(by_zero());
    }
    if a.unsigned_abs() > EXACT || b.unsigned_abs() > EXACT {
        return Err(too_large());
    }
    Ok(Value::Float(int_to_float(a) / int_to_float(b)))
}

fn floor_divide(a: i128, b: i128) -> Result<Option<i128>> {
    if b == 0 {
        return Err(by_zero());
    }
    let Some(quotient) = a.checked_div(b) else {
        return Ok(None);
    };
    let inexact = quotient * b != a;
    Ok(Some(if inexact && (a < 0) != (b < 0) {
        quotient - 1
    } else {
        quotient
    }))
}

fn modulo(a: i128, b: i128) -> Result<Option<i128>> {
    if b == 0 {
        return Err(by_zero());
    }
    let Some(rest) = a.checked_rem(b) else {
        return Ok(Some(0));
    };
    Ok(Some(if rest != 0 && (rest < 0) != (b < 0) {
        rest + b
    } else {
        rest
    }))
}

/// None if floats do not have the operator.
fn float_operation(op: BinaryOp, a: f64, b: f64) -> Result<Option<f64>> {
    Ok(Some(match op {
        BinaryOp::Add => a + b,
        BinaryOp::Subtract => a - b,
        BinaryOp::Multiply => a * b,
        BinaryOp::Divide | BinaryOp::FloorDivide | BinaryOp::Modulo if b == 0.0 => {
            return Err(by_zero());
        }
        BinaryOp::Divide => a / b,
        BinaryOp::FloorDivide => float_divmod(a, b).0,
        BinaryOp::Modulo => float_divmod(a, b).1,
        BinaryOp::Power => power(a, b)?,
        BinaryOp::Or
        | BinaryOp::Xor
        | BinaryOp::And
        | BinaryOp::ShiftLeft
        | BinaryOp::ShiftRight => return Ok(None),
    }))
}

fn power(a: f64, b: f64) -> Result<f64> {
    if a == 0.0 && b < 0.0 {
        return Err(by_zero());
    }
    if a < 0.0 && b.fract() != 0.0 {
        return Err(Problem::failed("a root of a negative number"));
    }
    let result = a.powf(b);
    if result.is_infinite() && a.is_finite() && b.is_finite() {
        return Err(too_large());
    }
    Ok(result)
}

/// Quotient and remainder; the remainder has the sign of the divisor.
pub(crate) fn float_divmod(a: f64, b: f64) -> (f64, f64) {
    let mut rest = a % b;
    let mut quotient = (a - rest) / b;
    if rest == 0.0 {
        rest = 0.0_f64.copysign(b);
    } else if (b < 0.0) != (rest < 0.0) {
        rest += b;
        quotient -= 1.0;
    }
    if quotient == 0.0 {
        return (0.0_f64.copysign(a / b), rest);
    }
    let floor = quotient.floor();
    (
        if quotient - floor > 0.5 {
            floor + 1.0
        } else {
            floor
        },
        rest,
    )
}
