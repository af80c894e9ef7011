//! Changes lists, dicts and sets.

use std::rc::Rc;

use super::dict::{Dict, Key, PAIR_BYTES, Set};
use super::value::{List, MAX_DEPTH, SLOT_BYTES, VALUE_BYTES, Value, too_deep};
use super::{Kept, Machine};
use crate::error::Problem;
use crate::python::ast::BinaryOp;

impl Machine<'_> {
    /// Called before a value goes into a list that exists already: only so can rings come about.
    fn enters_list(&self, list: &Rc<List>, value: &Value) -> Result<(), Problem> {
        if value.holds_others() {
            if !list.kept.replace(true) {
                list.held.grow(VALUE_BYTES)?;
                self.kept.borrow_mut().push(Kept::List(Rc::clone(list)));
            }
            list.depth.set(list.depth.get().max(deeper_than(value)?));
        }
        Ok(())
    }

    pub(crate) fn insert_in_list(
        &self,
        list: &Rc<List>,
        at: usize,
        value: Value,
    ) -> Result<(), Problem> {
        self.enters_list(list, &value)?;
        list.held.grow(SLOT_BYTES)?;
        let mut items = list.items.borrow_mut();
        self.meter
            .step((items.len() - at.min(items.len())) as u64 / 64)?;
        let at = at.min(items.len());
        items.insert(at, value);
        Ok(())
    }

    pub(crate) fn extend_list(&self, list: &Rc<List>, more: Vec<Value>) -> Result<(), Problem> {
        for value in &more {
            self.enters_list(list, value)?;
        }
        list.held.grow(more.len() * SLOT_BYTES)?;
        list.items.borrow_mut().extend(more);
        Ok(())
    }

    pub(crate) fn set_in_list(
        &self,
        list: &Rc<List>,
        at: usize,
        value: Value,
    ) -> Result<(), Problem> {
        self.enters_list(list, &value)?;
        let old = match list.items.borrow_mut().get_mut(at) {
            Some(place) => std::mem::replace(place, value),
            None => value,
        };
        drop(old);
        Ok(())
    }

    pub(crate) fn set_in_dict(
        &self,
        dict: &Rc<Dict>,
        key: Value,
        value: Value,
    ) -> Result<(), Problem> {
        self.meter.step(1)?;
        if value.holds_others() {
            // A dict that nobody else knows yet is being made: it cannot be inside of the value.
            if Rc::strong_count(dict) > 1 {
                self.keep_dict(dict);
            }
            dict.depth.set(dict.depth.get().max(deeper_than(&value)?));
        }
        let looked_up = Key::of(&key)?;
        let mut pairs = dict.pairs.borrow_mut();
        let old = match pairs.get_mut(&looked_up) {
            Some((_, place)) => Some(std::mem::replace(place, value)),
            None => {
                dict.held.grow(PAIR_BYTES)?;
                pairs.insert(looked_up, (key, value));
                None
            }
        };
        drop(pairs);
        drop(old);
        Ok(())
    }

    fn keep_dict(&self, dict: &Rc<Dict>) {
        if !dict.kept.replace(true) {
            self.kept.borrow_mut().push(Kept::Dict(Rc::clone(dict)));
        }
    }

    pub(crate) fn copy_dict(&self, dict: &Rc<Dict>) -> Result<Rc<Dict>, Problem> {
        let copy = self.empty_dict(dict.object)?;
        self.update_dict(&copy, dict)?;
        Ok(copy)
    }

    pub(crate) fn update_dict(&self, dict: &Rc<Dict>, more: &Rc<Dict>) -> Result<(), Problem> {
        let pairs: Vec<(Value, Value)> = more.pairs.borrow().values().cloned().collect();
        for (key, value) in pairs {
            self.set_in_dict(dict, key, value)?;
        }
        Ok(())
    }

    /// `|`, `&`, `-` and `^` between sets.
    pub(crate) fn combine_sets(
        &self,
        op: BinaryOp,
        a: &Set,
        b: &Set,
    ) -> Result<Option<Value>, Problem> {
        let (left, right) = (a.items.borrow().clone(), b.items.borrow().clone());
        self.meter.step((left.len() + right.len()) as u64)?;
        let values: Vec<Value> = match op {
            BinaryOp::Or => left.into_values().chain(right.into_values()).collect(),
            BinaryOp::And => left
                .into_iter()
                .filter(|(key, _)| right.contains_key(key))
                .map(|(_, value)| value)
                .collect(),
            BinaryOp::Subtract => left
                .into_iter()
                .filter(|(key, _)| !right.contains_key(key))
                .map(|(_, value)| value)
                .collect(),
            BinaryOp::Xor => {
                let only_left = left.iter().filter(|(key, _)| !right.contains_key(*key));
                let only_right = right.iter().filter(|(key, _)| !left.contains_key(*key));
                only_left
                    .chain(only_right)
                    .map(|(_, value)| value.clone())
                    .collect()
            }
            _ => return Ok(None),
        };
        self.set_of(values).map(Some)
    }
}

fn deeper_than(value: &Value) -> Result<u16, Problem> {
    let depth = value.depth() + 1;
    if depth > MAX_DEPTH {
        return Err(too_deep());
    }
    Ok(depth)
}
