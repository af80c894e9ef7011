//! Converts a pattern to an equivalent list of Unix shell patterns.

use std::collections::HashSet;
use std::fmt;

use super::pattern::{Atom, Bracket, Exclusion, Item, Pattern, Segment};
use super::product;

/// There are more shell patterns than the caller accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManyShellPatterns {
    pub limit: usize,
}

impl fmt::Display for TooManyShellPatterns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limit = self.limit;
        write!(
            f,
            "expression: written out as shell patterns it is more than {limit}, or too long; use fewer lists and ranges"
        )
    }
}

impl std::error::Error for TooManyShellPatterns {}

impl Pattern {
    /// A name matches the pattern if `fnmatch` matches it against one of these. Lists and number ranges are expanded, numbers
    /// with digit classes: `a[1-100]` is `a[1-9]`, `a[1-9][0-9]` and `a100`.
    pub fn to_shell_patterns(&self, limit: usize) -> Result<Vec<String>, TooManyShellPatterns> {
        let alternatives: Vec<Vec<String>> = self
            .segments
            .iter()
            .map(|segment| match segment {
                Segment::Atom(atom) => vec![style(atom)],
                Segment::Bracket(bracket) => bracket.shell_patterns(),
            })
            .collect();
        product::product(&alternatives, limit).ok_or(TooManyShellPatterns { limit })
    }
}

impl Bracket {
    /// Distinct, in the order of the items.
    fn shell_patterns(&self) -> Vec<String> {
        let mut styles = Vec::new();
        for item in &self.items {
            match item {
                Item::Word(word) => styles.push(literal(word)),
                Item::Letters { from, to } if from == to => styles.push(from.to_string()),
                Item::Letters { from, to } => styles.push(format!("[{from}-{to}]")),
                Item::Numbers(range) => styles.extend(range.shell_patterns()),
                Item::Wild(atoms) => styles.push(atoms.iter().map(style).collect()),
            }
        }
        let mut seen = HashSet::new();
        styles.retain(|style| seen.insert(style.clone()));
        styles
    }
}

fn style(atom: &Atom) -> String {
    match atom {
        Atom::Text(text) => literal(text),
        Atom::AnyRun => "*".to_owned(),
        Atom::AnyOne => "?".to_owned(),
        Atom::NoneOf(exclusion) => none_of(exclusion),
    }
}

/// `fnmatch` has no escape character: a special character stands for itself in brackets.
fn literal(text: &str) -> String {
    let mut style = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '*' | '?' | '[' => style.extend(['[', character, ']']),
            other => style.push(other),
        }
    }
    style
}

/// Places `]` first and `-` last, where they stand for themselves.
fn none_of(exclusion: &Exclusion) -> String {
    let excluded = &exclusion.ranges;
    let has = |character| excluded.contains(&(character, character));
    let mut style = String::from("[!");
    if has(']') {
        style.push(']');
    }
    for (from, to) in excluded {
        match (from, to) {
            (']', ']') | ('-', '-') => {}
            (from, to) if from == to => style.push(*from),
            (from, to) => style.extend([*from, '-', *to]),
        }
    }
    if has('-') {
        style.push('-');
    }
    style.push(']');
    style
}
