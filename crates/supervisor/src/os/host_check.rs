//! What `muster-agent check` asks about the host beside its kernel. Changes nothing.
#![allow(unsafe_code)]

use std::fs;
use std::path::{Path, PathBuf};

use nix::unistd;
use rustix::fs::{Access, AtFlags, CWD, accessat};

use super::cgroup;

/// The C library of this program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CLibrary {
    /// With its version.
    Glibc(String),
    /// Linked into the program.
    Musl,
    Other,
}

pub fn c_library() -> CLibrary {
    #[cfg(target_env = "gnu")]
    {
        // SAFETY: returns a constant text of the C library that ends in 0 and lives as long as the program.
        let version = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
        CLibrary::Glibc(version.to_string_lossy().into_owned())
    }
    #[cfg(target_env = "musl")]
    {
        CLibrary::Musl
    }
    #[cfg(not(any(target_env = "gnu", target_env = "musl")))]
    {
        CLibrary::Other
    }
}

/// Asks for a user as a start command of this user would; waits for the directory service. None if there is no such user.
pub fn find_user(name: &str) -> Result<Option<u32>, String> {
    unistd::User::from_name(name)
        .map(|user| user.map(|user| user.uid.as_raw()))
        .map_err(|errno| errno.desc().to_owned())
}

/// The control groups that this host offers an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OfferedGroups {
    /// Where the v2 hierarchy is mounted.
    pub v2: Option<PathBuf>,
    /// Whether a v1 hierarchy with a controller for limits is mounted.
    pub v1: bool,
    /// Why the agent cannot create groups in the v2 hierarchy.
    pub refused: Option<String>,
    /// Whether a group can be killed as a whole; none if there is no group to see it from.
    pub kills: Option<bool>,
    /// The controllers for hard limits that the hierarchies have.
    pub limits: Vec<&'static str>,
}

/// Looks at the control groups, and creates none.
pub fn offered_groups() -> OfferedGroups {
    let (v2, v1, limits) = cgroup::mounted();
    let refused = v2.as_deref().and_then(|at| {
        // Where the agent's group would be created.
        let ours = at.join(cgroup::ALL_AGENTS);
        let place = if ours.is_dir() { ours } else { at.to_owned() };
        let rights = Access::WRITE_OK | Access::EXEC_OK;
        let refused = accessat(CWD, &place, rights, AtFlags::EACCESS).err()?;
        let why = super::plain(&refused.into());
        Some(format!("{} cannot be written: {why}", place.display()))
    });
    OfferedGroups {
        kills: v2.as_deref().and_then(kills),
        v2,
        v1,
        refused,
        limits,
    }
}

/// The root group alone has no `cgroup.kill`.
fn kills(at: &Path) -> Option<bool> {
    let groups = fs::read_dir(at).ok()?.flatten();
    let mut groups = groups.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let group = groups.next()?;
    Some(group.path().join("cgroup.kill").exists())
}

/// Whether a process can become the parent of its orphaned descendants.
pub fn has_subreaper() -> Result<(), String> {
    rustix::process::child_subreaper()
        .map(drop)
        .map_err(|errno| super::plain(&errno.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lookup_tells_a_user_from_none() {
        assert_eq!(find_user("root"), Ok(Some(0)));
        assert_eq!(find_user("muster-no-such-user"), Ok(None));
    }

    #[test]
    fn the_c_library_of_this_build_is_known() {
        match c_library() {
            CLibrary::Glibc(version) => assert!(version.starts_with("2."), "{version}"),
            CLibrary::Musl if cfg!(target_env = "musl") => {}
            CLibrary::Musl | CLibrary::Other => panic!("not the C library of this build"),
        }
    }

    #[test]
    fn looking_at_control_groups_creates_none() {
        let list = |at: &Path| {
            let entries = fs::read_dir(at).into_iter().flatten().flatten();
            let mut names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
            names.sort();
            names
        };
        let offered = offered_groups();
        if let Some(at) = &offered.v2 {
            let before = list(at);
            assert_eq!(offered_groups().v2.as_ref(), Some(at));
            assert_eq!(list(at), before);
        }
        assert!(offered.refused.is_none() || offered.v2.is_some());
    }
}
