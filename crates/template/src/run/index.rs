//! Evaluates `x[i]` and `x[a:b:c]`.

use super::Interpreter;
use super::dict::Key;
use super::operators::as_int;
use super::value::{Range, Value};
use crate::error::{Problem, Result};

/// Resolves an index; negative ones count from the end.
pub(crate) fn position(index: &Value, length: usize, what: &str) -> Result<usize> {
    let Some(at) = as_int(index) else {
        return Err(index.mismatch(format_args!("an index of a {what} is a whole number")));
    };
    let length = i128::try_from(length).unwrap_or(i128::MAX);
    let resolved = from_start(at, length);
    if resolved < 0 || resolved >= length {
        return Err(failed!(
            "index {at} is out of range for a {what} of length {length}"
        ));
    }
    Ok(usize::try_from(resolved).unwrap_or(usize::MAX))
}

/// Counts a negative index from the start instead of the end.
pub(crate) fn from_start(index: i128, length: i128) -> i128 {
    match index < 0 {
        true => index.saturating_add(length),
        false => index,
    }
}

impl Interpreter<'_> {
    pub(crate) fn index(&self, container: &Value, index: &Value) -> Result<Value> {
        match container {
            Value::List(list) => {
                let items = list.items.borrow();
                Ok(items[position(index, items.len(), "list")?].clone())
            }
            Value::Tuple(tuple) => {
                Ok(tuple.items[position(index, tuple.items.len(), "tuple")?].clone())
            }
            Value::Str(text) => {
                self.meter.step_bytes(text.len())?;
                let length = text.chars().count();
                let at = position(index, length, "string")?;
                let c = text.chars().nth(at).unwrap_or_default();
                self.text(c.to_string())
            }
            Value::Range(range) => {
                let length = usize::try_from(range.len()).unwrap_or(usize::MAX);
                let at = position(index, length, "range")?;
                let at = i128::try_from(at).unwrap_or(0);
                Ok(Value::Int(range.start + at * range.step))
            }
            Value::Dict(dict) => {
                let key = Key::of(index)?;
                dict.get(&key).ok_or_else(|| self.no_key(index))
            }
            Value::Context => {
                let Value::Str(name) = index else {
                    return Err(self.no_key(index));
                };
                self.context_value(name)?.ok_or_else(|| self.no_key(index))
            }
            other => Err(other.problem("cannot be indexed")),
        }
    }

    pub(crate) fn no_key(&self, key: &Value) -> Problem {
        match self.repr(key) {
            Ok(text) => {
                let key = shortened(&text).to_string();
                failed!("there is no key {key}")
                    .coded("no_key")
                    .with("key", key)
            }
            Err(problem) => problem,
        }
    }

    pub(crate) fn slice(&self, container: &Value, bounds: &[Option<Value>; 3]) -> Result<Value> {
        let Some(length) = self.length(container) else {
            return Err(container.problem("cannot be sliced"));
        };
        let range = slice_range(bounds, length)?;
        match container {
            Value::List(list) => {
                let items = list.items.borrow();
                let picked = picked(&items, range);
                drop(items);
                self.list(picked)
            }
            Value::Tuple(tuple) => self.tuple(picked(&tuple.items, range)),
            Value::Str(text) => {
                self.meter.step_bytes(text.len())?;
                if range.step == 1 {
                    let text: String = text
                        .chars()
                        .skip(usize::try_from(range.start).unwrap_or(0))
                        .take(usize::try_from(range.len()).unwrap_or(0))
                        .collect();
                    return self.text(text);
                }
                let chars: Vec<char> = text.chars().collect();
                let text: String = indexes(range).map(|at| chars[at]).collect();
                self.text(text)
            }
            Value::Range(inner) => {
                let at = |resolved: i128| inner.start + resolved * inner.step;
                Ok(Value::Range(std::rc::Rc::new(Range {
                    start: at(range.start),
                    stop: at(range.stop),
                    step: inner.step.saturating_mul(range.step),
                })))
            }
            other => Err(other.problem("cannot be sliced")),
        }
    }
}

fn shortened(text: &str) -> String {
    let mut short: String = text.chars().take(60).collect();
    if short.len() < text.len() {
        short.push_str("...");
    }
    short
}

/// Resolves a slice to a range of valid indexes.
fn slice_range(bounds: &[Option<Value>; 3], length: i128) -> Result<Range> {
    let mut numbers = [None; 3];
    for (number, bound) in numbers.iter_mut().zip(bounds) {
        *number = match bound {
            None | Some(Value::None) => None,
            Some(value) => Some(as_int(value).ok_or_else(|| {
                let name = value.type_name();
                failed!("a slice is made of whole numbers, not of a value of type {name}")
            })?),
        };
    }
    let [start, stop, step] = numbers;
    let step = step.unwrap_or(1);
    if step == 0 {
        return Err(Problem::failed("the step of a slice cannot be 0"));
    }
    // A step beyond the length selects one item, whatever its size.
    let step = step.clamp(-length - 1, length + 1);
    let (low, high) = if step > 0 {
        (0, length)
    } else {
        (-1, length - 1)
    };
    let inside = |bound: i128| from_start(bound, length).clamp(low, high);
    let (first, last) = if step > 0 { (low, high) } else { (high, low) };
    Ok(Range {
        start: start.map_or(first, inside),
        stop: stop.map_or(last, inside),
        step,
    })
}

fn indexes(range: Range) -> impl Iterator<Item = usize> {
    (0..range.len()).map(move |at| usize::try_from(range.start + at * range.step).unwrap_or(0))
}

fn picked(items: &[Value], range: Range) -> Vec<Value> {
    indexes(range).map(|at| items[at].clone()).collect()
}
