//! The owner of a file: a user and a group, by name or number, looked up before anything is written.

use nix::unistd::{self, Gid, Group, Uid};

use super::super::user;
use super::ConfigFileError;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Account {
    pub(super) uid: u32,
    pub(super) gid: u32,
}

impl Account {
    /// Looks up both; an error if this agent may not give files to them.
    pub(super) fn find(owner: &str, group: &str) -> Result<Self, ConfigFileError> {
        let named = unistd::User::from_name(owner).map_err(|e| look_up("owner", owner, e))?;
        let uid = match named {
            Some(user) => user.uid.as_raw(),
            None => number(owner).ok_or_else(|| unknown("owner", "user", owner))?,
        };
        let named = Group::from_name(group).map_err(|e| look_up("group", group, e))?;
        let gid = match named {
            Some(group) => group.gid.as_raw(),
            None => number(group).ok_or_else(|| unknown("group", "group", group))?,
        };
        let may_not = |field: &str, what: String| {
            ConfigFileError::Account(format!("{field}: {}", user::cannot(&what)))
        };
        if !user::is_root() {
            if Uid::from_raw(uid) != unistd::geteuid() {
                return Err(may_not("owner", format!("give files to {owner}")));
            }
            let mine = rustix::process::getgroups().unwrap_or_default();
            let is_mine = Gid::from_raw(gid) == unistd::getegid()
                || mine.iter().any(|group| group.as_raw() == gid);
            if !is_mine {
                return Err(may_not("group", format!("give files to group {group}")));
            }
        }
        Ok(Self { uid, gid })
    }
}

/// The kernel takes the largest number for no user.
fn number(text: &str) -> Option<u32> {
    text.parse().ok().filter(|number| *number != u32::MAX)
}

fn unknown(field: &str, kind: &str, name: &str) -> ConfigFileError {
    ConfigFileError::Account(format!("{field}: there is no {kind} {name} on this host"))
}

fn look_up(field: &str, name: &str, error: nix::Error) -> ConfigFileError {
    let why = super::super::plain(&error.into());
    ConfigFileError::Account(format!("{field}: {name} cannot be looked up: {why}"))
}

pub(super) fn group_name(gid: u32) -> String {
    let group = Group::from_gid(Gid::from_raw(gid)).ok().flatten();
    group.map_or_else(|| gid.to_string(), |group| group.name)
}
