//! Matches ASCII names against a pattern of single characters and `*`, which most are: with one shift of a word per character.
//!
//! Bit n of the state says that the first n elements of the pattern match what was read.

use super::pattern::{Atom, Bracket, Pattern, Segment};

/// A bit of the state is for what follows the last element.
const MAX_ELEMENTS: usize = 63;

#[derive(Debug)]
pub(super) struct BitMatcher {
    /// For each byte, the elements that it fits.
    fits: Box<[u64; 128]>,
    /// The elements that are `*`.
    runs: u64,
    n_elements: usize,
}

impl BitMatcher {
    /// None for a pattern with longer words, numbers or wildcards in brackets, or with too many elements.
    pub(super) fn new(pattern: &Pattern) -> Option<Self> {
        let mut matcher = Self {
            fits: Box::new([0; 128]),
            runs: 0,
            n_elements: 0,
        };
        for segment in &pattern.segments {
            match segment {
                Segment::Atom(Atom::Text(text)) => {
                    for character in text.chars() {
                        matcher.push(|byte| char::from(byte) == character)?;
                    }
                }
                Segment::Atom(Atom::AnyOne) => matcher.push(|_| true)?,
                Segment::Atom(Atom::NoneOf(exclusion)) => {
                    matcher.push(|byte| !exclusion.excludes(byte.into()))?;
                }
                Segment::Atom(Atom::AnyRun) => matcher.push_run()?,
                Segment::Bracket(bracket) => {
                    let fits = characters(bracket)?;
                    matcher.push(|byte| fits(byte.into()))?;
                }
            }
        }
        Some(matcher)
    }

    fn push(&mut self, fits: impl Fn(u8) -> bool) -> Option<()> {
        let element = self.next_element()?;
        for (byte, elements) in (0_u8..).zip(self.fits.iter_mut()) {
            *elements |= u64::from(fits(byte)) << element;
        }
        Some(())
    }

    fn push_run(&mut self) -> Option<()> {
        let last = self.n_elements.checked_sub(1);
        // Two in a row are one.
        if last.is_none_or(|last| self.runs >> last & 1 == 0) {
            self.runs |= 1 << self.next_element()?;
        }
        Some(())
    }

    fn next_element(&mut self) -> Option<usize> {
        let element = self.n_elements;
        self.n_elements += 1;
        (element < MAX_ELEMENTS).then_some(element)
    }

    /// Whether an ASCII name matches.
    pub(super) fn matches(&self, name: &[u8]) -> bool {
        // A `*` may also match nothing.
        let skip = |state: u64| state | (state & self.runs) << 1;
        let mut state = skip(1);
        for byte in name {
            let fits = self.fits[usize::from(*byte & 0x7f)];
            state = skip((state & fits) << 1 | (state & self.runs));
            if state == 0 {
                return false;
            }
        }
        state >> self.n_elements & 1 == 1
    }
}

/// Whether a character is one of a bracket of single characters.
fn characters(bracket: &Bracket) -> Option<impl Fn(char) -> bool> {
    let is_single = |word: &str| word.chars().count() == 1;
    let has_others = bracket.wild().next().is_some()
        || !bracket.numbers.is_empty()
        || !bracket.words.iter().all(|word| is_single(word));
    (!has_others).then_some(|character: char| {
        let is_word = |word: &str| word.starts_with(character);
        bracket.letters.contains(character) || bracket.words.iter().any(|word| is_word(word))
    })
}
