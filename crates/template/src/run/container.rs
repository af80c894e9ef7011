//! Modifies lists, dicts and sets.

use std::rc::Rc;

use super::dict::{Dict, Key, PAIR_BYTES, Set};
use super::value::{List, MAX_DEPTH, SLOT_BYTES, VALUE_BYTES, Value, too_deep};
use super::{Interpreter, PossibleCycle};
use crate::error::Result;
use crate::python::ast::BinaryOp;

impl Interpreter<'_> {
    /// Called before a value is added to an existing list, which is the only way to create a reference cycle.
    fn before_insert(&self, list: &Rc<List>, value: &Value) -> Result<()> {
        if value.is_container() {
            if !list.is_tracked.replace(true) {
                list.reserved.grow(VALUE_BYTES)?;
                self.possible_cycles
                    .borrow_mut()
                    .push(PossibleCycle::List(Rc::clone(list)));
            }
            list.depth.set(list.depth.get().max(depth_with(value)?));
        }
        Ok(())
    }

    pub(crate) fn insert_in_list(&self, list: &Rc<List>, at: usize, value: Value) -> Result<()> {
        self.before_insert(list, &value)?;
        list.reserved.grow(SLOT_BYTES)?;
        let mut items = list.items.borrow_mut();
        self.meter
            .step((items.len() - at.min(items.len())) as u64 / 64)?;
        let at = at.min(items.len());
        items.insert(at, value);
        Ok(())
    }

    pub(crate) fn extend_list(&self, list: &Rc<List>, more: Vec<Value>) -> Result<()> {
        for value in &more {
            self.before_insert(list, value)?;
        }
        list.reserved.grow(more.len() * SLOT_BYTES)?;
        list.items.borrow_mut().extend(more);
        Ok(())
    }

    pub(crate) fn set_in_list(&self, list: &Rc<List>, at: usize, value: Value) -> Result<()> {
        self.before_insert(list, &value)?;
        let old = match list.items.borrow_mut().get_mut(at) {
            Some(place) => std::mem::replace(place, value),
            None => value,
        };
        drop(old);
        Ok(())
    }

    pub(crate) fn set_in_dict(&self, dict: &Rc<Dict>, key: Value, value: Value) -> Result<()> {
        self.meter.step(1)?;
        if value.is_container() {
            // A dict with one reference is still being built: the value cannot contain it.
            if Rc::strong_count(dict) > 1 {
                self.track_dict(dict);
            }
            dict.depth.set(dict.depth.get().max(depth_with(&value)?));
        }
        let lookup_key = Key::of(&key)?;
        let mut pairs = dict.pairs.borrow_mut();
        let old = match pairs.get_mut(&lookup_key) {
            Some((_, place)) => Some(std::mem::replace(place, value)),
            None => {
                dict.reserved.grow(PAIR_BYTES)?;
                pairs.insert(lookup_key, (key, value));
                None
            }
        };
        drop(pairs);
        drop(old);
        Ok(())
    }

    fn track_dict(&self, dict: &Rc<Dict>) {
        if !dict.is_tracked.replace(true) {
            self.possible_cycles
                .borrow_mut()
                .push(PossibleCycle::Dict(Rc::clone(dict)));
        }
    }

    pub(crate) fn copy_dict(&self, dict: &Rc<Dict>) -> Result<Rc<Dict>> {
        let copy = self.empty_dict(dict.object)?;
        self.update_dict(&copy, dict)?;
        Ok(copy)
    }

    pub(crate) fn update_dict(&self, dict: &Rc<Dict>, more: &Rc<Dict>) -> Result<()> {
        let pairs: Vec<(Value, Value)> = more.pairs.borrow().values().cloned().collect();
        for (key, value) in pairs {
            self.set_in_dict(dict, key, value)?;
        }
        Ok(())
    }

    /// `|`, `&`, `-` and `^` between sets.
    pub(crate) fn combine_sets(&self, op: BinaryOp, a: &Set, b: &Set) -> Result<Option<Value>> {
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

fn depth_with(value: &Value) -> Result<u16> {
    let depth = value.depth() + 1;
    if depth > MAX_DEPTH {
        return Err(too_deep());
    }
    Ok(depth)
}
