//! Formats and parses numbers like Python.

use crate::error::{Problem, Result};

/// The shortest text that parses to the same number, in Python's format.
pub(crate) fn display_float(value: f64) -> String {
    if value.is_nan() {
        return "nan".into();
    }
    if value.is_infinite() {
        return if value > 0.0 {
            "inf".into()
        } else {
            "-inf".into()
        };
    }
    let scientific = format!("{value:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..16).contains(&exponent) {
        let plain = format!("{value}");
        return if plain.contains('.') {
            plain
        } else {
            plain + ".0"
        };
    }
    format!("{mantissa}e{}", display_exponent(exponent))
}

/// An exponent with sign and at least two digits.
pub(crate) fn display_exponent(exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{sign}{:02}", exponent.unsigned_abs())
}

/// `int(text, radix)`.
pub(crate) fn parse_int(text: &str, radix: u32) -> Option<i128> {
    let trimmed = text.trim_matches(crate::text::is_space);
    let (negative, digits) = match trimmed.strip_prefix(['-', '+']) {
        Some(rest) => (trimmed.starts_with('-'), rest),
        None => (false, trimmed),
    };
    let lower = digits.to_ascii_lowercase();
    let prefixed = match lower.get(..2) {
        Some("0x") => Some(16),
        Some("0o") => Some(8),
        Some("0b") => Some(2),
        _ => None,
    };
    let (radix, digits) = match prefixed {
        Some(found) if radix == found || radix == 0 => {
            (found, lower[2..].strip_prefix('_').unwrap_or(&lower[2..]))
        }
        _ if radix == 0 => {
            if lower.len() > 1 && lower.starts_with('0') && lower.contains(|c| c != '0' && c != '_')
            {
                return None;
            }
            (10, &*lower)
        }
        _ => (radix, &*lower),
    };
    if digits.is_empty()
        || digits.starts_with(['_', '+', '-'])
        || digits.ends_with('_')
        || digits.contains("__")
    {
        return None;
    }
    let digits = digits.replace('_', "");
    let signed = if negative {
        format!("-{digits}")
    } else {
        digits
    };
    i128::from_str_radix(&signed, radix).ok()
}

/// `float(text)`.
pub(crate) fn parse_float(text: &str) -> Option<f64> {
    let trimmed = text.trim_matches(crate::text::is_space);
    let lower = trimmed.to_ascii_lowercase();
    let unsigned = lower.strip_prefix(['-', '+']).unwrap_or(&lower);
    if matches!(unsigned, "inf" | "infinity" | "nan") {
        return lower.parse().ok();
    }
    if !unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    let bytes = lower.as_bytes();
    for (at, _) in lower.match_indices('_') {
        let digit = |at: Option<usize>| {
            at.and_then(|at| bytes.get(at))
                .is_some_and(u8::is_ascii_digit)
        };
        if !digit(at.checked_sub(1)) || !digit(Some(at + 1)) {
            return None;
        }
    }
    lower.replace('_', "").parse().ok()
}

/// Truncates a float.
pub(crate) fn float_to_int(value: f64) -> Result<i128> {
    if value.is_nan() || value.is_infinite() {
        return Err(failed!("{} is not a whole number", display_float(value)));
    }
    if value.abs() >= 1e38 {
        return Err(too_large());
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "smaller than i128 can hold; the fraction is dropped on purpose"
    )]
    Ok(value.trunc() as i128)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "rounds to the nearest, as Python does"
)]
pub(crate) fn int_to_float(value: i128) -> f64 {
    value as f64
}

pub(crate) fn too_large() -> Problem {
    Problem::failed("a number is too large")
}
