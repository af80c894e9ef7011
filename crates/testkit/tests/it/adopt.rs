//! `muster import --adopt`: a real agent takes over real processes that another supervisor started.
//!
//! There is no systemd in the test: a script in its place answers the one question about the pid.

use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};

use testkit::Cluster;

use crate::command_line::{muster, muster_with};

const HOST: &str = "10.1.1.1";

/// A process that this test started, and ends.
struct Foreign(Child);

impl Foreign {
    fn start() -> Self {
        let child = Command::new("sleep")
            .arg("1000")
            .stdin(Stdio::null())
            .spawn();
        Self(child.unwrap())
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// A unit, and a `systemctl` that names this pid.
fn unit(cluster: &Cluster, name: &str, program: &str, pid: u32) -> (String, String) {
    let folder = cluster.path().join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let shown = folder.display();
    let user = std::env::var("USER").unwrap_or_else(|_| "root".to_owned());
    let text = format!(
        "[Service]\nExecStart={program} 1000\nUser={user}\nWorkingDirectory={shown}\nPIDFile={shown}/x.pid\nRestart=always\n"
    );
    let file = folder.join(format!("{name}.service"));
    std::fs::write(&file, text).unwrap();
    let systemctl = folder.join("systemctl");
    std::fs::write(&systemctl, format!("#!/bin/sh\necho {pid}\n")).unwrap();
    std::fs::set_permissions(&systemctl, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{shown}:{}", std::env::var("PATH").unwrap());
    (file.display().to_string(), path)
}

#[test]
fn what_runs_is_taken_over_without_a_restart() {
    let cluster = Cluster::start();
    let _agent = cluster.agent(HOST);
    let foreign = Foreign::start();
    let pid = foreign.0.id();
    let (file, path) = unit(&cluster, "napper", "/bin/sleep", pid);
    let args = ["import", &file, "-n", "old", "--host", HOST, "--adopt"];
    let env = [("PATH", path.as_str())];
    // It asks first.
    let ran = muster_with(&cluster, &args, &env);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("--yes"), "{ran:?}");
    assert_eq!(
        muster(&cluster, &["ps", "-o", "json"]).fine().json()["count"],
        0
    );
    let ran = muster_with(&cluster, &[&args[..], &["--yes"]].concat(), &env).fine();
    assert!(
        ran.stdout
            .contains(&format!("old/napper runs on as pid {pid}, managed")),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("KillMode=none"), "{ran:?}");
    let rows = muster(&cluster, &["ps", "-o", "json"]).fine().json();
    let row = &rows["processes"][0];
    assert_eq!(
        (row["pid"].as_u64(), row["managed"].as_bool()),
        (Some(u64::from(pid)), Some(true)),
        "{row}"
    );
    // The next command forgets it, so that the agent does not start another one when the test ends it.
    muster(&cluster, &["unregister", "old/napper", "--all", "--yes"]).fine();
}

#[test]
fn a_process_that_the_agent_does_not_find_is_not_managed() {
    let cluster = Cluster::start();
    let _agent = cluster.agent(HOST);
    let foreign = Foreign::start();
    // The unit says another program than the one that runs.
    let (file, path) = unit(&cluster, "other", "/opt/other/program", foreign.0.id());
    let args = [
        "import", &file, "-n", "old", "--host", HOST, "--adopt", "--yes",
    ];
    let ran = muster_with(&cluster, &args, &[("PATH", path.as_str())]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr.contains("is registered, and not managed"),
        "{ran:?}"
    );
    let rows = muster(&cluster, &["ps", "-o", "json"]).fine().json();
    assert_eq!(rows["processes"][0]["managed"], false, "{rows}");
}

#[test]
fn what_cannot_be_taken_over_is_left_alone() {
    let cluster = Cluster::start();
    let _agent = cluster.agent(HOST);
    let file = cluster.path().join("Procfile");
    std::fs::write(&file, "web: sleep 1000\n").unwrap();
    let file = file.display().to_string();
    let ran = muster(
        &cluster,
        &["import", &file, "--host", HOST, "--adopt", "--yes"],
    );
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr.contains("keep no list of pids") && ran.stderr.contains("nothing was done"),
        "{ran:?}"
    );
    assert_eq!(
        muster(&cluster, &["ps", "-o", "json"]).fine().json()["count"],
        0
    );
}
