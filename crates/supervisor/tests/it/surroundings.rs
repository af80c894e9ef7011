//! The environment, limits and rights of a command.

use std::collections::BTreeMap;
use std::fs::File;

use model::operation::Op;
use supervisor::ControlGroups;

use crate::harness::{Home, read, runs_as_root, until, with_and_without_groups};

fn report(home: &Home) -> BTreeMap<String, Vec<String>> {
    until("the report", || {
        home.path("work/report").exists().then_some(())
    });
    let mut facts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in read(&home.path("work/report")).lines() {
        let (kind, rest) = line.split_once(' ').unwrap();
        facts
            .entry(kind.to_owned())
            .or_default()
            .push(rest.to_owned());
    }
    facts
}

fn line<'a>(facts: &'a BTreeMap<String, Vec<String>>, kind: &str, begin: &str) -> &'a str {
    let lines = &facts[kind];
    lines.iter().find(|line| line.starts_with(begin)).unwrap()
}

#[test]
fn a_command_inherits_nothing_from_the_agent() {
    let home = Home::new();
    // Things that an agent has and a process must not get.
    let _open: Vec<File> = (0..50).map(|_| File::open("/dev/null").unwrap()).collect();
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    set_odd_limits();
    let mut supervisor = home.supervisor();
    let mut spec = home.spec("--report %/work/report");
    spec.identity.log_path = home.file("work/log");
    let user = spec.identity.user.clone();
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    let facts = report(&home);

    let mut names: Vec<&str> = facts["env"]
        .iter()
        .map(|v| v.split_once('=').unwrap().0)
        .collect();
    names.sort_unstable();
    // The shell itself adds PWD (and OLDPWD or SHLVL, by its kind).
    names.retain(|name| !["PWD", "OLDPWD", "SHLVL", "_"].contains(name));
    assert_eq!(
        names,
        [
            "HOME",
            "LANG",
            "LOGNAME",
            "MUSTER_AGENT",
            "MUSTER_NAME",
            "MUSTER_NAMESPACE",
            "PATH",
            "SHELL",
            "USER"
        ]
    );
    assert_eq!(line(&facts, "env", "MUSTER_"), "MUSTER_NAMESPACE=test");
    assert_eq!(line(&facts, "env", "USER="), format!("USER={user}"));

    let mut fds: Vec<&str> = facts["fd"].iter().map(String::as_str).collect();
    fds.retain(|fd| !fd.contains("/proc/"));
    let log = home.file("work/log");
    assert_eq!(
        fds,
        ["0 /dev/null", &format!("1 {log}"), &format!("2 {log}")]
    );
    assert_eq!(facts["cwd"], [home.file("work")]);
    assert_eq!(
        facts["session"], facts["pid"],
        "it leads a session of its own"
    );
    assert!(line(&facts, "status", "Umask").ends_with("0022"));
    assert!(line(&facts, "status", "SigBlk").ends_with("0000000000000000"));
    // A Rust program ignores SIGPIPE by itself.
    assert_eq!(
        line(&facts, "status", "SigIgn"),
        "SigIgn:\t0000000000001000"
    );
    let nofile = line(&facts, "limits", "Max open files");
    assert_eq!(nofile.split_whitespace().nth(3), Some("1024"));
    assert_eq!(facts["oom_score_adj"], ["0"]);
    for (limit, expected) in [
        ("Max core file size", ["0", "unlimited"]),
        ("Max stack size", ["8388608", "unlimited"]),
        ("Max locked memory", ["8388608", "8388608"]),
        ("Max file size", ["unlimited", "unlimited"]),
        ("Max processes", ["unlimited", "unlimited"]),
    ] {
        let shown = line(&facts, "limits", limit);
        let values: Vec<&str> = shown[limit.len()..].split_whitespace().take(2).collect();
        // An unprivileged agent cannot exceed the host's hard limit.
        let is_capped = values[0] == values[1] && values[1] != expected[1];
        assert!(values == expected || is_capped, "{limit}: {values:?}");
    }
    let pid: i32 = facts["pid"][0].parse().unwrap();
    let pid = rustix::process::Pid::from_raw(pid);
    if nix::unistd::geteuid().is_root() {
        assert_eq!(rustix::process::getpriority_process(pid), Ok(0));
    }
    use std::os::unix::fs::MetadataExt;
    for file in ["work/log", "pid"] {
        let mode = std::fs::metadata(home.path(file)).unwrap().mode() & 0o777;
        assert_eq!(mode, 0o644, "{file}");
    }
}

