//! Constructors: `str(…)`, `int(…)` and the other types.

use std::rc::Rc;

use super::Interpreter;
use super::call::Args;
use super::number::{float_to_int, int_to_float, parse_float, parse_int, too_large};
use super::operators::as_int;
use super::value::{Range, Type, Value};
use crate::error::{Problem, Result};

impl Interpreter<'_> {
    pub(crate) fn construct(&self, kind: Type, args: Args) -> Result<Value> {
        match kind {
            Type::Str => {
                args.check_count("str", 0, 1)?;
                match args.positional.first() {
                    None => Ok(Value::literal("")),
                    Some(Value::Str(text)) => Ok(Value::Str(text.clone())),
                    Some(other) => self.text(self.display(other)?),
                }
            }
            Type::Bool => {
                args.check_count("bool", 0, 1)?;
                Ok(Value::Bool(
                    args.positional
                        .first()
                        .is_some_and(|value| self.truth(value)),
                ))
            }
            Type::Int => self.construct_int(args),
            Type::Float => {
                args.check_count("float", 0, 1)?;
                match args.positional.first() {
                    None => Ok(Value::Float(0.0)),
                    Some(Value::Float(value)) => Ok(Value::Float(*value)),
                    Some(Value::Str(text)) => parse_float(text)
                        .map(Value::Float)
                        .ok_or_else(|| failed!("\"{}\" is not a number", &**text)),
                    Some(other) => Ok(Value::Float(int_to_float(
                        self.int_arg(other, "the argument of float()")?,
                    ))),
                }
            }
            Type::List => {
                args.check_count("list", 0, 1)?;
                self.list(
                    args.positional
                        .first()
                        .map_or(Ok(Vec::new()), |value| self.items(value))?,
                )
            }
            Type::Tuple => {
                args.check_count("tuple", 0, 1)?;
                match args.positional.first() {
                    Some(tuple @ Value::Tuple(_)) => Ok(tuple.clone()),
                    Some(value) => self.tuple(self.items(value)?),
                    None => self.tuple(Vec::new()),
                }
            }
            Type::Set => {
                args.check_count("set", 0, 1)?;
                self.set_of(
                    args.positional
                        .first()
                        .map_or(Ok(Vec::new()), |value| self.items_any_order(value))?,
                )
            }
            Type::Dict => {
                let dict = self.empty_dict(false)?;
                self.update_from_args(&dict, "dict", args)?;
                Ok(Value::Dict(dict))
            }
            Type::Range => self.construct_range(&args),
        }
    }

    fn construct_int(&self, mut args: Args) -> Result<Value> {
        if args.positional.len() == 1
            && let Some(base) = args.take_keyword("base")
        {
            args.positional.push(base);
        }
        args.check_count("int", 0, 2)?;
        let radix = match args.positional.get(1) {
            Some(base) => Some(self.int_arg(base, "the base of a number")?),
            None => None,
        };
        match (args.positional.first(), radix) {
            (None, _) => Ok(Value::Int(0)),
            (Some(Value::Str(text)), radix) => {
                let base = u32::try_from(radix.unwrap_or(10)).unwrap_or(1);
                if base == 1 || base > 36 {
                    return Err(Problem::failed("the base of a number is 0, or 2 to 36"));
                }
                parse_int(text, base)
                    .map(Value::Int)
                    .ok_or_else(|| failed!("\"{}\" is not a whole number", &**text))
            }
            (Some(_), Some(_)) => Err(Problem::failed("int() with a base takes a string")),
            (Some(Value::Float(value)), None) => float_to_int(*value).map(Value::Int),
            (Some(other), None) => as_int(other)
                .map(Value::Int)
                .ok_or_else(|| other.mismatch("int() takes a string or a number")),
        }
    }

    fn construct_range(&self, args: &Args) -> Result<Value> {
        args.check_count("range", 1, 3)?;
        let mut numbers = Vec::new();
        for value in &args.positional {
            let number = self.int_arg(value, "an argument of range()")?;
            if number.unsigned_abs() > 1 << 100 {
                return Err(too_large());
            }
            numbers.push(number);
        }
        let (start, stop, step) = match numbers.as_slice() {
            [stop] => (0, *stop, 1),
            [start, stop] => (*start, *stop, 1),
            [start, stop, step, ..] => (*start, *stop, *step),
            [] => (0, 0, 1),
        };
        if step == 0 {
            return Err(Problem::failed("the step of range() cannot be 0"));
        }
        Ok(Value::Range(Rc::new(Range { start, stop, step })))
    }
}
