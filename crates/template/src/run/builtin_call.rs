//! What the functions do that need more than a line.

use super::Machine;
use super::builtin::Builtin;
use super::call::Args;
use super::iterate::State;
use super::number::{float_to_int, read_float, too_large};
use super::value::{Range, Type, Value};
use crate::error::Problem;
use crate::python::ast::BinaryOp;

impl Machine<'_> {
    pub(crate) fn any_or_all(
        &self,
        args: &Args,
        name: &str,
        wanted: bool,
    ) -> Result<Value, Problem> {
        args.count(name, 1, 1)?;
        let iter = self.iter_any_order(args.at(0))?;
        while let Some(value) = self.next(&iter)? {
            if self.truth(&value) == wanted {
                return Ok(Value::Bool(wanted));
            }
        }
        Ok(Value::Bool(!wanted))
    }

    pub(crate) fn digits(&self, args: &Args, name: &str, kind: char) -> Result<Value, Problem> {
        args.count(name, 1, 1)?;
        let int = self.small_int(args.at(0), "what is written in digits")?;
        self.text(self.format_value(&Value::Int(int), &format!("#{kind}"))?)
    }

    pub(crate) fn attribute_function(
        &self,
        builtin: Builtin,
        args: &Args,
    ) -> Result<Value, Problem> {
        let (name, most) = if builtin == Builtin::Getattr {
            ("getattr", 3)
        } else {
            ("hasattr", 2)
        };
        args.count(name, 2, most)?;
        let Value::Str(attribute) = args.at(1) else {
            return Err(Problem::failed("the name of an attribute is a string"));
        };
        let has = self.has_attribute(args.at(0), attribute)?;
        if builtin == Builtin::Hasattr {
            return Ok(Value::Bool(has));
        }
        match args.plain.get(2) {
            Some(default) if !has => Ok(default.clone()),
            _ => self.attribute_by_text(args.at(0), attribute),
        }
    }

    pub(crate) fn is_instance(&self, value: &Value, wanted: &Value) -> Result<bool, Problem> {
        match wanted {
            Value::Type(kind) => {
                let found = value.type_of();
                // In Python True is a whole number too.
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

    /// What a def writes, as a string.
    pub(crate) fn capture(&self, mut args: Args) -> Result<Value, Problem> {
        if args.plain.is_empty() {
            return Err(Problem::failed("capture() takes a def"));
        }
        let callee = args.plain.remove(0);
        self.outputs.borrow_mut().push(String::new());
        let result = self.call(&callee, args);
        let text = self.outputs.borrow_mut().pop().unwrap_or_default();
        result?;
        self.text(text)
    }

    pub(crate) fn extreme(&self, mut args: Args, name: &str) -> Result<Value, Problem> {
        let key = args.take_named("key").unwrap_or(Value::None);
        let default = args.take_named("default");
        args.count(name, 1, usize::MAX)?;
        let values = match args.plain.as_slice() {
            [only] if matches!(only, Value::Set(_)) && !matches!(key, Value::None) => {
                return Err(Problem::failed(
                    "the order of a set is not defined: sort it without a key first",
                ));
            }
            [only] => self.items_any_order(only)?,
            _ => args.plain,
        };
        let mut best: Option<(Value, Value)> = None;
        for value in values {
            let measure = match &key {
                Value::None => value.clone(),
                function => self.call(function, Args::plain(vec![value.clone()]))?,
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
            (None, None) => Err(Problem::failed(format!("{name}() of nothing"))),
        }
    }

    pub(crate) fn reversed(&self, args: &Args) -> Result<Value, Problem> {
        args.count("reversed", 1, 1)?;
        let state = match args.at(0) {
            value @ (Value::List(_) | Value::Tuple(_)) => {
                let length = self.length(value).unwrap_or(0);
                State::Backwards(value.clone(), usize::try_from(length).unwrap_or(0))
            }
            Value::Range(range) => {
                let last = range.start + (range.len() - 1) * range.step;
                let backwards = Range {
                    start: last,
                    stop: range.start - range.step,
                    step: -range.step,
                };
                State::Range(backwards, 0)
            }
            value @ (Value::Str(_) | Value::Dict(_) | Value::View(..)) => {
                let mut items = self.items(value)?;
                items.reverse();
                State::Values(items.into_iter())
            }
            other => {
                let name = other.type_name();
                return Err(Problem::failed(format!(
                    "a value of type {name} cannot be gone through backwards"
                )));
            }
        };
        Ok(Value::Iter(self.new_iter(state)?))
    }

    /// Rounds half to even, as Python does.
    pub(crate) fn round(&self, value: &Value, digits: Option<&Value>) -> Result<Value, Problem> {
        let digits = match digits {
            None | Some(Value::None) => None,
            Some(digits) => Some(self.small_int(digits, "the number of digits")?),
        };
        match (value, digits) {
            (Value::Float(value), None) => float_to_int(value.round_ties_even()).map(Value::Int),
            (Value::Float(value), Some(digits @ 0..=300)) => {
                let digits = usize::try_from(digits).unwrap_or(0);
                let text = format!("{value:.digits$}");
                read_float(&text).map(Value::Float).ok_or_else(too_large)
            }
            (Value::Float(_), Some(_)) => Err(Problem::failed(
                "floats are rounded to 0 to 300 digits in templates",
            )),
            (other, digits) => {
                let int = self.small_int(other, "what round() takes")?;
                if digits.unwrap_or(0) >= 0 {
                    return Ok(Value::Int(int));
                }
                Err(Problem::failed(
                    "whole numbers are not rounded in templates",
                ))
            }
        }
    }

    pub(crate) fn sum(&self, args: &Args) -> Result<Value, Problem> {
        let mut total = args.plain.get(1).cloned().unwrap_or(Value::Int(0));
        if matches!(total, Value::Str(_)) {
            return Err(Problem::failed("strings are joined with \"\".join(...)"));
        }
        let unordered = matches!(args.at(0), Value::Set(_));
        let iter = self.iter_any_order(args.at(0))?;
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
