//! What lists and tuples can do.

use std::rc::Rc;

use super::Machine;
use super::call::Args;
use super::index::position;
use super::value::{List, Value};
use crate::error::Problem;

pub(crate) const NAMES: &[&str] = &[
    "append", "clear", "copy", "count", "extend", "index", "insert", "pop", "remove", "reverse",
    "sort",
];
pub(crate) const TUPLE_NAMES: &[&str] = &["count", "index"];

impl Machine<'_> {
    pub(crate) fn list_method(
        &self,
        list: &Rc<List>,
        name: &'static str,
        mut args: Args,
    ) -> Result<Value, Problem> {
        match name {
            "append" => {
                args.count(name, 1, 1)?;
                let end = list.items.borrow().len();
                self.insert_in_list(list, end, args.plain.remove(0))?;
            }
            "extend" => {
                args.count(name, 1, 1)?;
                let more = self.items(args.at(0))?;
                self.extend_list(list, more)?;
            }
            "insert" => {
                args.count(name, 2, 2)?;
                let length = i128::try_from(list.items.borrow().len()).unwrap_or(i128::MAX);
                let at = self.small_int(args.at(0), "a place in a list")?;
                let at = if at < 0 {
                    at.saturating_add(length).max(0)
                } else {
                    at.min(length)
                };
                self.insert_in_list(list, usize::try_from(at).unwrap_or(0), args.plain.remove(1))?;
            }
            "pop" => {
                args.count(name, 0, 1)?;
                let last = Value::Int(-1);
                let index = args.plain.first().unwrap_or(&last);
                let mut items = list.items.borrow_mut();
                if items.is_empty() {
                    return Err(Problem::failed("pop() from an empty list"));
                }
                let at = position(index, items.len(), "list")?;
                return Ok(items.remove(at));
            }
            "remove" => {
                args.count(name, 1, 1)?;
                let at = self.place_of(&list.items.borrow(), args.at(0))?;
                let at = at.ok_or_else(|| Problem::failed("remove() did not find the value"))?;
                let old = list.items.borrow_mut().remove(at);
                drop(old);
            }
            "clear" => {
                args.count(name, 0, 0)?;
                drop(list.items.take());
            }
            "copy" => {
                args.count(name, 0, 0)?;
                let items = list.items.borrow().clone();
                return self.list(items);
            }
            "reverse" => {
                args.count(name, 0, 0)?;
                list.items.borrow_mut().reverse();
            }
            "sort" => {
                let key = args.take_named("key").unwrap_or(Value::None);
                let reverse = args
                    .take_named("reverse")
                    .is_some_and(|value| self.truth(&value));
                args.count(name, 0, 0)?;
                let items = list.items.borrow().clone();
                let sorted = self.sort(items, &key, reverse)?;
                if list.items.borrow().len() != sorted.len() {
                    return Err(Problem::failed("a list was changed while it was sorted"));
                }
                *list.items.borrow_mut() = sorted;
            }
            _ => {
                let items = list.items.borrow().clone();
                return self.tuple_method(&items, name, &args);
            }
        }
        Ok(Value::None)
    }

    pub(crate) fn tuple_method(
        &self,
        items: &[Value],
        name: &'static str,
        args: &Args,
    ) -> Result<Value, Problem> {
        args.count(name, 1, 1)?;
        if name == "index" {
            let at = self.place_of(items, args.at(0))?;
            let at = at.ok_or_else(|| Problem::failed("index() did not find the value"))?;
            return Ok(Value::Int(i128::try_from(at).unwrap_or(i128::MAX)));
        }
        let mut count = 0;
        for item in items {
            if self.equal(item, args.at(0))? {
                count += 1;
            }
        }
        Ok(Value::Int(count))
    }

    fn place_of(&self, items: &[Value], wanted: &Value) -> Result<Option<usize>, Problem> {
        for (at, item) in items.iter().enumerate() {
            if self.equal(item, wanted)? {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }
}
