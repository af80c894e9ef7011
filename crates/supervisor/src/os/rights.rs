//! With whose rights the agent acts for a process.
//!
//! An agent that runs as root reads, writes, rotates, measures and signals for processes of other users. It does so with
//! the rights of the process's user, so that a link, a pid file or a hard link that the user plants gains nothing. What
//! these rights do not allow fails with a reason and is never repeated as root.
//!
//! - **Files**: [`OsRights::with`] gives the calling thread the user's file system uid, gid and groups, and takes every
//!   capability out of effect: `CAP_SYS_PTRACE` alone would open `/proc/PID/root` and `/proc/PID/fd` of any process.
//! - **Adoption**: a process that a pid file names must run as the user entirely ([`OsRights::check_owner`]). A setuid
//!   program and a daemon that kept a way back to root are not adopted.
//! - **Signals**: a run that was found by its pid file gets only signals that the user could send
//!   ([`OsRights::check_signal`]). What the agent itself started needs no such check: pid and start time name it.
#![allow(unsafe_code)]

use std::io;
use std::sync::Arc;

use rustix::process::{Gid, getegid, geteuid, getgroups};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, set_capabilities, set_thread_groups,
};

use super::procfs;
use super::user::{self, User};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OsRights {
    /// The agent's own: for its own files, for processes of root, and for every process of an agent that is not root.
    Agent,
    User(Arc<User>),
}

impl OsRights {
    /// The rights that a process of this user has; an error when the host does not know the user.
    pub(crate) fn of(user: &str) -> Result<Self, String> {
        match user::is_root() {
            true => user::find(user).map(Self::of_user),
            false => Ok(Self::Agent),
        }
    }

    pub(crate) fn of_user(user: Arc<User>) -> Self {
        match user::is_root() && user.uid != 0 {
            true => Self::User(user),
            false => Self::Agent,
        }
    }

    /// The rights of the owner of something, by numbers alone.
    pub(crate) fn of_ids(uid: u32, gid: u32) -> Self {
        Self::of_user(Arc::new(User {
            name: user::name_of(uid),
            uid,
            gid,
            groups: vec![gid],
            home: String::new(),
            shell: String::new(),
        }))
    }

    /// The uid that new files get.
    pub(crate) fn uid(&self) -> u32 {
        match self {
            Self::Agent => geteuid().as_raw(),
            Self::User(user) => user.uid,
        }
    }

    /// Does file work with these rights. Only this thread has them, until the work returns or panics.
    pub(crate) fn with<T>(&self, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let _borrowed = match self {
            Self::Agent => None,
            Self::User(user) => Some(BorrowedRights::take(user)?),
        };
        work()
    }

    /// For messages: ` as NAME`, empty for the agent's own rights.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Agent => String::new(),
            Self::User(user) => format!(" as {}", user.name),
        }
    }

    /// Whether a process that a file of the user names belongs to the user: real, effective and saved uid.
    ///
    /// An error means that it is not known: the agent lacks something.
    pub(crate) fn check_owner(&self, pid: i32) -> io::Result<Result<(), String>> {
        let Self::User(user) = self else {
            return Ok(Ok(()));
        };
        Ok(match procfs::uids(pid)? {
            Some(uids) if uids == [user.uid; 3] => Ok(()),
            uids => {
                let owner = owner(uids, user);
                Err(format!("runs as {owner} and not as {}", user.name))
            }
        })
    }

    /// Whether the user could signal a process, by the rule of kill(2). Refused if its uids cannot be read.
    ///
    /// An error means that it is not known: the agent lacks something.
    pub(crate) fn check_signal(&self, pid: i32) -> io::Result<Result<(), String>> {
        let Self::User(user) = self else {
            return Ok(Ok(()));
        };
        Ok(match procfs::uids(pid)? {
            Some([real, _, saved]) if real == user.uid || saved == user.uid => Ok(()),
            uids => {
                let owner = owner(uids, user);
                let name = &user.name;
                Err(format!(
                    "pid {pid} runs as {owner}: {name} may not signal it"
                ))
            }
        })
    }
}

/// The name of the first owner who is not the user.
fn owner(uids: Option<[u32; 3]>, user: &User) -> String {
    let other = uids.into_iter().flatten().find(|uid| *uid != user.uid);
    other.map_or_else(|| "an unknown user".to_owned(), user::name_of)
}

