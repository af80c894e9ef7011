//! Properties of any text.

use proptest::prelude::*;
use serde_json::json;
use template::Context;

use crate::render;

fn context() -> Context {
    let mut context = Context::new();
    context.insert("a", 1);
    context.insert("s", "text");
    context.insert("l", json!([1, "x", null, {"k": 1.5}]));
    context.insert_object("o", json!({"f": {"g": [1]}}));
    context
}

/// Concatenates fragments of templates, so that random texts use the whole language.
fn fragments() -> impl Strategy<Value = String> {
    let fragment = prop::sample::select(vec![
        "${",
        "}",
        "<%",
        "%>",
        "<%!",
        "% if ",
        "% for ",
        "% endif",
        "% endfor",
        "% else:",
        "% elif a:",
        ":\n",
        "\n",
        "\r\n",
        "\\\n",
        "##",
        "%%",
        "<%doc>",
        "</%doc>",
        "<%text>",
        "</%text>",
        "<%def name=\"f(x)\">",
        "</%def>",
        "a",
        "s",
        "l",
        "o",
        ".f",
        ".g",
        "[0]",
        "[",
        "]",
        "(",
        ")",
        "{",
        "}",
        ",",
        " ",
        "  ",
        "    ",
        "\t",
        "1",
        "0",
        "2.5",
        "'x'",
        "\"",
        "'",
        "'''",
        "f'{a}'",
        "f'{a:>5}'",
        "r'",
        "+",
        "-",
        "*",
        "**",
        "/",
        "//",
        "%",
        "<<",
        "==",
        "<",
        " in ",
        " not ",
        " is ",
        " and ",
        " if ",
        " else ",
        " for ",
        "x in l",
        "lambda x: ",
        "def f(x):\n",
        "return ",
        "break",
        "continue",
        "=",
        "+=",
        ":",
        ";",
        "|",
        "h",
        "trim",
        "# Ginclude \"x\"\n",
        "loop.index",
        "str(",
        "len(",
        "range(",
        "sorted(",
        "'%s' % ",
        ".format(",
        ".join(",
        ".upper()",
        "é",
        "中",
        "\u{1f600}",
        "None",
        "True",
        "__",
        "import ",
        "#",
        "\\",
        "$",
        "@",
        "!",
        "?",
        "`",
    ]);
    prop::collection::vec(fragment, 0..40).prop_map(|fragments| fragments.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_text_is_rendered_or_refused(text in "\\PC{0,200}") {
        let _ = render(&text, &context());
    }

    #[test]
    fn any_sequence_of_fragments_is_rendered_or_refused(text in fragments()) {
        if let Err(error) = render(&text, &context()) {
            let lines = u32::try_from(text.matches('\n').count()).unwrap() + 1;
            prop_assert!(error.line >= 1 && error.line <= lines, "{error} in {text:?}");
            prop_assert!(error.message != "rendering ended unexpectedly", "{text:?}");
        }
    }

    #[test]
    fn any_expression_is_rendered_or_refused(text in "[a-z0-9_\\[\\](){}'\"%.,:+*/<>=! -]{0,40}") {
        let rendered = render(&format!("${{{text}}}"), &context());
        if let Err(error) = rendered {
            prop_assert!(error.message != "rendering ended unexpectedly", "{text:?}");
        }
    }

    #[test]
    fn text_without_mako_is_rendered_unchanged(text in "([a-zA-Z0-9 \t.,;:=(){}\\[\\]|&'\"*+<>é中-]{0,30}\n){0,10}") {
        prop_assert_eq!(render(&text, &Context::new()).unwrap(), text);
    }

    #[test]
    fn rendering_is_deterministic(text in fragments()) {
        prop_assert_eq!(render(&text, &context()), render(&text, &context()));
    }

    #[test]
    fn a_string_variable_is_rendered_unchanged(value in any::<String>()) {
        let mut context = Context::new();
        context.insert("value", value.as_str());
        prop_assert_eq!(render("${value}", &context).unwrap(), value);
    }

    #[test]
    fn rendered_numbers_parse_to_the_same_value(int in any::<i64>(), float in any::<f64>()) {
        let mut context = Context::new();
        context.insert("i", int);
        context.insert("f", json!(float));
        let text = render("${i} ${f}", &context).unwrap();
        let (left, right) = text.split_once(' ').unwrap();
        prop_assert_eq!(left.parse::<i64>().unwrap(), int);
        if float.is_finite() {
            prop_assert_eq!(right.parse::<f64>().unwrap(), float);
        }
    }
}
