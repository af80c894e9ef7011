//! Patterns: one parsed part of an expression, which must match a whole name.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::error::ExpressionError;
use super::intervals::Intervals;
use super::matcher::Matcher;
use super::number::{NumberRange, NumberRanges};
use super::{parse, product, text};

/// Matches whole names. Patterns are equal if they match the same segments, regardless of escapes and spaces.
#[derive(Debug, Clone)]
pub struct Pattern {
    /// The source text, trimmed.
    written: Box<str>,
    pub(super) segments: Vec<Segment>,
}

/// A segment of a pattern. A name matches if it is a sequence of substrings that match the segments in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Segment {
    Atom(Atom),
    Bracket(Bracket),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Atom {
    Text(String),
    /// `*`
    AnyRun,
    /// `?`
    AnyOne,
    /// `[!…]`
    NoneOf(Exclusion),
}

/// A bracket with several alternatives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bracket {
    /// In source order.
    pub(super) items: Vec<Item>,
    /// The items that are plain words, sorted and distinct, for binary search.
    pub(super) words: Vec<Box<str>>,
    /// The items that are ranges.
    pub(super) letters: Intervals<char>,
    pub(super) numbers: NumberRanges,
    /// The indexes of items with wildcards, which are tried one by one.
    wild: Vec<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Item {
    Word(String),
    Letters { from: char, to: char },
    Numbers(NumberRange),
    Wild(Vec<Atom>),
}

/// Excluded characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Exclusion {
    /// In source order; a single character is a range of one.
    pub(super) ranges: Vec<(char, char)>,
    members: Intervals<char>,
}

impl Exclusion {
    pub(super) fn new(ranges: Vec<(char, char)>) -> Self {
        Self {
            members: Intervals::new(ranges.clone()),
            ranges,
        }
    }

    pub(super) fn excludes(&self, character: char) -> bool {
        self.members.contains(character)
    }
}

impl Pattern {
    /// Blank text is `*`.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        let (written, segments) = parse::pattern(text)?;
        Ok(match segments.is_empty() && written.is_empty() {
            true => Self::default(),
            false => Self {
                written: written.into(),
                segments,
            },
        })
    }

    /// The pattern that matches only this name.
    pub fn exactly(name: &str) -> Self {
        let text = Segment::Atom(Atom::Text(name.to_owned()));
        Self {
            written: escaped(name).into(),
            segments: Vec::from_iter((!name.is_empty()).then_some(text)),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.written
    }

    pub fn matches(&self, name: &str) -> bool {
        self.matcher().matches(name)
    }

    /// A matcher for many names, which reuses its memory.
    pub fn matcher(&self) -> Matcher<'_> {
        Matcher::new(self)
    }

    /// Whether every name matches.
    pub fn is_any(&self) -> bool {
        matches!(self.segments[..], [Segment::Atom(Atom::AnyRun)])
    }

    /// The only name that can match, if the pattern is a literal.
    pub fn literal(&self) -> Option<&str> {
        match &self.segments[..] {
            [] => Some(""),
            [Segment::Atom(Atom::Text(name))] => Some(name),
            _ => None,
        }
    }

    /// All names that can match, if they are at most `limit`: an index looks them up instead of testing every name.
    pub fn exact_names(&self, limit: usize) -> Option<Vec<String>> {
        let mut alternatives = Vec::with_capacity(self.segments.len());
        for segment in &self.segments {
            alternatives.push(match segment {
                Segment::Atom(Atom::Text(text)) => vec![text.clone()],
                Segment::Atom(Atom::AnyRun | Atom::AnyOne | Atom::NoneOf(_)) => return None,
                Segment::Bracket(bracket) => bracket.exact_words(limit)?,
            });
        }
        let names = product::product(&alternatives, limit)?;
        let names: BTreeSet<String> = names.into_iter().collect();
        Some(names.into_iter().collect())
    }
}

impl Bracket {
    pub(super) fn new(items: Vec<Item>) -> Self {
        let mut words = BTreeSet::new();
        let (mut letters, mut numbers, mut wild) = (Vec::new(), Vec::new(), Vec::new());
        for (index, item) in items.iter().enumerate() {
            match item {
                Item::Word(word) => {
                    words.insert(word.as_str());
                }
                Item::Letters { from, to } => letters.push((*from, *to)),
                Item::Numbers(range) => numbers.push(*range),
                Item::Wild(_) => wild.push(index),
            }
        }
        Self {
            words: words.into_iter().map(Box::from).collect(),
            letters: Intervals::new(letters),
            numbers: NumberRanges::new(numbers.iter()),
            wild,
            items,
        }
    }

    /// The items with wildcards.
    pub(super) fn wild(&self) -> impl Iterator<Item = &[Atom]> {
        self.wild
            .iter()
            .filter_map(|index| match &self.items[*index] {
                Item::Wild(atoms) => Some(atoms.as_slice()),
                Item::Word(_) | Item::Letters { .. } | Item::Numbers(_) => None,
            })
    }

    pub(super) fn has_words_only(&self) -> bool {
        self.wild.is_empty() && self.letters.is_empty() && self.numbers.is_empty()
    }

    fn exact_words(&self, limit: usize) -> Option<Vec<String>> {
        let mut words: Vec<String> = self.words.iter().map(|word| word.to_string()).collect();
        for item in &self.items {
            match item {
                Item::Word(_) => {}
                Item::Letters { from, to } => {
                    words.extend((*from..=*to).take(limit + 1).map(String::from));
                }
                Item::Numbers(range) => words.extend(range.words(limit)?),
                Item::Wild(_) => return None,
            }
        }
        (words.len() <= limit).then_some(words)
    }
}

/// The name escaped as an expression that matches only it, in one part as well as in the joined form.
pub fn escaped(name: &str) -> String {
    let mut written = String::with_capacity(name.len());
    for character in name.chars() {
        let is_special = matches!(character, '*' | '?' | '[' | ']' | '\\' | '.');
        if is_special || character.is_whitespace() {
            written.push('\\');
        }
        written.push(character);
    }
    match written.is_empty() {
        true => "[]".to_owned(),
        false => written,
    }
}

/// The text without escapes: the inverse of [`escaped`], also for several of them joined by dots.
pub fn unescaped(written: &str) -> String {
    let mut name = String::with_capacity(written.len());
    let mut characters = written.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\\' => name.extend(characters.next()),
            // An empty name.
            '[' if characters.next_if_eq(&']').is_some() => {}
            other => name.push(other),
        }
    }
    name
}

/// `*`
impl Default for Pattern {
    fn default() -> Self {
        Self {
            written: "*".into(),
            segments: vec![Segment::Atom(Atom::AnyRun)],
        }
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.segments == other.segments
    }
}

impl Eq for Pattern {}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

impl FromStr for Pattern {
    type Err = ExpressionError;

    fn from_str(text: &str) -> Result<Self, ExpressionError> {
        Self::parse(text)
    }
}

impl Serialize for Pattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.written)
    }
}

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = text::optional(deserializer)?.unwrap_or_default();
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}
