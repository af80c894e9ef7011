//! Calls functions: binds arguments to parameters.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use super::Interpreter;
use super::execute::Flow;
use super::scope::{Frame, Owner, Scope};
use super::value::{Closure, Value};
use crate::error::{ErrorKind, Problem, Result};
use crate::mako::Def;
use crate::python::ast::{Body, Name, Param, ParamKind};

/// The arguments of one call.
pub(crate) struct Args {
    pub(crate) positional: Vec<Value>,
    pub(crate) keywords: Vec<(Name, Value)>,
}

impl Args {
    pub(crate) fn positional(positional: Vec<Value>) -> Args {
        Args {
            positional,
            keywords: Vec::new(),
        }
    }

    /// Takes a keyword argument.
    pub(crate) fn take_keyword(&mut self, name: &str) -> Option<Value> {
        let at = self
            .keywords
            .iter()
            .position(|(given, _)| &**given == name)?;
        Some(self.keywords.remove(at).1)
    }

    /// Moves keyword arguments to their positions, for built-in functions that accept both.
    pub(crate) fn fill_positional(&mut self, names: &[&str]) {
        while let Some(name) = names.get(self.positional.len()) {
            match self.take_keyword(name) {
                Some(value) => self.positional.push(value),
                None => break,
            }
        }
    }

    /// Checks the number of positional arguments, and that there are no keyword arguments.
    pub(crate) fn check_count(&self, function: &str, least: usize, most: usize) -> Result<()> {
        if let Some((name, _)) = self.keywords.first() {
            return Err(failed!(
                "{function}() takes no argument \"{name}\" in templates"
            ));
        }
        let given = self.positional.len();
        if given < least || given > most {
            let wanted = if least == most {
                least.to_string()
            } else {
                format!("{least} to {most}")
            };
            return Err(failed!(
                "{function}() takes {wanted} arguments, not {given}"
            ));
        }
        Ok(())
    }

    pub(crate) fn get(&self, index: usize) -> &Value {
        self.positional.get(index).unwrap_or(&Value::None)
    }
}

impl Interpreter<'_> {
    pub(crate) fn call(&self, callee: &Value, args: Args) -> Result<Value> {
        self.meter.step(1)?;
        match callee {
            Value::Function(closure) => self.one_more_call(|| self.call_function(closure, args)),
            Value::Def(def) => self.one_more_call(|| self.call_def(def, args)),
            Value::Builtin(builtin) => self.call_builtin(*builtin, args),
            Value::Type(kind) => self.construct(*kind, args),
            Value::Method(bound) => self.call_method(&bound.owner, bound.method, args),
            Value::TypeMethod(kind, method) => {
                let mut args = args;
                if args.positional.first().and_then(Value::type_of) != Some(*kind) {
                    let (kind, name) = (kind.name(), method.name);
                    return Err(failed!(
                        "{kind}.{name}() takes a value of type {kind} first"
                    ));
                }
                let owner = args.positional.remove(0);
                self.call_method(&owner, *method, args)
            }
            other => Err(other.problem("cannot be called")),
        }
    }

    fn one_more_call<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
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

    fn call_function(&self, closure: &Closure, args: Args) -> Result<Value> {
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

    /// Renders a def at the place of the call. The value of the call is the empty string.
    fn call_def(&self, def: &Arc<Def>, args: Args) -> Result<Value> {
        let scope = Scope::new(Owner::Def(Arc::clone(def)), None, Frame::new(true));
        let default = |at: usize| match &def.params[at].default {
            Some(value) => self.evaluate(value, &scope).map(Some),
            None => Ok(None),
        };
        self.bind(&def.name, &def.params, args, &scope, default)?;
        match self.nodes(&def.body, &scope)? {
            Flow::Return(value) => Ok(value),
            Flow::Next | Flow::Break | Flow::Continue => Ok(Value::literal("")),
        }
    }

    fn bind(
        &self,
        function: &str,
        params: &[Param],
        args: Args,
        scope: &Scope,
        default: impl Fn(usize) -> Result<Option<Value>>,
    ) -> Result<()> {
        let mut plain = args.positional.into_iter();
        let mut named: HashMap<Name, Value> = HashMap::new();
        let mut order = Vec::new();
        for (name, value) in args.keywords {
            if named.insert(name.clone(), value).is_some() {
                return Err(failed!("{function}() got \"{name}\" twice"));
            }
            order.push(name);
        }
        for (at, param) in params.iter().enumerate() {
            let value = match param.kind {
                ParamKind::VarPositional => self.tuple(plain.by_ref().collect())?,
                ParamKind::VarKeyword => {
                    let rest = self.empty_dict(false)?;
                    for name in &order {
                        if let Some(value) = named.remove(name) {
                            self.set_in_dict(&rest, Value::literal(name), value)?;
                        }
                    }
                    Value::Dict(rest)
                }
                ParamKind::Positional | ParamKind::KeywordOnly => {
                    let given = if param.kind == ParamKind::Positional {
                        plain.next()
                    } else {
                        None
                    };
                    match (given, named.remove(&param.name)) {
                        (Some(_), Some(_)) => {
                            return Err(failed!("{function}() got \"{}\" twice", param.name));
                        }
                        (Some(value), None) | (None, Some(value)) => value,
                        (None, None) => default(at)?.ok_or_else(|| {
                            failed!("{function}() needs an argument \"{}\"", param.name)
                        })?,
                    }
                }
            };
            scope.set(&param.name, value);
        }
        if plain.next().is_some() {
            return Err(failed!("{function}() got too many arguments"));
        }
        if let Some(name) = order.iter().find(|name| named.contains_key(*name)) {
            return Err(failed!("{function}() takes no argument \"{name}\""));
        }
        Ok(())
    }
}
