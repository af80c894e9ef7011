//! The variables a template may read.

use std::collections::BTreeMap;

use serde_json::Value;

/// Variables by their names. A template goes through the fields of a map in the order that `serde_json` keeps, which is by name.
///
/// Maps are dicts. Inside of an object they have their fields as attributes too, so that `this.attrib` is `this['attrib']`; where a
/// field has the name of a method of dicts, as `items`, the attribute is the method. The names `loop`, `context`, `capture` and
/// `STOP_RENDERING` are Mako's own: variables with these names are never read.
#[derive(Debug, Clone, Default)]
pub struct Context {
    variables: BTreeMap<String, (Value, Maps)>,
}

/// What a map is to the template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Maps {
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
        let value = (value.into(), Maps::Dicts);
        self.variables.insert(name.into(), value);
    }

    /// Sets a variable whose maps, at every depth, are objects.
    pub fn insert_object(&mut self, name: impl Into<String>, value: impl Into<Value>) {
        let value = (value.into(), Maps::Objects);
        self.variables.insert(name.into(), value);
    }

    pub(crate) fn variable(&self, name: &str) -> Option<(&Value, Maps)> {
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
