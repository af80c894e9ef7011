//! Makes values, and counts them.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use indexmap::IndexMap;
use serde_json::Value as Json;

use super::Machine;
use super::dict::{Dict, Key, PAIR_BYTES, Set};
use super::meter::Held;
use super::value::{List, Made, SLOT_BYTES, Str, Tuple, VALUE_BYTES, Value, depth_over, too_deep};
use crate::context::Maps;
use crate::error::Problem;
use crate::python::ast::Name;

impl Machine<'_> {
    pub(crate) fn text(&self, text: String) -> Result<Value, Problem> {
        self.meter.step_bytes(text.len())?;
        let held = Held::new(&self.meter, text.len() + VALUE_BYTES)?;
        let text = text.into_boxed_str();
        Ok(Value::Str(Str::Made(Rc::new(Made { text, held }))))
    }

    pub(crate) fn list(&self, items: Vec<Value>) -> Result<Value, Problem> {
        let depth = depth_over(items.iter())?;
        self.meter.step(items.len() as u64 / 8)?;
        let held = Held::new(&self.meter, items.len() * SLOT_BYTES + VALUE_BYTES)?;
        Ok(Value::List(Rc::new(List {
            items: RefCell::new(items),
            held,
            depth: Cell::new(depth),
            kept: Cell::new(false),
        })))
    }

    pub(crate) fn tuple(&self, items: Vec<Value>) -> Result<Value, Problem> {
        let depth = depth_over(items.iter())?;
        self.meter.step(items.len() as u64 / 8)?;
        let held = Held::new(&self.meter, items.len() * SLOT_BYTES + VALUE_BYTES)?;
        Ok(Value::Tuple(Rc::new(Tuple { items, held, depth })))
    }

    pub(crate) fn texts<'t>(&self, texts: impl Iterator<Item = &'t str>) -> Result<Value, Problem> {
        let room = Held::new(&self.meter, 0)?;
        let mut items = Vec::new();
        for text in texts {
            room.grow(SLOT_BYTES)?;
            items.push(self.text(text.to_owned())?);
        }
        drop(room);
        self.list(items)
    }

    pub(crate) fn empty_dict(&self, object: bool) -> Result<Rc<Dict>, Problem> {
        Ok(Rc::new(Dict {
            pairs: RefCell::new(IndexMap::new()),
            held: Held::new(&self.meter, VALUE_BYTES + PAIR_BYTES)?,
            depth: Cell::new(1),
            kept: Cell::new(false),
            object,
        }))
    }

    pub(crate) fn set_of(&self, values: impl IntoIterator<Item = Value>) -> Result<Value, Problem> {
        let set = Set {
            items: RefCell::new(IndexMap::new()),
            held: Held::new(&self.meter, VALUE_BYTES)?,
        };
        for value in values {
            self.add_to_set(&set, value)?;
        }
        Ok(Value::Set(Rc::new(set)))
    }

    pub(crate) fn add_to_set(&self, set: &Set, value: Value) -> Result<(), Problem> {
        self.meter.step(1)?;
        let key = Key::of(&value)?;
        let mut items = set.items.borrow_mut();
        if !items.contains_key(&key) {
            set.held.grow(PAIR_BYTES)?;
            items.insert(key, value);
        }
        Ok(())
    }

    /// A variable of the context.
    pub(crate) fn given(&self, name: &str) -> Result<Option<Value>, Problem> {
        if let Some(value) = self.given.borrow().get(name) {
            return Ok(Some(value.clone()));
        }
        let Some((json, maps)) = self.context.variable(name) else {
            return Ok(None);
        };
        let value = self.of_json(json, maps, 0)?;
        let mut given = self.given.borrow_mut();
        given.insert(Name::from(name), value.clone());
        Ok(Some(value))
    }

    fn of_json(&self, json: &Json, maps: Maps, depth: u16) -> Result<Value, Problem> {
        if depth >= super::value::MAX_DEPTH {
            return Err(too_deep());
        }
        Ok(match json {
            Json::Null => Value::None,
            Json::Bool(value) => Value::Bool(*value),
            Json::Number(number) => match (number.as_i128(), number.as_f64()) {
                (Some(value), _) => Value::Int(value),
                (None, Some(value)) => Value::Float(value),
                (None, None) => return Err(super::number::too_large()),
            },
            Json::String(text) => self.text(text.clone())?,
            Json::Array(items) => {
                let items: Result<Vec<Value>, Problem> = items
                    .iter()
                    .map(|item| self.of_json(item, maps, depth + 1))
                    .collect();
                self.list(items?)?
            }
            Json::Object(fields) => {
                let dict = self.empty_dict(maps == Maps::Objects)?;
                for (name, field) in fields {
                    let value = self.of_json(field, maps, depth + 1)?;
                    self.set_in_dict(&dict, self.text(name.clone())?, value)?;
                }
                Value::Dict(dict)
            }
        })
    }
}
