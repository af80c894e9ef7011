//! The limit of open files: of the agent that runs on the data folder, else of this process.

use std::path::Path;

use model::host_check::HostCheck;
use rustix::process::{Resource, getrlimit};
use supervisor::OtherProcess;

use super::parse;
use crate::image::RunFile;

/// An agent of a few processes needs about as many.
const MIN_FILES: u64 = 256;
/// Each process takes some, and each open log.
const FEW_FILES: u64 = 4096;

pub(super) fn open_files(data: &Path) -> HostCheck {
    let running = running_agent(data);
    let own = getrlimit(Resource::Nofile).maximum;
    let of_agent = running.and_then(|pid| {
        let limits = std::fs::read_to_string(format!("/proc/{pid}/limits")).ok()?;
        Some((pid, parse::open_files(&limits)?))
    });
    match of_agent {
        Some((pid, limit)) => judge(limit, &format!("of the running agent (process {pid})")),
        None => judge(own, "of this process"),
    }
}

/// The agent that runs on this folder, in this process or another.
fn running_agent(data: &Path) -> Option<i32> {
    let run = RunFile::read(data).ok()?;
    OtherProcess::find(run.pid).ok()??;
    let start_time = crate::image::start_time(run.pid).ok()?;
    (start_time == run.start_time).then_some(run.pid)
}

fn judge(limit: Option<u64>, whose: &str) -> HostCheck {
    let name = "open files";
    let hint = "set LimitNOFILE=524288 in its unit, or ulimit -Hn before it starts; processes get at most the same";
    match limit {
        None => HostCheck::ok(name, format!("no limit {whose}")),
        Some(limit) => {
            let found = format!("{limit} at most, {whose}");
            match limit {
                ..MIN_FILES => HostCheck::no(name, found, hint),
                MIN_FILES..FEW_FILES => HostCheck::degraded(name, found, hint),
                FEW_FILES.. => HostCheck::ok(name, found),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use model::host_check::CheckResult;

    use super::*;

    #[test]
    fn a_low_limit_of_open_files_is_told() {
        assert_eq!(judge(None, "x").result, CheckResult::Ok);
        assert_eq!(judge(Some(524_288), "x").result, CheckResult::Ok);
        assert_eq!(judge(Some(1024), "x").result, CheckResult::Degraded);
        assert_eq!(judge(Some(64), "x").result, CheckResult::No);
    }
}
