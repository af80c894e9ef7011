//! A throw-away root: a small Debian in namespaces of its own, where packages are installed and agents run.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use testing::{precondition, wait};

/// The folder of a Debian, and the namespaces (processes, mounts, network) that everything in it runs in. Dropping it ends all
/// of its processes.
pub(super) struct Root {
    folder: tempfile::TempDir,
    unshare: Child,
    /// The first process of the namespaces.
    init: u32,
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

/// The release of the Debian that runs here: binaries that are built here run there.
fn debian_suite() -> Option<String> {
    let text = std::fs::read_to_string("/etc/os-release").ok()?;
    let value = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key))?;
        Some(line.trim_matches('"').to_owned())
    };
    (value("ID=")? == "debian").then(|| value("VERSION_CODENAME="))?
}

/// The root as an archive, made once by the first test that needs it.
fn archive() -> PathBuf {
    let suite = debian_suite().unwrap();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let archive = folder.join(format!("package-root-{suite}.tar"));
    let lock = std::fs::File::create(folder.join("package-root.lock")).unwrap();
    lock.lock().unwrap();
    if !archive.exists() {
        let made = folder.join(format!("package-root-{suite}.new.tar"));
        let output = Command::new("mmdebstrap")
            .args(["--quiet", "--mode=root", "--variant=essential"])
            .args(["--include=passwd", "--aptopt=Acquire::Languages \"none\""])
            .arg(&suite)
            .arg(&made)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", said(&output));
        std::fs::rename(made, &archive).unwrap();
    }
    archive
}

impl Root {
    pub(super) fn new() -> Self {
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
        // Ends with this thread, and everything in the namespaces with it.
        let unshare = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "unshare"])
            .args(["--mount", "--pid", "--net", "--fork", "--kill-child"])
            .arg(format!("--root={}", folder.path().display()))
            .args(["--mount-proc", "sleep", "infinity"])
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let children = format!("/proc/{0}/task/{0}/children", unshare.id());
        let init = wait::until("the first process of the root", || {
            let pid: u32 = std::fs::read_to_string(&children)
                .ok()?
                .trim()
                .parse()
                .ok()?;
            let program = std::fs::read_link(format!("/proc/{pid}/exe")).ok()?;
            program.ends_with("sleep").then_some(pid)
        });
        let root = Self {
            folder,
            unshare,
            init,
        };
        let up = root
            .nsenter(&["--net"])
            .args(["ip", "link", "set", "lo", "up"])
            .status();
        assert!(up.unwrap().success());
        root
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
