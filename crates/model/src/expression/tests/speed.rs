//! Bounds the number of compared characters, so that the tests need no clock.

use super::super::{MAX_ALTERNATIVES, Pattern};

fn work(pattern: &str, name: &str) -> u64 {
    let pattern = Pattern::parse(pattern).unwrap();
    let mut matcher = pattern.matcher();
    matcher.matches(name);
    matcher.work()
}

#[test]
fn many_stars_cost_at_most_pattern_times_name() {
    let pattern = "a*a*a*a*a*a*a*a*a*b";
    for length in [1_000, 10_000, 100_000] {
        let name = "a".repeat(length);
        assert!(!Pattern::parse(pattern).unwrap().matches(&name));
        let bound = pattern.len() * (name.len() + 1);
        assert!(work(pattern, &name) <= bound as u64, "{length}");
    }
}

#[test]
fn stars_in_lists_and_ranges_cost_at_most_pattern_times_name() {
    let name = "1".repeat(5_000);
    for pattern in [
        "*[1*1*1*2, 1*1*1*3, *, ?*?]*[*1*, 11]*x",
        "*[1-1000000]*[1-1000000]*[1-1000000]x",
        "[1, 11, 111][1, 11, 111][1, 11, 111][1, 11, 111]*x",
    ] {
        // A range compares at most the 32 digits of a number at one position.
        let bound = 32 * pattern.len() * (name.len() + 1);
        assert!(work(pattern, &name) <= bound as u64, "{pattern}");
    }
}

#[test]
fn words_are_found_by_binary_search() {
    let ids: Vec<String> = (0..MAX_ALTERNATIVES)
        .map(|id| (id * 7).to_string())
        .collect();
    let pattern = format!("[{}]?", ids.join(","));
    let spent = work(&pattern, "69993x");
    assert!(spent < 20, "{spent}");
    assert!(Pattern::parse(&pattern).unwrap().matches("69993x"));
    assert!(!Pattern::parse(&pattern).unwrap().matches("69994x"));
}

#[test]
fn ranges_are_found_by_binary_search() {
    let ranges: Vec<String> = (0..MAX_ALTERNATIVES)
        .map(|index| format!("{}-{}", index * 10, index * 10 + 4))
        .collect();
    let pattern = format!("[{}]?", ranges.join(","));
    let spent = work(&pattern, "99994x");
    assert!(spent < 20, "{spent}");
    assert!(Pattern::parse(&pattern).unwrap().matches("99994x"));
    assert!(!Pattern::parse(&pattern).unwrap().matches("99995x"));
}
