//! Decodes string and number literals.

use super::token::Token;

/// The length of a string body, up to its closing quote. None without closing quote.
pub(crate) fn length(body: &str, quote: &str) -> Option<usize> {
    let bytes = body.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'\n' if quote.len() == 1 => return None,
            _ if body.is_char_boundary(at) && body[at..].starts_with(quote) => return Some(at),
            _ => at += 1,
        }
    }
    None
}

/// Resolves escapes as Python does: unknown ones stay as they are.
pub(crate) fn unescape(text: &str) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let Some(kind) = chars.next() else {
            out.push('\\');
            break;
        };
        match kind {
            '\n' => {}
            '\\' | '\'' | '"' => out.push(kind),
            'a' => out.push('\x07'),
            'b' => out.push('\x08'),
            'f' => out.push('\x0c'),
            'n' => out.push('\n'),
            'r' => out.push('\r'),
            't' => out.push('\t'),
            'v' => out.push('\x0b'),
            'x' => out.push(code(&mut chars, 2)?),
            'u' => out.push(code(&mut chars, 4)?),
            'U' => out.push(code(&mut chars, 8)?),
            'N' => return Err("\\N{...} is not supported in strings: write the character".into()),
            '0'..='7' => {
                let mut value = kind.to_digit(8).unwrap_or(0);
                for _ in 0..2 {
                    match chars.peek().and_then(|c| c.to_digit(8)) {
                        Some(digit) => {
                            value = value * 8 + digit;
                            chars.next();
                        }
                        None => break,
                    }
                }
                out.push(char::from_u32(value).ok_or("an octal escape beyond \\377")?);
            }
            other => {
                out.push('\\');
                out.push(other);
            }
        }
    }
    Ok(out)
}

fn code(chars: &mut impl Iterator<Item = char>, digits: u32) -> Result<char, String> {
    let mut value = 0;
    for _ in 0..digits {
        let digit = chars.next().and_then(|c| c.to_digit(16));
        value = value * 16 + digit.ok_or("an escape with too few hexadecimal digits")?;
    }
    char::from_u32(value).ok_or_else(|| "an escape that is no character".to_owned())
}

/// The length of the number at the start of the text.
pub(crate) fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let lower = |at: usize| bytes.get(at).map(u8::to_ascii_lowercase);
    if bytes[0] == b'0' && matches!(lower(1), Some(b'x' | b'o' | b'b')) {
        let digits = bytes[2..]
            .iter()
            .take_while(|b| b.is_ascii_hexdigit() || **b == b'_');
        return 2 + digits.count();
    }
    let run = |from: usize| {
        bytes[from..]
            .iter()
            .take_while(|b| b.is_ascii_digit() || **b == b'_')
            .count()
    };
    let mut at = run(0);
    if bytes.get(at) == Some(&b'.') {
        at += 1;
        at += run(at);
    }
    if lower(at) == Some(b'e') {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        if bytes.get(at + 1 + sign).is_some_and(u8::is_ascii_digit) {
            at += 1 + sign;
            at += run(at);
        }
    }
    at
}

pub(crate) fn number(text: &str) -> Result<Token, String> {
    let wrong = || format!("\"{text}\" is not a number");
    if text.ends_with('_') || text.contains("__") || text.contains("._") || text.contains("_.") {
        return Err(wrong());
    }
    let plain = text.replace('_', "").to_ascii_lowercase();
    let radix = match plain.get(..2) {
        Some("0x") => 16,
        Some("0o") => 8,
        Some("0b") => 2,
        _ => 10,
    };
    if radix != 10 {
        let digits = &plain[2..];
        let value = i128::from_str_radix(digits, radix).map_err(|_| wrong())?;
        return Ok(Token::Int(value));
    }
    if plain.contains(['.', 'e']) {
        return Ok(Token::Float(plain.parse().map_err(|_| wrong())?));
    }
    if plain.len() > 1 && plain.starts_with('0') && plain.contains(|c| c != '0') {
        return Err(format!(
            "\"{text}\": numbers do not begin with 0; octal is 0o..."
        ));
    }
    match plain.parse() {
        Ok(value) => Ok(Token::Int(value)),
        Err(_) => Err(format!("{text} is too large a number")),
    }
}
