//! Strays: descendants of the agent's commands outside of its control groups. An earlier agent started them without
//! groups, or they have left. One walk at the start of the agent finds them by their mark.

use std::collections::HashSet;

use model::FullName;

use crate::os::procfs;

/// The names of processes with this agent's mark that are in none of its groups.
pub(super) fn find(agent: &str, is_inside: impl Fn(i32) -> bool) -> HashSet<FullName> {
    let pids = procfs::pids().unwrap_or_else(|error| {
        tracing::error!(%error, "cannot look for processes outside of their control groups");
        Vec::new()
    });
    let marked = pids.into_iter();
    let marked = marked.filter_map(|pid| Some((pid, named(pid, agent)?)));
    let outside = marked.filter(|(pid, _)| !is_inside(*pid));
    outside.map(|(_, name)| name).collect()
}

fn named(pid: i32, agent: &str) -> Option<FullName> {
    let environment = procfs::environment(pid).ok()?;
    let value = |name: &str| {
        let mut entries = environment.split(|byte| *byte == 0);
        let found = entries.find_map(|entry| entry.strip_prefix(name.as_bytes()))?;
        std::str::from_utf8(found).ok()
    };
    if value("MUSTER_AGENT=")? != agent {
        return None;
    }
    FullName::parse_registered(value("MUSTER_NAMESPACE=")?, value("MUSTER_NAME=")?).ok()
}
