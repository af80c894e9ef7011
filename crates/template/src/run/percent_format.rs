//! Formats `"%s %05d" % (…)`.

use super::Interpreter;
use super::format_spec::{checked_precision, float_digits};
use super::meter::BoundedText;
use super::number::float_to_int;
use super::operators::as_int;
use super::value::{Str, Value};
use crate::error::{Problem, Result};

/// The flags, width and precision of one `%…`.
#[derive(Default)]
struct Conversion {
    left: bool,
    plus: bool,
    blank: bool,
    zero: bool,
    alternate: bool,
    width: usize,
    precision: Option<usize>,
}

/// The values of a format, and how many were consumed.
struct Values<'a> {
    all: &'a Value,
    used: usize,
}

impl Values<'_> {
    fn next(&mut self) -> Result<Value> {
        let value = match self.all {
            Value::Tuple(tuple) => tuple.items.get(self.used).cloned(),
            other => (self.used == 0).then(|| other.clone()),
        };
        self.used += 1;
        value.ok_or_else(|| Problem::failed("there are too few values for this format"))
    }

    /// Whether values are left over. A dict or list may stay unused, as in Python.
    fn any_left(&self) -> bool {
        match self.all {
            Value::Tuple(tuple) => self.used < tuple.items.len(),
            Value::Dict(_) | Value::List(_) | Value::Range(_) => false,
            _ => self.used == 0,
        }
    }
}

impl Interpreter<'_> {
    pub(crate) fn percent_format(&self, format: &Str, values: &Value) -> Result<Value> {
        let mut out = BoundedText::new(&self.meter);
        let mut values = Values {
            all: values,
            used: 0,
        };
        let mut rest: &str = format;
        while let Some(at) = rest.find('%') {
            out.push(&rest[..at])?;
            rest = &rest[at + 1..];
            let named = match rest.strip_prefix('(') {
                Some(inside) => {
                    let end = closing(inside)
                        .ok_or_else(|| Problem::failed("a \"%(\" in a format without its \")\""))?;
                    rest = &inside[end + 1..];
                    Some(&inside[..end])
                }
                None => None,
            };
            if let Some(after) = rest.strip_prefix('%') {
                out.push("%")?;
                rest = after;
                continue;
            }
            let conversion = parse_conversion(&mut rest)?;
            let mut chars = rest.chars();
            let kind = chars
                .next()
                .ok_or_else(|| Problem::failed("a format that ends with \"%\""))?;
            rest = chars.as_str();
            let value = match named {
                Some(name) => {
                    let Value::Dict(dict) = values.all else {
                        return Err(Problem::failed("\"%(name)\" in a format takes a dict"));
                    };
                    let found = dict.field(name);
                    found.ok_or_else(|| failed!("there is no key '{name}' for this format"))?
                }
                None => values.next()?,
            };
            out.push(&self.percent_value(&conversion, kind, &value)?)?;
        }
        out.push(rest)?;
        if values.any_left() {
            return Err(Problem::failed(
                "there are more values than fields in this format",
            ));
        }
        self.text(out.finish())
    }

    fn percent_value(&self, conversion: &Conversion, kind: char, value: &Value) -> Result<String> {
        match kind {
            's' | 'r' => {
                let text = if kind == 's' {
                    self.display(value)?
                } else {
                    self.repr(value)?
                };
                let text = match conversion.precision {
                    Some(length) => text.chars().take(length).collect(),
                    None => text,
                };
                self.percent_padded(conversion, "", &text, false)
            }
            'c' => {
                let c = match value {
                    Value::Str(text) if text.chars().count() == 1 => text.chars().next(),
                    other => as_int(other)
                        .and_then(|int| u32::try_from(int).ok())
                        .and_then(char::from_u32),
                };
                let c =
                    c.ok_or_else(|| Problem::failed("\"%c\" takes a character or its number"))?;
                self.percent_padded(conversion, "", &c.to_string(), false)
            }
            'd' | 'i' | 'u' | 'x' | 'X' | 'o' => {
                let int = match value {
                    Value::Float(float) if matches!(kind, 'd' | 'i' | 'u') => float_to_int(*float)?,
                    other => as_int(other).ok_or_else(|| {
                        other.mismatch(format_args!("\"%{kind}\" takes a whole number"))
                    })?,
                };
                let size = int.unsigned_abs();
                let (prefix, mut digits) = match kind {
                    'x' => ("0x", format!("{size:x}")),
                    'X' => ("0X", format!("{size:X}")),
                    'o' => ("0o", format!("{size:o}")),
                    _ => ("", size.to_string()),
                };
                let missing = conversion
                    .precision
                    .unwrap_or(0)
                    .saturating_sub(digits.len());
                digits.insert_str(0, &"0".repeat(missing));
                let prefix = if conversion.alternate { prefix } else { "" };
                let sign = format!("{}{prefix}", conversion.sign(int < 0));
                self.percent_padded(conversion, &sign, &digits, true)
            }
            'e' | 'E' | 'f' | 'F' | 'g' | 'G' => {
                if conversion.alternate {
                    return Err(Problem::failed(
                        "\"#\" with floats is not available in templates",
                    ));
                }
                let float = self.float_for_format(value)?;
                let digits = float_digits(float.abs(), Some(kind), conversion.precision);
                let sign = conversion.sign(float.is_sign_negative() && !float.is_nan());
                self.percent_padded(conversion, sign, &digits, true)
            }
            other => Err(failed!("\"%{other}\" is not a format that templates know")),
        }
    }

    fn percent_padded(
        &self,
        conversion: &Conversion,
        sign: &str,
        body: &str,
        number: bool,
    ) -> Result<String> {
        let (fill, align) = match (conversion.left, conversion.zero && number) {
            (true, _) => (' ', '<'),
            (false, true) => ('0', '='),
            (false, false) => (' ', '>'),
        };
        self.padded(sign, body, conversion.width, fill, align)
    }
}

impl Conversion {
    fn sign(&self, negative: bool) -> &'static str {
        match (negative, self.plus, self.blank) {
            (true, _, _) => "-",
            (false, true, _) => "+",
            (false, false, true) => " ",
            (false, false, false) => "",
        }
    }
}

fn closing(text: &str) -> Option<usize> {
    let mut open = 0;
    for (at, c) in text.char_indices() {
        match c {
            '(' => open += 1,
            ')' if open == 0 => return Some(at),
            ')' => open -= 1,
            _ => {}
        }
    }
    None
}

/// Parses flags, width and precision.
fn parse_conversion(rest: &mut &str) -> Result<Conversion> {
    let mut conversion = Conversion::default();
    loop {
        match rest.chars().next() {
            Some('-') => conversion.left = true,
            Some('+') => conversion.plus = true,
            Some(' ') => conversion.blank = true,
            Some('0') => conversion.zero = true,
            Some('#') => conversion.alternate = true,
            _ => break,
        }
        *rest = &rest[1..];
    }
    conversion.width = number(rest)?;
    if let Some(after) = rest.strip_prefix('.') {
        *rest = after;
        conversion.precision = Some(checked_precision(number(rest)?)?);
    }
    if rest.starts_with(['h', 'l', 'L']) {
        *rest = &rest[1..];
    }
    Ok(conversion)
}

fn number(rest: &mut &str) -> Result<usize> {
    if rest.starts_with('*') {
        return Err(Problem::failed(
            "\"*\" in a format is not available in templates",
        ));
    }
    let end = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    let digits = &rest[..end];
    *rest = &rest[end..];
    if digits.is_empty() {
        return Ok(0);
    }
    digits
        .parse()
        .map_err(|_| Problem::failed("a number in a format is too large"))
}
