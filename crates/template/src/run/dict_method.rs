//! Methods of dicts and sets.

use std::rc::Rc;

use super::Interpreter;
use super::call::Args;
use super::dict::{Dict, Key, Set};
use super::value::{Value, View};
use crate::error::{Problem, Result};
use crate::python::ast::BinaryOp;

impl Interpreter<'_> {
    pub(crate) fn dict_method(
        &self,
        dict: &Rc<Dict>,
        name: &'static str,
        mut args: Args,
    ) -> Result<Value> {
        match name {
            "keys" => Ok(Value::View(Rc::clone(dict), View::Keys)),
            "values" => Ok(Value::View(Rc::clone(dict), View::Values)),
            "items" => Ok(Value::View(Rc::clone(dict), View::Items)),
            "get" => {
                let found = dict.get(&Key::of(args.get(0))?);
                Ok(found.unwrap_or_else(|| args.get(1).clone()))
            }
            "setdefault" => {
                if let Some(value) = dict.get(&Key::of(args.get(0))?) {
                    return Ok(value);
                }
                let value = args.get(1).clone();
                self.set_in_dict(dict, args.positional.remove(0), value.clone())?;
                Ok(value)
            }
            "pop" => {
                let found = dict.pairs.borrow_mut().shift_remove(&Key::of(args.get(0))?);
                match (found, args.positional.get(1)) {
                    (Some((_, value)), _) => Ok(value),
                    (None, Some(default)) => Ok(default.clone()),
                    (None, None) => Err(self.no_key(args.get(0))),
                }
            }
            "popitem" => {
                let last = dict.pairs.borrow_mut().pop();
                match last {
                    Some((_, (key, value))) => self.tuple(vec![key, value]),
                    None => Err(Problem::failed("popitem() from an empty dict")),
                }
            }
            "update" => {
                self.update_from_args(dict, name, args)?;
                Ok(Value::None)
            }
            "copy" => self.copy_dict(dict).map(Value::Dict),
            _ => {
                drop(dict.pairs.take());
                Ok(Value::None)
            }
        }
    }

    /// `dict.update(pairs, **keywords)`.
    pub(crate) fn update_from_args(
        &self,
        dict: &Rc<Dict>,
        name: &str,
        mut args: Args,
    ) -> Result<()> {
        let keywords = std::mem::take(&mut args.keywords);
        args.check_count(name, 0, 1)?;
        if let Some(from) = args.positional.first() {
            self.fill_dict(dict, from)?;
        }
        for (name, value) in keywords {
            self.set_in_dict(dict, Value::literal(&name), value)?;
        }
        Ok(())
    }

    /// Adds the pairs of a dict, or of an iterable of pairs.
    fn fill_dict(&self, dict: &Rc<Dict>, from: &Value) -> Result<()> {
        if let Value::Dict(more) = from {
            return self.update_dict(dict, more);
        }
        let iter = self.iter(from)?;
        while let Some(pair) = self.next(&iter)? {
            let mut pair = self.items(&pair)?.into_iter();
            match (pair.next(), pair.next(), pair.next()) {
                (Some(key), Some(value), None) => self.set_in_dict(dict, key, value)?,
                _ => return Err(Problem::failed("a dict is made of pairs")),
            }
        }
        Ok(())
    }

    pub(crate) fn set_method(
        &self,
        set: &Rc<Set>,
        name: &'static str,
        args: &Args,
    ) -> Result<Value> {
        match name {
            "add" => {
                self.add_to_set(set, args.get(0).clone())?;
                Ok(Value::None)
            }
            "discard" | "remove" => {
                let old = set.items.borrow_mut().shift_remove(&Key::of(args.get(0))?);
                if old.is_none() && name == "remove" {
                    return Err(self.no_key(args.get(0)));
                }
                Ok(Value::None)
            }
            "clear" => {
                drop(set.items.take());
                Ok(Value::None)
            }
            "copy" => self.set_of(set.values()),
            "update" => {
                for more in &args.positional {
                    for value in self.items_any_order(more)? {
                        self.add_to_set(set, value)?;
                    }
                }
                Ok(Value::None)
            }
            "issubset" | "issuperset" | "isdisjoint" => {
                let mut other = Vec::new();
                for value in self.items_any_order(args.get(0))? {
                    other.push(Key::of(&value)?);
                }
                let own = set.keys();
                let other: indexmap::IndexSet<Key> = other.into_iter().collect();
                Ok(Value::Bool(match name {
                    "issubset" => own.is_subset(&other),
                    "issuperset" => other.is_subset(&own),
                    _ => own.is_disjoint(&other),
                }))
            }
            _ => self.set_operation(set, name, args),
        }
    }

    /// `union` and similar methods, with any number of other sets.
    fn set_operation(&self, set: &Rc<Set>, name: &str, args: &Args) -> Result<Value> {
        let op = match name {
            "union" => BinaryOp::Or,
            "intersection" => BinaryOp::And,
            "difference" => BinaryOp::Subtract,
            _ => BinaryOp::Xor,
        };
        let mut result = self.set_of(set.values())?;
        for other in &args.positional {
            let other = self.set_of(self.items_any_order(other)?)?;
            result = self.binary(op, &result, &other)?;
        }
        Ok(result)
    }
}
