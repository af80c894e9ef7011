//! Describes expressions in English, so that users can check them before they operate on the selection.

use super::pattern::{Atom, Bracket, Item, Pattern, Segment};
use super::slice::{IdPart, Slice};

/// Lists longer than this are shortened.
const LISTED: usize = 12;

impl Pattern {
    /// `any`, `exactly "a"`, `begins with "a"`, `"4" followed by "6", "8" or "9"`.
    pub fn explain(&self) -> String {
        use Atom::{AnyRun, Text};
        use Segment::{Atom as A, Bracket as B};
        match &self.segments[..] {
            [] => "the empty name".to_owned(),
            [A(AnyRun)] => "any".to_owned(),
            [A(Text(text))] => format!("exactly {text:?}"),
            [A(Text(text)), A(AnyRun)] => format!("begins with {text:?}"),
            [A(AnyRun), A(Text(text))] => format!("ends with {text:?}"),
            [A(AnyRun), A(Text(text)), A(AnyRun)] => format!("contains {text:?}"),
            [B(bracket)] if bracket.has_words_only() => {
                format!("one of {}", self::bracket(bracket))
            }
            segments => {
                let segments: Vec<String> = segments.iter().map(segment).collect();
                segments.join(" followed by ")
            }
        }
    }
}

fn segment(segment: &Segment) -> String {
    match segment {
        Segment::Atom(atom) => self::atom(atom),
        Segment::Bracket(bracket) => self::bracket(bracket),
    }
}

fn atom(atom: &Atom) -> String {
    match atom {
        Atom::Text(text) => format!("{text:?}"),
        Atom::AnyRun => "anything".to_owned(),
        Atom::AnyOne => "any one character".to_owned(),
        Atom::NoneOf(exclusion) => {
            let excluded = exclusion.ranges.iter().map(|(from, to)| match from == to {
                true => quoted(*from),
                false => format!("{} to {}", quoted(*from), quoted(*to)),
            });
            format!("one character other than {}", listed(excluded.collect()))
        }
    }
}

fn bracket(bracket: &Bracket) -> String {
    listed(bracket.items.iter().map(item).collect())
}

fn item(item: &Item) -> String {
    match item {
        Item::Word(word) if word.is_empty() => "nothing".to_owned(),
        Item::Word(word) => format!("{word:?}"),
        Item::Letters { from, to } => format!("a letter from {from} to {to}"),
        Item::Numbers(range) if range.takes_zeros() => {
            format!("a number from {range} with or without leading zeros")
        }
        Item::Numbers(range) => format!("a number from {range}"),
        Item::Wild(atoms) => {
            let atoms: Vec<String> = atoms.iter().map(atom).collect();
            atoms.join(" and ")
        }
    }
}

fn quoted(character: char) -> String {
    format!("{:?}", character.to_string())
}

/// `a, b or c`
fn listed(mut words: Vec<String>) -> String {
    if words.len() > LISTED {
        let more = words.len() - (LISTED - 1);
        words.truncate(LISTED - 1);
        words.push(format!("{more} more"));
    }
    match words.pop() {
        Some(last) if words.is_empty() => last,
        Some(last) => format!("{} or {last}", words.join(", ")),
        None => String::new(),
    }
}

impl IdPart {
    pub fn explain(&self) -> String {
        match self {
            Self::Pattern(pattern) => pattern.explain(),
            Self::Slice(slice) => slice.explain(),
        }
    }
}

impl Slice {
    /// `the first two processes by id`
    pub fn explain(&self) -> String {
        let (start, end) = (self.start.unwrap_or(0), self.end);
        match (start, end) {
            (0, None) => "all processes".to_owned(),
            (0, Some(0)) => "no process".to_owned(),
            (0, Some(end @ 1..)) => format!("the first {} by id", processes(end)),
            (0, Some(end)) => format!("all but the last {} by id", processes(end)),
            (1.., None) => format!("all but the first {} by id", processes(start)),
            (_, None) => format!("the last {} by id", processes(start)),
            (1.., Some(end @ 0..)) if end <= start => "no process".to_owned(),
            (1.., Some(end @ 0..)) if end == start + 1 => format!("process {end} by id"),
            (1.., Some(end @ 0..)) => format!("processes {} to {end} by id", start + 1),
            (_, Some(end)) => format!(
                "the processes by id from position {start} to before position {end}, counted from 0, negative ones from the end"
            ),
        }
    }
}

/// `two processes`, `process` for one. The sign of the count is ignored.
fn processes(count: i64) -> String {
    const WORDS: [&str; 9] = [
        "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    ];
    match count.unsigned_abs() {
        1 => "process".to_owned(),
        count => match usize::try_from(count - 2).ok().and_then(|n| WORDS.get(n)) {
            Some(word) => format!("{word} processes"),
            None => format!("{count} processes"),
        },
    }
}
