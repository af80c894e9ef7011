//! Whole expressions: JSON, the joined form, slices, explanations.

use serde_json::json;

use super::super::{Expression, ExpressionPart, ExpressionText, IdPart, Pattern, Slice};

fn dotted(text: &str) -> Expression {
    Expression::parse_dotted(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn the_joined_form_has_up_to_five_parts() {
    let expression = dotted("[管控平台, PaaS平台].gse_*.*.gse_agent.4[6, 8, 9]");
    assert_eq!(expression.set.as_str(), "[管控平台, PaaS平台]");
    assert_eq!(expression.module.as_str(), "gse_*");
    assert_eq!(expression.process.as_str(), "gse_agent");
    assert_eq!(expression.id.to_string(), "4[6, 8, 9]");
    assert_eq!(dotted("a.b"), dotted("a.b.*.*.*"));
    assert_eq!(dotted(""), Expression::default());
    assert_eq!(dotted("a...."), dotted("a"));
    assert_eq!(
        dotted("a.*.*.*.[-2:]").id,
        IdPart::Slice(Slice {
            start: Some(-2),
            end: None
        })
    );
}

#[test]
fn a_dot_of_a_name_is_escaped_or_in_brackets() {
    let expression = dotted(r"*.*.127\.0\.0\.1_gse.[v1.1, v1.2].*");
    assert!(expression.service.matches("127.0.0.1_gse"));
    assert!(expression.process.matches("v1.2"));
    let plain = Expression::parse_parts([None, None, Some("127.0.0.1_*"), None, None]).unwrap();
    assert_eq!(plain.to_string(), r"*.*.127\.0\.0\.1_*.*.*");
    assert_eq!(dotted(&plain.to_string()), plain);

    let error = Expression::parse_dotted("set.module.127.0.0.1_gse.x")
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("expression, character 19: a sixth part;"),
        "{error}"
    );
    assert!(error.contains(r"write \. for a dot"), "{error}");
}

#[test]
fn positions_in_the_joined_form_are_those_of_the_whole_text() {
    for (text, beginning) in [
        (
            "管控.gse[1-3.x",
            "expression bk_module_name, character 7: a bracket is not closed",
        ),
        (
            "a.b.c.d.[1:x]",
            "expression bk_process_id, character 12: a slice",
        ),
        ("[2-1]", "expression bk_set_name, character 2: the range"),
    ] {
        let error = Expression::parse_dotted(text).unwrap_err().to_string();
        assert!(error.starts_with(beginning), "{text}: {error}");
    }
}

#[test]
fn json_parts_may_be_strings_or_numbers() {
    let read = |value| serde_json::from_value::<Expression>(value).unwrap();
    let expression = read(json!({
        "bk_set_env": "3",
        "bk_set_name": 7,
        "bk_module_name": null,
        "service_instance_name": " ",
        "bk_process_id": 46,
    }));
    assert_eq!(expression.set, Pattern::exactly("7"));
    assert_eq!(expression.id, IdPart::Pattern(Pattern::exactly("46")));
    assert!(
        expression.module.is_any() && expression.service.is_any() && expression.process.is_any()
    );
    assert_eq!(
        serde_json::to_value(&expression).unwrap(),
        json!({
            "bk_set_name": "7",
            "bk_module_name": "*",
            "service_instance_name": "*",
            "bk_process_name": "*",
            "bk_process_id": "46",
        })
    );
    assert_eq!(read(json!({})), Expression::default());
    assert_eq!(read(json!({"bk_process_id": 46.0})).id.to_string(), "46");
    let text: ExpressionText =
        serde_json::from_value(json!({"bk_set_name": "[x", "bk_process_id": 1})).unwrap();
    assert_eq!(text.bk_process_id.as_deref(), Some("1"));
    assert_eq!(
        Expression::try_from(text).unwrap_err().part,
        Some(ExpressionPart::Set)
    );

    for value in [
        json!({"bk_set_name": ["a"]}),
        json!({"bk_set_name": true}),
        json!({"bk_process_id": {}}),
    ] {
        assert!(
            serde_json::from_value::<Expression>(value.clone()).is_err(),
            "{value}"
        );
    }
    let error =
        serde_json::from_value::<Expression>(json!({"bk_process_name": "a[b"})).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("expression bk_process_name, character 2:"),
        "{error}"
    );
    assert_eq!(
        serde_json::from_value::<Pattern>(json!(46))
            .unwrap()
            .as_str(),
        "46"
    );
}

