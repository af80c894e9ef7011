//! The built-in functions.

use super::Interpreter;
use super::call::Args;
use super::iterate::IterState;
use super::number::too_large;
use super::value::{Type, Value};
use crate::error::{Problem, Result};
use crate::python::ast::BinaryOp;

/// Python names that access the outside, or whose results differ between runs.
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

/// Declares the built-in functions: variant, name, least and most positional arguments.
macro_rules! builtins {
    ($($variant:ident = $name:literal, $least:expr, $most:expr;)+) => {
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(crate) enum Builtin {
            $($variant,)+
        }

        impl Builtin {
            fn by_name(name: &str) -> Option<Builtin> {
                match name {
                    $($name => Some(Builtin::$variant),)+
                    _ => None,
                }
            }

            fn signature(self) -> (&'static str, usize, usize) {
                match self {
                    $(Builtin::$variant => ($name, $least, $most),)+
                }
            }
        }
    };
}

builtins! {
    Abs = "abs", 1, 1;
    All = "all", 1, 1;
    Any = "any", 1, 1;
    Bin = "bin", 1, 1;
    Callable = "callable", 1, 1;
    Capture = "capture", 1, usize::MAX;
    Chr = "chr", 1, 1;
    Divmod = "divmod", 2, 2;
    Enumerate = "enumerate", 1, 2;
    Filter = "filter", 2, 2;
    Format = "format", 1, 2;
    Getattr = "getattr", 2, 3;
    Hasattr = "hasattr", 2, 2;
    Hex = "hex", 1, 1;
    Isinstance = "isinstance", 2, 2;
    Len = "len", 1, 1;
    Map = "map", 2, 8;
    Max = "max", 1, usize::MAX;
    Min = "min", 1, usize::MAX;
    Next = "next", 1, 2;
    Oct = "oct", 1, 1;
    Ord = "ord", 1, 1;
    Pow = "pow", 2, 2;
    Repr = "repr", 1, 1;
    Reversed = "reversed", 1, 1;
    Round = "round", 1, 2;
    Sorted = "sorted", 1, 1;
    Sum = "sum", 1, 2;
    TypeOf = "type", 1, 1;
    Zip = "zip", 0, 20;
}

impl Builtin {
    /// The function or type with this name. `capture` is a name of Mako, not of Python.
    pub(crate) fn named(name: &str) -> Option<Value> {
        let builtin = Builtin::by_name(name).filter(|builtin| *builtin != Builtin::Capture);
        let kind = Type::ALL.into_iter().find(|kind| kind.name() == name);
        builtin.map(Value::Builtin).or(kind.map(Value::Type))
    }
}

impl Interpreter<'_> {
    pub(crate) fn call_builtin(&self, builtin: Builtin, mut args: Args) -> Result<Value> {
        let (name, least, most) = builtin.signature();
        match builtin {
            Builtin::Enumerate | Builtin::Sum => args.fill_positional(&["iterable", "start"]),
            Builtin::Round => args.fill_positional(&["number", "ndigits"]),
            _ => {}
        }
        let has_keywords = matches!(
            builtin,
            Builtin::Capture | Builtin::Max | Builtin::Min | Builtin::Sorted
        );
        if !has_keywords {
            args.check_count(name, least, most)?;
        }
        match builtin {
            Builtin::Capture => self.capture(args),
            Builtin::Max | Builtin::Min => self.extreme(args, name),
            Builtin::Sorted => self.sorted(args),
            Builtin::Abs => match args.get(0) {
                Value::Float(value) => Ok(Value::Float(value.abs())),
                other => {
                    let int = self.int_arg(other, "the argument of abs()")?;
                    int.checked_abs().map(Value::Int).ok_or_else(too_large)
                }
            },
            Builtin::All => self.any_or_all(&args, false),
            Builtin::Any => self.any_or_all(&args, true),
            Builtin::Bin => self.digits(&args, 'b'),
            Builtin::Hex => self.digits(&args, 'x'),
            Builtin::Oct => self.digits(&args, 'o'),
            Builtin::Callable => Ok(Value::Bool(matches!(
                args.get(0),
                Value::Function(_)
                    | Value::Def(_)
                    | Value::Builtin(_)
                    | Value::Type(_)
                    | Value::Method(_)
                    | Value::TypeMethod(..)
            ))),
            Builtin::Chr => {
                let int = self.int_arg(args.get(0), "the argument of chr()")?;
                let c = u32::try_from(int).ok().and_then(char::from_u32);
                let c = c.ok_or_else(|| failed!("{int} is no character"))?;
                self.text(c.to_string())
            }
            Builtin::Divmod => {
                let quotient = self.binary(BinaryOp::FloorDivide, args.get(0), args.get(1))?;
                let rest = self.binary(BinaryOp::Modulo, args.get(0), args.get(1))?;
                self.tuple(vec![quotient, rest])
            }
            Builtin::Enumerate => {
                let start = match args.positional.get(1) {
                    Some(start) => self.int_arg(start, "the start of enumerate()")?,
                    None => 0,
                };
                self.iterator(IterState::Enumerate(self.iter(args.get(0))?, start))
            }
            Builtin::Filter => {
                let inner = self.iter(args.get(1))?;
                self.iterator(IterState::Filter(args.get(0).clone(), inner))
            }
            Builtin::Format => {
                let text = match args.positional.get(1) {
                    None => self.display(args.get(0))?,
                    Some(Value::Str(spec)) => self.format_value(args.get(0), spec)?,
                    Some(_) => return Err(Problem::failed("a format is a string")),
                };
                self.text(text)
            }
            Builtin::Getattr | Builtin::Hasattr => self.attribute_function(builtin, &args),
            Builtin::Isinstance => self.is_instance(args.get(0), args.get(1)).map(Value::Bool),
            Builtin::Len => {
                let length = self.length(args.get(0));
                length
                    .map(Value::Int)
                    .ok_or_else(|| args.get(0).problem("has no length"))
            }
            Builtin::Map => {
                let function = args.positional.remove(0);
                self.iterator(IterState::Map(function, self.iters(&args.positional)?))
            }
            Builtin::Next => {
                let Value::Iter(iter) = args.get(0) else {
                    return Err(Problem::failed("next() takes an iterator"));
                };
                match (self.next(iter)?, args.positional.get(1)) {
                    (Some(value), _) => Ok(value),
                    (None, Some(default)) => Ok(default.clone()),
                    (None, None) => Err(Problem::failed("next() found nothing more")),
                }
            }
            Builtin::Ord => match args.get(0) {
                Value::Str(text) if text.chars().count() == 1 => {
                    let c = text.chars().next().unwrap_or_default();
                    Ok(Value::Int(i128::from(u32::from(c))))
                }
                _ => Err(Problem::failed("ord() takes one character")),
            },
            Builtin::Pow => self.binary(BinaryOp::Power, args.get(0), args.get(1)),
            Builtin::Repr => self.text(self.repr(args.get(0))?),
            Builtin::Reversed => self.reversed(&args),
            Builtin::Round => self.round(args.get(0), args.positional.get(1)),
            Builtin::Sum => self.sum(&args),
            Builtin::TypeOf => {
                let kind = args.get(0).type_of().map(Value::Type);
                kind.ok_or_else(|| {
                    let name = args.get(0).type_name();
                    failed!("type() of a value of type {name} is not available in templates")
                })
            }
            Builtin::Zip => self.iterator(IterState::Zip(self.iters(&args.positional)?)),
        }
    }
}
