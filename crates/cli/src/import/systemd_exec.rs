//! Commands of systemd (`ExecStart=` and others) as commands for `/bin/sh`.

use super::words::quote;

/// A command with what its prefix says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Exec {
    pub(super) command: String,
    /// The name of its program.
    pub(super) program: Option<String>,
    /// `-`: its failure does not count.
    pub(super) may_fail: bool,
    /// Other prefixes, each with what is lost.
    pub(super) lost: Vec<&'static str>,
}

/// Reads one command line. `$MAINPID` becomes the pid of the pid file.
pub(super) fn parse(text: &str, pid_file: &str) -> Result<Exec, String> {
    let (mut may_fail, mut is_literal, mut has_argv0) = (false, false, false);
    let mut lost = Vec::new();
    let mut rest = text.trim();
    while let Some(prefix) = rest.chars().next().filter(|c| "-@+!:|".contains(*c)) {
        match prefix {
            '-' => may_fail = true,
            ':' => is_literal = true,
            '@' => has_argv0 = true,
            '+' => lost.push("+ runs it as root: Muster runs every command as identity.user"),
            '!' => {
                lost.push("! runs it with more rights: Muster runs every command as identity.user")
            }
            _ => lost.push("| runs it in the user's shell: Muster uses /bin/sh"),
        }
        rest = rest[1..].trim_start();
    }
    let mut words = split(rest)?;
    if has_argv0 && words.len() > 1 {
        lost.push("@ gives it another argv[0]: it runs under its own name");
        words.remove(1);
    }
    if words.is_empty() {
        return Err("is empty".to_owned());
    }
    if words.iter().any(|word| word.text == ";") {
        return Err("has several commands in one line; give each its own line".to_owned());
    }
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    let written: Vec<String> = words
        .iter()
        .map(|word| word.for_shell(is_literal, pid_file))
        .collect();
    Ok(Exec {
        command: written.join(" "),
        program: super::words::program(&texts),
        may_fail,
        lost,
    })
}

struct Word {
    text: String,
    /// Whether variables in it are expanded: not inside `'`… systemd expands in both quotes.
    is_quoted: bool,
}

impl Word {
    fn for_shell(&self, is_literal: bool, pid_file: &str) -> String {
        if is_literal || !self.text.contains('$') {
            return quote(&self.text);
        }
        // A word that is only $NAME is split at blanks, as in a shell without quotes.
        if !self.is_quoted
            && let Some(name) = self.text.strip_prefix('$')
            && is_name(name)
        {
            return match name {
                "MAINPID" => format!("\"$(cat {})\"", quote(pid_file)),
                name => format!("${name}"),
            };
        }
        let mut quoted = String::from("\"");
        let mut rest = self.text.as_str();
        while let Some(at) = rest.find('$') {
            push_escaped(&mut quoted, &rest[..at]);
            rest = &rest[at + 1..];
            if let Some(after) = rest.strip_prefix('$') {
                quoted.push_str("\\$");
                rest = after;
            } else if let Some((name, after)) =
                rest.strip_prefix('{').and_then(|r| r.split_once('}'))
                && is_name(name)
            {
                match name {
                    "MAINPID" => quoted.push_str(&format!("$(cat {})", quote(pid_file))),
                    name => quoted.push_str(&format!("${{{name}}}")),
                }
                rest = after;
            } else {
                // systemd expands $NAME only as a whole word.
                quoted.push_str("\\$");
            }
        }
        push_escaped(&mut quoted, rest);
        quoted.push('"');
        quoted
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn push_escaped(quoted: &mut String, text: &str) {
    for c in text.chars() {
        if matches!(c, '"' | '\\' | '`' | '$') {
            quoted.push('\\');
        }
        quoted.push(c);
    }
}

/// systemd's quotes and C escapes.
fn split(text: &str) -> Result<Vec<Word>, String> {
    let (mut words, mut word): (Vec<Word>, Option<Word>) = (Vec::new(), None);
    let mut quote: Option<char> = None;
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match (c, quote) {
            ('\\', _) => {
                let escaped = match characters.next() {
                    Some('n') => '\n',
                    Some('t') => '\t',
                    Some('s') => ' ',
                    Some('x') => {
                        let digits: String = characters.by_ref().take(2).collect();
                        let byte = u8::from_str_radix(&digits, 16);
                        char::from(byte.map_err(|_| format!("\\x{digits} is no character"))?)
                    }
                    Some(other @ ('\\' | '"' | '\'' | ';' | ' ' | '$')) => other,
                    Some(other) => return Err(format!("\\{other} is no escape of systemd")),
                    None => return Err("it ends in a backslash".to_owned()),
                };
                let word = word.get_or_insert_with(empty);
                word.text.push(escaped);
            }
            ('"' | '\'', None) => {
                quote = Some(c);
                word.get_or_insert_with(empty).is_quoted = true;
            }
            (c, Some(end)) if c == end => quote = None,
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, _) => word.get_or_insert_with(empty).text.push(c),
        }
    }
    if let Some(quote) = quote {
        return Err(format!("a quote {quote} is not closed"));
    }
    words.extend(word);
    Ok(words)
}

fn empty() -> Word {
    Word {
        text: String::new(),
        is_quoted: false,
    }
}

/// `KEY=VALUE` words of `Environment=`.
pub(super) fn assignments(text: &str) -> Result<Vec<(String, String)>, String> {
    split(text)?
        .into_iter()
        .map(|word| match word.text.split_once('=') {
            Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
            None => Err(format!("{:?} is no KEY=VALUE", word.text)),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_mean_the_same_to_a_shell() {
        for (text, command) in [
            ("/bin/a -x 'b c'", "/bin/a -x 'b c'"),
            ("-/bin/a $OPTS ${PORT}", "/bin/a $OPTS \"${PORT}\""),
            (
                "/bin/a --dir=${DIR}/x cost=$$5",
                "/bin/a \"--dir=${DIR}/x\" \"cost=\\$5\"",
            ),
            (
                "/bin/kill -HUP $MAINPID",
                "/bin/kill -HUP \"$(cat /run/a.pid)\"",
            ),
            (":/bin/a $HOME", "/bin/a '$HOME'"),
            (
                "/bin/sh -c \"echo \\\"hi\\\" | cat\"",
                "/bin/sh -c 'echo \"hi\" | cat'",
            ),
        ] {
            let exec = parse(text, "/run/a.pid").unwrap();
            assert_eq!(exec.command, command, "{text}");
        }
        assert!(parse("-/bin/a", "").unwrap().may_fail);
        assert_eq!(parse("@/bin/a b c", "").unwrap().command, "/bin/a c");
        assert!(parse("/bin/a 'b", "").is_err() && parse("", "").is_err());
    }

    #[test]
    fn environment_has_words_with_quotes() {
        let pairs = assignments("A=1 \"B=two words\" 'C=x=y'").unwrap();
        let shown: Vec<String> = pairs.iter().map(|(k, v)| format!("{k}|{v}")).collect();
        assert_eq!(shown, ["A|1", "B|two words", "C|x=y"]);
        assert!(assignments("A").is_err());
    }
}
