//! Escapes aliases for process names: a topology source may use any text as an alias, names have rules.

use std::borrow::Cow;
use std::fmt::Write;

use crate::{ProcessName, digest};

/// The longest alias in a name, which leaves room for `_` and the largest `local_inst_id`.
const MAX_ALIAS_CHARS: usize = crate::name::MAX_NAME_CHARS - 11;
/// How many characters of a longer alias precede its hash.
const KEPT_CHARS: usize = MAX_ALIAS_CHARS - 17;

/// The alias as used in the names of its instances. Characters that names may not contain are percent-encoded; a long alias
/// is cut and ends in a hash of the whole.
pub fn escape_alias(alias: &str) -> Cow<'_, str> {
    let is_short = alias.chars().count() <= MAX_ALIAS_CHARS;
    if is_short && ProcessName::parse(&format!("{alias}_1")).is_ok() {
        return Cow::Borrowed(alias);
    }
    let mut escaped = String::with_capacity(alias.len() + 8);
    for (at, character) in alias.chars().enumerate() {
        let before = match at {
            0 => "",
            _ => "a",
        };
        match ProcessName::parse(&format!("{before}{character}_1")).is_ok() {
            true => escaped.push(character),
            false => {
                for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                    // Writing to a String cannot fail.
                    let _ = write!(escaped, "%{byte:02X}");
                }
            }
        }
    }
    if escaped.chars().count() > MAX_ALIAS_CHARS {
        let hash = digest::text_hash(alias);
        escaped = escaped.chars().take(KEPT_CHARS).collect();
        let _ = write!(escaped, "~{hash:016x}");
    }
    match ProcessName::parse(&format!("{escaped}_1")).is_ok() {
        true => Cow::Owned(escaped),
        false => Cow::Owned(format!("alias~{:016x}", digest::text_hash(alias))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_valid_alias_stays_as_it_is() {
        for alias in ["nginx", "two words", "游戏 服", "a%3Ab", "", ".", "x_1"] {
            assert_eq!(escape_alias(alias), alias);
        }
        let longest = "长".repeat(MAX_ALIAS_CHARS);
        assert_eq!(escape_alias(&longest), longest);
    }

    #[test]
    fn an_invalid_alias_is_escaped_into_a_valid_name() {
        for (alias, part) in [
            ("a:b", "a%3Ab"),
            ("/usr/bin/x", "%2Fusr%2Fbin%2Fx"),
            (" x", "%20x"),
            ("a\nb", "a%0Ab"),
        ] {
            assert_eq!(escape_alias(alias), part);
        }
        let long = |last: char| format!("{}{last}", "长:".repeat(300));
        let (one, other) = (
            escape_alias(&long('1')).into_owned(),
            escape_alias(&long('2')).into_owned(),
        );
        assert_ne!(
            one, other,
            "distinguished although the beginning is the same"
        );
        for part in [one, other, escape_alias("a:b").into_owned()] {
            assert_eq!(escape_alias(&part), part, "escaped once");
            assert!(ProcessName::parse(&format!("{part}_{}", u32::MAX)).is_ok());
        }
    }
}
