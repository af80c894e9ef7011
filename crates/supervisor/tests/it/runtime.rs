//! `spec.runtime` on real processes.

use std::path::Path;

use model::event::EventKind;
use model::operation::Op;
use model::status::Exit;
use model::{ProcessState, Spec};

use supervisor::ControlGroups;

use crate::harness::{Home, runs_as_root, until, with_and_without_groups};

with_and_without_groups!(hard_limits_are_enforced_or_reported_as_unavailable);

#[test]
fn a_process_gets_the_environment_limits_umask_and_nice_value_of_its_spec() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let mut spec = home.spec("--report %/report");
    let env = [("PORT", "80"), ("LANG", "zh_CN.UTF-8"), ("EMPTY", "")];
    spec.runtime.env = env.map(|(k, v)| (k.into(), v.into())).into();
    spec.runtime.nofile = Some(333);
    spec.runtime.core = Some(4096);
    spec.runtime.nproc = Some(12_345);
    spec.runtime.umask = Some(0o027);
    spec.runtime.nice = Some(5);
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    let report = until("a report", || {
        std::fs::read_to_string(home.path("report")).ok()
    });
    let lines: Vec<String> = report
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    for wanted in [
        "env PORT=80",
        "env LANG=zh_CN.UTF-8",
        "env EMPTY=",
        "limits Max open files 333 333 files",
        "limits Max core file size 4096 4096 bytes",
        "limits Max processes 12345 12345 processes",
        "status Umask: 0027",
    ] {
        assert!(
            lines.iter().any(|line| line == wanted),
            "{wanted} is not in {report}"
        );
    }
    let languages = lines.iter().filter(|line| line.starts_with("env LANG="));
    assert_eq!(languages.count(), 1);
    let pid = supervisor.running().pid;
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let nice = stat.rsplit(')').next().unwrap().split_whitespace().nth(16);
    assert_eq!(nice, Some("5"));
}

#[test]
fn a_log_that_grows_is_rotated_under_its_program() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    let mut spec = home.spec("");
    spec.control.start_cmd = format!(
        "while :; do echo {}; {} --after 5 --exit 0; done",
        "x".repeat(1000),
        env!("CARGO_BIN_EXE_odd-child")
    );
    spec.identity.proc_name = "sh".into();
    spec.identity.log_path = home.file("work/log");
    spec.runtime.log_max_bytes = Some(10_000);
    spec.runtime.log_keep = Some(2);
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    let pid = supervisor.running().pid;
    let log = |suffix: &str| std::fs::read_to_string(home.path(&format!("work/log{suffix}"))).ok();
    let old = until("two old logs", || Some((log(".1")?, log(".2")?)));
    for text in [old.0, old.1] {
        assert!(text.len() > 10_000 && text.lines().all(|line| line.len() == 1000));
    }
    let written = || log("").unwrap_or_default().len();
    let size = written();
    until("more", || (written() != size).then_some(()));
    assert!(log(".3").is_none());
    assert_eq!(supervisor.running().pid, pid);
}

#[test]
fn the_status_reports_a_failed_log_rotation() {
    if !runs_as_root() {
        return;
    }
    let home = Home::new();
    home.open_to_all();
    // Its user may write the log but create no file beside it.
    std::fs::create_dir(home.path("logs")).unwrap();
    std::fs::write(home.path("logs/log"), vec![b'x'; 20_000]).unwrap();
    let nobody = nix::unistd::User::from_name("nobody").unwrap().unwrap();
    std::os::unix::fs::chown(home.path("logs/log"), Some(nobody.uid.as_raw()), None).unwrap();
    let mut supervisor = home.supervisor();
    let mut spec = home.spec("--print up");
    spec.identity.user = "nobody".into();
    spec.identity.pid_path = home.file("work/pid");
    spec.identity.log_path = home.file("logs/log");
    spec.runtime.log_max_bytes = Some(10_000);
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    let said = "log is too long and cannot be rotated as nobody: Permission denied";
    supervisor.status_where("a word on the log", |s| s.message.ends_with(said));
    assert!(
        std::fs::metadata(home.path("logs/log")).unwrap().len() > 20_000,
        "nothing is lost"
    );
}

/// The control group that the agent has put a process into, if it can create groups.
fn group_of(pid: i32) -> Option<String> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap();
    let paths = text.lines().filter_map(|line| line.splitn(3, ':').nth(2));
    let mut ours = paths.filter(|path| path.ends_with("/test:odd"));
    ours.next().map(str::to_owned)
}

/// The hard limit of memory.
const LIMIT_MIB: u64 = 64;

fn with_hard_limits(mut spec: Spec) -> Spec {
    spec.runtime.memory_max = Some(LIMIT_MIB << 20);
    spec.runtime.pids_max = Some(50);
    spec.runtime.cpu_max = Some(50.0);
    spec
}

fn hard_limits_are_enforced_or_reported_as_unavailable(groups: ControlGroups) {
    let home = Home::with(groups);
    let mut supervisor = home.supervisor();
    supervisor.hold(with_hard_limits(home.spec("--workers 2")));
    supervisor.succeed(1, Op::Start);
    let status = supervisor.running();
    let Some(group) = group_of(status.pid) else {
        let said = "hard limits are not available here: ";
        assert!(status.message.contains(said), "{status:?}");
        return;
    };
    assert_eq!(status.message, "");
    supervisor.succeed(2, Op::Stop);
    let controllers = std::fs::read_dir("/sys/fs/cgroup").unwrap().flatten();
    let left = |at: &Path| at.join(group.trim_start_matches('/')).exists();
    let roots: Vec<_> = controllers.map(|entry| entry.path()).collect();
    until("its groups are gone", || {
        let stays = roots.iter().any(|at| left(at)) || left(Path::new("/sys/fs/cgroup"));
        (!stays).then_some(())
    });
    let mut greedy = with_hard_limits(home.spec("--after 700 --hold-mib 200"));
    greedy.monitor_policy.start_interval = 1000;
    supervisor.hold(greedy);
    supervisor.succeed(3, Op::Start);
    let event = until("its end", || {
        supervisor.listen();
        supervisor.events.first().map(|(_, event)| event.clone())
    });
    assert_eq!(event.kind, EventKind::ProcessExit);
    let said = "killed by the kernel's memory killer (out of memory: ";
    assert!(event.reason.starts_with(said), "{event:?}");
    let limit = format!(" MiB used, limit {LIMIT_MIB}.0 MiB) after ");
    assert!(event.reason.contains(&limit), "{event:?}");
    let status = supervisor.status_where("backoff", |status| {
        status.process_state == ProcessState::Backoff
    });
    let last = status.last_exit.unwrap();
    assert_eq!((last.exit, last.oom), (Exit::Signal(9), true));
    let memory = last.memory.unwrap();
    assert_eq!(memory.limit, LIMIT_MIB << 20);
    let most = memory.limit + (1 << 20);
    assert!(
        (memory.limit / 2..=most).contains(&memory.used),
        "{memory:?}"
    );
    supervisor.operate(4, Op::Stop);
}
