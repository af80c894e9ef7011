//! Scalars that callers write in several forms.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};

/// A scalar as the caller wrote it: callers send numbers as strings and the other way round.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub enum Scalar {
    /// Not there, or null.
    #[default]
    Absent,
    Int(i64),
    Text(Box<str>),
}

impl Scalar {
    /// The text as written, less the blanks around it.
    pub fn to_text(&self) -> Cow<'_, str> {
        match self {
            Self::Absent => "".into(),
            Self::Int(number) => number.to_string().into(),
            Self::Text(text) => text.trim().into(),
        }
    }

    pub fn into_text(self) -> Option<String> {
        match self {
            Self::Absent => None,
            other => Some(other.to_text().into_owned()).filter(|text| !text.is_empty()),
        }
    }

    pub fn to_int(&self) -> Option<i64> {
        match self {
            Self::Absent => None,
            Self::Int(number) => Some(*number),
            Self::Text(text) => text.trim().parse().ok(),
        }
    }

    pub fn is_empty(&self) -> bool {
        match self {
            Self::Absent => true,
            Self::Int(_) => false,
            Self::Text(text) => text.trim().is_empty(),
        }
    }

    pub(crate) fn is_absent(&self) -> bool {
        *self == Self::Absent
    }
}

impl From<&str> for Scalar {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl Serialize for Scalar {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Absent => serializer.serialize_none(),
            Self::Int(number) => serializer.serialize_i64(*number),
            Self::Text(text) => serializer.serialize_str(text),
        }
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScalarVisitor)
    }
}

struct ScalarVisitor;

impl Visitor<'_> for ScalarVisitor {
    type Value = Scalar;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or a number")
    }

    fn visit_i64<E>(self, value: i64) -> Result<Scalar, E> {
        Ok(Scalar::Int(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Scalar, E> {
        Ok(match i64::try_from(value) {
            Ok(value) => Scalar::Int(value),
            Err(_) => Scalar::Text(value.to_string().into()),
        })
    }

    fn visit_f64<E>(self, value: f64) -> Result<Scalar, E> {
        Ok(match value.fract() == 0.0 && value.abs() < 9e15 {
            true => Scalar::Int(value as i64),
            false => Scalar::Text(value.to_string().into()),
        })
    }

    fn visit_bool<E>(self, value: bool) -> Result<Scalar, E> {
        Ok(Scalar::Text(value.to_string().into()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Scalar, E> {
        Ok(Scalar::Text(value.into()))
    }

    fn visit_unit<E>(self) -> Result<Scalar, E> {
        Ok(Scalar::Absent)
    }
}
