//! `x[i]` and `x[a:b:c]`.

use super::Machine;
use super::dict::Key;
use super::operate::as_int;
use super::value::{Range, Value};
use crate::error::Problem;

pub(crate) fn int_of(value: &Value) -> Option<i128> {
    as_int(value)
}

/// The place an index stands for: negative ones count from the end.
pub(crate) fn position(index: &Value, length: usize, what: &str) -> Result<usize, Problem> {
    let Some(at) = int_of(index) else {
        let name = index.type_name();
        return Err(Problem::failed(format!(
            "an index of a {what} is a whole number, not a value of type {name}"
        )));
    };
    let length = i128::try_from(length).unwrap_or(i128::MAX);
    let place = if at < 0 {
        at.saturating_add(length)
    } else {
        at
    };
    if place < 0 || place >= length {
        return Err(Problem::failed(format!(
            "there is no place {at} in a {what} of length {length}"
        )));
    }
    Ok(usize::try_from(place).unwrap_or(usize::MAX))
}

impl Machine<'_> {
    pub(crate) fn index(&self, container: &Value, index: &Value) -> Result<Value, Problem> {
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
            other => Err(Problem::failed(format!(
                "a value of type {} has no places",
                other.type_name()
            ))),
        }
    }

    pub(crate) fn no_key(&self, key: &Value) -> Problem {
        match self.repr(key) {
            Ok(text) => Problem::failed(format!("there is no key {}", shortened(&text))),
            Err(problem) => problem,
        }
    }

    pub(crate) fn slice(
        &self,
        container: &Value,
        bounds: &[Option<Value>; 3],
    ) -> Result<Value, Problem> {
        let Some(length) = self.length(container) else {
            let name = container.type_name();
            return Err(Problem::failed(format!(
                "a value of type {name} cannot be sliced"
            )));
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
                let text: String = places(range).map(|at| chars[at]).collect();
                self.text(text)
            }
            Value::Range(inner) => {
                let at = |place: i128| inner.start + place * inner.step;
                Ok(Value::Range(std::rc::Rc::new(Range {
                    start: at(range.start),
                    stop: at(range.stop),
                    step: inner.step.saturating_mul(range.step),
                })))
            }
            other => Err(Problem::failed(format!(
                "a value of type {} cannot be sliced",
                other.type_name()
            ))),
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

/// The places a slice stands for, all of them inside.
fn slice_range(bounds: &[Option<Value>; 3], length: i128) -> Result<Range, Problem> {
    let mut numbers = [None; 3];
    for (number, bound) in numbers.iter_mut().zip(bounds) {
        *number = match bound {
            None | Some(Value::None) => None,
            Some(value) => Some(int_of(value).ok_or_else(|| {
                let name = value.type_name();
                Problem::failed(format!(
                    "a slice is made of whole numbers, not of a value of type {name}"
                ))
            })?),
        };
    }
    let [start, stop, step] = numbers;
    let step = step.unwrap_or(1);
    if step == 0 {
        return Err(Problem::failed("the step of a slice cannot be 0"));
    }
    // A step that is larger than everything takes one, as all larger ones do.
    let step = step.clamp(-length - 1, length + 1);
    let (low, high) = if step > 0 {
        (0, length)
    } else {
        (-1, length - 1)
    };
    let inside = |bound: i128| {
        let place = if bound < 0 {
            bound.saturating_add(length)
        } else {
            bound
        };
        place.clamp(low, high)
    };
    let (first, last) = if step > 0 { (low, high) } else { (high, low) };
    Ok(Range {
        start: start.map_or(first, inside),
        stop: stop.map_or(last, inside),
        step,
    })
}

fn places(range: Range) -> impl Iterator<Item = usize> {
    (0..range.len()).map(move |at| usize::try_from(range.start + at * range.step).unwrap_or(0))
}

fn picked(items: &[Value], range: Range) -> Vec<Value> {
    places(range).map(|at| items[at].clone()).collect()
}
