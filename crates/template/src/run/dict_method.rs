//! What dicts and sets can do.

use std::rc::Rc;

use super::Machine;
use super::call::Args;
use super::dict::{Dict, Key, Set};
use super::value::{Value, View};
use crate::error::Problem;
use crate::python::ast::BinaryOp;

pub(crate) const NAMES: &[&str] = &[
    "clear",
    "copy",
    "get",
    "items",
    "keys",
    "pop",
    "popitem",
    "setdefault",
    "update",
    "values",
];
pub(crate) const SET_NAMES: &[&str] = &[
    "add",
    "clear",
    "copy",
    "difference",
    "discard",
    "intersection",
    "isdisjoint",
    "issubset",
    "issuperset",
    "remove",
    "symmetric_difference",
    "union",
    "update",
];

impl Machine<'_> {
    pub(crate) fn dict_method(
        &self,
        dict: &Rc<Dict>,
        name: &'static str,
        mut args: Args,
    ) -> Result<Value, Problem> {
        match name {
            "keys" | "values" | "items" => {
                args.count(name, 0, 0)?;
                let view = match name {
                    "keys" => View::Keys,
                    "values" => View::Values,
                    _ => View::Items,
                };
                Ok(Value::View(Rc::clone(dict), view))
            }
            "get" => {
                args.count(name, 1, 2)?;
                let found = dict.get(&Key::of(args.at(0))?);
                Ok(found.unwrap_or_else(|| args.at(1).clone()))
            }
            "setdefault" => {
                args.count(name, 1, 2)?;
                if let Some(value) = dict.get(&Key::of(args.at(0))?) {
                    return Ok(value);
                }
                let value = args.at(1).clone();
                self.set_in_dict(dict, args.plain.remove(0), value.clone())?;
                Ok(value)
            }
            "pop" => {
                args.count(name, 1, 2)?;
                let found = dict.pairs.borrow_mut().shift_remove(&Key::of(args.at(0))?);
                match (found, args.plain.get(1)) {
                    (Some((_, value)), _) => Ok(value),
                    (None, Some(default)) => Ok(default.clone()),
                    (None, None) => Err(self.no_key(args.at(0))),
                }
            }
            "popitem" => {
                args.count(name, 0, 0)?;
                let last = dict.pairs.borrow_mut().pop();
                match last {
                    Some((_, (key, value))) => self.tuple(vec![key, value]),
                    None => Err(Problem::failed("popitem() from an empty dict")),
                }
            }
            "update" => {
                let named = std::mem::take(&mut args.named);
                args.count(name, 0, 1)?;
                if let Some(from) = args.plain.first() {
                    self.fill_dict(dict, from)?;
                }
                for (name, value) in named {
                    self.set_in_dict(dict, Value::fixed(&name), value)?;
                }
                Ok(Value::None)
            }
            "copy" => {
                args.count(name, 0, 0)?;
                Ok(Value::Dict(self.copy_dict(dict)?))
            }
            _ => {
                args.count(name, 0, 0)?;
                drop(dict.pairs.take());
                Ok(Value::None)
            }
        }
    }

    /// Pairs from another dict, or from anything that has pairs in it.
    pub(crate) fn fill_dict(&self, dict: &Rc<Dict>, from: &Value) -> Result<(), Problem> {
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
    ) -> Result<Value, Problem> {
        match name {
            "add" => {
                args.count(name, 1, 1)?;
                self.add_to_set(set, args.at(0).clone())?;
                Ok(Value::None)
            }
            "discard" | "remove" => {
                args.count(name, 1, 1)?;
                let old = set.items.borrow_mut().shift_remove(&Key::of(args.at(0))?);
                if old.is_none() && name == "remove" {
                    return Err(self.no_key(args.at(0)));
                }
                Ok(Value::None)
            }
            "clear" => {
                args.count(name, 0, 0)?;
                drop(set.items.take());
                Ok(Value::None)
            }
            "copy" => {
                args.count(name, 0, 0)?;
                self.set_of(set.values())
            }
            "update" => {
                for more in &args.plain {
                    for value in self.items_any_order(more)? {
                        self.add_to_set(set, value)?;
                    }
                }
                Ok(Value::None)
            }
            "issubset" | "issuperset" | "isdisjoint" => {
                args.count(name, 1, 1)?;
                let mut other = Vec::new();
                for value in self.items_any_order(args.at(0))? {
                    other.push(Key::of(&value)?);
                }
                let mine = set.keys();
                let other: indexmap::IndexSet<Key> = other.into_iter().collect();
                Ok(Value::Bool(match name {
                    "issubset" => mine.is_subset(&other),
                    "issuperset" => other.is_subset(&mine),
                    _ => mine.is_disjoint(&other),
                }))
            }
            _ => self.combined(set, name, args),
        }
    }

    /// `union` and its like, with any number of others.
    fn combined(&self, set: &Rc<Set>, name: &str, args: &Args) -> Result<Value, Problem> {
        let op = match name {
            "union" => BinaryOp::Or,
            "intersection" => BinaryOp::And,
            "difference" => BinaryOp::Subtract,
            _ => BinaryOp::Xor,
        };
        let mut result = self.set_of(set.values())?;
        for other in &args.plain {
            let other = self.set_of(self.items_any_order(other)?)?;
            result = self.binary(op, &result, &other)?;
        }
        Ok(result)
    }
}
