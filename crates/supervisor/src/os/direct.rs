//! Commands that need no shell: `exec`, the path of a program, and words that no shell would touch.
//!
//! Such a command means the same without one, and is there sooner. Whatever the program cannot be executed for, the shell
//! is given the command after all: it knows what to say, and how to run a script that names no interpreter.

use std::ffi::CString;

/// The program and its arguments, where that can be told without being a shell.
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

/// A path: a name alone may be the shell's own, and has to be looked for. A sign or a dash before it has a meaning.
fn is_program(word: &str) -> bool {
    let begins = word.starts_with(|c: char| c.is_ascii_alphanumeric() || "/._".contains(c));
    begins && word.contains('/') && !word.contains('=')
}

/// What stands for itself in every shell.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"/._-+:@%,=".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_words_are_told_from_what_a_shell_is_for() {
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
