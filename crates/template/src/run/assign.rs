//! Assigns and deletes names and container items.

use std::rc::Rc;

use super::Interpreter;
use super::dict::Key;
use super::index::position;
use super::scope::Scope;
use super::value::Value;
use crate::error::{Problem, Result};
use crate::python::ast::{BinaryOp, Expr, Target};

impl Interpreter<'_> {
    pub(crate) fn assign(&self, target: &Target, value: Value, scope: &Rc<Scope>) -> Result<()> {
        match target {
            Target::Name(name) => {
                scope.set(name, value);
                Ok(())
            }
            Target::Index(container, index) => {
                let container = self.evaluate(container, scope)?;
                let index = self.evaluate(index, scope)?;
                self.set_at(&container, index, value)
            }
            Target::Tuple(targets) => {
                let values = self.items(&value)?;
                if values.len() != targets.len() {
                    return Err(failed!(
                        "{} values cannot be assigned to {} names",
                        values.len(),
                        targets.len()
                    ));
                }
                for (target, value) in targets.iter().zip(values) {
                    self.assign(target, value, scope)?;
                }
                Ok(())
            }
        }
    }

    fn set_at(&self, container: &Value, index: Value, value: Value) -> Result<()> {
        match container {
            Value::List(list) => {
                let length = list.items.borrow().len();
                let at = position(&index, length, "list")?;
                self.set_in_list(list, at, value)
            }
            Value::Dict(dict) => self.set_in_dict(dict, index, value),
            other => Err(other.problem("cannot be changed")),
        }
    }

    /// `target op= by`.
    pub(crate) fn augmented_assign(
        &self,
        target: &Target,
        op: BinaryOp,
        by: &Expr,
        scope: &Rc<Scope>,
    ) -> Result<()> {
        match target {
            Target::Name(name) => {
                let old = self.look_up(name, scope)?;
                let by = self.evaluate(by, scope)?;
                scope.set(name, self.augmented(op, &old, &by)?);
                Ok(())
            }
            Target::Index(container, index) => {
                let container = self.evaluate(container, scope)?;
                let index = self.evaluate(index, scope)?;
                let old = self.index(&container, &index)?;
                let by = self.evaluate(by, scope)?;
                let new = self.augmented(op, &old, &by)?;
                self.set_at(&container, index, new)
            }
            Target::Tuple(_) => Err(Problem::failed("only one value can be changed at a time")),
        }
    }

    pub(crate) fn delete(&self, target: &Target, scope: &Rc<Scope>) -> Result<()> {
        match target {
            Target::Name(name) => {
                let old = scope.names.borrow_mut().remove(name);
                match old {
                    Some(_) => Ok(()),
                    None => Err(failed!("variable \"{name}\" has no value to delete")),
                }
            }
            Target::Index(container, index) => {
                let container = self.evaluate(container, scope)?;
                let index = self.evaluate(index, scope)?;
                let old = match &container {
                    Value::List(list) => {
                        let mut items = list.items.borrow_mut();
                        let at = position(&index, items.len(), "list")?;
                        Some(items.remove(at))
                    }
                    Value::Dict(dict) => {
                        let key = Key::of(&index)?;
                        let old = dict.pairs.borrow_mut().shift_remove(&key);
                        old.map(|(_, value)| value)
                    }
                    other => return Err(other.problem("cannot be changed")),
                };
                match old {
                    Some(_) => Ok(()),
                    None => Err(self.no_key(&index)),
                }
            }
            Target::Tuple(targets) => {
                for target in targets {
                    self.delete(target, scope)?;
                }
                Ok(())
            }
        }
    }
}
