//! A value that is the default in most places: [`Rare`] takes one pointer there instead of the size of the value.
//!
//! An agent holds thousands of specs and states, and most parts of them are not used. Reads, comparisons and JSON are those
//! of the value itself.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::LazyLock;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A value whose default is shared by all [`Rare`] values that have it.
pub trait SharedDefault: Default + 'static {
    fn shared_default() -> &'static Self;
}

/// Implements [`SharedDefault`].
#[macro_export]
macro_rules! shared_default {
    ($($kind:ty),+ $(,)?) => {$(
        impl $crate::rare::SharedDefault for $kind {
            fn shared_default() -> &'static Self {
                static SHARED: $crate::rare::SharedCell<$kind> = $crate::rare::shared_cell();
                &SHARED
            }
        }
    )+};
}

/// Where [`shared_default`](crate::shared_default) keeps a default.
pub type SharedCell<T> = LazyLock<T>;

pub const fn shared_cell<T: Default>() -> SharedCell<T> {
    LazyLock::new(T::default)
}

/// On the heap, unless it is the default.
#[derive(Clone)]
pub struct Rare<T>(Option<Box<T>>);

impl<T> Default for Rare<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T: SharedDefault + PartialEq> From<T> for Rare<T> {
    fn from(value: T) -> Self {
        Self((value != *T::shared_default()).then(|| Box::new(value)))
    }
}

impl<T: SharedDefault> Rare<T> {
    pub fn is_default(&self) -> bool
    where
        T: PartialEq,
    {
        **self == *T::shared_default()
    }

    pub fn into_inner(self) -> T {
        self.0.map_or_else(T::default, |value| *value)
    }
}

impl<T: SharedDefault> Deref for Rare<T> {
    type Target = T;

    fn deref(&self) -> &T {
        match &self.0 {
            Some(value) => value,
            None => T::shared_default(),
        }
    }
}

/// Takes room for the value, also if it stays the default.
impl<T: SharedDefault> DerefMut for Rare<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.get_or_insert_default()
    }
}

impl<T: SharedDefault + fmt::Debug> fmt::Debug for Rare<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: SharedDefault + PartialEq> PartialEq for Rare<T> {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (_, _) => **self == **other,
        }
    }
}

impl<T: SharedDefault + Eq> Eq for Rare<T> {}

impl<T: SharedDefault + Serialize> Serialize for Rare<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

impl<'de, T: SharedDefault + PartialEq + Deserialize<'de>> Deserialize<'de> for Rare<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
    #[serde(default)]
    struct Settings {
        limit: Option<u64>,
        name: String,
    }

    shared_default!(Settings);

    #[test]
    fn a_default_takes_no_room_and_reads_like_any_value() {
        let none: Rare<Settings> = serde_json::from_str("{}").unwrap();
        assert!(none.0.is_none());
        assert_eq!(none.limit, None);
        let mut some = none.clone();
        some.name.push('x');
        assert_ne!(none, some);
        let text = serde_json::to_string(&some).unwrap();
        assert_eq!(text, r#"{"limit":null,"name":"x"}"#);
        assert_eq!(serde_json::from_str::<Rare<Settings>>(&text).unwrap(), some);
        some.name.clear();
        assert_eq!(none, some, "equal, whether it takes room or not");
        assert_eq!(Rare::from(some.into_inner()).0, None);
        assert_eq!(size_of::<Rare<Settings>>(), size_of::<usize>());
    }
}
