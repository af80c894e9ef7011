//! Refused expressions: each error names position, problem and remedy.

use super::super::{
    Expression, ExpressionError, IdPart, MAX_ALTERNATIVES, MAX_CHARACTERS, MAX_WILDCARDS, Pattern,
};

fn refusal(text: &str) -> String {
    Pattern::parse(text).expect_err(text).to_string()
}

fn parts(parts: [&str; 5]) -> Result<Expression, ExpressionError> {
    Expression::parse_parts(parts.map(Some))
}

#[test]
fn an_error_names_position_and_remedy() {
    for (text, beginning) in [
        (
            "gse_pr[",
            "expression, character 7: a bracket is not closed; write ]",
        ),
        (
            "管控[a, b",
            "expression, character 3: a bracket is not closed",
        ),
        (r"[a\]", "expression, character 1: a bracket is not closed"),
        ("  [a", "expression, character 3: a bracket is not closed"),
        (
            "x[a[b]c]",
            "expression, character 4: a bracket inside the one that opened at character 2",
        ),
        (
            "[![]",
            "expression, character 3: a bracket inside the one that opened at character 1",
        ),
        (
            "p[9-1]",
            "expression, character 3: the range 9-1 is reversed; write 1-9",
        ),
        (
            "p[x, 10 - 9]",
            "expression, character 6: the range 10-9 is reversed; write 9-10",
        ),
        (
            "[c-a]",
            "expression, character 2: the range c-a is reversed; write a-c",
        ),
        (
            "[!x3-1]",
            "expression, character 4: the range 3-1 is reversed; write 1-3",
        ),
        ("a[!]", "expression, character 2: [!] excludes nothing"),
        ("[a, !]", "expression, character 1: [!] excludes nothing"),
        (
            r"ab\",
            "expression, character 3: a backslash escapes the character after it",
        ),
    ] {
        let error = refusal(text);
        assert!(error.starts_with(beginning), "{text}: {error}");
    }
}

#[test]
fn an_error_names_its_part() {
    let error = parts(["gse_pr[", "*", "*", "*", "*"])
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("expression bk_set_name, character 7: a bracket is not closed"),
        "{error}"
    );
    for (index, field) in [
        "bk_set_name",
        "bk_module_name",
        "service_instance_name",
        "bk_process_name",
        "bk_process_id",
    ]
    .iter()
    .enumerate()
    {
        let mut texts = ["*"; 5];
        texts[index] = "[2-1]";
        let error = parts(texts).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("expression {field}, character 2:")),
            "{error}"
        );
    }
}

#[test]
fn a_bracket_cannot_span_parts() {
    let error = parts(["[a", "b]", "*", "*", "*"]).unwrap_err().to_string();
    assert_eq!(
        error,
        "expression bk_set_name, character 1: a bracket is not closed; it must close within its part, and cannot reach into the next one"
    );
    let error = parts(["[a", "[b]", "*", "*", "*"]).unwrap_err().to_string();
    assert!(error.contains("write ] after"), "{error}");
}

#[test]
fn a_slice_stands_alone_and_has_whole_numbers() {
    for (text, beginning) in [
        ("[0:2]5", "expression, character 6: a slice stands alone"),
        ("4[0:2]", "expression, character 1: a slice stands alone"),
        (
            "[0:2][1,2]",
            "expression, character 6: a slice stands alone",
        ),
        ("[0:4:2]", "expression, character 5: a slice has no step"),
        (
            "[a:2]",
            "expression, character 2: a slice is [start:end] with whole numbers",
        ),
        (
            "[1:2, 5]",
            "expression, character 4: a slice is [start:end] with whole numbers",
        ),
        ("[-:]", "expression, character 2: a slice is"),
        ("[1:2", "expression, character 1: a bracket is not closed"),
        ("[0:2]\\", "expression, character 6: a backslash"),
    ] {
        let error = IdPart::parse(text).expect_err(text).to_string();
        assert!(error.starts_with(beginning), "{text}: {error}");
    }
    for text in ["[!:]", r"[a\:b]", "1:2"] {
        assert!(
            matches!(IdPart::parse(text), Ok(IdPart::Pattern(_))),
            "{text}"
        );
    }
}

#[test]
fn every_limit_is_named() {
    let list = |count: usize| format!("[{}]", vec!["a"; count].join(","));
    assert!(Pattern::parse(&list(MAX_ALTERNATIVES)).is_ok());
    let error = refusal(&format!("x{}", list(MAX_ALTERNATIVES + 1)));
    assert!(
        error.starts_with("expression, character 2: a part may list at most 10000 alternatives"),
        "{error}"
    );
    let error = refusal(&list(MAX_ALTERNATIVES / 2 + 1).repeat(2));
    assert!(
        error.contains("at most 10000 alternatives"),
        "together: {error}"
    );

    assert!(Pattern::parse(&"?".repeat(MAX_WILDCARDS)).is_ok());
    for wild in ["?", "*a", "[1-3]", "[a,b]", "[!a]"] {
        let error = refusal(&wild.repeat(MAX_WILDCARDS + 1));
        assert!(
            error.contains("at most 200 wildcards and brackets"),
            "{error}"
        );
    }

    assert!(Pattern::parse(&"a".repeat(MAX_CHARACTERS)).is_ok());
    let error = refusal(&"a".repeat(MAX_CHARACTERS + 1));
    assert_eq!(
        error,
        "expression, character 131073: an expression may have at most 131072 characters"
    );
    let error = IdPart::parse(&"1".repeat(MAX_CHARACTERS + 1)).unwrap_err();
    assert_eq!(error.character, MAX_CHARACTERS + 1);

    let error = refusal(&format!("[1-{}]", "9".repeat(33)));
    assert!(error.contains("at most 32 digits"), "{error}");
}