/// Limits and a nice value that no command may get.
fn set_odd_limits() {
    use rustix::process::{Resource, Rlimit};
    for (resource, soft) in [
        (Resource::Core, None),
        (Resource::Stack, Some(4 << 20)),
        (Resource::Memlock, Some(4096)),
        (Resource::Fsize, Some(1 << 30)),
    ] {
        let maximum = rustix::process::getrlimit(resource).maximum;
        let current = match (soft, maximum) {
            (Some(soft), Some(most)) => Some(soft.min(most)),
            (soft, most) => soft.or(most),
        };
        rustix::process::setrlimit(resource, Rlimit { current, maximum }).unwrap();
    }
    rustix::process::setpriority_process(None, 5).unwrap();
}

#[test]
fn a_root_agent_runs_a_process_with_its_users_rights() {
    if !runs_as_root() {
        return;
    }
    let home = Home::new();
    home.open_to_all();
    let mut supervisor = home.supervisor();
    let mut spec = home.spec("--report %/work/report");
    spec.identity.user = "nobody".into();
    spec.identity.log_path = home.file("work/log");
    spec.identity.pid_path = home.file("work/pid");
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    let facts = report(&home);
    let nobody = nix::unistd::User::from_name("nobody").unwrap().unwrap();
    let (uid, gid) = (nobody.uid.to_string(), nobody.gid.to_string());
    assert_eq!(
        line(&facts, "status", "Uid:")
            .split_whitespace()
            .collect::<Vec<_>>(),
        ["Uid:", &uid, &uid, &uid, &uid]
    );
    assert_eq!(
        line(&facts, "status", "Gid:")
            .split_whitespace()
            .collect::<Vec<_>>(),
        ["Gid:", &gid, &gid, &gid, &gid]
    );
    assert_eq!(
        line(&facts, "status", "Groups:").trim(),
        format!("Groups:\t{gid}")
    );
    assert!(line(&facts, "status", "CapEff").ends_with("0000000000000000"));
    assert_eq!(line(&facts, "env", "USER="), "USER=nobody");
    use std::os::unix::fs::MetadataExt;
    for file in ["work/log", "work/pid"] {
        let owner = std::fs::metadata(home.path(file)).unwrap().uid();
        assert_eq!(owner, nobody.uid.as_raw(), "{file} is its user's");
    }
}

#[test]
fn a_link_in_place_of_the_log_does_not_reach_files_of_root() {
    if !runs_as_root() {
        return;
    }
    let home = Home::new();
    home.open_to_all();
    std::fs::write(home.path("secret"), "untouched").unwrap();
    std::fs::set_permissions(
        home.path("secret"),
        std::os::unix::fs::PermissionsExt::from_mode(0o600),
    )
    .unwrap();
    std::os::unix::fs::symlink(home.path("secret"), home.path("work/log")).unwrap();
    std::os::unix::fs::symlink(home.path("secret"), home.path("work/pid")).unwrap();
    let mut supervisor = home.supervisor();
    let mut spec = home.spec("--print overwritten");
    spec.identity.user = "nobody".into();
    spec.identity.log_path = home.file("work/log");
    spec.identity.pid_path = home.file("work/pid");
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    supervisor.succeed(2, Op::Stop);
    assert_eq!(read(&home.path("secret")), "untouched");
}

