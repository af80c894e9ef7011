//! `isdigit()` and similar tests.

use crate::error::Result;
use crate::text::is_space;

/// Supports ASCII, and Chinese characters as letters. Beyond these Python and Rust classify characters differently.
pub(crate) fn test(text: &str, name: &str) -> Result<bool> {
    match name {
        "isascii" => return Ok(text.is_ascii()),
        "isspace" => return Ok(!text.is_empty() && text.chars().all(is_space)),
        _ => {}
    }
    let known = |c: char| c.is_ascii() || is_ideograph(c);
    if !text.chars().all(known) {
        return Err(failed!(
            "{name}() knows ASCII and Chinese characters alone in templates"
        ));
    }
    let all = |test: fn(char) -> bool| !text.is_empty() && text.chars().all(test);
    Ok(match name {
        "isalpha" => all(|c| c.is_ascii_alphabetic() || is_ideograph(c)),
        "isalnum" => all(|c| c.is_ascii_alphanumeric() || is_ideograph(c)),
        "isdigit" | "isdecimal" => all(|c| c.is_ascii_digit()),
        "isnumeric" if text.is_ascii() => all(|c| c.is_ascii_digit()),
        "islower" => {
            text.contains(|c: char| c.is_ascii_lowercase())
                && !text.contains(|c: char| c.is_ascii_uppercase())
        }
        "isupper" => {
            text.contains(|c: char| c.is_ascii_uppercase())
                && !text.contains(|c: char| c.is_ascii_lowercase())
        }
        _ => {
            return Err(failed!("{name}() works with ASCII alone in templates"));
        }
    })
}

fn is_ideograph(c: char) -> bool {
    ('\u{4e00}'..='\u{9fa5}').contains(&c)
}
