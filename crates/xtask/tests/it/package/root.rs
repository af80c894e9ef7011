//! A throw-away root: a small Debian in namespaces of its own, where packages are installed and agents run.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use testing::{precondition, wait};

/// The folder of a Debian, and the namespaces (processes, mounts, network) that everything in it runs in. Dropping it ends all
/// of its processes.
pub(super) struct Root {
    folder: tempfile::TempDir,
    unshare: Child,
    /// The first process of the namespaces.
    init: u32,
    /// Of a root with systemd. Removed last.
    _cgroup: Option<ControlGroup>,
}

/// A control group for everything below a systemd.
struct ControlGroup {
    path: PathBuf,
}

impl ControlGroup {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("muster-package-test-{}-{n}", std::process::id());
        let path = unified().unwrap().join(name);
        std::fs::create_dir(&path).unwrap();
        Self { path }
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        // Its processes have ended; from the leaves up.
        let removed = Command::new("find")
            .arg(&self.path)
            .args(["-depth", "-type", "d", "-delete"])
            .status();
        assert!(removed.is_ok_and(|status| status.success()) || std::thread::panicking());
    }
}

/// Where version 2 of control groups is mounted.
fn unified() -> Option<PathBuf> {
    let mounts = std::fs::read_to_string("/proc/self/mounts").ok()?;
    let mount = mounts
        .lines()
        .find(|line| line.split(' ').nth(2) == Some("cgroup2"))?;
    Some(mount.split(' ').nth(1)?.into())
}

/// What a test with a systemd of its own needs, beside [`can_run`].
#[track_caller]
pub(super) fn can_run_systemd() -> bool {
    precondition::is_met(unified().is_some(), "control groups of version 2")
}

/// What a test about installed packages needs.
#[track_caller]
pub(super) fn can_run() -> bool {
    precondition::is_met(
        rustix::process::geteuid().is_root(),
        "root: packages are installed in a root of their own",
    ) && precondition::succeeds(
        &["mmdebstrap", "--version"],
        "mmdebstrap: scripts/setup test",
    ) && precondition::succeeds(&["rpm", "--version"], "rpm: scripts/setup test")
        && precondition::succeeds(
            &["unshare", "--mount", "--pid", "--net", "--fork", "true"],
            "namespaces of its own",
        )
        && precondition::is_met(
            debian_suite().is_some(),
            "Debian, whose root runs its binaries",
        )
}

/// The release of Debian in the root: the one that runs here, because binaries that are built here run there; or the one that
/// `MUSTER_TEST_SUITE` names, for binaries that run on older ones.
fn debian_suite() -> Option<String> {
    if let Ok(suite) = std::env::var("MUSTER_TEST_SUITE") {
        return Some(suite);
    }
    let text = std::fs::read_to_string("/etc/os-release").ok()?;
    let value = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key))?;
        Some(line.trim_matches('"').to_owned())
    };
    (value("ID=")? == "debian").then(|| value("VERSION_CODENAME="))?
}

/// Beside what is essential.
const PACKAGES: &str = "passwd,systemd,systemd-sysv,curl,apt";

/// The root as an archive, made once by the first test that needs it.
fn archive() -> PathBuf {
    let suite = debian_suite().unwrap();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let archive = folder.join(format!("package-root-{suite}-{PACKAGES}.tar"));
    let lock = std::fs::File::create(folder.join("package-root.lock")).unwrap();
    lock.lock().unwrap();
    if !archive.exists() {
        let made = folder.join(format!("package-root-{suite}.new.tar"));
        let output = Command::new("mmdebstrap")
            .args(["--quiet", "--mode=root", "--variant=essential"])
            .arg(format!("--include={PACKAGES}"))
            .arg("--aptopt=Acquire::Languages \"none\"")
            // A third of all files, which each root would unpack and remove.
            .arg("--customize-hook=rm -r \"$1\"/usr/share/man \"$1\"/usr/share/locale \"$1\"/usr/share/doc")
            .arg(&suite)
            .arg(&made)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", said(&output));
        std::fs::rename(made, &archive).unwrap();
    }
    archive
}

/// What the first process of a root is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Init {
    /// Sleeps: as in a container or a chroot.
    Sleep,
    Systemd,
}

/// Mounts what the root needs and starts its first process. Arguments: the root, and a command line to run in it.
const ENTER: &str = r#"set -e
root=$1; shift
# Sandboxed units need a root that is a mount.
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t tmpfs tmpfs "$root/run"
if [ "$1" != sleep ]; then
  mount -t sysfs sysfs "$root/sys"
  mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
fi
cd "$root"
exec chroot "$root" env --ignore-environment container=test PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@""#;

