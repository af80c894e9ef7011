//! Parses and applies format specifications: `>8`, `05d`, `.2f`, `,`.

use super::Interpreter;
use super::meter::BoundedText;
use super::number::{display_exponent, display_float, int_to_float};
use super::operators::{as_float, as_int};
use super::value::Value;
use crate::error::{Problem, Result};

/// The largest precision.
const MAX_PRECISION: usize = 1000;

#[derive(Clone, Copy, Default)]
pub(crate) struct FormatSpec {
    pub(crate) fill: Option<char>,
    /// One of `<`, `>`, `^` and `=`.
    pub(crate) align: Option<char>,
    /// One of `+`, `-` and a blank.
    pub(crate) sign: Option<char>,
    pub(crate) alternate: bool,
    pub(crate) zero: bool,
    pub(crate) width: usize,
    /// One of `,` and `_`.
    pub(crate) group: Option<char>,
    pub(crate) precision: Option<usize>,
    pub(crate) kind: Option<char>,
}

impl FormatSpec {
    pub(crate) fn parse(text: &str) -> Result<FormatSpec> {
        let mut spec = FormatSpec::default();
        let mut rest = text;
        let mut chars = rest.chars();
        let (first, second) = (chars.next(), chars.next());
        let is_align = |c: Option<char>| matches!(c, Some('<' | '>' | '^' | '='));
        if is_align(second) {
            (spec.fill, spec.align) = (first, second);
            rest = chars.as_str();
        } else if is_align(first) {
            spec.align = first;
            rest = &rest[1..];
        }
        if rest.starts_with(['+', '-', ' ']) {
            spec.sign = rest.chars().next();
            rest = &rest[1..];
        }
        if let Some(after) = rest.strip_prefix('#') {
            spec.alternate = true;
            rest = after;
        }
        if let Some(after) = rest.strip_prefix('0') {
            spec.zero = true;
            rest = after;
        }
        (spec.width, rest) = digits(rest, text)?.map_or((0, rest), |found| found);
        if rest.starts_with([',', '_']) {
            spec.group = rest.chars().next();
            rest = &rest[1..];
        }
        if let Some(after) = rest.strip_prefix('.') {
            let Some((precision, after)) = digits(after, text)? else {
                return Err(invalid(text));
            };
            spec.precision = Some(checked_precision(precision)?);
            rest = after;
        }
        let mut chars = rest.chars();
        spec.kind = chars.next();
        if chars.next().is_some() {
            return Err(invalid(text));
        }
        Ok(spec)
    }
}

fn digits<'t>(text: &'t str, whole: &str) -> Result<Option<(usize, &'t str)>> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    if end == 0 {
        return Ok(None);
    }
    let number = text[..end].parse().map_err(|_| invalid(whole))?;
    Ok(Some((number, &text[end..])))
}

pub(crate) fn checked_precision(precision: usize) -> Result<usize> {
    if precision > MAX_PRECISION {
        return Err(failed!("a precision of more than {MAX_PRECISION} digits"));
    }
    Ok(precision)
}

fn invalid(spec: &str) -> Problem {
    failed!("\"{spec}\" is not a format that templates know")
}

impl Interpreter<'_> {
    /// `format(value, spec)`.
    pub(crate) fn format_value(&self, value: &Value, text: &str) -> Result<String> {
        if text.is_empty() {
            return self.display(value);
        }
        let spec = FormatSpec::parse(text)?;
        match value {
            Value::Str(content) => self.format_text(content, &spec, text),
            Value::Float(number) => self.format_number(None, *number, &spec, text),
            other => match as_int(other) {
                Some(number) => self.format_number(Some(number), int_to_float(number), &spec, text),
                None => Err(other.problem("takes no format")),
            },
        }
    }

    fn format_text(&self, content: &str, spec: &FormatSpec, text: &str) -> Result<String> {
        if !matches!(spec.kind, None | Some('s'))
            || spec.sign.is_some()
            || spec.alternate
            || spec.group.is_some()
            || spec.align == Some('=')
        {
            return Err(invalid(text));
        }
        let cut: String = match spec.precision {
            Some(length) => content.chars().take(length).collect(),
            None => content.to_owned(),
        };
        let fill = spec.fill.unwrap_or(if spec.zero { '0' } else { ' ' });
        self.padded("", &cut, spec.width, fill, spec.align.unwrap_or('<'))
    }

    fn format_number(
        &self,
        int: Option<i128>,
        float: f64,
        spec: &FormatSpec,
        text: &str,
    ) -> Result<String> {
        let fill = spec.fill.unwrap_or(if spec.zero { '0' } else { ' ' });
        let align = spec.align.unwrap_or(if spec.zero { '=' } else { '>' });
        if spec.group.is_some() && fill == '0' && align == '=' {
            // Python also puts separators into the padding.
            return Err(invalid(text));
        }
        let negative = match int {
            Some(int) => int < 0,
            None => float.is_sign_negative() && !float.is_nan(),
        };
        let (prefix, digits) = match (int, spec.kind) {
            (Some(int), None | Some('b' | 'c' | 'd' | 'o' | 'x' | 'X')) => {
                if spec.precision.is_some() {
                    return Err(invalid(text));
                }
                if spec.kind == Some('c') {
                    if spec.sign.is_some() || spec.alternate || spec.group.is_some() {
                        return Err(invalid(text));
                    }
                    let c = u32::try_from(int).ok().and_then(char::from_u32);
                    ("", c.ok_or_else(|| invalid(text))?.to_string())
                } else {
                    int_digits(int, spec)
                }
            }
            (_, None | Some('e' | 'E' | 'f' | 'F' | 'g' | 'G' | '%')) => {
                if spec.alternate {
                    return Err(invalid(text));
                }
                ("", float_digits(float.abs(), spec.kind, spec.precision))
            }
            _ => return Err(invalid(text)),
        };
        let digits = match spec.group {
            Some(',') if matches!(spec.kind, Some('b' | 'o' | 'x' | 'X')) => {
                return Err(invalid(text));
            }
            Some(mark) => grouped(&digits, mark, spec.kind),
            None => digits,
        };
        let sign = match (negative, spec.sign) {
            (true, _) => "-",
            (false, Some('+')) => "+",
            (false, Some(' ')) => " ",
            (false, _) => "",
        };
        self.padded(&format!("{sign}{prefix}"), &digits, spec.width, fill, align)
    }

    /// Pads to a width; `=` puts the padding after the sign.
    pub(crate) fn padded(
        &self,
        sign: &str,
        body: &str,
        width: usize,
        fill: char,
        align: char,
    ) -> Result<String> {
        let length = sign.len() + body.chars().count();
        let missing = width.saturating_sub(length);
        let (left, inside, right) = match align {
            '<' => (0, 0, missing),
            '^' => (missing / 2, 0, missing - missing / 2),
            '=' => (0, missing, 0),
            _ => (missing, 0, 0),
        };
        let mut out = BoundedText::new(&self.meter);
        out.fill(fill, left)?;
        out.push(sign)?;
        out.fill(fill, inside)?;
        out.push(body)?;
        out.fill(fill, right)?;
        Ok(out.finish())
    }

    pub(crate) fn float_for_format(&self, value: &Value) -> Result<f64> {
        as_float(value).ok_or_else(|| value.mismatch("a number is expected"))
    }
}

