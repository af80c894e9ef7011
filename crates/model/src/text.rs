//! Sanitizes text from other machines: bounds its length, escapes control and bidirectional characters.
//!
//! API, logs, terminals and browsers rely on it, so it runs where the text is received. Unprintable characters become
//! `\u{1b}`; text that is too long is cut and marked with `…`.

/// Marks where a text was cut.
const CUT: char = '…';

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

/// Makes the text one line of at most `max` characters.
pub fn sanitize_line(text: &mut String, max: usize) {
    clean(text, max, |c| !must_be_escaped(c), Keep::First);
}

/// Bounds the text to `max` characters in all. Line ends and tabs stay.
pub fn sanitize_lines(text: &mut String, max: usize) {
    normalize_line_ends(text);
    clean(text, max, is_printable_in_lines, Keep::First);
}

/// Keeps the last `max` characters, because the end of an output says most.
pub fn sanitize_last_lines(text: &mut String, max: usize) {
    normalize_line_ends(text);
    clean(text, max, is_printable_in_lines, Keep::Last);
}

fn is_printable_in_lines(c: char) -> bool {
    matches!(c, '\n' | '\t') || !must_be_escaped(c)
}

fn normalize_line_ends(text: &mut String) {
    if text.contains("\r\n") {
        *text = text.replace("\r\n", "\n");
    }
}

/// Which end of a long text is kept.
#[derive(Clone, Copy)]
enum Keep {
    First,
    Last,
}

fn clean(text: &mut String, max: usize, is_printable: fn(char) -> bool, keep: Keep) {
    // A text never has more characters than bytes.
    if text.len() > max || !text.chars().all(is_printable) {
        *text = match keep {
            Keep::First => first(text, max, is_printable),
            Keep::Last => last(text, max, is_printable),
        };
    }
}

fn first(text: &str, max: usize, is_printable: fn(char) -> bool) -> String {
    let (mut n, mut cut_at) = (0, 0);
    for (at, c) in text.char_indices() {
        n += width(c, is_printable);
        if n > max {
            return format!("{}{CUT}", escaped(&text[..cut_at], is_printable));
        }
        // Leaves room for the mark.
        if n < max {
            cut_at = at + c.len_utf8();
        }
    }
    escaped(text, is_printable)
}

fn last(text: &str, max: usize, is_printable: fn(char) -> bool) -> String {
    let (mut n, mut cut_at) = (0, text.len());
    for (at, c) in text.char_indices().rev() {
        n += width(c, is_printable);
        if n > max {
            return format!("{CUT}{}", escaped(&text[cut_at..], is_printable));
        }
        if n < max {
            cut_at = at;
        }
    }
    escaped(text, is_printable)
}

/// How many characters are shown for this one.
fn width(c: char, is_printable: fn(char) -> bool) -> usize {
    match is_printable(c) {
        true => 1,
        false => c.escape_unicode().len(),
    }
}

fn escaped(text: &str, is_printable: fn(char) -> bool) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match is_printable(c) {
            true => shown.push(c),
            false => shown.extend(c.escape_unicode()),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};

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
            assert_eq!(cleaned(sanitize_last_lines, text, 40), text);
        }
        assert_eq!(cleaned(sanitize_lines, "a\n\tb\r\nc", 40), "a\n\tb\nc");
    }

    #[test]
    fn control_and_bidi_characters_become_visible() {
        assert_eq!(
            cleaned(sanitize_line, "\x1b[31m\n", 40),
            "\\u{1b}[31m\\u{a}"
        );
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
        assert_eq!(cleaned(sanitize_last_lines, "abcdefg", 6), "…cdefg");
        // An escape is never cut.
        assert_eq!(cleaned(sanitize_line, "abc\x1b[31m", 6), "abc…");
        assert_eq!(cleaned(sanitize_last_lines, "abc\x1bd", 6), "…d");
    }

    proptest! {
        #[test]
        fn any_text_is_bounded_and_sanitizing_is_idempotent(text in any::<String>(), max in 1usize..40) {
            for clean in [sanitize_line, sanitize_lines, sanitize_last_lines] {
                let once = cleaned(clean, &text, max);
                assert!(once.chars().count() <= max, "{once:?}");
                assert!(once.chars().all(is_printable_in_lines), "{once:?}");
                assert_eq!(cleaned(clean, &once, max), once);
            }
        }
    }
}
