//! Words of commands: split as programs do that start commands without a shell, and quoted for `/bin/sh`, which Muster uses.

/// Splits by blanks, with quotes and backslashes as a POSIX shell has them, and without anything else of a shell.
pub fn split(text: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word): (Vec<String>, Option<String>) = (Vec::new(), None);
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match c {
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next() {
                        None => return Err(format!("a quote {c} is not closed")),
                        Some(end) if end == c => break,
                        Some('\\') if c == '"' => match characters.next() {
                            Some(next @ ('"' | '\\' | '$' | '`')) => word.push(next),
                            Some(next) => word.extend(['\\', next]),
                            None => return Err("a quote \" is not closed".to_owned()),
                        },
                        Some(other) => word.push(other),
                    }
                }
            }
            '\\' => match characters.next() {
                Some(next) => word.get_or_insert_default().push(next),
                None => return Err("it ends in a backslash".to_owned()),
            },
            c if c.is_whitespace() => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Ok(words)
}

/// A word as a shell takes it unchanged.
pub fn quote(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// Words as one command.
pub fn join<W: AsRef<str>>(words: &[W]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| quote(word.as_ref())).collect();
    quoted.join(" ")
}

/// A command that a program starts without a shell, as one for `/bin/sh`.
pub fn command(text: &str) -> Result<String, String> {
    let words = split(text)?;
    match words.is_empty() {
        true => Err("is empty".to_owned()),
        false => Ok(join(&words)),
    }
}

/// Whether a command is more than one program with arguments to a shell.
pub fn is_compound(command: &str) -> bool {
    let mut quote = None;
    let mut characters = command.chars();
    while let Some(c) = characters.next() {
        match (c, quote) {
            ('\\', None | Some('"')) => {
                characters.next();
            }
            ('`', None | Some('"')) | ('|' | ';' | '&' | '(' | '>' | '<', None) => return true,
            ('\'' | '"', None) => quote = Some(c),
            (c, Some(end)) if c == end => quote = None,
            _ => {}
        }
    }
    command.starts_with("cd ")
}

/// The base name of the program of a command, behind assignments, `exec`, `nohup` and `env`.
pub fn program<W: AsRef<str>>(words: &[W]) -> Option<String> {
    let is_assignment = |word: &str| {
        let name = word.split_once('=').map(|(name, _)| name);
        name.is_some_and(|name| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
    };
    let mut behind_env = false;
    for word in words.iter().map(AsRef::as_ref) {
        let base = word.rsplit('/').next().unwrap_or_default();
        match base {
            "exec" | "nohup" => {}
            "env" => behind_env = true,
            _ if is_assignment(word) || (behind_env && word.starts_with('-')) => {}
            _ => {
                let is_plain = |c: char| c.is_alphanumeric() || "-_.+".contains(c);
                let is_name = !base.is_empty() && base.chars().all(is_plain);
                return is_name.then(|| base.to_owned());
            }
        }
    }
    None
}

/// Milliseconds of `90`, `1min 30s`, `1m30s`, `500ms`, `2h`; a bare number is in `unit_ms`.
pub fn milliseconds(text: &str, unit_ms: u64) -> Result<f64, String> {
    let wrong = || format!("{text:?} is no time");
    let (mut total_ms, mut rest) = (0_f64, text.trim());
    if rest.is_empty() {
        return Err(wrong());
    }
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let number: f64 = rest[..digits].parse().map_err(|_| wrong())?;
        rest = rest[digits..].trim_start();
        let letters = rest
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(rest.len());
        let unit = match &rest[..letters] {
            "" => unit_ms as f64,
            "us" | "usec" => 0.001,
            "ms" | "msec" => 1.0,
            "s" | "sec" | "second" | "seconds" => 1000.0,
            "m" | "min" | "minute" | "minutes" => 60_000.0,
            "h" | "hr" | "hour" | "hours" => 3_600_000.0,
            "d" | "day" | "days" => 86_400_000.0,
            "w" | "week" | "weeks" => 604_800_000.0,
            _ => return Err(wrong()),
        };
        total_ms += number * unit;
        rest = rest[letters..].trim_start();
    }
    match total_ms.is_finite() && total_ms <= 1e12 {
        true => Ok(total_ms),
        false => Err(wrong()),
    }
}

/// The same in whole seconds, rounded up.
pub fn seconds(text: &str, unit_ms: u64) -> Result<i64, String> {
    milliseconds(text, unit_ms).map(|ms| (ms / 1000.0).ceil() as i64)
}

/// Bytes of `100M`, `64MB`, `1GiB`, `512k`, `4096`; units of 1024.
pub fn bytes(text: &str) -> Result<i64, String> {
    let lower = text.trim().to_ascii_lowercase();
    let short = lower
        .strip_suffix("ib")
        .or_else(|| lower.strip_suffix('b'))
        .unwrap_or(&lower);
    crate::format::parse_size(&short.to_ascii_uppercase())
        .ok()
        .and_then(|bytes| i64::try_from(bytes).ok())
        .ok_or_else(|| format!("{text:?} is no size"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_and_quoted_so_that_a_shell_changes_nothing() {
        let text = r#"/bin/x -a "b c" 'd $e' f\ g "h\"i" * ;"#;
        let words = split(text).unwrap();
        assert_eq!(
            words,
            ["/bin/x", "-a", "b c", "d $e", "f g", "h\"i", "*", ";"]
        );
        assert_eq!(
            join(&words),
            r#"/bin/x -a 'b c' 'd $e' 'f g' 'h"i' '*' ';'"#
        );
        assert!(split("a 'b").is_err());
        assert_eq!(quote("it's"), r"'it'\''s'");
        assert_eq!(quote(""), "''");
    }

    #[test]
    fn the_program_of_a_command_is_found() {
        for (text, compound, name) in [
            ("/usr/sbin/nginx -g 'daemon off;'", false, Some("nginx")),
            ("env A=1 node x.js", false, Some("node")),
            ("A=1 exec ./web", false, Some("web")),
            ("a | b", true, Some("a")),
            ("cd x && ./y", true, Some("cd")),
            ("$(which x) y", true, None),
        ] {
            assert_eq!(is_compound(text), compound, "{text}");
            assert_eq!(program(&split(text).unwrap()).as_deref(), name, "{text}");
        }
    }

    #[test]
    fn times_and_sizes_have_units() {
        for (text, expected) in [
            ("90", 90),
            ("1min 30s", 90),
            ("1m30s", 90),
            ("1500ms", 2),
            ("2h", 7200),
        ] {
            assert_eq!(seconds(text, 1000), Ok(expected), "{text}");
        }
        assert_eq!(seconds("1600", 1), Ok(2));
        assert!(seconds("soon", 1000).is_err() && seconds("", 1000).is_err());
        for (text, expected) in [
            ("4096", 4096),
            ("64MB", 64 << 20),
            ("1GiB", 1 << 30),
            ("512k", 512 << 10),
        ] {
            assert_eq!(bytes(text), Ok(expected), "{text}");
        }
        assert!(bytes("lots").is_err());
    }
}
