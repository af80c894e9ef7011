//! `str(…)`, `int(…)` and the other types.

use std::rc::Rc;

use super::Machine;
use super::call::Args;
use super::number::{float_to_int, int_to_float, read_float, read_int, too_large};
use super::operate::as_int;
use super::value::{Range, Type, Value};
use crate::error::Problem;

impl Machine<'_> {
    pub(crate) fn construct(&self, kind: Type, mut args: Args) -> Result<Value, Problem> {
        match kind {
            Type::Str => {
                args.count("str", 0, 1)?;
                match args.plain.first() {
                    None => Ok(Value::fixed("")),
                    Some(Value::Str(text)) => Ok(Value::Str(text.clone())),
                    Some(other) => self.text(self.show(other)?),
                }
            }
            Type::Bool => {
                args.count("bool", 0, 1)?;
                Ok(Value::Bool(
                    args.plain.first().is_some_and(|value| self.truth(value)),
                ))
            }
            Type::Int => self.construct_int(args),
            Type::Float => {
                args.count("float", 0, 1)?;
                match args.plain.first() {
                    None => Ok(Value::Float(0.0)),
                    Some(Value::Float(value)) => Ok(Value::Float(*value)),
                    Some(Value::Str(text)) => read_float(text)
                        .map(Value::Float)
                        .ok_or_else(|| Problem::failed(format!("\"{}\" is not a number", &**text))),
                    Some(other) => Ok(Value::Float(int_to_float(
                        self.small_int(other, "what float() takes")?,
                    ))),
                }
            }
            Type::List => {
                args.count("list", 0, 1)?;
                self.list(
                    args.plain
                        .first()
                        .map_or(Ok(Vec::new()), |value| self.items(value))?,
                )
            }
            Type::Tuple => {
                args.count("tuple", 0, 1)?;
                match args.plain.first() {
                    Some(tuple @ Value::Tuple(_)) => Ok(tuple.clone()),
                    Some(value) => self.tuple(self.items(value)?),
                    None => self.tuple(Vec::new()),
                }
            }
            Type::Set => {
                args.count("set", 0, 1)?;
                self.set_of(
                    args.plain
                        .first()
                        .map_or(Ok(Vec::new()), |value| self.items_any_order(value))?,
                )
            }
            Type::Dict => {
                let named = std::mem::take(&mut args.named);
                args.count("dict", 0, 1)?;
                let dict = self.empty_dict(false)?;
                if let Some(from) = args.plain.first() {
                    self.fill_dict(&dict, from)?;
                }
                for (name, value) in named {
                    self.set_in_dict(&dict, Value::fixed(&name), value)?;
                }
                Ok(Value::Dict(dict))
            }
            Type::Range => self.construct_range(&args),
        }
    }

    fn construct_int(&self, mut args: Args) -> Result<Value, Problem> {
        if args.plain.len() == 1
            && let Some(base) = args.take_named("base")
        {
            args.plain.push(base);
        }
        args.count("int", 0, 2)?;
        let radix = match args.plain.get(1) {
            Some(base) => Some(self.small_int(base, "the base of a number")?),
            None => None,
        };
        match (args.plain.first(), radix) {
            (None, _) => Ok(Value::Int(0)),
            (Some(Value::Str(text)), radix) => {
                let base = u32::try_from(radix.unwrap_or(10)).unwrap_or(1);
                if base == 1 || base > 36 {
                    return Err(Problem::failed("the base of a number is 0, or 2 to 36"));
                }
                read_int(text, base).map(Value::Int).ok_or_else(|| {
                    Problem::failed(format!("\"{}\" is not a whole number", &**text))
                })
            }
            (Some(_), Some(_)) => Err(Problem::failed("int() with a base takes a string")),
            (Some(Value::Float(value)), None) => float_to_int(*value).map(Value::Int),
            (Some(other), None) => as_int(other).map(Value::Int).ok_or_else(|| {
                Problem::failed(format!(
                    "int() takes a string or a number, not a value of type {}",
                    other.type_name()
                ))
            }),
        }
    }

    fn construct_range(&self, args: &Args) -> Result<Value, Problem> {
        args.count("range", 1, 3)?;
        let mut numbers = Vec::new();
        for value in &args.plain {
            let number = self.small_int(value, "what range() takes")?;
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
