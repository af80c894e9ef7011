//! Parses the text of a pattern into segments.

use super::error::ExpressionError;
use super::error::ExpressionProblem::{
    EmptyExclusion, ReversedRange, TooManyAlternatives, TooManyDigits, TooManyWildcards,
};
use super::number::{MAX_DIGITS, NumberRange};
use super::pattern::{Atom, Bracket, Exclusion, Item, Segment};
use super::token::{self, Token};
use super::{MAX_ALTERNATIVES, MAX_WILDCARDS};

/// The trimmed text and its segments.
pub(super) fn pattern(text: &str) -> Result<(&str, Vec<Segment>), ExpressionError> {
    let tokens = token::tokens(text)?;
    let tokens = token::trim(&tokens);
    let mut parser = Parser::default();
    parser.pattern(tokens)?;
    Ok((token::written(text, tokens), parser.segments))
}

#[derive(Default)]
struct Parser {
    segments: Vec<Segment>,
    alternatives: usize,
    wildcards: usize,
}

impl Parser {
    fn pattern(&mut self, tokens: &[Token]) -> Result<(), ExpressionError> {
        let mut index = 0;
        while let Some(token) = tokens.get(index) {
            if token.is('[') {
                let close = token::closing(tokens, index)?;
                self.bracket(*token, &tokens[index + 1..close])?;
                index = close + 1;
            } else {
                let atom = self.atom(*token)?;
                self.push(atom);
                index += 1;
            }
        }
        Ok(())
    }

    fn bracket(&mut self, open: Token, content: &[Token]) -> Result<(), ExpressionError> {
        // After ! each character stands for itself, commas and blanks included.
        if let [bang, rest @ ..] = content
            && bang.is('!')
        {
            let excluded = self.exclusion(open, rest)?;
            self.push(excluded);
            return Ok(());
        }
        let mut items = Vec::new();
        for tokens in content.split(Token::separates) {
            items.push(self.item(open, token::trim(tokens))?);
        }
        if items.len() > 1 {
            self.alternatives += items.len();
            if self.alternatives > MAX_ALTERNATIVES {
                return Err(ExpressionError::new(open.at, TooManyAlternatives));
            }
        }
        match items.pop() {
            Some(Item::Word(word)) if items.is_empty() => self.push(Atom::Text(word)),
            Some(Item::Wild(atoms)) if items.is_empty() => {
                atoms.into_iter().for_each(|atom| self.push(atom));
            }
            last => {
                self.count_wildcard(open)?;
                items.extend(last);
                self.segments.push(Segment::Bracket(Bracket::new(items)));
            }
        }
        Ok(())
    }

    fn item(&mut self, open: Token, tokens: &[Token]) -> Result<Item, ExpressionError> {
        if let [bang, rest @ ..] = tokens
            && bang.is('!')
        {
            return Ok(Item::Wild(vec![self.exclusion(open, rest)?]));
        }
        if let Some(range) = range(tokens)? {
            return Ok(range);
        }
        let mut atoms = Vec::new();
        for token in tokens {
            push(&mut atoms, self.atom(*token)?);
        }
        Ok(match &mut atoms[..] {
            [] => Item::Word(String::new()),
            [Atom::Text(word)] => Item::Word(std::mem::take(word)),
            _ => Item::Wild(atoms),
        })
    }

    fn exclusion(&mut self, open: Token, tokens: &[Token]) -> Result<Atom, ExpressionError> {
        self.count_wildcard(open)?;
        let mut excluded = Vec::new();
        let mut rest = tokens;
        while let [from, after @ ..] = rest {
            rest = match after {
                [hyphen, to, beyond @ ..] if hyphen.is('-') => {
                    if from.character > to.character {
                        let (from, to, at) = (from.character, to.character, from.at);
                        let (from, to) = (from.to_string(), to.to_string());
                        return Err(ExpressionError::new(at, ReversedRange { from, to }));
                    }
                    excluded.push((from.character, to.character));
                    beyond
                }
                _ => {
                    excluded.push((from.character, from.character));
                    after
                }
            };
        }
        if excluded.is_empty() {
            return Err(ExpressionError::new(open.at, EmptyExclusion));
        }
        Ok(Atom::NoneOf(Exclusion::new(excluded)))
    }

