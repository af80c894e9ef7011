//! The variables that a template may read.

use std::collections::BTreeMap;

use serde_json::Value;

/// Variables by name. Templates iterate over the fields of a map in the order of `serde_json`, which is by name.
///
/// Maps are dicts. The maps of an object also have their fields as attributes: `this.attrib` is `this['attrib']`. If a field has
/// the name of a dict method, such as `items`, the attribute is the method. Mako reserves `loop`, `context`, `capture` and
/// `STOP_RENDERING`: variables with these names are ignored.
#[derive(Debug, Clone, Default)]
pub struct Context {
    variables: BTreeMap<String, (Value, MapKind)>,
}

/// How a template accesses maps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MapKind {
    Dicts,
    Objects,
}

impl Context {
    #[must_use]
    pub fn new() -> Context {
        Context::default()
    }

    /// Sets a variable whose maps are dicts.
    pub fn insert(&mut self, name: impl Into<String>, value: impl Into<Value>) {
        let value = (value.into(), MapKind::Dicts);
        self.variables.insert(name.into(), value);
    }

    /// Sets a variable whose maps, at every depth, are objects.
    pub fn insert_object(&mut self, name: impl Into<String>, value: impl Into<Value>) {
        let value = (value.into(), MapKind::Objects);
        self.variables.insert(name.into(), value);
    }

    pub(crate) fn variable(&self, name: &str) -> Option<(&Value, MapKind)> {
        let (value, maps) = self.variables.get(name)?;
        Some((value, *maps))
    }
}

impl From<serde_json::Map<String, Value>> for Context {
    fn from(map: serde_json::Map<String, Value>) -> Context {
        let mut context = Context::new();
        for (name, value) in map {
            context.insert(name, value);
        }
        context
    }
}
