//! Sanitizes text from other machines: bounds its length, escapes control and bidirectional characters.
//!
//! API, logs, terminals and browsers rely on it, so it runs where the text is received. Messages lose what a terminal would obey;
//! the output of a program keeps its colours. Other unprintable characters become `\u{7}`; text that is too long is cut and
//! marked with `…`.

/// Marks where a text was cut.
const CUT: char = '…';

/// Begins what a terminal obeys.
const ESCAPE: char = '\x1b';

/// Parameters of a control sequence that are longer than this are none.
const MAX_PARAMETERS: usize = 64;

/// Characters that reorder the text around them, so that a reader sees other text than there is.
pub fn is_bidi_control(c: char) -> bool {
    matches!(
        c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
}

/// Characters without a glyph: control and format characters, fillers, variation selectors, tags, line separators.
pub fn is_invisible(c: char) -> bool {
    c.is_control()
        || is_bidi_control(c)
        || matches!(
            c,
            '\u{ad}'
                | '\u{34f}'
                | '\u{600}'..='\u{605}'
                | '\u{6dd}'
                | '\u{70f}'
                | '\u{890}'..='\u{891}'
                | '\u{8e2}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200d}'
                | '\u{2028}'..='\u{2029}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}'
                | '\u{110bd}'
                | '\u{110cd}'
                | '\u{13430}'..='\u{1343f}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

/// Whether sanitized text contains this character only as an escape.
pub fn must_be_escaped(c: char) -> bool {
    c.is_control() || is_bidi_control(c) || matches!(c, '\u{2028}' | '\u{2029}')
}

/// Makes the text one line of at most `max` characters, without colours.
pub fn sanitize_line(text: &mut String, max: usize) {
    remove_sequences(text);
    clean(text, max, Kept::Line, Keep::First);
}

/// Bounds the text to `max` characters in all. Line ends and tabs stay, colours do not.
pub fn sanitize_lines(text: &mut String, max: usize) {
    remove_sequences(text);
    normalize_line_ends(text);
    clean(text, max, Kept::Lines, Keep::First);
}

/// The same for the output of a program, which keeps its colours.
pub fn sanitize_output(text: &mut String, max: usize) {
    normalize_line_ends(text);
    clean(text, max, Kept::Output, Keep::First);
}

/// Keeps the last `max` characters of an output, because its end says most.
pub fn sanitize_output_end(text: &mut String, max: usize) {
    normalize_line_ends(text);
    clean(text, max, Kept::Output, Keep::Last);
}

/// Removes what a terminal would obey: colours, cursor movements, titles.
fn remove_sequences(text: &mut String) {
    if !text.contains(ESCAPE) {
        return;
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) = rest.find(ESCAPE) {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = control_sequence(rest).or_else(|| system_command(rest));
        if length.is_none() {
            plain.push(ESCAPE);
        }
        rest = &rest[length.unwrap_or(ESCAPE.len_utf8())..];
    }
    plain.push_str(rest);
    *text = plain;
}

/// The length of the control sequence that the text begins with: `\x1b[31m`, `\x1b[2J`.
fn control_sequence(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix("\x1b[")?;
    let end = parameters.find(|c| !matches!(c, '\x20'..='\x3f'))?;
    let is_final = matches!(parameters.as_bytes()[end], b'@'..=b'~');
    (is_final && end <= MAX_PARAMETERS).then_some("\x1b[".len() + end + 1)
}

/// The length of the operating system command that the text begins with, such as a title: up to BEL or ST.
fn system_command(text: &str) -> Option<usize> {
    let command = text.strip_prefix("\x1b]")?;
    let end = command.find(char::is_control)?;
    let terminator = ["\x07", "\x1b\\"]
        .into_iter()
        .find(|terminator| command[end..].starts_with(terminator))?;
    Some("\x1b]".len() + end + terminator.len())
}

/// The length of the colour that the text begins with.
fn colour(text: &str) -> Option<usize> {
    let length = control_sequence(text)?;
    let parameters = &text["\x1b[".len()..length - 1];
    let is_colour = text[..length].ends_with('m')
        && parameters
            .chars()
            .all(|c| matches!(c, '0'..='9' | ';' | ':'));
    is_colour.then_some(length)
}

fn normalize_line_ends(text: &mut String) {
    if text.contains("\r\n") {
        *text = text.replace("\r\n", "\n");
    }
}

/// What stays as it is besides printable characters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    Line,
    /// Line ends and tabs.
    Lines,
    /// Line ends, tabs and colours.
    Output,
}

/// Which end of a long text is kept.
#[derive(Clone, Copy)]
enum Keep {
    First,
    Last,
}

/// A character, or a colour, which is never cut.
struct Piece<'a> {
    text: &'a str,
    is_kept: bool,
}

impl Piece<'_> {
    /// How many characters are shown for it.
    fn width(&self) -> usize {
        match self.is_kept {
            true => self.text.chars().count(),
            false => self.text.chars().map(|c| c.escape_unicode().len()).sum(),
        }
    }
}

