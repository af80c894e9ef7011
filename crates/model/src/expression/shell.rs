//! A pattern as the list of Unix shell patterns that it stands for.

use std::collections::HashSet;
use std::fmt;

use super::pattern::{Atom, Choice, Exclusion, Item, Pattern, Segment};
use super::product;

/// The shell patterns would be more than the caller takes.
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
    /// A name matches the pattern when `fnmatch` finds it to match one of these. Lists and ranges of numbers are written out,
    /// numbers with classes of digits: `a[1-100]` is `a[1-9]`, `a[1-9][0-9]` and `a100`.
    pub fn to_shell_patterns(&self, limit: usize) -> Result<Vec<String>, TooManyShellPatterns> {
        let alternatives: Vec<Vec<String>> = self
            .segments
            .iter()
            .map(|segment| match segment {
                Segment::Atom(atom) => vec![style(atom)],
                Segment::Choice(choice) => choice.styles(),
            })
            .collect();
        product::product(&alternatives, limit).ok_or(TooManyShellPatterns { limit })
    }
}

impl Choice {
    /// Each once, in the order of the items.
    fn styles(&self) -> Vec<String> {
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

/// `fnmatch` knows no backslash: a special character stands for itself in brackets of its own.
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

/// Where they can only be meant as themselves: `]` first, `-` last.
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
