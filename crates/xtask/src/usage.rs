//! Memory and CPU of processes, from `/proc`.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::Context;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Enough for a thousand processes, and few enough that closing them all is fast.
const OPEN_FILES: u64 = 16_384;

/// Raises the limit of open files for all children.
pub(crate) fn raise_open_files() -> anyhow::Result<()> {
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit
        .maximum
        .map_or(OPEN_FILES, |most| most.min(OPEN_FILES));
    let raised = Rlimit {
        current: Some(wanted),
        ..limit
    };
    setrlimit(Resource::Nofile, raised).context("cannot raise the limit of open files")
}

/// How many files a process may open, unless it is privileged.
pub(crate) fn open_files() -> usize {
    let most = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    usize::try_from(most).unwrap_or(usize::MAX)
}

/// PSS in bytes: shared memory is counted once.
pub(crate) fn memory(pids: &[i32]) -> anyhow::Result<u64> {
    let mut kib = 0;
    for pid in pids {
        let path = format!("/proc/{pid}/smaps_rollup");
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
        let line = text.lines().find_map(|line| line.strip_prefix("Pss:"));
        let pss = line.and_then(|line| line.split_whitespace().next());
        kib += pss.context("Pss is there")?.parse::<u64>()?;
    }
    Ok(kib * 1024)
}

/// CPU time of all threads. An exited process counts as zero.
pub(crate) fn cpu(pids: &[i32]) -> Duration {
    let mut total = 0;
    for pid in pids {
        let threads = std::fs::read_dir(format!("/proc/{pid}/task"));
        for thread in threads.into_iter().flatten().flatten() {
            let text = std::fs::read_to_string(thread.path().join("schedstat"));
            let text = text.unwrap_or_default();
            let nanos = text.split_whitespace().next().map(str::parse::<u64>);
            total += nanos.and_then(Result::ok).unwrap_or(0);
        }
    }
    Duration::from_nanos(total)
}

/// A process and its descendants, without programs of this name and their descendants.
pub(crate) fn tree(root: i32, except: &str) -> Vec<i32> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else {
            continue;
        };
        let Some((before, after)) = stat.rsplit_once(") ") else {
            continue;
        };
        let (Some((pid, program)), Some(parent)) =
            (before.split_once(" ("), after.split_whitespace().nth(1))
        else {
            continue;
        };
        let (Ok(pid), Ok(parent)) = (pid.parse(), parent.parse()) else {
            continue;
        };
        if program != except && !after.starts_with('Z') {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = vec![root];
    let mut next = 0;
    while let Some(pid) = found.get(next) {
        found.extend(children.remove(pid).unwrap_or_default());
        next += 1;
    }
    found
}