fn pieces(mut text: &str, kept: Kept) -> impl Iterator<Item = Piece<'_>> {
    std::iter::from_fn(move || {
        let c = text.chars().next()?;
        let colour = match kept {
            Kept::Output => colour(text),
            Kept::Line | Kept::Lines => None,
        };
        let is_space = kept != Kept::Line && matches!(c, '\n' | '\t');
        let (piece, rest) = text.split_at(colour.unwrap_or(c.len_utf8()));
        text = rest;
        Some(Piece {
            text: piece,
            is_kept: colour.is_some() || is_space || !must_be_escaped(c),
        })
    })
}

fn clean(text: &mut String, max: usize, kept: Kept, keep: Keep) {
    // A text never has more characters than bytes.
    if text.len() > max || !pieces(text, kept).all(|piece| piece.is_kept) {
        *text = match keep {
            Keep::First => first(text, max, kept),
            Keep::Last => last(text, max, kept),
        };
    }
}

fn first(text: &str, max: usize, kept: Kept) -> String {
    let (mut n, mut at, mut cut_at) = (0, 0, 0);
    for piece in pieces(text, kept) {
        n += piece.width();
        if n > max {
            return format!("{}{CUT}", escaped(&text[..cut_at], kept));
        }
        at += piece.text.len();
        // Leaves room for the mark.
        if n < max {
            cut_at = at;
        }
    }
    escaped(text, kept)
}

fn last(text: &str, max: usize, kept: Kept) -> String {
    let mut n: usize = pieces(text, kept).map(|piece| piece.width()).sum();
    if n <= max {
        return escaped(text, kept);
    }
    let mut cut_at = 0;
    for piece in pieces(text, kept) {
        // Leaves room for the mark.
        if n < max {
            break;
        }
        n -= piece.width();
        cut_at += piece.text.len();
    }
    format!("{CUT}{}", escaped(&text[cut_at..], kept))
}