#[test]
fn a_setup_path_that_its_user_cannot_enter_fails_the_start() {
    if !runs_as_root() {
        return;
    }
    let home = Home::new();
    home.open_to_all();
    std::fs::set_permissions(
        home.path("work"),
        std::os::unix::fs::PermissionsExt::from_mode(0o700),
    )
    .unwrap();
    let mut supervisor = home.supervisor();
    let mut spec = home.daemon();
    spec.identity.user = "nobody".into();
    supervisor.hold(spec);
    let outcome = supervisor.operate(1, Op::Start);
    assert_eq!(outcome.code, model::Code::COMMAND_FAILED);
    assert!(
        outcome
            .message
            .starts_with("spec.identity.setup_path: its user cannot enter it"),
        "{}",
        outcome.message
    );
}

#[test]
fn an_unprivileged_agent_starts_own_processes_and_refuses_others() {
    use std::os::unix::process::CommandExt;

    if !runs_as_root() {
        return;
    }
    let nobody = nix::unistd::User::from_name("nobody").unwrap().unwrap();
    // The tests themselves may run at a low priority.
    let own = rustix::process::getpriority_process(None).unwrap();
    let too_low = format!(
        "spec.runtime.nice: the agent runs as nobody and cannot give a nice value below {own}"
    );
    for (user, nice, expected) in [
        ("nobody", (own + 5).min(19), "success"),
        (
            "root",
            own + 5,
            "spec.identity.user: the agent runs as nobody and cannot run processes of root",
        ),
        ("nobody", own - 5, &*too_low),
    ] {
        let home = Home::new();
        home.open_to_all();
        for dir in [home.root().to_owned(), home.path("agent")] {
            let everyone = std::os::unix::fs::PermissionsExt::from_mode(0o777);
            std::fs::set_permissions(dir, everyone).unwrap();
        }
        let mut spec = home.daemon();
        spec.identity.user = user.into();
        spec.runtime.nice = Some(nice);
        std::fs::write(home.path("spec.json"), spec.to_json()).unwrap();
        std::fs::write(home.path("ops.json"), "[[1, \"start\"]]").unwrap();
        let mut agent = crate::crash::driver_of(&home)
            .uid(nobody.uid.as_raw())
            .gid(nobody.gid.as_raw())
            .spawn()
            .unwrap();
        let outcome = until("an end", || {
            std::fs::read_to_string(home.path("messages"))
                .ok()
                .filter(|text| !text.is_empty())
        });
        agent.kill().unwrap();
        agent.wait().unwrap();
        assert!(outcome.contains(expected), "{user}: {outcome}");
    }
}

with_and_without_groups!(a_huge_environment_is_passed_on_and_hides_no_family_member);

fn a_huge_environment_is_passed_on_and_hides_no_family_member(groups: ControlGroups) {
    let home = Home::with(groups);
    let mut supervisor = home.supervisor();
    // Its worker and its stray outlive it, and are found by the mark in their environment.
    let mut spec =
        home.spec("--report %/work/report --daemon --workers 1 --leak-child --pid-file %/pid");
    for number in 0..40 {
        let value = format!("{number}").repeat(10_000);
        spec.runtime.env.insert(format!("HUGE_{number}"), value);
    }
    let huge = spec.runtime.env.clone();
    supervisor.hold(spec.clone());
    supervisor.succeed(1, Op::Start);
    let facts = report(&home);
    for (name, value) in huge {
        let passed = format!("{name}={value}");
        assert!(facts["env"].contains(&passed), "{name}");
    }
    until("worker and stray", || (home.processes() == 3).then_some(()));
    supervisor.succeed(2, Op::Unmanage);
    crate::harness::kill(home.pid(), libc::SIGKILL);
    supervisor.stopped();
    assert_eq!(home.processes(), 2);
    supervisor.operate(3, Op::Kill);
    until("nothing is left", || (home.processes() == 0).then_some(()));

    // More than the kernel allows.
    for number in 0..200 {
        let value = "x".repeat(30_000);
        spec.runtime.env.insert(format!("MORE_{number}"), value);
    }
    supervisor.hold(spec);
    let outcome = supervisor.operate(4, Op::Start);
    let said = "/bin/sh could not be executed: Argument list too long";
    assert!(outcome.message.starts_with(said), "{}", outcome.message);
}
