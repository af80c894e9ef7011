//! Commands that need no shell: `exec`, the path of a program, and words without a meaning to a shell.
//!
//! Such a command does the same without a shell, and starts sooner. If the program cannot be executed, the shell gets the
//! command after all: it reports the error, and can run a script without an interpreter line.

use std::ffi::CString;

/// The program and its arguments, if no shell is needed.
pub(super) fn words(command: &str) -> Option<Vec<CString>> {
    let rest = command.strip_prefix("exec ")?;
    let mut words = rest.split([' ', '\t']).filter(|word| !word.is_empty());
    let program = words.next().filter(|program| is_program(program))?;
    std::iter::once(program)
        .chain(words)
        .map(|word| {
            word.bytes()
                .all(is_plain)
                .then(|| CString::new(word).ok())?
        })
        .collect()
}

/// A path: a bare name may be a shell builtin or needs a search. A leading sign or dash has a meaning to the shell.
fn is_program(word: &str) -> bool {
    let begins = word.starts_with(|c: char| c.is_ascii_alphanumeric() || "/._".contains(c));
    begins && word.contains('/') && !word.contains('=')
}

/// A byte without a meaning to any shell.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"/._-+:@%,=".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_words_need_no_shell() {
        for (command, expected) in [
            ("exec /bin/x", Some(vec!["/bin/x"])),
            (
                "exec ./x  -a --b=c\t1,2 ",
                Some(vec!["./x", "-a", "--b=c", "1,2"]),
            ),
            (
                "exec bin/x user@host:80 50%",
                Some(vec!["bin/x", "user@host:80", "50%"]),
            ),
            ("/bin/x", None),
            ("exec x", None),
            ("exec", None),
            ("exec ", None),
            ("exec -a name /bin/x", None),
            ("exec A=/b c", None),
            ("exec ~/x", None),
            ("exec /bin/x ~/y", None),
            ("exec /bin/x $HOME", None),
            ("exec /bin/x 'a b'", None),
            ("exec /bin/x \"a\"", None),
            ("exec /bin/x a\\ b", None),
            ("exec /bin/x *.c", None),
            ("exec /bin/x a?", None),
            ("exec /bin/x [a]", None),
            ("exec /bin/x {a,b}", None),
            ("exec /bin/x > y", None),
            ("exec /bin/x < y", None),
            ("exec /bin/x & y", None),
            ("exec /bin/x; y", None),
            ("exec /bin/x #y", None),
            ("exec /bin/x !y", None),
            ("exec /bin/x `y`", None),
            ("exec /bin/x\ny", None),
            ("exec /bin/ä", None),
        ] {
            let words = words(command);
            let words = words.map(|all| -> Vec<String> {
                let texts = all.into_iter().map(|word| word.into_string().unwrap());
                texts.collect()
            });
            let expected = expected.map(|all| all.into_iter().map(str::to_owned).collect());
            assert_eq!(words, expected, "{command:?}");
        }
    }
}