fn escaped(text: &str, kept: Kept) -> String {
    let mut shown = String::with_capacity(text.len());
    for piece in pieces(text, kept) {
        match piece.is_kept {
            true => shown.push_str(piece.text),
            false => shown.extend(piece.text.chars().flat_map(char::escape_unicode)),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use proptest::prelude::proptest;

    use super::*;

    fn cleaned(clean: fn(&mut String, usize), text: &str, max: usize) -> String {
        let mut text = text.to_owned();
        clean(&mut text, max);
        text
    }

    #[test]
    fn printable_text_stays_as_it_is() {
        for text in ["", "exited with code 3", "进程 já", "a\\u{1b}"] {
            assert_eq!(cleaned(sanitize_line, text, 40), text);
            assert_eq!(cleaned(sanitize_output_end, text, 40), text);
        }
        assert_eq!(cleaned(sanitize_lines, "a\n\tb\r\nc", 40), "a\n\tb\nc");
    }

    #[test]
    fn control_and_bidi_characters_become_visible() {
        assert_eq!(cleaned(sanitize_line, "\x1b\n", 40), "\\u{1b}\\u{a}");
        assert_eq!(
            cleaned(sanitize_line, "a\u{202e}b\u{2066}", 40),
            "a\\u{202e}b\\u{2066}"
        );
        assert_eq!(
            cleaned(sanitize_lines, "\x07\n\u{9b}2J", 40),
            "\\u{7}\n\\u{9b}2J"
        );
        assert_eq!(cleaned(sanitize_lines, "50%\r100%", 40), "50%\\u{d}100%");
        assert_eq!(cleaned(sanitize_line, "a\u{2028}b", 40), "a\\u{2028}b");
    }

    #[test]
    fn long_text_is_cut_and_marked() {
        assert_eq!(cleaned(sanitize_line, "abcdef", 6), "abcdef");
        assert_eq!(cleaned(sanitize_line, "abcdefg", 6), "abcde…");
        assert_eq!(cleaned(sanitize_line, "进程进程", 3), "进程…");
        assert_eq!(cleaned(sanitize_output_end, "abcdefg", 6), "…cdefg");
        // An escape is never cut.
        assert_eq!(cleaned(sanitize_line, "abc\x07[31m", 6), "abc…");
        assert_eq!(cleaned(sanitize_output, "abc\x1b[31md", 7), "abc…");
        assert_eq!(cleaned(sanitize_output_end, "a\x1b[31mbc", 4), "…bc");
        assert_eq!(cleaned(sanitize_output_end, "abc\x1bd", 6), "…d");
    }

    #[test]
    fn messages_lose_what_a_terminal_obeys() {
        for (text, plain) in [
            ("\x1b[31mERROR\x1b[0m no such table", "ERROR no such table"),
            ("a\x1b[2J\x1b[?25lb\x1b[1;1H", "ab"),
            ("\x1b]0;owned\x07x\x1b]8;;http://a\x1b\\link", "xlink"),
            // Without its end it is no sequence.
            ("\x1b[31", "\\u{1b}[31"),
            ("\x1b]0;owned", "\\u{1b}]0;owned"),
            ("\x1b]0;a\nb\x07", "\\u{1b}]0;a\\u{a}b\\u{7}"),
            // What is left does not become a sequence.
            ("\x1b\x1b[m[31mred", "\\u{1b}[31mred"),
        ] {
            assert_eq!(cleaned(sanitize_line, text, 60), plain);
        }
    }

    #[test]
    fn output_keeps_colours_and_nothing_else_that_a_terminal_obeys() {
        for clean in [sanitize_output, sanitize_output_end] {
            assert_eq!(
                cleaned(clean, "\x1b[1;38:5:1mred\x1b[m\n", 40),
                "\x1b[1;38:5:1mred\x1b[m\n"
            );
            assert_eq!(
                cleaned(clean, "\x1b[2J\x1b]0;x\x07\x1b[?1m", 60),
                "\\u{1b}[2J\\u{1b}]0;x\\u{7}\\u{1b}[?1m"
            );
        }
    }

    proptest! {
        #[test]
        fn any_text_is_bounded_and_sanitizing_is_idempotent(
            text in "(\\PC|\x1b\\[?|[0-9;m]|[\x07\n\r\u{9b}\u{202e}\\]\\\\]){0,60}",
            max in 1usize..40,
        ) {
            for clean in [sanitize_line, sanitize_lines, sanitize_output, sanitize_output_end] {
                let once = cleaned(clean, &text, max);
                assert!(once.chars().count() <= max, "{once:?}");
                assert!(pieces(&once, Kept::Output).all(|piece| piece.is_kept), "{once:?}");
                assert_eq!(cleaned(clean, &once, max), once);
            }
        }
    }
}
