//! Removes the indentation of a `<% %>` block, as Mako does before Python parses it.

use crate::text;

/// A block without its indentation.
pub(crate) struct Dedented {
    pub(crate) text: String,
    /// How many characters were taken away in front of each line; None where tabs were expanded.
    pub(crate) removed: Vec<Option<u32>>,
}

/// Removes the indentation of the first line of code from all lines. Line numbers stay the same.
pub(crate) fn dedent(source: &str) -> Dedented {
    let mut state = Continued::default();
    let mut margin: Option<String> = None;
    let mut lines = Vec::new();
    let mut removed = Vec::new();
    for line in source.split('\n') {
        let line = line.strip_suffix('\r').unwrap_or(line);
        if state.continues(line) {
            lines.push(line.to_owned());
            removed.push(Some(0));
            continue;
        }
        let has_tabs = line.contains('\t');
        let line = text::expand_tabs(line, 8);
        if margin.is_none() {
            let code = line.trim_start_matches([' ', '\t']);
            if !code.is_empty() && !code.starts_with('#') {
                margin = Some(line[..line.len() - code.len()].to_owned());
            }
        }
        let margin = margin.as_deref().unwrap_or_default();
        let kept = line.strip_prefix(margin).unwrap_or(&line);
        let taken = text::count(line[..line.len() - kept.len()].chars());
        removed.push((!has_tabs).then_some(taken));
        lines.push(kept.to_owned());
    }
    Dedented {
        text: lines.join("\n"),
        removed,
    }
}

/// Whether a line continues the previous one: after a backslash, or inside a triple-quoted string.
#[derive(Default)]
struct Continued {
    backslash: bool,
    long_string: Option<&'static str>,
}

impl Continued {
    fn continues(&mut self, line: &str) -> bool {
        let before = self.backslash || self.long_string.is_some();
        self.backslash = line.ends_with('\\');
        let mut rest = line;
        while !rest.is_empty() {
            if let Some(quote) = self.long_string {
                match rest.find(quote) {
                    Some(at) => {
                        rest = &rest[at + quote.len()..];
                        self.long_string = None;
                    }
                    None => break,
                }
                continue;
            }
            let Some(at) = rest.find(['"', '\'', '#']) else {
                break;
            };
            rest = &rest[at..];
            let long = ["\"\"\"", "'''"]
                .into_iter()
                .find(|quote| rest.starts_with(quote));
            match long {
                _ if rest.starts_with('#') => break,
                Some(quote) => {
                    self.long_string = Some(quote);
                    rest = &rest[quote.len()..];
                }
                None => rest = &rest[1..],
            }
        }
        before
    }
}
