//! Iterators, as lazy as in Python.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use super::Interpreter;
use super::call::Args;
use super::dict::Dict;
use super::meter::Reservation;
use super::scope::Scope;
use super::value::{Range, SLOT_BYTES, Str, VALUE_BYTES, Value, View, depth_over};
use crate::error::{Problem, Result};
use crate::python::ast::{Clause, Comprehension};

/// An iterator.
pub(crate) struct Iter {
    pub(crate) state: RefCell<IterState>,
    pub(crate) depth: u16,
    #[expect(dead_code, reason = "releases its memory when dropped")]
    pub(crate) reserved: Reservation,
}

pub(crate) enum IterState {
    /// A list or tuple: sees items that are appended during iteration.
    Items(Value, usize),
    Backwards(Value, usize),
    Chars(Str, usize),
    Range(Range, i128),
    Dict {
        dict: Rc<Dict>,
        view: View,
        at: usize,
        length: usize,
    },
    Values(std::vec::IntoIter<Value>),
    Enumerate(Rc<Iter>, i128),
    Zip(Vec<Rc<Iter>>),
    Map(Value, Vec<Rc<Iter>>),
    Filter(Value, Rc<Iter>),
    Generator(Box<Generator>),
}

/// A running generator. It never outlives a call: only `any`, `all` and `next` receive one.
pub(crate) struct Generator {
    made: Arc<Comprehension>,
    scope: Rc<Scope>,
    /// The running loops, by the index of their clause.
    loops: Vec<(usize, Rc<Iter>)>,
}

