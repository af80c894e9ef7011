//! Renders `${value | filter}`.

use std::rc::Rc;

use super::Interpreter;
use super::call::Args;
use super::scope::Scope;
use super::value::Value;
use crate::error::{ErrorKind, Problem, Result};
use crate::mako::{Filter, Output};

impl Interpreter<'_> {
    pub(crate) fn output(&self, output: &Output, scope: &Rc<Scope>) -> Result<()> {
        let mut value = match &output.value {
            Some(value) => self.evaluate(value, scope)?,
            None => Value::literal(""),
        };
        // "h" returns safe markup, which is not escaped a second time.
        let mut safe = false;
        for filter in &output.filters {
            value = match filter {
                Filter::Str => match value {
                    Value::Str(text) => Value::Str(text),
                    other => self.text(self.display(&other)?)?,
                },
                Filter::Html if safe => value,
                Filter::Html => self.text(escape(&self.display(&value)?))?,
                Filter::Xml => self.text(escape(self.filtered_text(&value, "x")?))?,
                Filter::Url => self.text(url(self.filtered_text(&value, "u")?))?,
                Filter::Trim => {
                    let text = self.filtered_text(&value, "trim")?;
                    self.text(text.trim_matches(crate::text::is_space).to_owned())?
                }
                Filter::Decode => self.text(self.display(&value)?)?,
                Filter::Call(function) => {
                    if safe {
                        return Err(Problem::new(
                            ErrorKind::Forbidden,
                            "a filter of your own behind \"h\" is not available in templates",
                        ));
                    }
                    let function = self.evaluate(function, scope)?;
                    self.call(&function, Args::positional(vec![value]))?
                }
            };
            safe = match filter {
                Filter::Html => true,
                Filter::Trim => safe,
                Filter::Str | Filter::Xml | Filter::Url | Filter::Decode | Filter::Call(_) => false,
            };
        }
        match &value {
            Value::Str(text) => self.write(text),
            other => Err(other.mismatch("only strings can be written")),
        }
    }

    fn filtered_text<'v>(&self, value: &'v Value, filter: &str) -> Result<&'v str> {
        match value {
            Value::Str(text) => {
                self.meter.fits(text.len().saturating_mul(5))?;
                Ok(text)
            }
            other => Err(other.mismatch(format_args!("filter \"{filter}\" takes a string"))),
        }
    }
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&#34;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

fn url(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'.' | b'-' | b'~' => {
                out.push(char::from(byte));
            }
            b' ' => out.push('+'),
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}
