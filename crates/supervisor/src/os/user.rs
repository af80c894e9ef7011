//! Who a process runs as. Names are looked up before the fork and remembered for a minute: NSS may be slow.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::CString;
use std::rc::Rc;
use std::time::{Duration, Instant};

use nix::unistd;

use super::procfs;

/// How long a user's data is believed.
const REMEMBERED: Duration = Duration::from_secs(60);
/// How many users are remembered.
const MAX_REMEMBERED: usize = 256;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) groups: Vec<u32>,
    pub(crate) home: String,
    pub(crate) shell: String,
}

thread_local! {
    static KNOWN: RefCell<HashMap<String, (Instant, Rc<User>)>> = RefCell::default();
}

/// Finds a user that this agent can run processes as, or says why it cannot.
pub(crate) fn find(name: &str) -> Result<Rc<User>, String> {
    let now = Instant::now();
    let known = KNOWN.with_borrow(|known| known.get(name).cloned());
    if let Some((at, user)) = known
        && now.duration_since(at) < REMEMBERED
    {
        return Ok(user);
    }
    let user = Rc::new(look_up(name)?);
    KNOWN.with_borrow_mut(|known| {
        if known.len() >= MAX_REMEMBERED {
            known.clear();
        }
        known.insert(name.to_owned(), (now, Rc::clone(&user)));
    });
    Ok(user)
}

fn look_up(name: &str) -> Result<User, String> {
    let found = match name.parse() {
        Ok(uid) => unistd::User::from_uid(unistd::Uid::from_raw(uid)),
        Err(_) => unistd::User::from_name(name),
    };
    let found = found
        .map_err(|e| format!("spec.identity.user: {name} cannot be looked up: {e}"))?
        .ok_or_else(|| format!("spec.identity.user: there is no user {name} on this host"))?;
    let me = unistd::geteuid();
    if !me.is_root() && found.uid != me {
        let why = cannot(&format!("run processes of {name}"));
        return Err(format!("spec.identity.user: {why}"));
    }
    let groups = CString::new(found.name.as_str())
        .ok()
        .and_then(|name| unistd::getgrouplist(&name, found.gid).ok())
        .unwrap_or_else(|| vec![found.gid]);
    Ok(User {
        uid: found.uid.as_raw(),
        gid: found.gid.as_raw(),
        groups: groups.into_iter().map(unistd::Gid::as_raw).collect(),
        home: found.dir.to_string_lossy().into_owned(),
        shell: found.shell.to_string_lossy().into_owned(),
        name: found.name,
    })
}

/// Says that this agent has not the rights for something.
pub(crate) fn cannot(what: &str) -> String {
    let way_out = match is_root() {
        true => "it lacks that right here",
        false => "only an agent that runs as root can",
    };
    let mine = name_of(unistd::geteuid().as_raw());
    format!("the agent runs as {mine} and cannot {what}; {way_out}")
}

/// The name of the user that a process runs as.
pub(crate) fn owner_of(pid: i32) -> Option<String> {
    procfs::owner(pid).map(name_of)
}

pub(crate) fn name_of(uid: u32) -> String {
    let user = unistd::User::from_uid(unistd::Uid::from_raw(uid));
    let user = user.ok().flatten();
    user.map_or_else(|| uid.to_string(), |user| user.name)
}

pub(crate) fn is_root() -> bool {
    unistd::geteuid().is_root()
}

/// Does file work with the rights of `user`, so that a link that they planted leads nowhere that they could not go
/// themselves. The rights are those of this thread alone, and come back afterwards.
pub(crate) fn with_rights_of<T>(user: &User, work: impl FnOnce() -> T) -> T {
    if !is_root() || user.uid == 0 {
        return work();
    }
    let _rights = Borrowed::take(user);
    work()
}

struct Borrowed {
    groups: Vec<libc::gid_t>,
}

impl Borrowed {
    fn take(user: &User) -> Self {
        let mut groups = vec![0; 1024];
        // SAFETY: the buffer holds as many groups as we say.
        let count = unsafe { libc::getgroups(groups.len() as i32, groups.as_mut_ptr()) };
        groups.truncate(count.max(0) as usize);
        // SAFETY: the raw calls change this thread's credentials only (glibc's wrapper of setgroups would change every
        // thread's); the pointer is good for the length given. Failing to take them leaves more rights than wanted
        // only for group access, and the uid below cannot fail for root.
        unsafe {
            libc::syscall(libc::SYS_setgroups, user.groups.len(), user.groups.as_ptr());
            libc::setfsgid(user.gid);
            libc::setfsuid(user.uid);
        }
        Self { groups }
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        // SAFETY: as in `take`; the effective ids were never changed, so going back is allowed.
        unsafe {
            libc::setfsuid(libc::geteuid());
            libc::setfsgid(libc::getegid());
            libc::syscall(libc::SYS_setgroups, self.groups.len(), self.groups.as_ptr());
        }
    }
}
