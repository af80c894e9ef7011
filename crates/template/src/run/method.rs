//! The methods of the built-in types: names and numbers of arguments.

use super::value::{Type, Value};

/// A method, and how many arguments it takes. Without `counts` it checks its arguments itself.
#[derive(Clone, Copy)]
pub(crate) struct Method {
    pub(crate) name: &'static str,
    pub(crate) counts: Option<(usize, usize)>,
}

/// Names of methods, by their number of arguments.
type MethodTable = [(Option<(usize, usize)>, &'static str)];

const STR: &MethodTable = &[
    (
        Some((0, 0)),
        "capitalize casefold isalnum isalpha isascii isdecimal isdigit islower isnumeric isspace isupper lower swapcase \
         title upper",
    ),
    (Some((0, 1)), "lstrip rstrip strip"),
    (
        Some((1, 1)),
        "join partition removeprefix removesuffix rpartition zfill",
    ),
    (Some((1, 2)), "center ljust rjust"),
    (
        Some((1, 3)),
        "count endswith find index rfind rindex startswith",
    ),
    (Some((2, 3)), "replace"),
    (None, "expandtabs format rsplit split splitlines"),
];
const LIST: &MethodTable = &[
    (Some((0, 0)), "clear copy reverse"),
    (Some((0, 1)), "pop"),
    (Some((1, 1)), "append count extend index remove"),
    (Some((2, 2)), "insert"),
    (None, "sort"),
];
const TUPLE: &MethodTable = &[(Some((1, 1)), "count index")];
const DICT: &MethodTable = &[
    (Some((0, 0)), "clear copy items keys popitem values"),
    (Some((1, 2)), "get pop setdefault"),
    (None, "update"),
];
const SET: &MethodTable = &[
    (Some((0, 0)), "clear copy"),
    (
        Some((1, 1)),
        "add discard isdisjoint issubset issuperset remove",
    ),
    (
        None,
        "difference intersection symmetric_difference union update",
    ),
];
const LOOP: &MethodTable = &[(Some((1, usize::MAX)), "cycle")];
const CONTEXT: &MethodTable = &[(Some((1, 1)), "write"), (Some((1, 2)), "get")];

impl Value {
    pub(crate) fn method(&self, name: &str) -> Option<Method> {
        match self {
            Value::Loop(_) => find(LOOP, name),
            Value::Context => find(CONTEXT, name),
            other => other.type_of()?.method(name),
        }
    }
}

impl Type {
    pub(crate) fn method(self, name: &str) -> Option<Method> {
        match self {
            Type::Str => find(STR, name),
            Type::List => find(LIST, name),
            Type::Tuple => find(TUPLE, name),
            Type::Dict => find(DICT, name),
            Type::Set => find(SET, name),
            Type::Int | Type::Float | Type::Bool | Type::Range => None,
        }
    }
}

fn find(table: &MethodTable, name: &str) -> Option<Method> {
    table.iter().find_map(|(counts, names)| {
        let name = names.split(' ').find(|each| *each == name)?;
        Some(Method {
            name,
            counts: *counts,
        })
    })
}