/// The prefix and digits of an int, without its sign.
fn int_digits(int: i128, spec: &FormatSpec) -> (&'static str, String) {
    let size = int.unsigned_abs();
    let (prefix, digits) = match spec.kind {
        Some('b') => ("0b", format!("{size:b}")),
        Some('o') => ("0o", format!("{size:o}")),
        Some('x') => ("0x", format!("{size:x}")),
        Some('X') => ("0X", format!("{size:X}")),
        _ => ("", size.to_string()),
    };
    (if spec.alternate { prefix } else { "" }, digits)
}

/// The digits of a non-negative float.
pub(crate) fn float_digits(value: f64, kind: Option<char>, precision: Option<usize>) -> String {
    let upper = matches!(kind, Some('E' | 'F' | 'G'));
    let text = if value.is_nan() || value.is_infinite() {
        let percent = if kind == Some('%') { "%" } else { "" };
        display_float(value) + percent
    } else {
        match (kind, precision) {
            (Some('e' | 'E'), _) => scientific(value, precision.unwrap_or(6)),
            (Some('f' | 'F'), _) => format!("{value:.*}", precision.unwrap_or(6)),
            (Some('%'), _) => format!("{:.*}%", precision.unwrap_or(6), value * 100.0),
            (Some(_), _) => general(value, precision.unwrap_or(6), 0),
            (None, None) => display_float(value),
            (None, Some(precision)) => {
                let text = general(value, precision, 1);
                if text.contains(['.', 'e']) {
                    text
                } else {
                    text + ".0"
                }
            }
        }
    };
    if upper {
        text.to_ascii_uppercase()
    } else {
        text
    }
}

fn scientific(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    format!(
        "{mantissa}e{}",
        display_exponent(exponent.parse().unwrap_or(0))
    )
}

/// Format `g`: the shorter of fixed and scientific, without trailing zeros. `earlier` lowers the exponent limit.
fn general(value: f64, precision: usize, earlier: i32) -> String {
    let precision = precision.max(1);
    let text = format!("{value:.*e}", precision - 1);
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let limit = i32::try_from(precision).unwrap_or(i32::MAX) - earlier;
    if exponent < -4 || exponent >= limit {
        return format!("{}e{}", without_zeros(mantissa), display_exponent(exponent));
    }
    let after_point = i32::try_from(precision).unwrap_or(i32::MAX) - 1 - exponent;
    let after_point = usize::try_from(after_point).unwrap_or(0);
    without_zeros(&format!("{value:.after_point$}")).to_owned()
}

fn without_zeros(text: &str) -> &str {
    if !text.contains('.') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.')
}

/// Puts separators between groups of digits before the point.
fn grouped(digits: &str, mark: char, kind: Option<char>) -> String {
    let size = if matches!(kind, Some('b' | 'o' | 'x' | 'X')) {
        4
    } else {
        3
    };
    let whole = digits
        .find(|c: char| {
            !c.is_ascii_hexdigit()
                || (kind != Some('x') && kind != Some('X') && !c.is_ascii_digit())
        })
        .unwrap_or(digits.len());
    let mut out = String::new();
    for (at, c) in digits[..whole].chars().enumerate() {
        if at > 0 && (whole - at) % size == 0 {
            out.push(mark);
        }
        out.push(c);
    }
    out.push_str(&digits[whole..]);
    out
}
