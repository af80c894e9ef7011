//! Checks the tables of the guide.

use super::super::{
    Expression, ExpressionPart, IdPart, MAX_ALTERNATIVES, MAX_CHARACTERS, MAX_DIGITS,
    MAX_WILDCARDS, Pattern,
};

const GUIDE: &str = include_str!("../../../../../docs/guides/process-view.md");

/// The rows of the table with this first heading, as cells.
fn table(heading: &str) -> Vec<Vec<&'static str>> {
    let begins = format!("| {heading} |");
    let cells = |line: &'static str| {
        let inner = line.trim_start_matches('|').trim_end_matches('|');
        inner.split('|').map(str::trim).collect()
    };
    let rows: Vec<Vec<&str>> = GUIDE
        .lines()
        .skip_while(|line| !line.starts_with(&begins))
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(cells)
        .collect();
    assert!(!rows.is_empty(), "the guide has a table of {heading}");
    rows
}

/// The code spans of a cell.
fn spans(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

#[test]
fn patterns_match_as_in_the_guide() {
    for row in table("expression") {
        let text = spans(row[0])[0];
        let pattern = Pattern::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert!(!spans(row[1]).is_empty(), "{text}");
        for name in spans(row[1]) {
            assert!(pattern.matches(name), "{text} finds {name}");
        }
        for name in spans(row[2]) {
            assert!(!pattern.matches(name), "{text} does not find {name}");
        }
    }
}

#[test]
fn slices_select_as_in_the_guide() {
    for row in table("slice") {
        let text = spans(row[0])[0];
        let part = IdPart::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let selected = part.select(&[4, 40, 46, 48, 49, 50]);
        let selected: Vec<String> = selected.iter().map(u64::to_string).collect();
        assert_eq!(selected, spans(row[1]), "{text}");
        assert_eq!(part.explain().to_string(), row[2], "{text}");
    }
}

#[test]
fn the_joined_form_splits_as_in_the_guide() {
    for row in table("joined") {
        let texts: Vec<&str> = row.iter().map(|cell| spans(cell)[0]).collect();
        let joined = Expression::parse_dotted(texts[0]).unwrap();
        let parts = [texts[1], texts[2], texts[3], texts[4], texts[5]].map(Some);
        assert_eq!(
            joined,
            Expression::parse_parts(parts).unwrap(),
            "{}",
            texts[0]
        );
    }
}

#[test]
fn refusals_read_as_in_the_guide() {
    for row in table("`bk_set_name`") {
        let text = spans(row[0])[0];
        let error = Expression::parse_parts([Some(text), None, None, None, None]).expect_err(text);
        assert_eq!(error.part, Some(ExpressionPart::Set));
        assert_eq!(error.to_string(), spans(row[1])[0], "{text}");
    }
    let section = GUIDE.split("### What is refused").nth(1).unwrap();
    for limit in [
        format!("{MAX_CHARACTERS} characters"),
        format!("{MAX_ALTERNATIVES} list items"),
        format!("{MAX_WILDCARDS} wildcards and brackets"),
        format!("{MAX_DIGITS} digits"),
    ] {
        assert!(section.contains(&limit), "{limit}");
    }
}
