//! Whether a process can be run on this host at all.

use model::Spec;

use super::host;
use crate::machine::Role;

/// A command that begins so is not there.
const MISSING: &str = "missing";

pub(crate) fn check(spec: &Spec, role: Role) -> Result<(), String> {
    let command = match role {
        Role::Start => &spec.control.start_cmd,
        Role::Stop => &spec.control.stop_cmd,
        Role::Restart => &spec.control.restart_cmd,
        Role::Reload => &spec.control.reload_cmd,
        Role::Kill => &spec.control.kill_cmd,
    };
    host::call(|_| match command.starts_with(MISSING) {
        true => Err("the program does not exist".to_owned()),
        false => Ok(()),
    })
}

pub(crate) fn shell_text(command: &str) -> String {
    command.to_owned()
}
