//! Reads a password: from a terminal without showing it, or from standard input. Never from the command line, where every user
//! of the machine could read it.

use std::io::{BufRead, IsTerminal, Read};

use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

use crate::failure::Failure;
use crate::out::Out;

/// The first line of standard input.
pub fn from_stdin() -> Result<String, Failure> {
    let mut line = String::new();
    std::io::stdin()
        .lock()
        .read_line(&mut line)
        .map_err(unreadable)?;
    not_empty(line.trim_end_matches(['\n', '\r']))
}

/// The first two lines of standard input.
pub fn two_from_stdin() -> Result<(String, String), Failure> {
    Ok((from_stdin()?, from_stdin()?))
}

/// Fails where there is no terminal to ask on.
pub fn check_terminal() -> Result<(), Failure> {
    match std::io::stdin().is_terminal() {
        true => Ok(()),
        false => Err(
            Failure::usage("there is no terminal to ask for the password")
                .advise("pipe it in, with --password-stdin"),
        ),
    }
}

/// Asks without showing what is typed.
pub fn ask(out: &Out, prompt: &str) -> Result<String, Failure> {
    let stdin = std::io::stdin();
    let bad = |e: rustix::io::Errno| Failure::usage(format!("the terminal cannot be used: {e}"));
    let shown = tcgetattr(&stdin).map_err(bad)?;
    let mut hidden = shown.clone();
    // Ctrl-C is read as a character: if it ended the process, the terminal would stay without echo.
    let modes = LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG;
    hidden.local_modes.remove(modes);
    tcsetattr(&stdin, OptionalActions::Flush, &hidden).map_err(bad)?;
    out.redraw(prompt);
    let typed = read_keys(&mut stdin.lock());
    let restored = tcsetattr(&stdin, OptionalActions::Flush, &shown).map_err(bad);
    out.redraw("");
    restored.and(typed)
}

/// The text that is typed until Enter.
fn read_keys(keys: &mut impl Read) -> Result<String, Failure> {
    let mut typed = Vec::new();
    let mut key = [0];
    loop {
        let n = keys.read(&mut key).map_err(unreadable)?;
        match key[0] {
            _ if n == 0 => return Err(Failure::usage("no password was given")),
            b'\r' | b'\n' => break,
            0x03 | 0x04 => return Err(Failure::usage("no password was given")), // Ctrl-C, Ctrl-D
            0x15 => typed.clear(),                                              // Ctrl-U
            0x7f | 0x08 => {
                // All bytes of the last character.
                while typed.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {}
            }
            byte => typed.push(byte),
        }
    }
    let typed =
        String::from_utf8(typed).map_err(|_| Failure::usage("the password must be UTF-8"))?;
    not_empty(&typed)
}

fn not_empty(password: &str) -> Result<String, Failure> {
    match password {
        "" => Err(Failure::usage("the password is empty")),
        password => Ok(password.to_owned()),
    }
}

fn unreadable(error: std::io::Error) -> Failure {
    Failure::usage(format!("the password cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_spell_a_password_until_enter() {
        let typed = |keys: &str| read_keys(&mut keys.as_bytes()).map_err(|e| e.to_string());
        assert_eq!(typed("secret\rmore"), Ok("secret".into()));
        assert_eq!(typed("sx\u{7f}é业\u{7f}\u{7f}ecret\n"), Ok("secret".into()));
        assert_eq!(typed("wrong\u{15}right\r"), Ok("right".into()));
        assert!(typed("abc\u{3}").is_err());
        assert!(typed("\r").is_err());
        assert!(typed("abc").is_err());
    }
}
