//! The characters of an expression, with their positions and whether they are escaped.

use super::MAX_CHARACTERS;
use super::error::ExpressionError;
use super::error::ExpressionProblem::{DanglingEscape, NestedBracket, TooLong, UnclosedBracket};

#[derive(Debug, Clone, Copy)]
pub(super) struct Token {
    pub(super) character: char,
    pub(super) escaped: bool,
    /// Its position, counted from 1.
    pub(super) at: usize,
    /// Its byte range in the text, backslash included.
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Token {
    /// Whether it is this character, unescaped.
    pub(super) fn is(&self, special: char) -> bool {
        self.character == special && !self.escaped
    }

    /// Whether it is a comma or one of its Chinese forms.
    pub(super) fn separates(&self) -> bool {
        matches!(self.character, ',' | '，' | '、') && !self.escaped
    }

    fn is_blank(&self) -> bool {
        self.character.is_whitespace() && !self.escaped
    }
}

pub(super) fn tokens(text: &str) -> Result<Vec<Token>, ExpressionError> {
    if text.chars().nth(MAX_CHARACTERS).is_some() {
        return Err(ExpressionError::new(MAX_CHARACTERS + 1, TooLong));
    }
    let mut tokens = Vec::with_capacity(text.len());
    let mut characters = text.char_indices().enumerate();
    while let Some((index, (start, character))) = characters.next() {
        let token = |character: char, escaped, begin: usize| Token {
            character,
            escaped,
            at: index + 1,
            start,
            end: begin + character.len_utf8(),
        };
        tokens.push(match character {
            '\\' => {
                let (_, (begin, next)) = characters
                    .next()
                    .ok_or(ExpressionError::new(index + 1, DanglingEscape))?;
                token(next, true, begin)
            }
            other => token(other, false, start),
        });
    }
    Ok(tokens)
}

/// Removes unescaped blanks at both ends.
pub(super) fn trim(tokens: &[Token]) -> &[Token] {
    let Some(first) = tokens.iter().position(|token| !token.is_blank()) else {
        return &[];
    };
    let last = tokens
        .iter()
        .rposition(|token| !token.is_blank())
        .unwrap_or(first);
    &tokens[first..=last]
}

/// The characters without backslashes.
pub(super) fn word(tokens: &[Token]) -> String {
    tokens.iter().map(|token| token.character).collect()
}

/// The source text of the tokens.
pub(super) fn written<'t>(text: &'t str, tokens: &[Token]) -> &'t str {
    match (tokens.first(), tokens.last()) {
        (Some(first), Some(last)) => &text[first.start..last.end],
        _ => "",
    }
}

/// The index of the `]` that closes the `[` at `open`.
pub(super) fn closing(tokens: &[Token], open: usize) -> Result<usize, ExpressionError> {
    let outer = tokens[open].at;
    for (index, token) in tokens.iter().enumerate().skip(open + 1) {
        if token.is(']') {
            return Ok(index);
        }
        if token.is('[') {
            return Err(ExpressionError::new(token.at, NestedBracket { outer }));
        }
    }
    Err(ExpressionError::new(outer, UnclosedBracket))
}
