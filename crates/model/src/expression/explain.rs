//! Describes expressions, so that users can check them before they operate on the selection: in English, and as codes with
//! parameters for other languages.

use std::fmt;

use super::pattern::{Atom, Bracket, Item, Pattern, Segment};
use super::slice::{IdPart, Slice};
use crate::reason::Reason;

/// Lists longer than this are shortened.
const LISTED: usize = 12;

/// What a part of an expression means. It displays as English.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Meaning {
    Any,
    Empty,
    Exactly(String),
    BeginsWith(String),
    EndsWith(String),
    Contains(String),
    /// The whole name is one of these words.
    OneOf(Vec<Meaning>),
    /// One after the other.
    Sequence(Vec<Meaning>),

    Text(String),
    AnyRun,
    AnyOne,
    /// One character that is none of these texts and ranges.
    NoneOf(Vec<Meaning>),
    Characters {
        from: char,
        to: char,
    },
    /// One of these items.
    Choice(Vec<Meaning>),
    /// The item that matches the empty string.
    Nothing,
    Letters {
        from: char,
        to: char,
    },
    Numbers {
        from: String,
        to: String,
        padded: bool,
    },
    /// The atoms of an item with wildcards, one after the other.
    Atoms(Vec<Meaning>),
    /// Items of a list that are not shown.
    More(usize),

    AllProcesses,
    NoProcess,
    First(u64),
    Last(u64),
    AllButFirst(u64),
    AllButLast(u64),
    /// Counted from 1.
    Nth(i64),
    /// Counted from 1, both included.
    Range {
        from: i64,
        to: i64,
    },
    /// Positions as in Python.
    Between {
        start: i64,
        end: i64,
    },
}

impl Meaning {
    /// The code and its parameters.
    pub fn reason(&self) -> Reason {
        match self {
            Self::Any => Reason::new("any"),
            Self::Empty => Reason::new("empty"),
            Self::Exactly(text) => Reason::new("exactly").with("text", text),
            Self::BeginsWith(text) => Reason::new("begins_with").with("text", text),
            Self::EndsWith(text) => Reason::new("ends_with").with("text", text),
            Self::Contains(text) => Reason::new("contains").with("text", text),
            Self::OneOf(_) => Reason::new("one_of"),
            Self::Sequence(_) => Reason::new("sequence"),
            Self::Text(text) => Reason::new("text").with("text", text),
            Self::AnyRun => Reason::new("any_run"),
            Self::AnyOne => Reason::new("any_one"),
            Self::NoneOf(_) => Reason::new("none_of"),
            Self::Characters { from, to } => {
                Reason::new("characters").with("from", from).with("to", to)
            }
            Self::Choice(_) => Reason::new("choice"),
            Self::Nothing => Reason::new("nothing"),
            Self::Letters { from, to } => Reason::new("letters").with("from", from).with("to", to),
            Self::Numbers { from, to, padded } => {
                let code = if *padded { "padded_numbers" } else { "numbers" };
                Reason::new(code).with("from", from).with("to", to)
            }
            Self::Atoms(_) => Reason::new("atoms"),
            Self::More(count) => Reason::new("more").with("count", count),
            Self::AllProcesses => Reason::new("all_processes"),
            Self::NoProcess => Reason::new("no_process"),
            Self::First(count) => Reason::new("first").with("count", count),
            Self::Last(count) => Reason::new("last").with("count", count),
            Self::AllButFirst(count) => Reason::new("all_but_first").with("count", count),
            Self::AllButLast(count) => Reason::new("all_but_last").with("count", count),
            Self::Nth(at) => Reason::new("nth").with("at", at),
            Self::Range { from, to } => Reason::new("range").with("from", from).with("to", to),
            Self::Between { start, end } => {
                Reason::new("between").with("start", start).with("end", end)
            }
        }
    }

    /// What it is made of.
    pub fn items(&self) -> &[Meaning] {
        match self {
            Self::OneOf(items)
            | Self::Sequence(items)
            | Self::NoneOf(items)
            | Self::Choice(items)
            | Self::Atoms(items) => items,
            _ => &[],
        }
    }
}

impl Pattern {
    /// `any`, `exactly "a"`, `begins with "a"`, `"4" followed by "6", "8" or "9"`.
    pub fn explain(&self) -> Meaning {
        use Atom::{AnyRun, Text};
        use Segment::{Atom as A, Bracket as B};
        match &self.segments[..] {
            [] => Meaning::Empty,
            [A(AnyRun)] => Meaning::Any,
            [A(Text(text))] => Meaning::Exactly(text.clone()),
            [A(Text(text)), A(AnyRun)] => Meaning::BeginsWith(text.clone()),
            [A(AnyRun), A(Text(text))] => Meaning::EndsWith(text.clone()),
            [A(AnyRun), A(Text(text)), A(AnyRun)] => Meaning::Contains(text.clone()),
            [B(bracket)] if bracket.has_words_only() => Meaning::OneOf(items(bracket)),
            [only] => segment(only),
            segments => Meaning::Sequence(segments.iter().map(segment).collect()),
        }
    }
}

fn segment(segment: &Segment) -> Meaning {
    match segment {
        Segment::Atom(atom) => self::atom(atom),
        Segment::Bracket(bracket) => Meaning::Choice(items(bracket)),
    }
}