impl Interpreter<'_> {
    pub(crate) fn new_iter(&self, state: IterState) -> Result<Rc<Iter>> {
        let depth = match &state {
            IterState::Items(value, _) | IterState::Backwards(value, _) => {
                depth_over(std::iter::once(value))?
            }
            IterState::Dict { dict, .. } => dict.depth.get().saturating_add(1),
            IterState::Values(values) => depth_over(values.as_slice().iter())?,
            IterState::Enumerate(inner, _) => over(&[Rc::clone(inner)])?,
            IterState::Zip(inner) => over(inner)?,
            IterState::Map(function, inner) => {
                over(inner)?.max(depth_over(std::iter::once(function))?)
            }
            IterState::Filter(function, inner) => {
                let inner = over(&[Rc::clone(inner)])?;
                inner.max(depth_over(std::iter::once(function))?)
            }
            IterState::Chars(..) | IterState::Range(..) | IterState::Generator(_) => 1,
        };
        Ok(Rc::new(Iter {
            state: RefCell::new(state),
            depth,
            reserved: Reservation::new(&self.meter, VALUE_BYTES)?,
        }))
    }

    pub(crate) fn iterator(&self, state: IterState) -> Result<Value> {
        self.new_iter(state).map(Value::Iter)
    }

    pub(crate) fn iters(&self, values: &[Value]) -> Result<Vec<Rc<Iter>>> {
        values.iter().map(|value| self.iter(value)).collect()
    }

    /// `iter(value)`.
    pub(crate) fn iter(&self, value: &Value) -> Result<Rc<Iter>> {
        let state = match value {
            Value::Iter(iter) => return Ok(Rc::clone(iter)),
            Value::List(_) | Value::Tuple(_) => IterState::Items(value.clone(), 0),
            Value::Str(text) => IterState::Chars(text.clone(), 0),
            Value::Range(range) => IterState::Range(**range, 0),
            Value::Dict(dict) => dict_state(dict, View::Keys),
            Value::View(dict, view) => dict_state(dict, *view),
            Value::Set(_) => {
                return Err(Problem::failed(
                    "the order of a set is not defined: iterate over sorted(...) of it",
                ));
            }
            other => return Err(other.problem("cannot be iterated")),
        };
        self.new_iter(state)
    }

    /// Like `iter`, for callers that do not depend on the order.
    pub(crate) fn iter_any_order(&self, value: &Value) -> Result<Rc<Iter>> {
        match value {
            Value::Set(set) => self.new_iter(IterState::Values(set.values().into_iter())),
            other => self.iter(other),
        }
    }

    pub(crate) fn next(&self, iter: &Iter) -> Result<Option<Value>> {
        self.meter.step(1)?;
        let Ok(mut state) = iter.state.try_borrow_mut() else {
            return Err(Problem::failed("an iterator that iterates over itself"));
        };
        Ok(match &mut *state {
            IterState::Items(value, at) => {
                let found = item_at(value, *at);
                *at += 1;
                found
            }
            IterState::Backwards(value, left) => {
                if *left == 0 {
                    return Ok(None);
                }
                *left -= 1;
                item_at(value, *left)
            }
            IterState::Chars(text, at) => match text[*at..].chars().next() {
                Some(c) => {
                    *at += c.len_utf8();
                    Some(self.text(c.to_string())?)
                }
                None => None,
            },
            IterState::Range(range, at) => {
                if *at >= range.len() {
                    return Ok(None);
                }
                let value = range.start + *at * range.step;
                *at += 1;
                Some(Value::Int(value))
            }
            IterState::Dict {
                dict,
                view,
                at,
                length,
            } => {
                if dict.len() != *length {
                    return Err(Problem::failed("a dict was changed during iteration"));
                }
                let Some((key, value)) = dict.pair_at(*at) else {
                    return Ok(None);
                };
                *at += 1;
                Some(match view {
                    View::Keys => key,
                    View::Values => value,
                    View::Items => self.tuple(vec![key, value])?,
                })
            }
            IterState::Values(values) => values.next(),
            IterState::Generator(generator) => self.next_generated(generator)?,
            IterState::Enumerate(inner, count) => match self.next(inner)? {
                Some(value) => {
                    let number = Value::Int(*count);
                    *count += 1;
                    Some(self.tuple(vec![number, value])?)
                }
                None => None,
            },
            IterState::Zip(inner) => match self.next_of_each(inner)? {
                Some(values) => Some(self.tuple(values)?),
                None => None,
            },
            IterState::Map(function, inner) => match self.next_of_each(inner)? {
                Some(values) => Some(self.call(function, Args::positional(values))?),
                None => None,
            },
            IterState::Filter(function, inner) => loop {
                let Some(value) = self.next(inner)? else {
                    break None;
                };
                let wanted = match &*function {
                    Value::None => self.truth(&value),
                    function => {
                        let args = Args::positional(vec![value.clone()]);
                        self.truth(&self.call(function, args)?)
                    }
                };
                if wanted {
                    break Some(value);
                }
            },
        })
    }

    /// Starts a generator. Its first iterable is evaluated immediately, as in Python.
    pub(crate) fn generator(&self, made: &Arc<Comprehension>, scope: &Rc<Scope>) -> Result<Value> {
        let mut loops = Vec::new();
        if let Some(Clause::For(_, iterable)) = made.clauses.first() {
            loops.push((0, self.iter(&self.evaluate(iterable, scope)?)?));
        }
        let generator = Generator {
            made: Arc::clone(made),
            scope: scope.inside(),
            loops,
        };
        self.iterator(IterState::Generator(Box::new(generator)))
    }

    fn next_generated(&self, generator: &mut Generator) -> Result<Option<Value>> {
        let Generator { made, scope, loops } = generator;
        while let Some((at, iter)) = loops.last() {
            let Some(value) = self.next(iter)? else {
                loops.pop();
                continue;
            };
            let mut at = *at;
            if let Clause::For(target, _) = &made.clauses[at] {
                self.assign(target, value, scope)?;
            }
            loop {
                at += 1;
                match made.clauses.get(at) {
                    None => return self.evaluate(&made.element, scope).map(Some),
                    Some(Clause::If(condition)) => {
                        if !self.truth(&self.evaluate(condition, scope)?) {
                            break;
                        }
                    }
                    Some(Clause::For(_, iterable)) => {
                        let iter = self.iter(&self.evaluate(iterable, scope)?)?;
                        loops.push((at, iter));
                        break;
                    }
                }
            }
        }
        Ok(None)
    }

    fn next_of_each(&self, iters: &[Rc<Iter>]) -> Result<Option<Vec<Value>>> {
        let mut values = Vec::with_capacity(iters.len());
        for iter in iters {
            match self.next(iter)? {
                Some(value) => values.push(value),
                None => return Ok(None),
            }
        }
        Ok((!values.is_empty()).then_some(values))
    }

    /// Collects the remaining values within the memory limit.
    pub(crate) fn collect(&self, iter: &Iter) -> Result<Vec<Value>> {
        let room = Reservation::new(&self.meter, 0)?;
        let mut values = Vec::new();
        while let Some(value) = self.next(iter)? {
            room.grow(SLOT_BYTES)?;
            values.push(value);
        }
        Ok(values)
    }

    pub(crate) fn items(&self, value: &Value) -> Result<Vec<Value>> {
        self.collect(&*self.iter(value)?)
    }

    pub(crate) fn items_any_order(&self, value: &Value) -> Result<Vec<Value>> {
        self.collect(&*self.iter_any_order(value)?)
    }

    /// `len(value)`, if it has one.
    pub(crate) fn length(&self, value: &Value) -> Option<i128> {
        let length = match value {
            Value::Str(text) => text.chars().count(),
            Value::List(list) => list.items.borrow().len(),
            Value::Tuple(tuple) => tuple.items.len(),
            Value::Dict(dict) | Value::View(dict, _) => dict.len(),
            Value::Set(set) => set.len(),
            Value::Range(range) => return Some(range.len()),
            _ => return None,
        };
        i128::try_from(length).ok()
    }
}

fn over(iters: &[Rc<Iter>]) -> Result<u16> {
    let iters: Vec<Value> = iters.iter().cloned().map(Value::Iter).collect();
    depth_over(iters.iter())
}

fn dict_state(dict: &Rc<Dict>, view: View) -> IterState {
    IterState::Dict {
        dict: Rc::clone(dict),
        view,
        at: 0,
        length: dict.len(),
    }
}

fn item_at(value: &Value, at: usize) -> Option<Value> {
    match value {
        Value::List(list) => list.items.borrow().get(at).cloned(),
        Value::Tuple(tuple) => tuple.items.get(at).cloned(),
        _ => None,
    }
}
