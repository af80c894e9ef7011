//! `# Ginclude`: names, lines, cycles and limits. The golden files test how included text renders.

use std::collections::HashMap;

use template::{Context, ErrorKind, Includes, Limits, TemplateError};

use crate::render_within;

struct Texts(HashMap<&'static str, String>);

impl Includes for Texts {
    fn text(&self, name: &str) -> Option<String> {
        self.0.get(name).cloned()
    }
}

fn texts<const N: usize>(texts: [(&'static str, &str); N]) -> Texts {
    Texts(texts.map(|(name, text)| (name, text.to_owned())).into())
}

fn error(text: &str, includes: &Texts, limits: &Limits) -> TemplateError {
    render_within(text, &Context::new(), limits, includes).unwrap_err()
}

#[test]
fn an_error_in_an_included_template_has_its_name_and_line() {
    let includes = texts([("part", "fine\nfine\n${nobody}\n")]);
    let error = error("a\n# Ginclude \"part\"\nb\n", &includes, &Limits::default());
    assert_eq!(
        error.to_string(),
        "part line 3: unknown variable \"nobody\""
    );
    assert_eq!(error.kind, ErrorKind::Undefined);
}

#[test]
fn an_error_after_an_include_has_the_line_of_its_own_template() {
    let includes = texts([("part", "1\n2\n3\n4")]);
    let text = "a\n# Ginclude \"part\"\n\n\nb\n${1 / 0}\n";
    let error = error(text, &includes, &Limits::default());
    assert_eq!(error.to_string(), "test.conf line 6: division by zero");
}

#[test]
fn a_syntax_error_in_an_included_template_has_its_name_and_line() {
    let includes = texts([("part", "x\n% if 1:\n")]);
    let error = error("# Ginclude \"part\"\n", &includes, &Limits::default());
    assert_eq!(
        (error.kind, error.template.as_str(), error.line),
        (ErrorKind::Syntax, "part", 2)
    );
}

#[test]
fn an_unknown_include_is_an_error_on_its_line() {
    let error = error("a\n# Ginclude \"gone\"\n", &texts([]), &Limits::default());
    assert_eq!(error.kind, ErrorKind::Include);
    assert_eq!(
        error.to_string(),
        "test.conf line 2: there is no template \"gone\" to include"
    );
}

#[test]
fn include_cycles_are_an_error() {
    let includes = texts([("a", "\n# Ginclude \"b\"\n"), ("b", "# Ginclude 'a'\n")]);
    let found = error("# Ginclude \"a\"\n", &includes, &Limits::default());
    assert_eq!(
        (found.kind, found.template.as_str(), found.line),
        (ErrorKind::Include, "b", 1)
    );
    let itself = error("# Ginclude \"test.conf\"\n", &includes, &Limits::default());
    assert_eq!(itself.kind, ErrorKind::Include);
}

#[test]
fn includes_may_be_nested_up_to_the_limit() {
    let includes = texts([
        ("1", "# Ginclude \"2\""),
        ("2", "# Ginclude \"3\""),
        ("3", "bottom"),
    ]);
    let limits = |include_depth| Limits {
        include_depth,
        ..Limits::default()
    };
    let text = "# Ginclude \"1\"\n";
    let rendered = render_within(text, &Context::new(), &limits(3), &includes);
    assert_eq!(rendered.unwrap(), "bottom");
    assert_eq!(error(text, &includes, &limits(2)).kind, ErrorKind::TooDeep);
}

#[test]
fn exponential_includes_are_refused() {
    // Ten includes of ten includes each, seven levels deep: ten million copies.
    let ten = |name: &str| format!("# Ginclude \"{name}\"\n").repeat(10);
    let includes = texts([
        ("1", &*ten("2")),
        ("2", &*ten("3")),
        ("3", &*ten("4")),
        ("4", &*ten("5")),
        ("5", &*ten("6")),
        ("6", &*ten("7")),
        ("7", "0123456789"),
    ]);
    let error = error("# Ginclude \"1\"\n", &includes, &Limits::default());
    assert_eq!(error.kind, ErrorKind::TooLarge);
}
