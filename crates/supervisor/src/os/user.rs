//! Users that processes run as. Looked up before the fork and cached for a minute, because NSS may be slow.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::CString;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::unistd;

use super::procfs;

/// How long a user is cached.
const CACHED: Duration = Duration::from_secs(60);
/// How many users are cached.
const MAX_CACHED: usize = 256;

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
    static CACHE: RefCell<HashMap<String, (Instant, Arc<User>)>> = RefCell::default();
}

/// Finds a user that this agent can run processes as, or says why it cannot.
pub(crate) fn find(name: &str) -> Result<Arc<User>, String> {
    let now = Instant::now();
    let known = CACHE.with_borrow(|known| known.get(name).cloned());
    if let Some((at, user)) = &known
        && now.duration_since(*at) < CACHED
    {
        return Ok(Arc::clone(user));
    }
    let user = match look_up(name) {
        Ok(user) => Arc::new(user),
        Err(NoUser::Unknown(why)) => return Err(why),
        // The directory service does not answer: use the cached entry.
        Err(NoUser::NotAnswered(why)) => return known.map(|(_, user)| user).ok_or(why),
    };
    CACHE.with_borrow_mut(|known| {
        if known.len() >= MAX_CACHED {
            known.clear();
        }
        known.insert(name.to_owned(), (now, Arc::clone(&user)));
    });
    Ok(user)
}

/// Why a lookup failed.
enum NoUser {
    /// The host does not know the user, or this agent cannot act for it.
    Unknown(String),
    /// The lookup failed.
    NotAnswered(String),
}

fn look_up(name: &str) -> Result<User, NoUser> {
    let found = match name.parse() {
        Ok(uid) => unistd::User::from_uid(unistd::Uid::from_raw(uid)),
        Err(_) => unistd::User::from_name(name),
    };
    let found = found
        .map_err(|e| {
            NoUser::NotAnswered(format!(
                "spec.identity.user: {name} cannot be looked up: {e}"
            ))
        })?
        .ok_or_else(|| {
            NoUser::Unknown(format!(
                "spec.identity.user: there is no user {name} on this host"
            ))
        })?;
    let me = unistd::geteuid();
    if !me.is_root() && found.uid != me {
        let why = cannot(&format!("run processes of {name}"));
        return Err(NoUser::Unknown(format!("spec.identity.user: {why}")));
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

/// A message that this agent lacks the rights for something.
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
