//! A stable merge sort by "less than", whose comparisons may fail.

use std::cmp::Ordering;

use super::Interpreter;
use super::call::Args;
use super::value::Value;
use crate::error::{Problem, Result};

impl Interpreter<'_> {
    /// Sorts like `sorted(values, key=…, reverse=…)`.
    pub(crate) fn sort(
        &self,
        values: Vec<Value>,
        key: &Value,
        reverse: bool,
    ) -> Result<Vec<Value>> {
        let mut keyed = Vec::with_capacity(values.len());
        for value in values {
            let key = match key {
                Value::None => value.clone(),
                function => self.call(function, Args::positional(vec![value.clone()]))?,
            };
            keyed.push((key, value));
        }
        // Reversing before and after the sort keeps the order of equal values.
        if reverse {
            keyed.reverse();
        }
        let mut sorted = self.merge_sort(keyed)?;
        if reverse {
            sorted.reverse();
        }
        Ok(sorted.into_iter().map(|(_, value)| value).collect())
    }

    fn merge_sort(&self, mut values: Vec<(Value, Value)>) -> Result<Vec<(Value, Value)>> {
        if values.len() < 2 {
            return Ok(values);
        }
        let right = values.split_off(values.len() / 2);
        let left = self.merge_sort(values)?;
        let right = self.merge_sort(right)?;
        let mut merged = Vec::with_capacity(left.len() + right.len());
        let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
        while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
            let next = if self.less(&b.0, &a.0)? {
                right.next()
            } else {
                left.next()
            };
            merged.extend(next);
        }
        merged.extend(left);
        merged.extend(right);
        Ok(merged)
    }

    /// `a < b`, for values that have an order.
    pub(crate) fn less(&self, a: &Value, b: &Value) -> Result<bool> {
        if let (Value::Set(_), Value::Set(_)) = (a, b) {
            return Err(Problem::failed("sets have no order"));
        }
        match self.order(a, b, "<", 0)? {
            Some(order) => Ok(order == Ordering::Less),
            None => Err(Problem::failed("nan has no order")),
        }
    }
}
