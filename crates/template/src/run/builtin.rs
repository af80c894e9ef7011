//! The functions that every template has.

use super::Machine;
use super::call::Args;
use super::iterate::State;
use super::number::too_large;
use super::value::{Type, Value};
use crate::error::Problem;
use crate::python::ast::BinaryOp;

/// Names of Python that reach outside, or whose answers differ from run to run.
pub(crate) const REFUSED_NAMES: &[&str] = &[
    "ascii",
    "breakpoint",
    "bytearray",
    "bytes",
    "caller",
    "classmethod",
    "compile",
    "complex",
    "delattr",
    "dir",
    "eval",
    "exec",
    "exit",
    "frozenset",
    "globals",
    "hash",
    "help",
    "id",
    "input",
    "issubclass",
    "iter",
    "local",
    "locals",
    "memoryview",
    "object",
    "open",
    "pageargs",
    "parent",
    "print",
    "property",
    "quit",
    "self",
    "setattr",
    "slice",
    "staticmethod",
    "super",
    "vars",
    "UNDEFINED",
    "Exception",
    "ValueError",
    "KeyError",
    "TypeError",
];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Builtin {
    Abs,
    All,
    Any,
    Bin,
    Callable,
    Capture,
    Chr,
    Divmod,
    Enumerate,
    Filter,
    Format,
    Getattr,
    Hasattr,
    Hex,
    Isinstance,
    Len,
    Map,
    Max,
    Min,
    Next,
    Oct,
    Ord,
    Pow,
    Repr,
    Reversed,
    Round,
    Sorted,
    Sum,
    TypeOf,
    Zip,
}

impl Builtin {
    pub(crate) fn named(name: &str) -> Option<Value> {
        let kind = match name {
            "str" => Some(Type::Str),
            "int" => Some(Type::Int),
            "float" => Some(Type::Float),
            "bool" => Some(Type::Bool),
            "list" => Some(Type::List),
            "tuple" => Some(Type::Tuple),
            "dict" => Some(Type::Dict),
            "set" => Some(Type::Set),
            "range" => Some(Type::Range),
            _ => None,
        };
        if let Some(kind) = kind {
            return Some(Value::Type(kind));
        }
        Some(Value::Builtin(match name {
            "abs" => Builtin::Abs,
            "all" => Builtin::All,
            "any" => Builtin::Any,
            "bin" => Builtin::Bin,
            "callable" => Builtin::Callable,
            "chr" => Builtin::Chr,
            "divmod" => Builtin::Divmod,
            "enumerate" => Builtin::Enumerate,
            "filter" => Builtin::Filter,
            "format" => Builtin::Format,
            "getattr" => Builtin::Getattr,
            "hasattr" => Builtin::Hasattr,
            "hex" => Builtin::Hex,
            "isinstance" => Builtin::Isinstance,
            "len" => Builtin::Len,
            "map" => Builtin::Map,
            "max" => Builtin::Max,
            "min" => Builtin::Min,
            "next" => Builtin::Next,
            "oct" => Builtin::Oct,
            "ord" => Builtin::Ord,
            "pow" => Builtin::Pow,
            "repr" => Builtin::Repr,
            "reversed" => Builtin::Reversed,
            "round" => Builtin::Round,
            "sorted" => Builtin::Sorted,
            "sum" => Builtin::Sum,
            "type" => Builtin::TypeOf,
            "zip" => Builtin::Zip,
            _ => return None,
        }))
    }
}

