//! Random patterns and names, matched by both implementations.

use proptest::prelude::{Strategy, any, prop, prop_oneof, proptest};
use proptest::sample::select;

use super::super::{Expression, IdPart, Pattern, Slice, escaped, unescaped};
use super::slow::{self, Glob};

/// Concatenates brackets and characters, so that most patterns are valid and some are invalid in interesting ways.
fn patterns() -> impl Strategy<Value = String> {
    let pieces = select(vec![
        "a",
        "b",
        "0",
        "1",
        "12",
        "é",
        ".",
        "!",
        ",",
        "-",
        " ",
        "*",
        "**",
        "?",
        r"\*",
        r"\[",
        r"\]",
        r"\\",
        r"\ ",
        "[a,b]",
        "[a, ab, 1]",
        "[1-3]",
        "[8-12]",
        "[01-12]",
        "[0-1]",
        "[00-3]",
        "[008-11]",
        "[9 - 011]",
        "[a-c]",
        "[a - a]",
        "[5-5]",
        "[a*, ?b]",
        "[,a]",
        "[]",
        "[ab]",
        "[a*]",
        "[!a]",
        "[!1-2a]",
        "[!-]",
        r"[!\]]",
        "[!*]",
        "[a，b、1]",
        "[x, !a]",
        "[1-2-3]",
        "[aa-bb]",
        r"[1\-3]",
        "[a-B]",
        "[?]",
        "[3-1]",
        "[c-a]",
        "[!b-a]",
        "[!]",
        "[",
        "]",
        "[a[",
        r"\",
    ]);
    prop::collection::vec(pieces, 0..5).prop_map(|pieces| pieces.concat())
}

fn names() -> impl Strategy<Value = String> {
    let pieces = select(vec![
        "a", "b", "0", "1", "2", "3", "8", "9", "12", "é", ".", "!", ",", "-", " ", "*", "?", "[",
        "]", "\\",
    ]);
    prop::collection::vec(pieces, 0..6).prop_map(|pieces| pieces.concat())
}

/// A name that matches these globs.
fn sample(globs: &[Glob]) -> String {
    globs
        .iter()
        .filter_map(|glob| match glob {
            Glob::Only(character) => Some(*character),
            Glob::Run => None,
            Glob::One => Some('é'),
            Glob::OneOf(members) => members.first().copied(),
            Glob::NoneOf(excluded) => ('a'..='z').find(|c| !excluded.contains(c)),
        })
        .collect()
}

proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(1_000))]

    #[test]
    fn matching_agrees_with_the_slow_implementation(pattern in patterns(), names in prop::collection::vec(names(), 1..12)) {
        let parsed = Pattern::parse(&pattern);
        let Some(alternatives) = slow::expand(&pattern) else {
            assert!(parsed.is_err(), "{pattern:?} is wrong");
            return Ok(());
        };
        let parsed = parsed.unwrap_or_else(|error| panic!("{pattern:?}: {error}"));
        let mut matcher = parsed.matcher();
        for name in &names {
            assert_eq!(Some(matcher.matches(name)), slow::matches(&pattern, name), "{pattern:?} on {name:?}");
        }
        for globs in alternatives.iter().take(40) {
            let name = sample(globs);
            assert!(matcher.matches(&name), "{pattern:?} on {name:?}");
        }
    }

    #[test]
    fn shell_patterns_and_exact_names_match_the_same_names(pattern in patterns(), names in prop::collection::vec(names(), 1..6)) {
        let Ok(parsed) = Pattern::parse(&pattern) else {
            return Ok(());
        };
        let styles = parsed.to_shell_patterns(5_000).unwrap();
        let exact = parsed.exact_names(5_000);
        for name in &names {
            let matches = parsed.matches(name);
            let styled = styles.iter().any(|style| slow::fnmatch(style, name));
            assert_eq!(styled, matches, "{pattern:?} as {styles:?} on {name:?}");
            if let Some(exact) = &exact {
                assert_eq!(exact.contains(name), matches, "{pattern:?} as {exact:?} on {name:?}");
            }
        }
        let mut matcher = parsed.matcher();
        for name in exact.iter().flatten().take(60) {
            assert!(matcher.matches(name), "{pattern:?} on {name:?}");
        }
        if let Some(literal) = parsed.literal() {
            assert_eq!(exact, Some(vec![literal.to_owned()]), "{pattern:?}");
        }
    }

    #[test]
    fn an_expression_parses_from_its_display(parts in prop::collection::vec(patterns(), 5)) {
        let texts: Vec<Option<&str>> = parts.iter().map(|part| Some(part.as_str())).collect();
        let Ok(expression) = Expression::parse_parts(texts.try_into().unwrap()) else {
            return Ok(());
        };
        assert_eq!(Pattern::parse(expression.set.as_str()).unwrap(), expression.set);
        let joined = expression.to_string();
        assert_eq!(Expression::parse_dotted(&joined).unwrap(), expression, "{joined}");
        let json = serde_json::to_string(&expression).unwrap();
        assert_eq!(serde_json::from_str::<Expression>(&json).unwrap(), expression, "{json}");
    }

    #[test]
    fn an_escaped_name_matches_only_itself(name in names(), other in names()) {
        let pattern = Pattern::parse(&escaped(&name)).unwrap();
        assert_eq!(pattern.literal(), Some(name.as_str()));
        assert_eq!(pattern, Pattern::exactly(&name));
        assert_eq!(unescaped(&escaped(&name)), name);
        assert!(pattern.matches(&name));
        assert_eq!(pattern.matches(&other), name == other);
        let joined = format!("*.{}", escaped(&name));
        assert_eq!(Expression::parse_dotted(&joined).unwrap().module, pattern);
    }

    #[test]
    fn any_text_is_parsed_or_refused_at_a_position_within_it(text in prop_oneof![any::<String>(), r"[\[\]!,:\\*?a-c0-9 .，-]{0,24}"]) {
        let outcomes = [
            Pattern::parse(&text).map(|pattern| {
                pattern.matches(&text);
                pattern.explain().to_string()
            }),
            IdPart::parse(&text).map(|part| part.explain().to_string()),
            Expression::parse_dotted(&text).map(|expression| expression.to_string()),
        ];
        let errors = outcomes.into_iter().filter_map(Result::err);
        for error in errors {
            assert!((1..=text.chars().count()).contains(&error.character), "{text:?}: {error}");
        }
    }

    #[test]
    fn slices_select_as_in_python(start in prop::option::of(-12_i64..12), end in prop::option::of(-12_i64..12), length in 0..10_usize) {
        let from_the_front = |bound: i64| if bound < 0 { bound + length as i64 } else { bound };
        let (low, high) = (start.map_or(0, from_the_front), end.map_or(length as i64, from_the_front));
        let ids: Vec<u64> = (0..length as u64).collect();
        let expected: Vec<u64> = ids.iter().copied().filter(|id| (low..high).contains(&(*id as i64))).collect();
        assert_eq!(IdPart::Slice(Slice { start, end }).select(&ids), expected);
    }
}
