//! The checks of the host itself.

use std::fs;

use model::host_check::HostCheck;
use model::kernel::{KernelFeature, KernelFeatures};
use supervisor::host_check::{
    CLibrary, OfferedGroups, c_library, find_user, has_subreaper, offered_groups,
};
use supervisor::{ControlGroups, missing_features};

use super::parse::{
    HidePid, SelinuxMode, directory_services, hide_pid, kernel_version, selinux_mode, selinux_type,
    system_name,
};
use super::{CheckSubject, data, limits};

/// One line of the report, or several.
type Check = fn(&CheckSubject) -> Vec<HostCheck>;

/// In the order of the report.
pub(super) const CHECKS: [(&str, Check); 11] = [
    ("kernel", |_| vec![kernel()]),
    ("pidfd", |_| vec![pidfd(calls_missing())]),
    ("cgroups", |subject| {
        vec![cgroups(subject.cgroups, &offered_groups())]
    }),
    ("libc", |_| {
        vec![libc(&c_library(), &text("/etc/nsswitch.conf"), has_nscd())]
    }),
    ("users", |_| vec![users()]),
    ("user", |_| vec![user(rustix::process::geteuid().is_root())]),
    ("proc", |_| {
        vec![proc(
            hide_pid(&text("/proc/mounts")),
            rustix::process::geteuid().is_root(),
        )]
    }),
    ("subreaper", |_| vec![subreaper(has_subreaper())]),
    ("selinux", |_| vec![selinux()]),
    ("open files", |subject| {
        vec![limits::open_files(&subject.data)]
    }),
    ("data", |subject| data::check(&subject.data)),
];

/// The oldest kernel that the tests run as.
const OLDEST_KERNEL: (u32, u32) = (3, 10);
/// The first kernel that can kill a control group as a whole.
const KILLS_GROUPS: (u32, u32) = (5, 14);
/// No host has it. It makes a lookup ask every service.
const NO_USER: &str = "muster-check-no-such-user";