impl Root {
    pub(super) fn new(init: Init) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let unpacked = Command::new("tar")
            .arg("--directory")
            .arg(folder.path())
            .arg("--extract")
            .arg("--file")
            .arg(archive())
            .status()
            .unwrap();
        assert!(unpacked.success());
        // Others than root enter it, too.
        let open: std::fs::Permissions = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(folder.path(), open).unwrap();
        // These change the kernel, which all roots share.
        for unit in ["systemd-sysctl.service", "systemd-modules-load.service"] {
            let mask = folder.path().join("etc/systemd/system").join(unit);
            std::os::unix::fs::symlink("/dev/null", mask).unwrap();
        }
        let cgroup = (init == Init::Systemd).then(ControlGroup::new);
        // Ends with this thread, and everything in the namespaces with it.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]);
        if let Some(cgroup) = &cgroup {
            let join = "echo $$ >\"$0/cgroup.procs\"; exec \"$@\"";
            command.args(["sh", "-c", join]).arg(&cgroup.path);
            command.args(["unshare", "--cgroup", "--uts", "--ipc"]);
        } else {
            command.arg("unshare");
        }
        command
            .args(["--mount", "--pid", "--net", "--fork", "--kill-child"])
            .args(["--propagation", "private", "sh", "-c", ENTER, "enter"])
            .arg(folder.path());
        match init {
            Init::Sleep => command.args(["sleep", "infinity"]),
            Init::Systemd => command.args(["/lib/systemd/systemd", "--log-target=null"]),
        };
        let unshare = command.stdin(Stdio::null()).spawn().unwrap();
        let children = format!("/proc/{0}/task/{0}/children", unshare.id());
        let first = wait::until("the first process of the root", || {
            let pid: u32 = std::fs::read_to_string(&children)
                .ok()?
                .trim()
                .parse()
                .ok()?;
            let program = std::fs::read_link(format!("/proc/{pid}/exe")).ok()?;
            let name = program.file_name()?;
            (name == "sleep" || name == "systemd").then_some(pid)
        });
        let root = Self {
            folder,
            unshare,
            init: first,
            _cgroup: cgroup,
        };
        let up = root
            .nsenter(&["--net"])
            .args(["ip", "link", "set", "lo", "up"])
            .status();
        assert!(up.unwrap().success());
        if init == Init::Systemd {
            wait::until("systemd's boot", || {
                let state = root.command(&["systemctl", "is-system-running"]).output();
                let state = String::from_utf8(state.unwrap().stdout).unwrap();
                // Degraded: a unit failed that a container cannot run.
                ["running", "degraded"].contains(&state.trim())
            });
        }
        root
    }

    /// The first process of its namespaces, as this machine numbers it.
    pub(super) fn init(&self) -> u32 {
        self.init
    }

    pub(super) fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below.trim_start_matches('/'))
    }

    fn nsenter(&self, namespaces: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command
            .args(["--target", &self.init.to_string()])
            .args(namespaces)
            .stdin(Stdio::null());
        command
    }

    /// A command in the root, with nothing of this test's environment.
    pub(super) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.nsenter(&["--mount", "--pid", "--net", "--root", "--wd=/"]);
        command
            .args(["env", "--ignore-environment", "HOME=/root"])
            .arg("PATH=/usr/sbin:/usr/bin:/sbin:/bin")
            .args(args);
        command
    }

    /// A command of this machine that acts on the root's folder, among the processes of the root.
    pub(super) fn command_outside(&self, args: &[&str]) -> Command {
        let mut command = self.nsenter(&["--mount", "--pid", "--net"]);
        command.args(args);
        command
    }

    /// Runs to the end, and returns what was said.
    #[track_caller]
    pub(super) fn run(&self, args: &[&str]) -> String {
        let output = self.command(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", said(&output));
        said(&output)
    }

    #[track_caller]
    pub(super) fn json(&self, args: &[&str]) -> serde_json::Value {
        let output = self.command(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", said(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Starts a program that stays; its log is at this path of the root.
    pub(super) fn start(&self, log: &str, args: &[&str]) {
        let log = std::fs::File::create(self.path(log)).unwrap();
        let mut line = vec!["setsid", "--fork"];
        line.extend(args);
        let status = self
            .command(&line)
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .status()
            .unwrap();
        assert!(status.success(), "{args:?}");
    }

    /// Whether systemd runs this unit.
    pub(super) fn is_active(&self, unit: &str) -> bool {
        let output = self.command(&["systemctl", "is-active", unit]).output();
        String::from_utf8(output.unwrap().stdout).unwrap().trim() == "active"
    }

    #[track_caller]
    pub(super) fn main_pid(&self, unit: &str) -> i64 {
        let shown = self.run(&["systemctl", "show", "--value", "--property=MainPID", unit]);
        shown.trim().parse().unwrap()
    }

    /// Whether a process of the root runs this program; a zombie does not.
    pub(super) fn runs(&self, pid: i64, program: &str) -> bool {
        let link = format!("/proc/{pid}/exe");
        let output = self.command(&["readlink", &link]).output().unwrap();
        let path = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        output.status.success() && path.trim_end_matches(" (deleted)").ends_with(program)
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        // Its child, the first process of the namespaces, is killed with it, and so is every other one.
        let _ = self.unshare.kill();
        let _ = self.unshare.wait();
        let first = PathBuf::from(format!("/proc/{}", self.init));
        wait::until("the end of the root's processes", || !first.exists());
    }
}

pub(super) fn said(output: &Output) -> String {
    let (stdout, stderr) = (&output.stdout, &output.stderr);
    String::from_utf8_lossy(stdout).into_owned() + &String::from_utf8_lossy(stderr)
}
