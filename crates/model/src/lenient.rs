//! Deserializers for values as GSE callers write them: numbers as strings, null for absent, any scalar as a label.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserializer, Error, Visitor};
use serde::{Deserialize, Serialize, de};

/// `3`, `3.0`, `"3"`; null, `""` and absence are none.
pub fn int<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    deserializer.deserialize_any(IntVisitor)
}

struct IntVisitor;

impl<'de> Visitor<'de> for IntVisitor {
    type Value = Option<i64>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number")
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Some(value))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Self::Value, E> {
        i64::try_from(value)
            .map(Some)
            .map_err(|_| E::custom("is too large"))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Self::Value, E> {
        match value.fract() == 0.0 && value.abs() < 9e15 {
            true => Ok(Some(value as i64)),
            false => Err(E::custom(format!("must be a whole number, not {value}"))),
        }
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Self::Value, E> {
        match value.trim() {
            "" => Ok(None),
            text => text
                .parse()
                .map(Some)
                .map_err(|_| E::custom(format!("must be a whole number, not {text:?}"))),
        }
    }

    fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}

/// A list of such numbers. Null is none; null items are dropped.
pub fn ints<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<i64>>, D::Error> {
    #[derive(Deserialize)]
    struct Item(#[serde(deserialize_with = "int")] Option<i64>);
    let list = Option::<Vec<Item>>::deserialize(deserializer)?;
    Ok(list.map(|list| list.into_iter().filter_map(|item| item.0).collect()))
}

/// A list of texts or numbers. Null is none; null items are dropped.
pub fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<String>>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Item {
        Text(String),
        Number(serde_json::Number),
        Null(()),
    }
    let list = Option::<Vec<Item>>::deserialize(deserializer)
        .map_err(|_| D::Error::custom("must be a list of strings"))?;
    let text = |item| match item {
        Item::Text(text) => Some(text),
        Item::Number(number) => Some(number.to_string()),
        Item::Null(()) => None,
    };
    Ok(list.map(|list| list.into_iter().filter_map(text).collect()))
}

/// `30`, `30.5`, `"30.5"`; null, `""` and absence are none.
pub fn float<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Form {
        Number(f64),
        Text(String),
    }
    match Option::<Form>::deserialize(deserializer)
        .map_err(|_| D::Error::custom("must be a number"))?
    {
        None => Ok(None),
        Some(Form::Number(n)) => Ok(Some(n)),
        Some(Form::Text(text)) if text.trim().is_empty() => Ok(None),
        Some(Form::Text(text)) => text
            .trim()
            .parse()
            .map(Some)
            .map_err(|_| D::Error::custom(format!("must be a number, not {text:?}"))),
    }
}

/// Accepts only a JSON object. Serde would also accept an array of the field values.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Object<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ObjectVisitor<T>(std::marker::PhantomData<T>);

        impl<'de, T: Deserialize<'de>> serde::de::Visitor<'de> for ObjectVisitor<T> {
            type Value = T;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
                T::deserialize(serde::de::value::MapAccessDeserializer::new(map))
            }
        }

        let visitor = ObjectVisitor(std::marker::PhantomData);
        deserializer.deserialize_map(visitor).map(Self)
    }
}

/// An optional object.
pub fn object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    Ok(Option::<Object<T>>::deserialize(deserializer)?.map(|object| object.0))
}

/// An optional list of objects; a null item is none.
pub fn objects<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<Vec<Option<T>>>, D::Error> {
    let list = Option::<Vec<Option<Object<T>>>>::deserialize(deserializer)?;
    Ok(list.map(|list| {
        list.into_iter()
            .map(|item| item.map(|object| object.0))
            .collect()
    }))
}

/// A JSON object of scalars, converted to text; null values are dropped.
pub fn labels<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Scalar {
        Text(String),
        Bool(bool),
        Number(serde_json::Number),
        Null(()),
    }
    let pairs = Option::<BTreeMap<String, serde_json::Value>>::deserialize(deserializer)?
        .unwrap_or_default();
    let mut labels = BTreeMap::new();
    for (key, value) in pairs {
        let scalar = Scalar::deserialize(value).map_err(|_| {
            D::Error::custom(format!(
                "the value of {key:?} must be a string, number or boolean"
            ))
        })?;
        let text = match scalar {
            Scalar::Text(text) => text,
            Scalar::Bool(flag) => flag.to_string(),
            Scalar::Number(number) => number.to_string(),
            Scalar::Null(()) => continue,
        };
        labels.insert(key, text);
    }
    Ok(labels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    struct Sample {
        #[serde(default, deserialize_with = "int")]
        n: Option<i64>,
        #[serde(default, deserialize_with = "float")]
        f: Option<f64>,
        #[serde(default, deserialize_with = "labels")]
        l: BTreeMap<String, String>,
    }

    fn read(text: &str) -> Result<Sample, serde_json::Error> {
        serde_json::from_str(text)
    }

    #[test]
    fn numbers_are_read_in_every_form() {
        for text in [
            r#"{"n":3,"f":3}"#,
            r#"{"n":"3","f":"3"}"#,
            r#"{"n":3.0,"f":3.0}"#,
        ] {
            let sample = read(text).unwrap();
            assert_eq!((sample.n, sample.f), (Some(3), Some(3.0)), "{text}");
        }
        for text in [
            r#"{"n":null,"f":null,"l":null}"#,
            r#"{"n":"","f":""}"#,
            "{}",
        ] {
            let sample = read(text).unwrap();
            assert_eq!(
                (sample.n, sample.f, sample.l.len()),
                (None, None, 0),
                "{text}"
            );
        }
    }

    #[test]
    fn other_types_are_refused_as_numbers() {
        for text in [
            r#"{"n":"x"}"#,
            r#"{"n":1.5}"#,
            r#"{"n":[]}"#,
            r#"{"n":true}"#,
            r#"{"f":{}}"#,
            r#"{"f":"x"}"#,
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_array_is_no_object() {
        #[derive(Debug, Deserialize)]
        struct Holder {
            #[serde(default, deserialize_with = "object")]
            one: Option<Sample>,
            #[serde(default, deserialize_with = "objects")]
            many: Option<Vec<Option<Sample>>>,
        }
        let read = |text: &str| serde_json::from_str::<Holder>(text);
        assert_eq!(
            read(r#"{"one":{"n":1},"many":[{"n":2},null]}"#)
                .unwrap()
                .one
                .unwrap()
                .n,
            Some(1)
        );
        assert!(read(r#"{"one":null}"#).unwrap().many.is_none());
        for text in [r#"{"one":[1]}"#, r#"{"many":[[1]]}"#, r#"{"one":"x"}"#] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn labels_take_any_scalar() {
        let sample = read(r#"{"l":{"a":"x","b":1,"c":true,"d":null}}"#).unwrap();
        let pairs: Vec<_> = sample
            .l
            .iter()
            .map(|(k, v)| (k.as_str(), v.as_str()))
            .collect();
        assert_eq!(pairs, [("a", "x"), ("b", "1"), ("c", "true")]);
        assert!(read(r#"{"l":{"a":[1]}}"#).is_err());
    }
}