fn text(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn release() -> String {
    let uname = rustix::system::uname();
    uname.release().to_string_lossy().into_owned()
}

/// The missing calls; control groups have a check of their own.
fn calls_missing() -> KernelFeatures {
    let missing = missing_features(ControlGroups::Off);
    missing
        .iter()
        .filter(|feature| *feature != KernelFeature::ControlGroups)
        .collect()
}

fn without(features: impl Iterator<Item = KernelFeature>) -> String {
    let each: Vec<String> = features
        .map(|feature| {
            format!(
                "without {} the agent {}",
                feature.as_str(),
                feature.without()
            )
        })
        .collect();
    each.join("; ")
}

const ALLOW_CALLS: &str =
    "a newer kernel has them; in a container, allow them in its seccomp profile";

fn kernel() -> HostCheck {
    let machine = rustix::system::uname();
    let release = release();
    let system = system_name(&text("/etc/os-release")).unwrap_or_else(|| "unknown system".into());
    let arch = machine.machine().to_string_lossy().into_owned();
    let found = format!("Linux {release} {arch}, {system}");
    if kernel_version(&release).is_some_and(|version| version < OLDEST_KERNEL) {
        return HostCheck::no("kernel", found, "the agent needs Linux 3.10 or later");
    }
    let is_pidfd = |feature: &KernelFeature| {
        matches!(
            feature,
            KernelFeature::PidfdOpen | KernelFeature::PidfdSendSignal
        )
    };
    let missing = calls_missing();
    let others: Vec<KernelFeature> = missing.iter().filter(|one| !is_pidfd(one)).collect();
    if others.is_empty() {
        return HostCheck::ok("kernel", found);
    }
    let hint = format!("{}: {ALLOW_CALLS}", without(others.into_iter()));
    let names: Vec<&str> = missing.names().collect();
    HostCheck::degraded(
        "kernel",
        format!("{found}; lacks {}", names.join(", ")),
        hint,
    )
}

fn pidfd(missing: KernelFeatures) -> HostCheck {
    let pidfd = [KernelFeature::PidfdOpen, KernelFeature::PidfdSendSignal];
    let lacking: Vec<KernelFeature> = pidfd
        .into_iter()
        .filter(|one| missing.contains(*one))
        .collect();
    if lacking.is_empty() {
        return HostCheck::ok("pidfd", "processes are watched through pidfds");
    }
    let hint = format!("{}: {ALLOW_CALLS}", without(lacking.into_iter()));
    HostCheck::degraded("pidfd", "the kernel does not offer or permit pidfds", hint)
}

fn cgroups(wanted: ControlGroups, offered: &OfferedGroups) -> HostCheck {
    let name = "cgroups";
    let version = match (&offered.v2, offered.v1) {
        (Some(_), true) => "v1 and v2",
        (Some(_), false) => "v2",
        (None, true) => "v1",
        (None, false) => "none mounted",
    };
    if wanted == ControlGroups::Off {
        return HostCheck::ok(
            name,
            format!("{version}; not used: the agent is set to use none"),
        );
    }
    let lacks = format!("the agent {}", KernelFeature::ControlGroups.without());
    let Some(at) = &offered.v2 else {
        let hint =
            format!("{lacks}; mount cgroup2, or boot with systemd.unified_cgroup_hierarchy=1");
        return HostCheck::degraded(name, format!("{version}; groups need v2"), hint);
    };
    if let Some(refused) = &offered.refused {
        let hint = format!(
            "{lacks}, and there are no hard limits; run the agent as root, in a container with writable control groups"
        );
        return HostCheck::degraded(name, format!("{version}; {refused}"), hint);
    }
    let limits = match offered.limits.is_empty() {
        true => "no controller for hard limits".to_owned(),
        false => format!("hard limits of {}", offered.limits.join(", ")),
    };
    let found = format!(
        "{version} at {}, groups can be created; {limits}",
        at.display()
    );
    let by_version = || kernel_version(&release()).is_some_and(|version| version >= KILLS_GROUPS);
    if !offered.kills.unwrap_or_else(by_version) {
        let hint = without([KernelFeature::CgroupKill].into_iter());
        return HostCheck::degraded(name, format!("{found}; no cgroup.kill"), hint);
    }
    match offered.limits.len() {
        3 => HostCheck::ok(name, found),
        _ => HostCheck::degraded(
            name,
            found,
            "processes that ask for a limit without its controller run without it, and their status says so",
        ),
    }
}

/// musl asks this daemon, which asks the directory service.
fn has_nscd() -> bool {
    std::path::Path::new("/var/run/nscd/socket").exists()
}

fn libc(library: &CLibrary, nsswitch: &str, has_nscd: bool) -> HostCheck {
    let name = "libc";
    let services = directory_services(nsswitch);
    match library {
        CLibrary::Glibc(version) => HostCheck::ok(name, format!("glibc {version}")),
        CLibrary::Musl | CLibrary::Other if !services.is_empty() && !has_nscd => {
            let message = format!(
                "musl: users of {} are not found, only those of /etc/passwd",
                services.join(", ")
            );
            let hint = "use the glibc build of the agent on this host, or run nscd";
            HostCheck::degraded(name, message, hint)
        }
        CLibrary::Musl => HostCheck::ok(name, "musl, linked into the agent"),
        CLibrary::Other => HostCheck::ok(name, "neither glibc nor musl"),
    }
}

/// Looks up a user of this host and one that no service knows.
fn users() -> HostCheck {
    let name = "users";
    let services = directory_services(&text("/etc/nsswitch.conf"));
    let from = match services.is_empty() {
        true => "/etc/passwd".to_owned(),
        false => format!("/etc/passwd and {}", services.join(", ")),
    };
    let looked_up = find_user("root").and_then(|root| Ok((root, find_user(NO_USER)?)));
    match looked_up {
        Ok((Some(_), _)) => HostCheck::ok(name, format!("found through NSS, from {from}")),
        Ok((None, _)) => HostCheck::degraded(
            name,
            format!("root is not found, from {from}"),
            "processes are found by the name of their user: add root to /etc/passwd",
        ),
        Err(why) => HostCheck::no(
            name,
            format!("a user cannot be looked up, from {from}: {why}"),
            "starts of processes would fail: see the `passwd` line of /etc/nsswitch.conf, and the directory service",
        ),
    }
}

fn user(is_root: bool) -> HostCheck {
    match is_root {
        true => HostCheck::ok("user", "root: processes of any user"),
        false => HostCheck::degraded(
            "user",
            format!(
                "user {}: its own processes only",
                rustix::process::geteuid().as_raw()
            ),
            "an agent that runs as root can run processes of any user and set limits",
        ),
    }
}

fn proc(found: HidePid, is_root: bool) -> HostCheck {
    let name = "proc";
    match (found, is_root) {
        (HidePid::NotMounted, _) => HostCheck::no(
            name,
            "/proc is not mounted",
            "the agent finds processes there: mount -t proc proc /proc",
        ),
        (HidePid::Off, _) => HostCheck::ok(name, "mounted, shows all processes"),
        (HidePid::NoAccess | HidePid::Invisible, true) => {
            HostCheck::ok(name, "mounted with hidepid, which root does not mind")
        }
        (HidePid::NoAccess | HidePid::Invisible, false) => HostCheck::degraded(
            name,
            "mounted with hidepid: processes of other users cannot be seen",
            "the agent cannot tell who holds a port or a pid of another user; mount /proc with gid= of the agent's group, or run the agent as root",
        ),
    }
}

fn subreaper(answer: Result<(), String>) -> HostCheck {
    match answer {
        Ok(()) => HostCheck::ok("subreaper", "exit codes of daemons are seen"),
        Err(why) => HostCheck::degraded(
            "subreaper",
            format!("refused: {why}"),
            "exit codes of daemons, which leave their parent, are not seen",
        ),
    }
}

fn selinux() -> HostCheck {
    let read = |path| fs::read_to_string(path).ok();
    let enforce = read("/sys/fs/selinux/enforce").or_else(|| read("/selinux/enforce"));
    let context = text("/proc/self/attr/current");
    selinux_of(selinux_mode(enforce.as_deref()), selinux_type(&context))
}

fn selinux_of(mode: SelinuxMode, domain: Option<&str>) -> HostCheck {
    let name = "selinux";
    let free = ["unconfined_t", "unconfined_service_t", "initrc_t", "spc_t"];
    match (mode, domain) {
        (SelinuxMode::Disabled, _) => HostCheck::ok(name, "disabled"),
        (SelinuxMode::Permissive, _) => HostCheck::ok(name, "permissive"),
        (SelinuxMode::Enforcing, Some(domain)) if free.contains(&domain) => {
            HostCheck::ok(name, format!("enforcing; {domain} is not confined"))
        }
        (SelinuxMode::Enforcing, domain) => HostCheck::degraded(
            name,
            format!("enforcing; runs as {}", domain.unwrap_or("an unknown type")),
            "the policy of this type may refuse starts, signals and files: ausearch -m avc -c muster-agent shows what it refused",
        ),
    }
}

#[cfg(test)]
mod tests {
    use model::host_check::CheckResult;

    use super::*;

    #[test]
    fn a_static_build_lacks_users_of_directory_services_without_nscd() {
        let sssd = "passwd: files sss\n";
        let of = |library, has_nscd| libc(&library, sssd, has_nscd).result;
        assert_eq!(of(CLibrary::Musl, false), CheckResult::Degraded);
        assert_eq!(of(CLibrary::Musl, true), CheckResult::Ok);
        assert_eq!(of(CLibrary::Glibc("2.17".into()), false), CheckResult::Ok);
        let files = libc(&CLibrary::Musl, "passwd: files\n", false);
        assert_eq!(files.result, CheckResult::Ok);
    }

    #[test]
    fn control_groups_are_judged_by_what_the_agent_can_do_with_them() {
        let good = OfferedGroups {
            v2: Some("/sys/fs/cgroup".into()),
            v1: false,
            refused: None,
            kills: Some(true),
            limits: vec!["memory", "cpu", "pids"],
        };
        let judged = |offered: &OfferedGroups| cgroups(ControlGroups::Auto, offered);
        assert_eq!(judged(&good).result, CheckResult::Ok);
        for bad in [
            OfferedGroups {
                v2: None,
                v1: true,
                ..good.clone()
            },
            OfferedGroups {
                refused: Some("read-only".into()),
                ..good.clone()
            },
            OfferedGroups {
                kills: Some(false),
                ..good.clone()
            },
            OfferedGroups {
                limits: vec!["pids"],
                ..good.clone()
            },
        ] {
            let check = judged(&bad);
            assert_eq!(check.result, CheckResult::Degraded, "{check:?}");
            assert!(!check.hint.is_empty(), "{check:?}");
            assert_eq!(cgroups(ControlGroups::Off, &bad).result, CheckResult::Ok);
        }
    }

    #[test]
    fn what_is_hidden_matters_to_ordinary_users_only() {
        assert_eq!(proc(HidePid::Invisible, true).result, CheckResult::Ok);
        assert_eq!(
            proc(HidePid::Invisible, false).result,
            CheckResult::Degraded
        );
        assert_eq!(proc(HidePid::NotMounted, true).result, CheckResult::No);
    }

    #[test]
    fn selinux_matters_when_it_confines_the_agent() {
        let of = |mode, domain| selinux_of(mode, domain).result;
        assert_eq!(
            of(SelinuxMode::Enforcing, Some("initrc_t")),
            CheckResult::Ok
        );
        assert_eq!(
            of(SelinuxMode::Enforcing, Some("cron_t")),
            CheckResult::Degraded
        );
        assert_eq!(of(SelinuxMode::Enforcing, None), CheckResult::Degraded);
        assert_eq!(of(SelinuxMode::Permissive, Some("cron_t")), CheckResult::Ok);
    }

    #[test]
    fn missing_pidfds_are_named_with_what_it_means() {
        let check = pidfd([KernelFeature::PidfdOpen].into_iter().collect());
        assert_eq!(check.result, CheckResult::Degraded);
        assert!(check.hint.contains("once a second"), "{check:?}");
        assert_eq!(pidfd(KernelFeatures::default()).result, CheckResult::Ok);
    }
}
