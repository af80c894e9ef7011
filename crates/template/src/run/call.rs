//! Calls: arguments find their parameters.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use super::Machine;
use super::execute::Flow;
use super::scope::{Frame, Owner, Scope};
use super::value::{Closure, Value};
use crate::error::{ErrorKind, Problem};
use crate::mako::Def;
use crate::python::ast::{Body, Name, Param, ParamKind};

/// The arguments of one call.
pub(crate) struct Args {
    pub(crate) plain: Vec<Value>,
    pub(crate) named: Vec<(Name, Value)>,
}

impl Args {
    pub(crate) fn plain(plain: Vec<Value>) -> Args {
        Args {
            plain,
            named: Vec::new(),
        }
    }

    /// Takes an argument given by name.
    pub(crate) fn take_named(&mut self, name: &str) -> Option<Value> {
        let at = self.named.iter().position(|(given, _)| &**given == name)?;
        Some(self.named.remove(at).1)
    }

    /// Moves arguments given by name to their places. For functions that know both ways.
    pub(crate) fn place(&mut self, names: &[&str]) {
        while let Some(name) = names.get(self.plain.len()) {
            match self.take_named(name) {
                Some(value) => self.plain.push(value),
                None => break,
            }
        }
    }

    /// Checks that there are as many as a function wants, and none with a name.
    pub(crate) fn count(&self, function: &str, least: usize, most: usize) -> Result<(), Problem> {
        if let Some((name, _)) = self.named.first() {
            return Err(Problem::failed(format!(
                "{function}() takes no argument \"{name}\" in templates"
            )));
        }
        let given = self.plain.len();
        if given < least || given > most {
            let wanted = if least == most {
                least.to_string()
            } else {
                format!("{least} to {most}")
            };
            return Err(Problem::failed(format!(
                "{function}() takes {wanted} arguments, not {given}"
            )));
        }
        Ok(())
    }

    pub(crate) fn at(&self, index: usize) -> &Value {
        self.plain.get(index).unwrap_or(&Value::None)
    }
}

impl Machine<'_> {
    pub(crate) fn call(&self, callee: &Value, args: Args) -> Result<Value, Problem> {
        self.meter.step(1)?;
        match callee {
            Value::Function(closure) => self.one_more_call(|| self.call_function(closure, args)),
            Value::Def(def) => self.one_more_call(|| self.call_def(def, args)),
            Value::Builtin(builtin) => self.call_builtin(*builtin, args),
            Value::Type(kind) => self.construct(*kind, args),
            Value::Method(bound) => self.call_method(&bound.owner, bound.name, args),
            Value::TypeMethod(kind, name) => {
                let mut args = args;
                if args.plain.first().and_then(Value::type_of) != Some(*kind) {
                    let kind = kind.name();
                    return Err(Problem::failed(format!(
                        "{kind}.{name}() takes a value of type {kind} first"
                    )));
                }
                let owner = args.plain.remove(0);
                self.call_method(&owner, name, args)
            }
            other => Err(Problem::failed(format!(
                "a value of type {} cannot be called",
                other.type_name()
            ))),
        }
    }

    fn one_more_call<T>(&self, work: impl FnOnce() -> Result<T, Problem>) -> Result<T, Problem> {
        let calls = self.calls.get();
        if calls >= self.limits.call_depth {
            return Err(Problem::new(
                ErrorKind::TooDeep,
                format!("functions call each other more than {calls} levels deep"),
            ));
        }
        self.calls.set(calls + 1);
        let result = self.deeper(work);
        self.calls.set(calls);
        result
    }

    fn call_function(&self, closure: &Closure, args: Args) -> Result<Value, Problem> {
        let function = &closure.function;
        let owner = Owner::Function(Arc::clone(function));
        let frame = Rc::clone(&closure.scope.frame);
        let scope = Scope::new(owner, Some(Rc::clone(&closure.scope)), frame);
        let default = |at: usize| Ok(closure.defaults.get(at).cloned().flatten());
        self.bind(&function.name, &function.params, args, &scope, default)?;
        match &function.body {
            Body::Value(value) => self.evaluate(value, &scope),
            Body::Block(block) => match self.block(block, &scope)? {
                Flow::Return(value) => Ok(value),
                Flow::Next | Flow::Break | Flow::Continue => Ok(Value::None),
            },
        }
    }

    /// A def writes where it is called, and its value is the empty string.
    fn call_def(&self, def: &Arc<Def>, args: Args) -> Result<Value, Problem> {
        let scope = Scope::new(Owner::Def(Arc::clone(def)), None, Frame::new(true));
        let default = |at: usize| match &def.params[at].default {
            Some(value) => self.evaluate(value, &scope).map(Some),
            None => Ok(None),
        };
        self.bind(&def.name, &def.params, args, &scope, default)?;
        match self.nodes(&def.body, &scope)? {
            Flow::Return(value) => Ok(value),
            Flow::Next | Flow::Break | Flow::Continue => Ok(Value::fixed("")),
        }
    }

    fn bind(
        &self,
        function: &str,
        params: &[Param],
        args: Args,
        scope: &Scope,
        default: impl Fn(usize) -> Result<Option<Value>, Problem>,
    ) -> Result<(), Problem> {
        let mut plain = args.plain.into_iter();
        let mut named: HashMap<Name, Value> = HashMap::new();
        let mut order = Vec::new();
        for (name, value) in args.named {
            if named.insert(name.clone(), value).is_some() {
                return Err(Problem::failed(format!(
                    "{function}() got \"{name}\" twice"
                )));
            }
            order.push(name);
        }
        for (at, param) in params.iter().enumerate() {
            let value = match param.kind {
                ParamKind::Rest => self.tuple(plain.by_ref().collect())?,
                ParamKind::NamedRest => {
                    let rest = self.empty_dict(false)?;
                    for name in &order {
                        if let Some(value) = named.remove(name) {
                            self.set_in_dict(&rest, Value::fixed(name), value)?;
                        }
                    }
                    Value::Dict(rest)
                }
                ParamKind::Plain | ParamKind::NamedOnly => {
                    let given = if param.kind == ParamKind::Plain {
                        plain.next()
                    } else {
                        None
                    };
                    match (given, named.remove(&param.name)) {
                        (Some(_), Some(_)) => {
                            return Err(Problem::failed(format!(
                                "{function}() got \"{}\" twice",
                                param.name
                            )));
                        }
                        (Some(value), None) | (None, Some(value)) => value,
                        (None, None) => default(at)?.ok_or_else(|| {
                            Problem::failed(format!(
                                "{function}() needs an argument \"{}\"",
                                param.name
                            ))
                        })?,
                    }
                }
            };
            scope.set(&param.name, value);
        }
        if plain.next().is_some() {
            return Err(Problem::failed(format!(
                "{function}() got too many arguments"
            )));
        }
        if let Some(name) = order.iter().find(|name| named.contains_key(*name)) {
            return Err(Problem::failed(format!(
                "{function}() takes no argument \"{name}\""
            )));
        }
        Ok(())
    }
}
