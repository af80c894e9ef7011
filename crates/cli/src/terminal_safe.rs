//! Escapes control characters in text and bytes for a terminal.
//!
//! Output contains text that programs, hosts and servers chose. Escape sequences in it could move the cursor, rename the
//! window, type for the user or reverse lines. So [`crate::out::Out`] passes everything for a terminal through here, and
//! control characters are shown the way `cat -v` shows them.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

use model::text::must_be_escaped;

/// The escape sequences that this program writes itself ([`crate::colors`]).
const COLOURS: [&str; 6] = [
    "\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m",
];

/// Text of this program with foreign text in it: newlines, tabs and our own colours stay.
pub fn text(text: &str) -> Cow<'_, str> {
    if !text.chars().any(must_escape) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let colour = COLOURS.iter().find(|colour| rest.starts_with(**colour));
        let length = match colour {
            Some(colour) => {
                shown.push_str(colour);
                colour.len()
            }
            None => {
                push(&mut shown, c);
                c.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    Cow::Owned(shown)
}

/// A JSON document, with control characters as `\\u` escapes: it reads as the same document.
pub fn json(document: &str) -> Cow<'_, str> {
    if !document.chars().any(must_escape) {
        return Cow::Borrowed(document);
    }
    let mut shown = String::with_capacity(document.len() + 16);
    for c in document.chars() {
        match must_escape(c) {
            // All of them are in the basic plane, and within strings.
            true => write!(shown, "\\u{:04x}", u32::from(c)).expect("a String takes everything"),
            false => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

fn must_escape(c: char) -> bool {
    must_be_escaped(c) && !matches!(c, '\n' | '\t')
}

fn push(shown: &mut String, c: char) {
    match c {
        c if !must_escape(c) => shown.push(c),
        // `^[` is escape, `^M` a carriage return, `^?` delete.
        '\0'..='\x1f' | '\x7f' => shown.extend(['^', char::from(c as u8 ^ 0x40)]),
        c => shown.extend(c.escape_unicode()),
    }
}

/// A writer of foreign bytes to a terminal. A character may be cut anywhere between two writes.
#[derive(Debug)]
pub struct EscapingWriter<W> {
    inner: W,
    /// The first bytes of a character, or a carriage return whose newline may follow.
    pending: Vec<u8>,
}

impl<W: Write> EscapingWriter<W> {
    pub fn new(inner: W) -> Self {
        Self {
            inner,
            pending: Vec::new(),
        }
    }

    /// Writes the bytes of a last character that was cut.
    pub fn end(&mut self) -> io::Result<()> {
        let pending = std::mem::take(&mut self.pending);
        self.inner.write_all(shown(&pending).as_bytes())?;
        self.inner.flush()
    }
}

impl<W: Write> Write for EscapingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut all = std::mem::take(&mut self.pending);
        all.extend_from_slice(bytes);
        self.pending = all.split_off(complete(&all));
        self.inner.write_all(shown(&all).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// How many of the bytes end with a complete character.
fn complete(bytes: &[u8]) -> usize {
    if bytes.last() == Some(&b'\r') {
        return bytes.len() - 1;
    }
    // Where a character is cut, the last chunk is invalid and shorter than the character.
    let last = bytes.utf8_chunks().last();
    let cut = last.map_or(&[][..], |chunk| chunk.invalid());
    let needs = match cut.first() {
        Some(0xc2..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xf4) => 4,
        _ => 0,
    };
    match cut.len() < needs {
        true => bytes.len() - cut.len(),
        false => bytes.len(),
    }
}

fn shown(bytes: &[u8]) -> String {
    let mut shown = String::with_capacity(bytes.len() + 16);
    for chunk in bytes.utf8_chunks() {
        let mut characters = chunk.valid().chars().peekable();
        while let Some(c) = characters.next() {
            // `\r\n` ends a line.
            if c != '\r' || characters.peek() != Some(&'\n') {
                push(&mut shown, c);
            }
        }
        for byte in chunk.invalid() {
            write!(shown, "\\x{byte:02x}").expect("a String takes everything");
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn streamed(parts: &[&[u8]]) -> String {
        let mut bytes = Vec::new();
        let mut stream = EscapingWriter::new(&mut bytes);
        for part in parts {
            stream.write_all(part).unwrap();
        }
        stream.end().unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn only_our_own_colours_pass() {
        assert_eq!(text("\x1b[31mx\x1b[0m\n\ty"), "\x1b[31mx\x1b[0m\n\ty");
        assert_eq!(text("\x1b]0;title\x07"), "^[]0;title^G");
        assert_eq!(text("\x1b[2J\x1b[31;1m\r\x7f"), "^[[2J^[[31;1m^M^?");
        assert_eq!(text("a\u{202e}b\u{9b}2J"), "a\\u{202e}b\\u{9b}2J");
    }

    #[test]
    fn escaped_json_reads_as_the_same_document() {
        let value = serde_json::json!({"a\u{9b}": "x\u{7f}\u{202e}\u{1b}"});
        let text = serde_json::to_string_pretty(&value).unwrap();
        let shown = json(&text);
        assert!(!shown.chars().any(must_escape), "{shown}");
        let read: serde_json::Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(read, value);
    }

    #[test]
    fn a_stream_is_escaped_wherever_it_is_cut() {
        let bytes = "a\x1b[2Jß进\u{1f600}\u{9b}\r\nb\rc\u{202e}\n".as_bytes();
        let whole = "a^[[2Jß进\u{1f600}\\u{9b}\nb^Mc\\u{202e}\n";
        assert_eq!(streamed(&[bytes]), whole);
        for cut in 0..bytes.len() {
            let (one, two) = bytes.split_at(cut);
            assert_eq!(streamed(&[one, two]), whole, "cut at {cut}");
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(streamed(&single), whole);
    }

    #[test]
    fn invalid_utf8_is_shown_as_hexadecimal() {
        assert_eq!(
            streamed(&[b"a\xff\x9b2J\xe4\xbf"]),
            "a\\xff\\x9b2J\\xe4\\xbf"
        );
    }
}
