//! Names that are nobody's own, and attributes.

use std::rc::Rc;

use super::Machine;
use super::builtin::{Builtin, REFUSED_NAMES};
use super::call::Args;
use super::dict::Dict;
use super::index::int_of;
use super::meter::Held;
use super::scope::{LoopState, Scope};
use super::value::{Bound, Type, VALUE_BYTES, Value, too_deep};
use super::{dict_method, list_method, str_method};
use crate::error::{ErrorKind, Problem};
use crate::python::ast::Name;

impl Machine<'_> {
    /// A name that no scope has a value for.
    pub(crate) fn global(&self, name: &Name, scope: &Rc<Scope>) -> Result<Value, Problem> {
        match &**name {
            "loop" => {
                let innermost = scope.frame.loops.borrow().last().cloned();
                return innermost
                    .map(Value::Loop)
                    .ok_or_else(|| Problem::failed("\"loop\" outside of a \"% for\""));
            }
            "context" => return Ok(Value::Context),
            "STOP_RENDERING" => return Ok(Value::fixed("")),
            "capture" => return Ok(Value::Builtin(Builtin::Capture)),
            _ => {}
        }
        if let Some(def) = self.page.defs.get(name) {
            return Ok(Value::Def(def.clone()));
        }
        if scope.frame.inside_def
            && let Some(value) = self.exported.borrow().get(name)
        {
            return Ok(value.clone());
        }
        self.variable_or_builtin(name)?.ok_or_else(|| {
            Problem::new(ErrorKind::Undefined, format!("unknown variable \"{name}\""))
        })
    }

    fn variable_or_builtin(&self, name: &str) -> Result<Option<Value>, Problem> {
        if let Some(value) = self.given(name)? {
            return Ok(Some(value));
        }
        if let Some(builtin) = Builtin::named(name) {
            return Ok(Some(builtin));
        }
        if REFUSED_NAMES.contains(&name) {
            let message = format!("\"{name}\" is not available in templates");
            return Err(Problem::new(ErrorKind::Forbidden, message));
        }
        Ok(None)
    }

    /// `context.get(name)`.
    pub(crate) fn context_value(&self, name: &str) -> Result<Option<Value>, Problem> {
        if matches!(
            name,
            "loop" | "context" | "capture" | "caller" | "UNDEFINED"
        ) {
            let message = format!("\"{name}\" is not available in templates by this way");
            return Err(Problem::new(ErrorKind::Forbidden, message));
        }
        self.variable_or_builtin(name)
    }

    pub(crate) fn attribute(&self, owner: &Value, name: &str) -> Result<Value, Problem> {
        if let Value::Loop(state) = owner
            && let Some(value) = self.loop_attribute(state, name)?
        {
            return Ok(value);
        }
        if let Some(method) = self.method_name(owner, name) {
            if owner.depth() >= super::value::MAX_DEPTH {
                return Err(too_deep());
            }
            return Ok(Value::Method(Rc::new(Bound {
                owner: owner.clone(),
                name: method,
                held: Held::new(&self.meter, VALUE_BYTES)?,
            })));
        }
        if let Value::Type(kind) = owner
            && let Some(method) = type_method(*kind, name)
        {
            return Ok(Value::TypeMethod(*kind, method));
        }
        if let Some(value) = field(owner, name) {
            return Ok(value);
        }
        Err(Problem::failed(format!(
            "a value of type {} has no attribute \"{name}\"",
            owner.type_name()
        )))
    }

    /// Whether a value has an attribute, without taking it.
    pub(crate) fn has_attribute(&self, owner: &Value, name: &str) -> Result<bool, Problem> {
        if name.starts_with('_') {
            return Err(private_attribute(name));
        }
        Ok(self.method_name(owner, name).is_some() || field(owner, name).is_some())
    }

    /// The method of this name that a value has, if it has one.
    pub(crate) fn method_name(&self, owner: &Value, name: &str) -> Option<&'static str> {
        match owner {
            Value::Loop(_) => (name == "cycle").then_some("cycle"),
            Value::Context => ["get", "write"].into_iter().find(|method| *method == name),
            other => type_method(other.type_of()?, name),
        }
    }

    pub(crate) fn call_method(
        &self,
        owner: &Value,
        name: &'static str,
        args: Args,
    ) -> Result<Value, Problem> {
        self.meter.step(1)?;
        match owner {
            Value::Str(text) => self.str_method(text, name, args),
            Value::List(list) => self.list_method(list, name, args),
            Value::Tuple(tuple) => self.tuple_method(&tuple.items, name, &args),
            Value::Dict(dict) => self.dict_method(dict, name, args),
            Value::Set(set) => self.set_method(set, name, &args),
            Value::Loop(state) => {
                args.count("cycle", 1, usize::MAX)?;
                let length = i128::try_from(args.plain.len()).unwrap_or(1);
                let at = usize::try_from(state.index.get() % length).unwrap_or(0);
                Ok(args.at(at).clone())
            }
            Value::Context => self.context_method(name, &args),
            other => Err(Problem::failed(format!(
                "a value of type {} has no method \"{name}\"",
                other.type_name()
            ))),
        }
    }

    fn context_method(&self, name: &str, args: &Args) -> Result<Value, Problem> {
        let text = match args.at(0) {
            Value::Str(text) => text.clone(),
            other => {
                let kind = other.type_name();
                return Err(Problem::failed(format!(
                    "context.{name}() takes a string, not a value of type {kind}"
                )));
            }
        };
        if name == "write" {
            args.count("write", 1, 1)?;
            self.write(&text)?;
            return Ok(Value::None);
        }
        args.count("get", 1, 2)?;
        Ok(match self.context_value(&text)? {
            Some(value) => value,
            None => args.at(1).clone(),
        })
    }

    fn loop_attribute(&self, state: &LoopState, name: &str) -> Result<Option<Value>, Problem> {
        let index = state.index.get();
        Ok(Some(match name {
            "index" => Value::Int(index),
            "first" => Value::Bool(index == 0),
            "even" => Value::Bool(index % 2 == 0),
            "odd" => Value::Bool(index % 2 == 1),
            "parent" => state.parent.clone().map_or(Value::None, Value::Loop),
            "last" => Value::Bool(index == self.loop_length(state)? - 1),
            "reverse_index" => Value::Int(self.loop_length(state)? - index - 1),
            _ => return Ok(None),
        }))
    }

    fn loop_length(&self, state: &LoopState) -> Result<i128, Problem> {
        if let Some(length) = state.length.get() {
            return Ok(length);
        }
        let length = self.length(&state.iterable).ok_or_else(|| {
            Problem::failed("this loop does not know its end: go through list(...) instead")
        })?;
        state.length.set(Some(length));
        Ok(length)
    }

    /// `getattr` and the fields of `format`.
    pub(crate) fn attribute_by_text(&self, owner: &Value, name: &str) -> Result<Value, Problem> {
        if name.starts_with('_') {
            return Err(private_attribute(name));
        }
        self.attribute(owner, name)
    }

    /// The place an index stands for, as Python counts it.
    pub(crate) fn small_int(&self, value: &Value, what: &str) -> Result<i128, Problem> {
        int_of(value).ok_or_else(|| {
            let name = value.type_name();
            Problem::failed(format!(
                "{what} is a whole number, not a value of type {name}"
            ))
        })
    }
}

fn private_attribute(name: &str) -> Problem {
    let message =
        format!("attributes that begin with an underscore are not available in templates: {name}");
    Problem::new(ErrorKind::Forbidden, message)
}

fn type_method(kind: Type, name: &str) -> Option<&'static str> {
    let methods: &[&'static str] = match kind {
        Type::Str => str_method::NAMES,
        Type::List => list_method::NAMES,
        Type::Tuple => list_method::TUPLE_NAMES,
        Type::Dict => dict_method::NAMES,
        Type::Set => dict_method::SET_NAMES,
        Type::Int | Type::Float | Type::Bool | Type::Range => &[],
    };
    methods.iter().copied().find(|method| *method == name)
}

fn field(owner: &Value, name: &str) -> Option<Value> {
    match owner {
        Value::Dict(dict) => object_field(dict, name),
        _ => None,
    }
}

fn object_field(dict: &Dict, name: &str) -> Option<Value> {
    if dict.object { dict.field(name) } else { None }
}
