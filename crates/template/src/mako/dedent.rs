//! Removes the indentation of a `<% %>` block, as Mako does before Python parses it.

/// Removes the indentation of the first line of code from all lines. Line numbers stay the same.
pub(crate) fn dedent(source: &str) -> String {
    let mut state = Continued::default();
    let mut margin: Option<String> = None;
    let mut lines = Vec::new();
    for line in source.split('\n') {
        let line = line.strip_suffix('\r').unwrap_or(line);
        if state.continues(line) {
            lines.push(line.to_owned());
            continue;
        }
        let line = crate::text::expand_tabs(line, 8);
        if margin.is_none() {
            let code = line.trim_start_matches([' ', '\t']);
            if !code.is_empty() && !code.starts_with('#') {
                margin = Some(line[..line.len() - code.len()].to_owned());
            }
        }
        let margin = margin.as_deref().unwrap_or_default();
        lines.push(line.strip_prefix(margin).unwrap_or(&line).to_owned());
    }
    lines.join("\n")
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
