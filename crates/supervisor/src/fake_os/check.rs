//! Whether a spec can be run on the fake host.

use model::Spec;

use super::host;
use crate::machine::Role;

/// The prefix of commands whose program does not exist.
const MISSING: &str = "missing";

pub(crate) fn check(spec: &Spec, role: Role) -> Result<(), String> {
    let command = role.command(&spec.control);
    host::call(|_| match command.starts_with(MISSING) {
        true => Err("the program does not exist".to_owned()),
        false => Ok(()),
    })
}

pub(crate) fn shell_text(command: &str) -> String {
    command.to_owned()
}
