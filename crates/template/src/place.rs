//! Where something stands in the text of a template.

use crate::text;

/// A line and a column, both from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) line: u32,
    /// In characters; None where tabs that were expanded hide it.
    pub(crate) column: Option<u32>,
}

impl Place {
    pub(crate) const BEGIN: Place = Place {
        line: 1,
        column: Some(1),
    };

    /// The place after this text, which begins here.
    pub(crate) fn after(self, passed: &str) -> Place {
        let lines = text::count(passed.matches('\n'));
        match passed.rfind('\n') {
            Some(end) => Place {
                line: self.line.saturating_add(lines),
                column: Some(1 + text::count(passed[end + 1..].chars())),
            },
            None => Place {
                column: (self.column).map(|column| column + text::count(passed.chars())),
                ..self
            },
        }
    }

    /// The place this many characters further in its line; None: that is not known.
    pub(crate) fn shifted(self, characters: Option<u32>) -> Place {
        let column = self.column.zip(characters);
        Place {
            column: column.map(|(column, shift)| column + shift),
            ..self
        }
    }
}
