//! `str()` and `repr()` of values, like Python.

use super::Interpreter;
use super::meter::BoundedText;
use super::number::display_float;
use super::value::{MAX_DEPTH, Value, too_deep};
use crate::error::{Problem, Result};

impl Interpreter<'_> {
    /// `str(value)`.
    pub(crate) fn display(&self, value: &Value) -> Result<String> {
        match value {
            Value::Str(text) => Ok((**text).to_owned()),
            other => self.repr(other),
        }
    }

    /// `repr(value)`.
    pub(crate) fn repr(&self, value: &Value) -> Result<String> {
        let mut out = BoundedText::new(&self.meter);
        self.write_repr(value, &mut out, 0)?;
        Ok(out.finish())
    }

    fn write_repr(&self, value: &Value, out: &mut BoundedText<'_>, depth: u16) -> Result<()> {
        self.meter.step(1)?;
        if depth > MAX_DEPTH {
            return Err(too_deep());
        }
        match value {
            Value::None => out.push("None"),
            Value::Bool(true) => out.push("True"),
            Value::Bool(false) => out.push("False"),
            Value::Int(value) => out.push(&value.to_string()),
            Value::Float(value) => out.push(&display_float(*value)),
            Value::Str(text) => write_quoted(text, out),
            Value::List(list) => {
                let items = list.items.borrow();
                self.write_items("[", &items, "]", out, depth)
            }
            Value::Tuple(tuple) => {
                let close = if tuple.items.len() == 1 { ",)" } else { ")" };
                self.write_items("(", &tuple.items, close, out, depth)
            }
            Value::Dict(dict) => {
                out.push("{")?;
                for (at, (key, value)) in dict.pairs.borrow().values().enumerate() {
                    if at > 0 {
                        out.push(", ")?;
                    }
                    self.write_repr(key, out, depth + 1)?;
                    out.push(": ")?;
                    self.write_repr(value, out, depth + 1)?;
                }
                out.push("}")
            }
            Value::Set(set) => match set.values().as_slice() {
                [] => out.push("set()"),
                [only] => self.write_items("{", std::slice::from_ref(only), "}", out, depth),
                _ => Err(Problem::failed(
                    "the order of a set is not defined: write sorted(...) of it",
                )),
            },
            Value::Range(range) => {
                out.push(&format!("range({}, {}", range.start, range.stop))?;
                if range.step != 1 {
                    out.push(&format!(", {}", range.step))?;
                }
                out.push(")")
            }
            Value::View(..) => {
                out.push(value.type_name())?;
                out.push("(")?;
                let items = self.items(value)?;
                self.write_items("[", &items, "]", out, depth)?;
                out.push(")")
            }
            Value::Type(kind) => out.push(&format!("<class '{}'>", kind.name())),
            Value::Iter(_)
            | Value::Function(_)
            | Value::Def(_)
            | Value::Builtin(_)
            | Value::Method(_)
            | Value::TypeMethod(..)
            | Value::Loop(_)
            | Value::Context => Err(value.problem("cannot be written")),
        }
    }

    fn write_items(
        &self,
        open: &str,
        items: &[Value],
        close: &str,
        out: &mut BoundedText<'_>,
        depth: u16,
    ) -> Result<()> {
        out.push(open)?;
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                out.push(", ")?;
            }
            self.write_repr(item, out, depth + 1)?;
        }
        out.push(close)
    }
}

/// Writes a quoted string: in single quotes, unless it contains single quotes and no double quotes.
fn write_quoted(text: &str, out: &mut BoundedText<'_>) -> Result<()> {
    let quote = if text.contains('\'') && !text.contains('"') {
        '"'
    } else {
        '\''
    };
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push(quote);
    for c in text.chars() {
        match c {
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            _ if c == quote => {
                quoted.push('\\');
                quoted.push(c);
            }
            ' '..='~' => quoted.push(c),
            '\0'..='\x7f' => quoted.push_str(&format!("\\x{:02x}", u32::from(c))),
            _ if is_printable(c) => quoted.push(c),
            '\u{80}'..='\u{ff}' => quoted.push_str(&format!("\\x{:02x}", u32::from(c))),
            _ => {
                return Err(failed!(
                    "the character U+{:04X} cannot be written in quotes in templates",
                    u32::from(c)
                ));
            }
        }
    }
    quoted.push(quote);
    out.push(&quoted)
}

/// Characters that are printable in all versions of Python.
fn is_printable(c: char) -> bool {
    (c.is_alphanumeric() && c != '\u{aa}' && c != '\u{ba}')
        || matches!(c, '\u{a1}'..='\u{ac}' | '\u{ae}'..='\u{ff}')
        || matches!(c, '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}')
        || matches!(c, '\u{20a0}'..='\u{20bf}' | '\u{2190}'..='\u{23ff}' | '\u{2500}'..='\u{27bf}')
        || matches!(c, '\u{3001}'..='\u{303f}' | '\u{ff01}'..='\u{ff65}')
        || matches!(c, '\u{1f300}'..='\u{1f64f}')
}
