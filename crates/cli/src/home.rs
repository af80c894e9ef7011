//! The directories on this machine, and the current user.

use std::path::PathBuf;

/// The data directory of a server that runs as root.
pub const SYSTEM_DATA: &str = "/var/lib/muster";

/// The system's directory for root, one in their home for other users.
pub fn default_data(env: &dyn Fn(&str) -> Option<String>) -> PathBuf {
    if rustix::process::geteuid().is_root() {
        return SYSTEM_DATA.into();
    }
    let set = |name: &str| env(name).filter(|value| value.starts_with('/'));
    match (set("XDG_DATA_HOME"), set("HOME")) {
        (Some(xdg), _) => PathBuf::from(xdg).join("muster"),
        (None, Some(home)) => PathBuf::from(home).join(".local/share/muster"),
        (None, None) => SYSTEM_DATA.into(),
    }
}

/// The directory of this user's own settings; none where there is no home.
pub fn config(env: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let set = |name: &str| env(name).filter(|value| value.starts_with('/'));
    match (set("XDG_CONFIG_HOME"), set("HOME")) {
        (Some(xdg), _) => Some(PathBuf::from(xdg).join("muster")),
        (None, Some(home)) => Some(PathBuf::from(home).join(".config/muster")),
        (None, None) => None,
    }
}

/// The name of the user who runs this command.
pub fn current_user() -> Option<String> {
    nix::unistd::User::from_uid(nix::unistd::geteuid())
        .ok()
        .flatten()
        .map(|user| user.name)
}
