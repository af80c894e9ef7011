//! Checks before a start whether a spec can be run on this host: a clear message instead of a restart loop.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use model::Spec;

use super::rights::OsRights;
use super::spawn::PATH;
use super::{limits, user};
use crate::machine::Role;

/// Shell builtins: there is no program to look for.
const BUILTINS: [&str; 30] = [
    ".", ":", "[", "alias", "bg", "cd", "command", "echo", "eval", "exec", "exit", "export",
    "false", "for", "if", "printf", "read", "set", "shift", "source", "test", "time", "trap",
    "true", "type", "ulimit", "umask", "until", "wait", "while",
];

/// Checks the command of `role`; errors name the field and the rule.
pub(crate) fn check(spec: &Spec, role: Role) -> Result<(), String> {
    let command = role.command(&spec.control);
    let field = role.field();
    if command.trim().is_empty() {
        return Err(format!(
            "spec.control.{field}: there is none, so the process cannot be started"
        ));
    }
    let user = user::find(&spec.identity.user)?;
    limits::check(&spec.runtime)?;
    let rights = OsRights::of_user(user);
    let setup_path = Path::new(&spec.identity.setup_path);
    match rights.with(|| fs::metadata(setup_path)) {
        Ok(found) if found.is_dir() => {}
        Ok(_) => {
            return Err(format!(
                "spec.identity.setup_path: {} is not a directory",
                setup_path.display()
            ));
        }
        Err(e) => {
            return Err(format!(
                "spec.identity.setup_path: {} cannot be entered{}: {e}",
                setup_path.display(),
                rights.shown()
            ));
        }
    }
    let Some(program) = first_word(command) else {
        return Ok(());
    };
    let path = spec.runtime.env.get("PATH").map_or(PATH, String::as_str);
    let found = rights.with(|| Ok(find_program(program, setup_path, path)));
    found
        .unwrap_or_else(|error| Err(format!("cannot be looked for: {error}")))
        .map_err(|why| format!("spec.control.{field}: the program {program} {why}"))
}

/// The text for the shell. A command of one program replaces the shell (`exec`), so that the process is the program itself
/// with its own exit code; not every shell does that by itself.
pub(crate) fn shell_text(command: &str) -> String {
    let one = !command.contains([';', '&', '|', '(', ')', '{', '}', '`', '\n', '!', '#']);
    match one && first_word(command).is_some() {
        true => format!("exec {command}"),
        false => command.to_owned(),
    }
}

/// The program that the command begins with, if that is clear without a shell.
fn first_word(command: &str) -> Option<&str> {
    let word = command.split_whitespace().next()?;
    let plain = |c: char| c.is_alphanumeric() || "/._-+:@%,".contains(c);
    (word.chars().all(plain) && !BUILTINS.contains(&word)).then_some(word)
}

fn find_program(program: &str, setup_path: &Path, path: &str) -> Result<(), String> {
    if program.contains('/') {
        return executable(&setup_path.join(program));
    }
    let found = path
        .split(':')
        .map(|dir| PathBuf::from(dir).join(program))
        .any(|path| executable(&path).is_ok());
    match found {
        true => Ok(()),
        false => Err(format!(
            "is not in {path}; write ./{program} for a file in setup_path"
        )),
    }
}

fn executable(path: &Path) -> Result<(), String> {
    let shown = path.display();
    match fs::metadata(path) {
        Ok(found) if !found.is_file() => Err(format!("({shown}) is not a file")),
        Ok(found) if found.permissions().mode() & 0o111 == 0 => {
            Err(format!("({shown}) is not executable"))
        }
        Ok(_) => Ok(()),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            Err(format!("({shown}) does not exist"))
        }
        // Its user may be able to read it.
        Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_first_word_is_looked_for() {
        for (command, word) in [
            ("./server -d", Some("./server")),
            ("  nginx", Some("nginx")),
            ("cd /x && ./y", None),
            ("A=1 ./y", None),
            ("$BIN/x", None),
            ("(sleep 1)", None),
            ("'quoted name'", None),
            ("a;b", None),
            ("", None),
        ] {
            assert_eq!(first_word(command), word, "{command}");
        }
    }

    #[test]
    fn a_command_that_is_one_program_replaces_the_shell() {
        for one in [
            "./server -d",
            "nginx -g 'daemon off'",
            "java -jar $HOME/x.jar > log 2>/dev/null",
        ] {
            assert_eq!(shell_text(one), format!("exec {one}"));
        }
        for more in [
            "cd /x && ./y",
            "a; b",
            "A=1 b",
            "if x",
            "a &",
            "a | b",
            "echo hi",
            "a $(b)",
        ] {
            assert_eq!(shell_text(more), more);
        }
    }

    #[test]
    fn programs_are_found_beside_the_process_and_on_the_path() {
        assert!(find_program("sh", Path::new("/"), PATH).is_ok());
        assert!(find_program("bin/sh", Path::new("/"), PATH).is_ok());
        assert!(find_program("/bin/sh", Path::new("/nowhere"), PATH).is_ok());
        let missing = find_program("./no-such-thing", Path::new("/tmp"), PATH).unwrap_err();
        assert!(
            missing.contains("/tmp/./no-such-thing) does not exist"),
            "{missing}"
        );
        assert!(find_program("no-such-thing", Path::new("/"), PATH).is_err());
        assert!(
            find_program("./etc", Path::new("/"), PATH)
                .unwrap_err()
                .contains("not a file")
        );
    }
}
