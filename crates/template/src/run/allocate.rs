//! Allocates values and reserves their memory.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use indexmap::IndexMap;
use serde_json::Value as Json;

use super::Interpreter;
use super::dict::{Dict, Key, PAIR_BYTES, Set};
use super::meter::Reservation;
use super::value::{
    ComputedText, List, SLOT_BYTES, Str, Tuple, VALUE_BYTES, Value, depth_over, too_deep,
};
use crate::context::MapKind;
use crate::error::Result;
use crate::python::ast::Name;

impl Interpreter<'_> {
    pub(crate) fn text(&self, text: String) -> Result<Value> {
        self.meter.step_bytes(text.len())?;
        let reserved = Reservation::new(&self.meter, text.len() + VALUE_BYTES)?;
        let text = text.into_boxed_str();
        Ok(Value::Str(Str::Computed(Rc::new(ComputedText {
            text,
            reserved,
        }))))
    }

    pub(crate) fn list(&self, items: Vec<Value>) -> Result<Value> {
        let depth = depth_over(items.iter())?;
        self.meter.step(items.len() as u64 / 8)?;
        let reserved = Reservation::new(&self.meter, items.len() * SLOT_BYTES + VALUE_BYTES)?;
        Ok(Value::List(Rc::new(List {
            items: RefCell::new(items),
            reserved,
            depth: Cell::new(depth),
            is_tracked: Cell::new(false),
        })))
    }

    pub(crate) fn tuple(&self, items: Vec<Value>) -> Result<Value> {
        let depth = depth_over(items.iter())?;
        self.meter.step(items.len() as u64 / 8)?;
        let reserved = Reservation::new(&self.meter, items.len() * SLOT_BYTES + VALUE_BYTES)?;
        Ok(Value::Tuple(Rc::new(Tuple {
            items,
            reserved,
            depth,
        })))
    }

    pub(crate) fn texts<'t>(&self, texts: impl Iterator<Item = &'t str>) -> Result<Value> {
        let room = Reservation::new(&self.meter, 0)?;
        let mut items = Vec::new();
        for text in texts {
            room.grow(SLOT_BYTES)?;
            items.push(self.text(text.to_owned())?);
        }
        drop(room);
        self.list(items)
    }

    pub(crate) fn empty_dict(&self, object: bool) -> Result<Rc<Dict>> {
        Ok(Rc::new(Dict {
            pairs: RefCell::new(IndexMap::new()),
            reserved: Reservation::new(&self.meter, VALUE_BYTES + PAIR_BYTES)?,
            depth: Cell::new(1),
            is_tracked: Cell::new(false),
            object,
        }))
    }

    pub(crate) fn set_of(&self, values: impl IntoIterator<Item = Value>) -> Result<Value> {
        let set = Set {
            items: RefCell::new(IndexMap::new()),
            reserved: Reservation::new(&self.meter, VALUE_BYTES)?,
        };
        for value in values {
            self.add_to_set(&set, value)?;
        }
        Ok(Value::Set(Rc::new(set)))
    }

    pub(crate) fn add_to_set(&self, set: &Set, value: Value) -> Result<()> {
        self.meter.step(1)?;
        let key = Key::of(&value)?;
        let mut items = set.items.borrow_mut();
        if !items.contains_key(&key) {
            set.reserved.grow(PAIR_BYTES)?;
            items.insert(key, value);
        }
        Ok(())
    }

    /// Reads a variable of the context.
    pub(crate) fn context_variable(&self, name: &str) -> Result<Option<Value>> {
        if let Some(value) = self.variables.borrow().get(name) {
            return Ok(Some(value.clone()));
        }
        let Some((json, maps)) = self.context.variable(name) else {
            return Ok(None);
        };
        let value = self.convert_json(json, maps, 0)?;
        let mut variables = self.variables.borrow_mut();
        variables.insert(Name::from(name), value.clone());
        Ok(Some(value))
    }

    fn convert_json(&self, json: &Json, maps: MapKind, depth: u16) -> Result<Value> {
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
                let items: Result<Vec<Value>> = items
                    .iter()
                    .map(|item| self.convert_json(item, maps, depth + 1))
                    .collect();
                self.list(items?)?
            }
            Json::Object(fields) => {
                let dict = self.empty_dict(maps == MapKind::Objects)?;
                for (name, field) in fields {
                    let value = self.convert_json(field, maps, depth + 1)?;
                    self.set_in_dict(&dict, self.text(name.clone())?, value)?;
                }
                Value::Dict(dict)
            }
        })
    }
}
