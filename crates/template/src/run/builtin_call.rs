//! The longer built-in functions.

use super::Interpreter;
use super::builtin::Builtin;
use super::call::Args;
use super::iterate::IterState;
use super::number::{float_to_int, parse_float, too_large};
use super::value::{Range, Type, Value};
use crate::error::{Problem, Result};
use crate::python::ast::BinaryOp;

impl Interpreter<'_> {
    pub(crate) fn any_or_all(&self, args: &Args, wanted: bool) -> Result<Value> {
        let iter = self.iter_any_order(args.get(0))?;
        while let Some(value) = self.next(&iter)? {
            if self.truth(&value) == wanted {
                return Ok(Value::Bool(wanted));
            }
        }
        Ok(Value::Bool(!wanted))
    }

    pub(crate) fn digits(&self, args: &Args, kind: char) -> Result<Value> {
        let int = self.int_arg(args.get(0), "the argument")?;
        self.text(self.format_value(&Value::Int(int), &format!("#{kind}"))?)
    }

    pub(crate) fn attribute_function(&self, builtin: Builtin, args: &Args) -> Result<Value> {
        let Value::Str(attribute) = args.get(1) else {
            return Err(Problem::failed("the name of an attribute is a string"));
        };
        let has = self.has_attribute(args.get(0), attribute)?;
        if builtin == Builtin::Hasattr {
            return Ok(Value::Bool(has));
        }
        match args.positional.get(2) {
            Some(default) if !has => Ok(default.clone()),
            _ => self.attribute_by_text(args.get(0), attribute),
        }
    }

    pub(crate) fn is_instance(&self, value: &Value, wanted: &Value) -> Result<bool> {
        match wanted {
            Value::Type(kind) => {
                let found = value.type_of();
                // In Python a bool is an int, too.
                Ok(found == Some(*kind) || (*kind == Type::Int && found == Some(Type::Bool)))
            }
            Value::Tuple(kinds) => {
                for kind in &kinds.items {
                    if self.is_instance(value, kind)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            _ => Err(Problem::failed(
                "isinstance() takes a type, or a tuple of types",
            )),
        }
    }

    /// Returns the output of a def as a string.
    pub(crate) fn capture(&self, mut args: Args) -> Result<Value> {
        if args.positional.is_empty() {
            return Err(Problem::failed("capture() takes a def"));
        }
        let callee = args.positional.remove(0);
        self.outputs.borrow_mut().push(String::new());
        let result = self.call(&callee, args);
        let text = self.outputs.borrow_mut().pop().unwrap_or_default();
        result?;
        self.text(text)
    }

    pub(crate) fn sorted(&self, mut args: Args) -> Result<Value> {
        let key = args.take_keyword("key").unwrap_or(Value::None);
        let reverse = self.take_flag(&mut args, "reverse");
        args.check_count("sorted", 1, 1)?;
        let values = self.items_for_key(args.get(0), &key)?;
        self.list(self.sort(values, &key, reverse)?)
    }

    /// The items of a value to be ordered by a key. Refuses a set: of items with equal keys, its order would decide.
    fn items_for_key(&self, value: &Value, key: &Value) -> Result<Vec<Value>> {
        if matches!(value, Value::Set(_)) && !matches!(key, Value::None) {
            return Err(Problem::failed(
                "the order of a set is not defined: sort it without a key first",
            ));
        }
        self.items_any_order(value)
    }

    /// Takes a keyword argument that is true or false.
    pub(crate) fn take_flag(&self, args: &mut Args, name: &str) -> bool {
        let value = args.take_keyword(name);
        value.is_some_and(|value| self.truth(&value))
    }

    pub(crate) fn extreme(&self, mut args: Args, name: &str) -> Result<Value> {
        let key = args.take_keyword("key").unwrap_or(Value::None);
        let default = args.take_keyword("default");
        args.check_count(name, 1, usize::MAX)?;
        let values = match args.positional.as_slice() {
            [only] => self.items_for_key(only, &key)?,
            _ => args.positional,
        };
        let mut best: Option<(Value, Value)> = None;
        for value in values {
            let measure = match &key {
                Value::None => value.clone(),
                function => self.call(function, Args::positional(vec![value.clone()]))?,
            };
            let better = match &best {
                None => true,
                Some((so_far, _)) if name == "max" => self.less(so_far, &measure)?,
                Some((so_far, _)) => self.less(&measure, so_far)?,
            };
            if better {
                best = Some((measure, value));
            }
        }
        match (best, default) {
            (Some((_, value)), _) => Ok(value),
            (None, Some(default)) => Ok(default),
            (None, None) => Err(failed!("{name}() of an empty value")),
        }
    }

    pub(crate) fn reversed(&self, args: &Args) -> Result<Value> {
        let state = match args.get(0) {
            value @ (Value::List(_) | Value::Tuple(_)) => {
                let length = self.length(value).unwrap_or(0);
                IterState::Backwards(value.clone(), usize::try_from(length).unwrap_or(0))
            }
            Value::Range(range) => {
                let last = range.start + (range.len() - 1) * range.step;
                let backwards = Range {
                    start: last,
                    stop: range.start - range.step,
                    step: -range.step,
                };
                IterState::Range(backwards, 0)
            }
            value @ (Value::Str(_) | Value::Dict(_) | Value::View(..)) => {
                let mut items = self.items(value)?;
                items.reverse();
                IterState::Values(items.into_iter())
            }
            other => return Err(other.problem("cannot be reversed")),
        };
        self.iterator(state)
    }

    /// Rounds half to even, like Python.
    pub(crate) fn round(&self, value: &Value, digits: Option<&Value>) -> Result<Value> {
        let digits = match digits {
            None | Some(Value::None) => None,
            Some(digits) => Some(self.int_arg(digits, "the number of digits")?),
        };
        match (value, digits) {
            (Value::Float(value), None) => float_to_int(value.round_ties_even()).map(Value::Int),
            (Value::Float(value), Some(digits @ 0..=300)) => {
                let digits = usize::try_from(digits).unwrap_or(0);
                let text = format!("{value:.digits$}");
                parse_float(&text).map(Value::Float).ok_or_else(too_large)
            }
            (Value::Float(_), Some(_)) => Err(Problem::failed(
                "floats are rounded to 0 to 300 digits in templates",
            )),
            (other, digits) => {
                let int = self.int_arg(other, "the argument of round()")?;
                if digits.unwrap_or(0) >= 0 {
                    return Ok(Value::Int(int));
                }
                Err(Problem::failed(
                    "whole numbers are not rounded in templates",
                ))
            }
        }
    }

    pub(crate) fn sum(&self, args: &Args) -> Result<Value> {
        let mut total = args.positional.get(1).cloned().unwrap_or(Value::Int(0));
        if matches!(total, Value::Str(_)) {
            return Err(Problem::failed("strings are joined with \"\".join(...)"));
        }
        let unordered = matches!(args.get(0), Value::Set(_));
        let iter = self.iter_any_order(args.get(0))?;
        while let Some(value) = self.next(&iter)? {
            if unordered && matches!(value, Value::Float(_)) {
                return Err(Problem::failed(
                    "the order of a set is not defined: sum(sorted(...)) of it",
                ));
            }
            total = self.binary(BinaryOp::Add, &total, &value)?;
        }
        Ok(total)
    }
}