impl Machine<'_> {
    pub(crate) fn call_builtin(&self, builtin: Builtin, mut args: Args) -> Result<Value, Problem> {
        match builtin {
            Builtin::Abs => {
                args.count("abs", 1, 1)?;
                match args.at(0) {
                    Value::Float(value) => Ok(Value::Float(value.abs())),
                    other => {
                        let int = self.small_int(other, "what abs() takes")?;
                        int.checked_abs().map(Value::Int).ok_or_else(too_large)
                    }
                }
            }
            Builtin::All => self.any_or_all(&args, "all", false),
            Builtin::Any => self.any_or_all(&args, "any", true),
            Builtin::Bin => self.digits(&args, "bin", 'b'),
            Builtin::Hex => self.digits(&args, "hex", 'x'),
            Builtin::Oct => self.digits(&args, "oct", 'o'),
            Builtin::Callable => {
                args.count("callable", 1, 1)?;
                Ok(Value::Bool(matches!(
                    args.at(0),
                    Value::Function(_)
                        | Value::Def(_)
                        | Value::Builtin(_)
                        | Value::Type(_)
                        | Value::Method(_)
                        | Value::TypeMethod(..)
                )))
            }
            Builtin::Capture => self.capture(args),
            Builtin::Chr => {
                args.count("chr", 1, 1)?;
                let int = self.small_int(args.at(0), "what chr() takes")?;
                let c = u32::try_from(int).ok().and_then(char::from_u32);
                self.text(
                    c.ok_or_else(|| Problem::failed(format!("{int} is no character")))?
                        .to_string(),
                )
            }
            Builtin::Divmod => {
                args.count("divmod", 2, 2)?;
                let quotient = self.binary(BinaryOp::FloorDivide, args.at(0), args.at(1))?;
                let rest = self.binary(BinaryOp::Modulo, args.at(0), args.at(1))?;
                self.tuple(vec![quotient, rest])
            }
            Builtin::Enumerate => {
                args.place(&["iterable", "start"]);
                args.count("enumerate", 1, 2)?;
                let start = match args.plain.get(1) {
                    Some(start) => self.small_int(start, "the start of enumerate()")?,
                    None => 0,
                };
                let inner = self.iter(args.at(0))?;
                Ok(Value::Iter(self.new_iter(State::Enumerate(inner, start))?))
            }
            Builtin::Filter => {
                args.count("filter", 2, 2)?;
                let inner = self.iter(args.at(1))?;
                Ok(Value::Iter(
                    self.new_iter(State::Filter(args.at(0).clone(), inner))?,
                ))
            }
            Builtin::Format => {
                args.count("format", 1, 2)?;
                let text = match args.plain.get(1) {
                    None => self.show(args.at(0))?,
                    Some(Value::Str(spec)) => self.format_value(args.at(0), spec)?,
                    Some(_) => return Err(Problem::failed("a format is a string")),
                };
                self.text(text)
            }
            Builtin::Getattr | Builtin::Hasattr => self.attribute_function(builtin, &args),
            Builtin::Isinstance => {
                args.count("isinstance", 2, 2)?;
                self.is_instance(args.at(0), args.at(1)).map(Value::Bool)
            }
            Builtin::Len => {
                args.count("len", 1, 1)?;
                let length = self.length(args.at(0));
                length.map(Value::Int).ok_or_else(|| {
                    Problem::failed(format!(
                        "a value of type {} has no length",
                        args.at(0).type_name()
                    ))
                })
            }
            Builtin::Map => {
                args.count("map", 2, 8)?;
                let function = args.plain.remove(0);
                let inner: Result<Vec<_>, _> =
                    args.plain.iter().map(|value| self.iter(value)).collect();
                Ok(Value::Iter(self.new_iter(State::Map(function, inner?))?))
            }
            Builtin::Max => self.extreme(args, "max"),
            Builtin::Min => self.extreme(args, "min"),
            Builtin::Next => {
                args.count("next", 1, 2)?;
                let Value::Iter(iter) = args.at(0) else {
                    return Err(Problem::failed("next() takes an iterator"));
                };
                match (self.next(iter)?, args.plain.get(1)) {
                    (Some(value), _) => Ok(value),
                    (None, Some(default)) => Ok(default.clone()),
                    (None, None) => Err(Problem::failed("next() found nothing more")),
                }
            }
            Builtin::Ord => {
                args.count("ord", 1, 1)?;
                match args.at(0) {
                    Value::Str(text) if text.chars().count() == 1 => {
                        let c = text.chars().next().unwrap_or_default();
                        Ok(Value::Int(i128::from(u32::from(c))))
                    }
                    _ => Err(Problem::failed("ord() takes one character")),
                }
            }
            Builtin::Pow => {
                args.count("pow", 2, 2)?;
                self.binary(BinaryOp::Power, args.at(0), args.at(1))
            }
            Builtin::Repr => {
                args.count("repr", 1, 1)?;
                self.text(self.repr(args.at(0))?)
            }
            Builtin::Reversed => self.reversed(&args),
            Builtin::Round => {
                args.place(&["number", "ndigits"]);
                args.count("round", 1, 2)?;
                self.round(args.at(0), args.plain.get(1))
            }
            Builtin::Sorted => {
                let key = args.take_named("key").unwrap_or(Value::None);
                let reverse = args
                    .take_named("reverse")
                    .is_some_and(|value| self.truth(&value));
                args.count("sorted", 1, 1)?;
                let values = self.items_any_order(args.at(0))?;
                // Values that are equal in order but not the same would come out in the set's order.
                if matches!(args.at(0), Value::Set(_)) && !matches!(key, Value::None) {
                    return Err(Problem::failed(
                        "the order of a set is not defined: sort it without a key first",
                    ));
                }
                self.list(self.sort(values, &key, reverse)?)
            }
            Builtin::Sum => {
                args.place(&["iterable", "start"]);
                args.count("sum", 1, 2)?;
                self.sum(&args)
            }
            Builtin::TypeOf => {
                args.count("type", 1, 1)?;
                args.at(0).type_of().map(Value::Type).ok_or_else(|| {
                    Problem::failed(format!(
                        "type() of a value of type {} is not available in templates",
                        args.at(0).type_name()
                    ))
                })
            }
            Builtin::Zip => {
                args.count("zip", 0, 20)?;
                let inner: Result<Vec<_>, _> =
                    args.plain.iter().map(|value| self.iter(value)).collect();
                Ok(Value::Iter(self.new_iter(State::Zip(inner?))?))
            }
        }
    }
}
