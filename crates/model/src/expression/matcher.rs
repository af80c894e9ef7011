//! Matches names against a pattern in time O(pattern × name).
//!
//! There is no backtracking: the matcher takes the segments of the pattern in order and turns the set of positions in the name
//! where the previous segment may end into the set where this one may end. Positions are byte offsets at character boundaries.

use super::bits::BitMatcher;
use super::pattern::{Atom, Bracket, Pattern, Segment};

/// Matches names against one pattern.
#[derive(Debug)]
pub struct Matcher<'p> {
    pattern: &'p Pattern,
    /// For ASCII names, where the pattern allows it.
    bits: Option<BitMatcher>,
    reached: Positions,
    next: Positions,
    within: [Positions; 2],
    work: Work,
}

impl<'p> Matcher<'p> {
    pub(super) fn new(pattern: &'p Pattern) -> Self {
        Self {
            pattern,
            bits: BitMatcher::new(pattern),
            reached: Positions::default(),
            next: Positions::default(),
            within: Default::default(),
            work: Work(0),
        }
    }

    pub fn matches(&mut self, name: &str) -> bool {
        match &self.pattern.segments[..] {
            [] => name.is_empty(),
            [Segment::Atom(Atom::AnyRun)] => true,
            [Segment::Atom(Atom::Text(text))] => text == name,
            [Segment::Bracket(bracket)] if bracket.has_words_only() => bracket
                .words
                .binary_search_by(|word| word.as_ref().cmp(name))
                .is_ok(),
            segments => match &self.bits {
                Some(bits) if name.is_ascii() => {
                    self.work.add(name.len());
                    bits.matches(name.as_bytes())
                }
                _ => self.matches_segments(segments, name),
            },
        }
    }

    /// How many characters were compared so far, over all names.
    pub fn work(&self) -> u64 {
        self.work.0
    }

    fn matches_segments(&mut self, segments: &[Segment], name: &str) -> bool {
        self.reached.clear(name);
        self.reached.insert(0);
        for segment in segments {
            self.next.clear(name);
            let (from, into) = (&self.reached, &mut self.next);
            match segment {
                Segment::Atom(atom) => advance(atom, name, from, into, &mut self.work),
                Segment::Bracket(bracket) => {
                    advance_bracket(bracket, name, from, into, &mut self.within, &mut self.work);
                }
            }
            std::mem::swap(&mut self.reached, &mut self.next);
            if self.reached.is_empty() {
                return false;
            }
        }
        self.reached.contains(name.len())
    }
}

#[derive(Debug)]
struct Work(u64);

impl Work {
    fn add(&mut self, characters: usize) {
        self.0 += characters as u64;
    }
}

fn advance(atom: &Atom, name: &str, from: &Positions, into: &mut Positions, work: &mut Work) {
    match atom {
        Atom::Text(text) => {
            for at in from.iter() {
                work.add(text.len());
                if name.as_bytes()[at..].starts_with(text.as_bytes()) {
                    into.insert(at + text.len());
                }
            }
        }
        Atom::AnyRun => {
            let Some(first) = from.iter().next() else {
                return;
            };
            work.add(name.len() - first + 1);
            (first..=name.len())
                .filter(|at| name.is_char_boundary(*at))
                .for_each(|at| into.insert(at));
        }
        Atom::AnyOne => one(name, from, into, work, |_| true),
        Atom::NoneOf(exclusion) => {
            one(name, from, into, work, |c| !exclusion.excludes(c));
        }
    }
}

/// Advances over one character that fits.
fn one(
    name: &str,
    from: &Positions,
    into: &mut Positions,
    work: &mut Work,
    fits: impl Fn(char) -> bool,
) {
    for at in from.iter() {
        work.add(1);
        if let Some(character) = name[at..].chars().next()
            && fits(character)
        {
            into.insert(at + character.len_utf8());
        }
    }
}

fn advance_bracket(
    bracket: &Bracket,
    name: &str,
    from: &Positions,
    into: &mut Positions,
    within: &mut [Positions; 2],
    work: &mut Work,
) {
    for at in from.iter() {
        let rest = &name.as_bytes()[at..];
        let compared = words(&bracket.words, rest, |length| into.insert(at + length));
        work.add(compared);
        if !bracket.numbers.is_empty() {
            let numbers = &bracket.numbers;
            work.add(numbers.lengths(rest, |length| into.insert(at + length)));
        }
    }
    if !bracket.letters.is_empty() {
        one(name, from, into, work, |c| bracket.letters.contains(c));
    }
    for atoms in bracket.wild() {
        let [reached, next] = within;
        reached.copy(from);
        for atom in atoms {
            next.clear(name);
            advance(atom, name, reached, next, work);
            std::mem::swap(reached, next);
            if reached.is_empty() {
                break;
            }
        }
        into.join(reached);
    }
}

/// Calls `found` with the length of each word that `rest` begins with. The words are sorted and distinct, so words with a
/// common prefix are adjacent, the shortest first. Returns how many characters were compared.
fn words(words: &[Box<str>], rest: &[u8], mut found: impl FnMut(usize)) -> usize {
    let mut candidates = words;
    for length in 0..=rest.len() {
        if let [shortest, longer @ ..] = candidates
            && shortest.len() == length
        {
            found(length);
            candidates = longer;
        }
        if candidates.is_empty() || length == rest.len() {
            return length;
        }
        let byte = |word: &str| word.as_bytes()[length];
        let first = candidates.partition_point(|word| byte(word) < rest[length]);
        let end = candidates.partition_point(|word| byte(word) <= rest[length]);
        candidates = &candidates[first..end];
    }
    rest.len()
}

/// A bit set of positions in a name, its end included.
#[derive(Debug, Default)]
struct Positions(Vec<u64>);

impl Positions {
    fn clear(&mut self, name: &str) {
        self.0.clear();
        self.0.resize(name.len() / 64 + 1, 0);
    }

    fn copy(&mut self, other: &Self) {
        self.0.clone_from(&other.0);
    }

    fn join(&mut self, other: &Self) {
        for (word, more) in self.0.iter_mut().zip(&other.0) {
            *word |= more;
        }
    }

    fn insert(&mut self, at: usize) {
        self.0[at / 64] |= 1 << (at % 64);
    }

    fn contains(&self, at: usize) -> bool {
        self.0[at / 64] & (1 << (at % 64)) != 0
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().flat_map(|(index, word)| {
            let mut left = *word;
            std::iter::from_fn(move || {
                let at = (left != 0).then(|| index * 64 + left.trailing_zeros() as usize)?;
                left &= left - 1;
                Some(at)
            })
        })
    }
}