#[test]
fn ids_are_selected_by_pattern_or_by_slice() {
    let ids = [4, 40, 46, 48, 49, 50];
    for (text, expected) in [
        ("*", &ids[..]),
        ("4[6, 8, 9]", &[46, 48, 49]),
        ("[40-48]", &[40, 46, 48]),
        ("4*", &[4, 40, 46, 48, 49]),
        ("[0:2]", &[4, 40]),
        ("[-2:]", &[49, 50]),
        ("[1 : 3]", &[40, 46]),
        (" [:] ", &ids),
        ("[+1:-1]", &[40, 46, 48, 49]),
        ("[4:99999999999999999999999]", &[49, 50]),
        ("[-99999999999999999999999:1]", &[4]),
        ("[3:1]", &[]),
        ("[9:]", &[]),
    ] {
        assert_eq!(
            IdPart::parse(text).unwrap().select(&ids),
            expected,
            "{text}"
        );
    }
    assert_eq!(IdPart::parse("[ 1 : 3 ]").unwrap().to_string(), "[1:3]");
    assert_eq!(IdPart::parse("[-2:]").unwrap().select(&[]), [0_u64; 0]);
}

#[test]
fn an_expression_is_explained_in_words() {
    for (text, words) in [
        ("", "any"),
        ("gse_agent", r#"exactly "gse_agent""#),
        ("[]", "the empty name"),
        ("gse_*", r#"begins with "gse_""#),
        ("*_agent", r#"ends with "_agent""#),
        ("*平台*", r#"contains "平台""#),
        ("[a, b, c]", r#"one of "a", "b" or "c""#),
        ("4[6, 8, 9]", r#""4" followed by "6", "8" or "9""#),
        ("[1-100]", "a number from 1 to 100"),
        (
            "zone[01-12]",
            r#""zone" followed by a number from 01 to 12 with or without leading zeros"#,
        ),
        (
            "proc[!2x-z]",
            r#""proc" followed by one character other than "2" or "x" to "z""#,
        ),
        (
            "?[a-c, x*, ]",
            r#"any one character followed by a letter from a to c, "x" and anything or nothing"#,
        ),
        (
            "[1,2,3,4,5,6,7,8,9,10,11,12,13]",
            r#"one of "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11" or 2 more"#,
        ),
    ] {
        assert_eq!(
            Pattern::parse(text).unwrap().explain().to_string(),
            words,
            "{text}"
        );
    }
    for (text, words) in [
        ("[0:2]", "the first two processes by id"),
        ("[:1]", "the first process by id"),
        ("[-2:]", "the last two processes by id"),
        ("[2:]", "all but the first two processes by id"),
        ("[:-1]", "all but the last process by id"),
        ("[:12]", "the first 12 processes by id"),
        ("[1 : 3]", "processes 2 to 3 by id"),
        ("[1:2]", "process 2 by id"),
        ("[:]", "all processes"),
        ("[3:1]", "no process"),
        ("[:0]", "no process"),
        (
            "[1:-1]",
            "the processes by id from position 1 to before position -1, counted from 0, negative ones from the end",
        ),
    ] {
        assert_eq!(
            IdPart::parse(text).unwrap().explain().to_string(),
            words,
            "{text}"
        );
    }
    let all = dotted("*.*.*.gse_agent.[0:2]").explain();
    let all = all.map(|(part, meaning)| (part, meaning.to_string()));
    assert_eq!(
        all[3],
        (ExpressionPart::Process, r#"exactly "gse_agent""#.to_owned())
    );
    assert_eq!(
        all[4],
        (
            ExpressionPart::Id,
            "the first two processes by id".to_owned()
        )
    );
}

#[test]
fn a_meaning_is_a_code_with_parameters_and_items() {
    let meaning = Pattern::parse("a[1-3, x*][!b-d]").unwrap().explain();
    let codes = |items: &[crate::expression::Meaning]| -> Vec<String> {
        let items = items.iter();
        items.map(|item| item.reason().code.into_owned()).collect()
    };
    assert_eq!(meaning.reason().code, "sequence");
    assert_eq!(codes(meaning.items()), ["text", "choice", "none_of"]);
    assert_eq!(codes(meaning.items()[1].items()), ["numbers", "atoms"]);
    let numbers = meaning.items()[1].items()[0].reason();
    assert_eq!(
        (&*numbers.params["from"], &*numbers.params["to"]),
        ("1", "3")
    );
    let many = Pattern::parse("[1,2,3,4,5,6,7,8,9,10,11,12,13]")
        .unwrap()
        .explain();
    let last = many.items().last().unwrap().reason();
    assert_eq!((&*last.code, &*last.params["count"]), ("more", "2"));
}
