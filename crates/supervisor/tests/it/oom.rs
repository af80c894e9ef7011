//! Kills by the kernel's memory killer, seen without a control group of the agent.

use std::path::PathBuf;

use model::operation::Op;
use model::status::Exit;
use model::{ProcessState, Status};
use supervisor::ControlGroups;
use testing::precondition;

use crate::harness::{Home, runs_as_root};

const LIMIT: u64 = 32 << 20;

/// A group with little memory that the agent knows nothing of.
struct TightGroup(PathBuf);

impl TightGroup {
    fn make() -> Option<Self> {
        let name = format!("muster-test-tight-{}", std::process::id());
        let versions = [
            ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
            ("/sys/fs/cgroup", "memory.max"),
        ];
        let made = versions.into_iter().find_map(|(at, limit)| {
            let group = PathBuf::from(at).join(&name);
            std::fs::create_dir(&group).ok()?;
            let group = Self(group);
            let limited = std::fs::write(group.0.join(limit), LIMIT.to_string()).is_ok();
            limited.then_some(group)
        });
        let missing = "a control group that counts memory and that it may create";
        precondition::is_met(made.is_some(), missing);
        made
    }
}

impl Drop for TightGroup {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

fn reads_the_kernel_log() -> bool {
    let log = std::fs::File::open("/dev/kmsg");
    precondition::is_met(log.is_ok(), "the kernel's log, /dev/kmsg")
}

#[test]
fn without_groups_of_the_agent_the_kernel_log_names_the_memory_killer() {
    if !runs_as_root() || !reads_the_kernel_log() {
        return;
    }
    let Some(group) = TightGroup::make() else {
        return;
    };
    let home = Home::with(ControlGroups::Off);
    let mut supervisor = home.supervisor();
    let mut spec = home.spec("--after 700 --hold-mib 200");
    let join = format!("echo $$ > {}/cgroup.procs", group.0.display());
    spec.control.start_cmd = format!("{join} && exec {}", spec.control.start_cmd);
    spec.monitor_policy.start_interval = 1000;
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    let is_waiting = |status: &Status| status.process_state == ProcessState::Backoff;
    let status = supervisor.status_where("its end", is_waiting);
    let last = status.last_exit.unwrap();
    assert_eq!((last.exit, last.oom), (Exit::Signal(9), true), "{status:?}");
    // The log counts pages that it shares with others as well.
    let memory = last.memory.unwrap();
    assert_eq!(memory.limit, LIMIT);
    assert!((LIMIT / 2..LIMIT * 2).contains(&memory.used), "{memory:?}");
    let said = " MiB used, limit 32.0 MiB) after ";
    assert!(status.message.contains(said), "{status:?}");
    supervisor.operate(2, Op::Stop);
}