/// The rights that this thread had before it took those of a user. Drop restores them.
struct BorrowedRights {
    groups: Vec<Gid>,
    capabilities: CapabilitySets,
}

impl BorrowedRights {
    fn take(user: &User) -> io::Result<Self> {
        let failed = |error: io::Error| {
            let why = super::plain(&error);
            let text = format!("the agent cannot take the rights of {}: {why}", user.name);
            io::Error::new(error.kind(), text)
        };
        let borrowed = Self {
            groups: getgroups()?,
            capabilities: capabilities(None)?,
        };
        let groups: Vec<Gid> = user.groups.iter().copied().map(Gid::from_raw).collect();
        // The raw call: the C library's would change every thread.
        set_thread_groups(&groups).map_err(|errno| failed(errno.into()))?;
        set_file_ids(user.uid, user.gid);
        let none = CapabilitySets {
            effective: CapabilitySet::empty(),
            ..borrowed.capabilities
        };
        set_capabilities(None, none).map_err(|errno| failed(errno.into()))?;
        match file_ids() == (user.uid, user.gid) {
            true => Ok(borrowed),
            // The calls report no other error.
            false => Err(failed(io::ErrorKind::PermissionDenied.into())),
        }
    }
}

impl Drop for BorrowedRights {
    fn drop(&mut self) {
        let own = (geteuid().as_raw(), getegid().as_raw());
        set_file_ids(own.0, own.1);
        // Capabilities first: changing groups needs one.
        let restored = set_capabilities(None, self.capabilities)
            .and_then(|()| set_thread_groups(&self.groups))
            .is_ok();
        if !restored || file_ids() != own {
            // An agent with the rights of a user would fail at everything; its next start takes over.
            tracing::error!("the agent cannot return to its own rights, and ends");
            std::process::abort();
        }
    }
}

fn set_file_ids(uid: u32, gid: u32) {
    // SAFETY: plain system calls that change this thread's credentials only.
    unsafe {
        libc::setfsgid(gid);
        libc::setfsuid(uid);
    }
}

/// The ids for file access: setting an invalid id changes nothing and returns the current one.
fn file_ids() -> (u32, u32) {
    // SAFETY: as above; nothing is changed.
    unsafe {
        (
            libc::setfsuid(u32::MAX) as u32,
            libc::setfsgid(u32::MAX) as u32,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nobody() -> OsRights {
        assert!(user::is_root(), "this test needs root");
        OsRights::of("nobody").unwrap()
    }

    /// The credentials in this thread's status.
    fn mine() -> String {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let names = ["Uid:", "Gid:", "Groups:", "CapEff:", "CapPrm:"];
        let lines = status.lines();
        let lines = lines.filter(|line| names.iter().any(|name| line.starts_with(name)));
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_thread_has_the_users_rights_and_no_capability_until_the_work_is_done() {
        let before = mine();
        let user = user::find("nobody").unwrap();
        let (uid, gid) = (user.uid, user.gid);
        let (within, other) = nobody()
            .with(|| Ok((mine(), std::thread::spawn(mine).join().unwrap())))
            .unwrap();
        let lines: Vec<&str> = within.lines().collect();
        assert_eq!(lines[0], format!("Uid:\t0\t0\t0\t{uid}"));
        assert_eq!(lines[1], format!("Gid:\t0\t0\t0\t{gid}"));
        assert_eq!(lines[2].trim_end(), format!("Groups:\t{gid}"));
        assert_eq!(lines[4], "CapEff:\t0000000000000000");
        assert_eq!(
            other, within,
            "a thread that is started meanwhile has no more"
        );
        assert_eq!(mine(), before);
    }

    #[test]
    fn a_panic_restores_the_rights() {
        let before = mine();
        let rights = nobody();
        let panicked = std::panic::catch_unwind(|| {
            rights.with(|| -> io::Result<()> { panic!("in the middle") })
        });
        assert!(panicked.is_err());
        assert_eq!(mine(), before);
    }

    #[test]
    fn root_and_the_agent_need_no_other_rights() {
        assert_eq!(OsRights::of("root"), Ok(OsRights::Agent));
        assert!(OsRights::of("no-such-user").is_err());
        assert_eq!(OsRights::Agent.check_owner(1).unwrap(), Ok(()));
        let message = nobody().check_owner(1).unwrap().unwrap_err();
        assert_eq!(message, "runs as root and not as nobody");
        assert!(nobody().check_signal(1).unwrap().is_err());
    }
}
