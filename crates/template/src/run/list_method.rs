//! Methods of lists and tuples.

use std::rc::Rc;

use super::Interpreter;
use super::call::Args;
use super::index::{from_start, position};
use super::value::{List, Value};
use crate::error::{Problem, Result};

impl Interpreter<'_> {
    pub(crate) fn list_method(
        &self,
        list: &Rc<List>,
        name: &'static str,
        mut args: Args,
    ) -> Result<Value> {
        match name {
            "append" => {
                let end = list.items.borrow().len();
                self.insert_in_list(list, end, args.positional.remove(0))?;
            }
            "extend" => {
                let more = self.items(args.get(0))?;
                self.extend_list(list, more)?;
            }
            "insert" => {
                let length = i128::try_from(list.items.borrow().len()).unwrap_or(i128::MAX);
                let at = self.int_arg(args.get(0), "an index of a list")?;
                let at = from_start(at, length).clamp(0, length);
                self.insert_in_list(
                    list,
                    usize::try_from(at).unwrap_or(0),
                    args.positional.remove(1),
                )?;
            }
            "pop" => {
                let last = Value::Int(-1);
                let index = args.positional.first().unwrap_or(&last);
                let mut items = list.items.borrow_mut();
                if items.is_empty() {
                    return Err(Problem::failed("pop() from an empty list"));
                }
                let at = position(index, items.len(), "list")?;
                return Ok(items.remove(at));
            }
            "remove" => {
                let at = self.index_of(&list.items.borrow(), args.get(0))?;
                let at = at.ok_or_else(|| Problem::failed("remove() did not find the value"))?;
                let old = list.items.borrow_mut().remove(at);
                drop(old);
            }
            "clear" => drop(list.items.take()),
            "copy" => {
                let items = list.items.borrow().clone();
                return self.list(items);
            }
            "reverse" => list.items.borrow_mut().reverse(),
            "sort" => {
                let key = args.take_keyword("key").unwrap_or(Value::None);
                let reverse = self.take_flag(&mut args, "reverse");
                args.check_count(name, 0, 0)?;
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
    ) -> Result<Value> {
        if name == "index" {
            let at = self.index_of(items, args.get(0))?;
            let at = at.ok_or_else(|| Problem::failed("index() did not find the value"))?;
            return Ok(Value::Int(i128::try_from(at).unwrap_or(i128::MAX)));
        }
        let mut count = 0;
        for item in items {
            if self.equal(item, args.get(0))? {
                count += 1;
            }
        }
        Ok(Value::Int(count))
    }

    fn index_of(&self, items: &[Value], wanted: &Value) -> Result<Option<usize>> {
        for (at, item) in items.iter().enumerate() {
            if self.equal(item, wanted)? {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }
}
