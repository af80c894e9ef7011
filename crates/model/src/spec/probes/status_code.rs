//! Which status codes of a response a probe accepts.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// `200`, `2xx`, `200-299`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatusCodes {
    first: u16,
    last: u16,
}

impl StatusCodes {
    /// Of a probe that names none.
    pub const DEFAULT: Self = Self {
        first: 200,
        last: 399,
    };
    const RULE: &'static str =
        "must be a status code from 100 to 599 (200), a class (2xx) or a range (200-299)";

    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim().to_ascii_lowercase();
        let code = |digits: &str| {
            let code = digits.parse::<u16>().ok();
            code.filter(|code| (100..600).contains(code) && digits.len() == 3)
        };
        let codes = match (text.strip_suffix("xx"), text.split_once('-')) {
            (Some(class), _) => {
                let first = code(&format!("{class}00"));
                first.map(|first| (first, first + 99))
            }
            (None, Some((first, last))) => code(first).zip(code(last)),
            (None, None) => code(&text).map(|code| (code, code)),
        };
        match codes {
            Some((first, last)) if first <= last => Ok(Self { first, last }),
            _ => Err(format!("{}, not {text:?}", Self::RULE)),
        }
    }

    pub fn contains(self, code: u16) -> bool {
        (self.first..=self.last).contains(&code)
    }
}

impl fmt::Display for StatusCodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first, last } = *self;
        match (first == last, first % 100 == 0 && last == first + 99) {
            (true, _) => write!(f, "{first}"),
            (false, true) => write!(f, "{}xx", first / 100),
            (false, false) => write!(f, "{first}-{last}"),
        }
    }
}

impl Serialize for StatusCodes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.first == self.last {
            true => serializer.serialize_u16(self.first),
            false => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for StatusCodes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Number(i64),
            Text(String),
        }
        let form =
            Form::deserialize(deserializer).map_err(|_| serde::de::Error::custom(Self::RULE))?;
        let text = match form {
            Form::Number(number) => number.to_string(),
            Form::Text(text) => text,
        };
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_classes_and_ranges_are_read_and_written() {
        for (text, first, last) in [("200", 200, 200), ("2XX", 200, 299), ("200-204", 200, 204)] {
            let codes = StatusCodes::parse(text).unwrap();
            assert_eq!(codes, StatusCodes { first, last });
            assert_eq!(codes.to_string(), text.to_ascii_lowercase());
            let json = serde_json::to_string(&codes).unwrap();
            assert_eq!(serde_json::from_str::<StatusCodes>(&json).unwrap(), codes);
            assert!(codes.contains(first) && codes.contains(last));
            assert!(!codes.contains(first - 1) && !codes.contains(last + 1));
        }
        assert_eq!(
            serde_json::from_str::<StatusCodes>("204").unwrap().first,
            204
        );
    }

    #[test]
    fn what_is_no_status_is_refused_with_the_rule() {
        for text in [
            "", "0", "99", "600", "xx", "6xx", "20x", "299-200", "200-", "-1", "+20",
        ] {
            let rule = StatusCodes::parse(text).unwrap_err();
            assert!(rule.contains("must be a status code"), "{text}: {rule}");
        }
        assert!(serde_json::from_str::<StatusCodes>("[]").is_err());
    }
}