fn atom(atom: &Atom) -> Meaning {
    match atom {
        Atom::Text(text) => Meaning::Text(text.clone()),
        Atom::AnyRun => Meaning::AnyRun,
        Atom::AnyOne => Meaning::AnyOne,
        Atom::NoneOf(exclusion) => {
            let excluded = exclusion.ranges.iter();
            Meaning::NoneOf(shortened(excluded, |&(from, to)| match from == to {
                true => Meaning::Text(from.to_string()),
                false => Meaning::Characters { from, to },
            }))
        }
    }
}

fn items(bracket: &Bracket) -> Vec<Meaning> {
    shortened(bracket.items.iter(), item)
}

fn item(item: &Item) -> Meaning {
    match item {
        Item::Word(word) if word.is_empty() => Meaning::Nothing,
        Item::Word(word) => Meaning::Text(word.clone()),
        Item::Letters { from, to } => Meaning::Letters {
            from: *from,
            to: *to,
        },
        Item::Numbers(range) => {
            let (from, to) = range.ends();
            Meaning::Numbers {
                from,
                to,
                padded: range.takes_zeros(),
            }
        }
        Item::Wild(atoms) => Meaning::Atoms(atoms.iter().map(atom).collect()),
    }
}

/// The first items, and how many more there are.
fn shortened<T>(
    items: impl ExactSizeIterator<Item = T>,
    meaning: impl Fn(T) -> Meaning,
) -> Vec<Meaning> {
    let count = items.len();
    match count > LISTED {
        true => {
            let mut first: Vec<Meaning> = items.take(LISTED - 1).map(meaning).collect();
            first.push(Meaning::More(count - first.len()));
            first
        }
        false => items.map(meaning).collect(),
    }
}

impl IdPart {
    pub fn explain(&self) -> Meaning {
        match self {
            Self::Pattern(pattern) => pattern.explain(),
            Self::Slice(slice) => slice.explain(),
        }
    }
}

impl Slice {
    /// `the first two processes by id`
    pub fn explain(&self) -> Meaning {
        let (start, end) = (self.start.unwrap_or(0), self.end);
        match (start, end) {
            (0, None) => Meaning::AllProcesses,
            (0, Some(0)) => Meaning::NoProcess,
            (0, Some(end @ 1..)) => Meaning::First(end.unsigned_abs()),
            (0, Some(end)) => Meaning::AllButLast(end.unsigned_abs()),
            (1.., None) => Meaning::AllButFirst(start.unsigned_abs()),
            (_, None) => Meaning::Last(start.unsigned_abs()),
            (1.., Some(end @ 0..)) if end <= start => Meaning::NoProcess,
            (1.., Some(end @ 0..)) if end == start + 1 => Meaning::Nth(end),
            (1.., Some(end @ 0..)) => Meaning::Range {
                from: start + 1,
                to: end,
            },
            (_, Some(end)) => Meaning::Between { start, end },
        }
    }
}

impl fmt::Display for Meaning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("any"),
            Self::Empty => f.write_str("the empty name"),
            Self::Exactly(text) => write!(f, "exactly {text:?}"),
            Self::BeginsWith(text) => write!(f, "begins with {text:?}"),
            Self::EndsWith(text) => write!(f, "ends with {text:?}"),
            Self::Contains(text) => write!(f, "contains {text:?}"),
            Self::OneOf(items) => write!(f, "one of {}", listed(items)),
            Self::Sequence(items) => f.write_str(&joined(items, " followed by ")),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::AnyRun => f.write_str("anything"),
            Self::AnyOne => f.write_str("any one character"),
            Self::NoneOf(items) => write!(f, "one character other than {}", listed(items)),
            Self::Characters { from, to } => {
                write!(f, "{:?} to {:?}", from.to_string(), to.to_string())
            }
            Self::Choice(items) => f.write_str(&listed(items)),
            Self::Nothing => f.write_str("nothing"),
            Self::Letters { from, to } => write!(f, "a letter from {from} to {to}"),
            Self::Numbers { from, to, padded } => {
                let zeros = match padded {
                    true => " with or without leading zeros",
                    false => "",
                };
                write!(f, "a number from {from} to {to}{zeros}")
            }
            Self::Atoms(items) => f.write_str(&joined(items, " and ")),
            Self::More(count) => write!(f, "{count} more"),
            Self::AllProcesses => f.write_str("all processes"),
            Self::NoProcess => f.write_str("no process"),
            Self::First(count) => write!(f, "the first {} by id", processes(*count)),
            Self::Last(count) => write!(f, "the last {} by id", processes(*count)),
            Self::AllButFirst(count) => write!(f, "all but the first {} by id", processes(*count)),
            Self::AllButLast(count) => write!(f, "all but the last {} by id", processes(*count)),
            Self::Nth(at) => write!(f, "process {at} by id"),
            Self::Range { from, to } => write!(f, "processes {from} to {to} by id"),
            Self::Between { start, end } => write!(
                f,
                "the processes by id from position {start} to before position {end}, counted from 0, negative ones from the end"
            ),
        }
    }
}

fn joined(items: &[Meaning], between: &str) -> String {
    let items: Vec<String> = items.iter().map(Meaning::to_string).collect();
    items.join(between)
}

/// `a, b or c`
fn listed(items: &[Meaning]) -> String {
    match items {
        [] => String::new(),
        [only] => only.to_string(),
        [first @ .., last] => format!("{} or {last}", joined(first, ", ")),
    }
}

/// `two processes`, `process` for one.
fn processes(count: u64) -> String {
    const WORDS: [&str; 9] = [
        "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    ];
    match count {
        1 => "process".to_owned(),
        count => match usize::try_from(count - 2).ok().and_then(|n| WORDS.get(n)) {
            Some(word) => format!("{word} processes"),
            None => format!("{count} processes"),
        },
    }
}
