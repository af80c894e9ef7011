//! Looks up global names and attributes.

use std::rc::Rc;

use super::Interpreter;
use super::builtin::{Builtin, REFUSED_NAMES};
use super::call::Args;
use super::dict::Dict;
use super::meter::Reservation;
use super::method::Method;
use super::operators::as_int;
use super::scope::{LoopState, Scope};
use super::value::{BoundMethod, VALUE_BYTES, Value, too_deep};
use crate::error::{ErrorKind, Problem, Result};
use crate::python::ast::Name;

impl Interpreter<'_> {
    /// The value of a name that no scope defines.
    pub(crate) fn global(&self, name: &Name, scope: &Rc<Scope>) -> Result<Value> {
        match &**name {
            "loop" => {
                let innermost = scope.frame.loops.borrow().last().cloned();
                return innermost
                    .map(Value::Loop)
                    .ok_or_else(|| Problem::failed("\"loop\" outside of a \"% for\""));
            }
            "context" => return Ok(Value::Context),
            "STOP_RENDERING" => return Ok(Value::literal("")),
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
            let message = format!("unknown variable \"{name}\"");
            Problem::new(ErrorKind::Undefined, message).with("name", &**name)
        })
    }

    fn variable_or_builtin(&self, name: &str) -> Result<Option<Value>> {
        if let Some(value) = self.context_variable(name)? {
            return Ok(Some(value));
        }
        if let Some(builtin) = Builtin::named(name) {
            return Ok(Some(builtin));
        }
        if REFUSED_NAMES.contains(&name) {
            return Err(Problem::unavailable(&format!("\"{name}\"")));
        }
        Ok(None)
    }

    /// `context.get(name)`.
    pub(crate) fn context_value(&self, name: &str) -> Result<Option<Value>> {
        if matches!(
            name,
            "loop" | "context" | "capture" | "caller" | "UNDEFINED"
        ) {
            let message = format!("\"{name}\" is not available through the context");
            return Err(Problem::new(ErrorKind::Forbidden, message));
        }
        self.variable_or_builtin(name)
    }

    pub(crate) fn attribute(&self, owner: &Value, name: &str) -> Result<Value> {
        if let Value::Loop(state) = owner
            && let Some(value) = self.loop_attribute(state, name)?
        {
            return Ok(value);
        }
        if let Some(method) = owner.method(name) {
            if owner.depth() >= super::value::MAX_DEPTH {
                return Err(too_deep());
            }
            return Ok(Value::Method(Rc::new(BoundMethod {
                owner: owner.clone(),
                method,
                reserved: Reservation::new(&self.meter, VALUE_BYTES)?,
            })));
        }
        if let Value::Type(kind) = owner
            && let Some(method) = kind.method(name)
        {
            return Ok(Value::TypeMethod(*kind, method));
        }
        if let Some(value) = field(owner, name) {
            return Ok(value);
        }
        Err(owner.problem(format_args!("has no attribute \"{name}\"")))
    }

    /// Whether a value has an attribute.
    pub(crate) fn has_attribute(&self, owner: &Value, name: &str) -> Result<bool> {
        if name.starts_with('_') {
            return Err(private_attribute(name));
        }
        Ok(owner.method(name).is_some() || field(owner, name).is_some())
    }

    pub(crate) fn call_method(&self, owner: &Value, method: Method, args: Args) -> Result<Value> {
        self.meter.step(1)?;
        let name = method.name;
        if let Some((least, most)) = method.counts {
            args.check_count(name, least, most)?;
        }
        match owner {
            Value::Str(text) => self.str_method(text, name, args),
            Value::List(list) => self.list_method(list, name, args),
            Value::Tuple(tuple) => self.tuple_method(&tuple.items, name, &args),
            Value::Dict(dict) => self.dict_method(dict, name, args),
            Value::Set(set) => self.set_method(set, name, &args),
            Value::Loop(state) => {
                let length = i128::try_from(args.positional.len()).unwrap_or(1);
                let at = usize::try_from(state.index.get() % length).unwrap_or(0);
                Ok(args.get(at).clone())
            }
            Value::Context => self.context_method(name, &args),
            other => Err(other.problem(format_args!("has no method \"{name}\""))),
        }
    }

    fn context_method(&self, name: &str, args: &Args) -> Result<Value> {
        let text = match args.get(0) {
            Value::Str(text) => text.clone(),
            other => return Err(other.mismatch(format_args!("context.{name}() takes a string"))),
        };
        if name == "write" {
            self.write(&text)?;
            return Ok(Value::None);
        }
        Ok(match self.context_value(&text)? {
            Some(value) => value,
            None => args.get(1).clone(),
        })
    }

    fn loop_attribute(&self, state: &LoopState, name: &str) -> Result<Option<Value>> {
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

    fn loop_length(&self, state: &LoopState) -> Result<i128> {
        if let Some(length) = state.length.get() {
            return Ok(length);
        }
        let length = self.length(&state.iterable).ok_or_else(|| {
            Problem::failed("the length of this iterable is unknown: loop over list(...) of it")
        })?;
        state.length.set(Some(length));
        Ok(length)
    }

    /// The attribute for `getattr` and for fields of `format`.
    pub(crate) fn attribute_by_text(&self, owner: &Value, name: &str) -> Result<Value> {
        if name.starts_with('_') {
            return Err(private_attribute(name));
        }
        self.attribute(owner, name)
    }

    /// A whole number; `what` names it in the problem.
    pub(crate) fn int_arg(&self, value: &Value, what: &str) -> Result<i128> {
        as_int(value).ok_or_else(|| value.mismatch(format_args!("{what} is a whole number")))
    }
}

fn private_attribute(name: &str) -> Problem {
    let message =
        format!("attributes that begin with an underscore are not available in templates: {name}");
    Problem::new(ErrorKind::Forbidden, message)
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