    fn atom(&mut self, token: Token) -> Result<Atom, ExpressionError> {
        let atom = match token.character {
            '*' if !token.escaped => Atom::AnyRun,
            '?' if !token.escaped => Atom::AnyOne,
            other => return Ok(Atom::Text(other.to_string())),
        };
        self.count_wildcard(token)?;
        Ok(atom)
    }

    fn count_wildcard(&mut self, token: Token) -> Result<(), ExpressionError> {
        self.wildcards += 1;
        match self.wildcards <= MAX_WILDCARDS {
            true => Ok(()),
            false => Err(ExpressionError::new(token.at, TooManyWildcards)),
        }
    }

    fn push(&mut self, atom: Atom) {
        match (self.segments.last_mut(), atom) {
            (Some(Segment::Atom(last)), atom) => {
                if let Some(atom) = join(last, atom) {
                    self.segments.push(Segment::Atom(atom));
                }
            }
            (_, Atom::Text(text)) if text.is_empty() => {}
            (_, atom) => self.segments.push(Segment::Atom(atom)),
        }
    }
}

fn push(atoms: &mut Vec<Atom>, atom: Atom) {
    let atom = match atoms.last_mut() {
        Some(last) => join(last, atom),
        None => Some(atom),
    };
    atoms.extend(atom);
}

/// Merges the second atom into the first if possible; otherwise returns it.
fn join(last: &mut Atom, atom: Atom) -> Option<Atom> {
    match (last, atom) {
        (Atom::Text(text), Atom::Text(more)) => {
            text.push_str(&more);
            None
        }
        (Atom::AnyRun, Atom::AnyRun) => None,
        (_, Atom::Text(text)) if text.is_empty() => None,
        (_, atom) => Some(atom),
    }
}

/// `a-c`, `8 - 12`; None for anything else.
fn range(tokens: &[Token]) -> Result<Option<Item>, ExpressionError> {
    let mut ends = tokens.split(|token| token.is('-')).map(token::trim);
    let (Some(from), Some(to), None) = (ends.next(), ends.next(), ends.next()) else {
        return Ok(None);
    };
    let Some(first) = from.first() else {
        return Ok(None);
    };
    let reversed = || {
        let (from, to) = (token::word(from), token::word(to));
        ExpressionError::new(first.at, ReversedRange { from, to })
    };
    let item = match (from, to) {
        ([from], [to]) if are_letters_of_one_case(*from, *to) => {
            let (from, to) = (from.character, to.character);
            (from <= to).then_some(Item::Letters { from, to })
        }
        _ if is_number(from) && is_number(to) => {
            if from.len().max(to.len()) > MAX_DIGITS {
                return Err(ExpressionError::new(first.at, TooManyDigits));
            }
            NumberRange::new(&token::word(from), &token::word(to)).map(Item::Numbers)
        }
        _ => return Ok(None),
    };
    item.ok_or_else(reversed).map(Some)
}

fn is_number(tokens: &[Token]) -> bool {
    let is_digit = |token: &Token| token.character.is_ascii_digit() && !token.escaped;
    !tokens.is_empty() && tokens.iter().all(is_digit)
}

/// Letters without case, such as Chinese ones, count as one case.
fn are_letters_of_one_case(from: Token, to: Token) -> bool {
    let is_letter = |token: Token| token.character.is_alphabetic() && !token.escaped;
    let case = |token: Token| {
        (
            token.character.is_lowercase(),
            token.character.is_uppercase(),
        )
    };
    is_letter(from) && is_letter(to) && case(from) == case(to)
}
