//! `muster import --adopt` takes over from a real systemd, which then lets go as the advice says.

use testing::wait;

use super::super::root::{Init, can_run, can_run_systemd, said};
use super::{Fixture, Installer};

const UNIT: &str = "/etc/systemd/system/napper.service";
const PROGRAM: &str = "/bin/sleep 100081";

/// The pids of what runs with this argument, in the root. Processes that end meanwhile are no error.
fn running(fixture: &Fixture) -> Vec<i64> {
    let find = "exec 2>/dev/null; for p in /proc/[0-9]*; do
        tr '\\0' ' ' <$p/cmdline 2>/dev/null | grep -q '^/bin/sleep 100081 $' && echo ${p#/proc/}; done; true";
    // What the shell says of its folder is on the other stream.
    let found = fixture.root.command(&["sh", "-c", find]).output().unwrap();
    let found = String::from_utf8(found.stdout).unwrap();
    let pid = |line: &str| line.parse().unwrap_or_else(|_| panic!("no pid: {found}"));
    found.lines().map(pid).collect()
}

#[test]
fn a_unit_of_systemd_is_taken_over_without_a_restart() {
    if !can_run() || !can_run_systemd() {
        return;
    }
    let fixture = Fixture::new(Installer::Dpkg, Init::Systemd);
    let root = &fixture.root;
    fixture.install(&fixture.current, &["muster", "muster-agent"]);
    fixture.configure_server();
    root.run(&["systemctl", "start", "muster-server"]);
    fixture.wait_for_server();
    fixture.configure_agent();
    root.run(&["systemctl", "start", "muster-agent"]);
    fixture.wait_for_agent();

    let unit = format!(
        "[Service]\nExecStart={PROGRAM}\nWorkingDirectory=/tmp\nRestart=always\nRestartSec=1\n[Install]\nWantedBy=multi-user.target\n"
    );
    std::fs::write(root.path(UNIT), unit).unwrap();
    root.run(&["systemctl", "daemon-reload"]);
    root.run(&["systemctl", "enable", "--now", "napper"]);
    let pid = root.main_pid("napper");
    assert_eq!(running(&fixture), [pid]);

    let line = ["muster", "import", UNIT, "-n", "old", "--adopt", "--yes"];
    let output = root.command(&line).output().unwrap();
    let adopted = said(&output);
    assert!(output.status.success(), "{adopted}");
    let expected = format!("old/napper runs on as pid {pid}, managed");
    assert!(adopted.contains(&expected), "{adopted}");
    assert_eq!(root.main_pid("napper"), pid);
    assert_eq!(fixture.process(), Some(pid));

    // What the command said that systemd has to be told.
    for told in [
        "Restart=no",
        "KillMode=none",
        "ExecStop=",
        "systemctl disable UNIT",
    ] {
        assert!(adopted.contains(told), "{told}: {adopted}");
    }
    let drop_in = root.path(&format!("{UNIT}.d"));
    std::fs::create_dir(&drop_in).unwrap();
    let text = "[Service]\nRestart=no\nKillMode=none\nExecStop=\n";
    std::fs::write(drop_in.join("muster.conf"), text).unwrap();
    root.run(&["systemctl", "daemon-reload"]);
    root.run(&["systemctl", "disable", "napper"]);
    root.run(&["systemctl", "stop", "napper"]);
    assert!(!root.is_active("napper"));
    assert_eq!(running(&fixture), [pid]);
    assert_eq!(fixture.process(), Some(pid));

    // From now on the agent alone starts it again.
    root.run(&["sh", "-c", &format!("kill -9 {pid}")]);
    let next = wait::until("the agent to start it again", || {
        fixture.process().filter(|next| *next != pid)
    });
    assert_eq!(running(&fixture), [next]);
    assert!(!root.is_active("napper"));
    // A restart of the agent neither ends nor doubles it.
    root.run(&["systemctl", "restart", "muster-agent"]);
    fixture.wait_for_agent();
    wait::until("the agent to report it", || {
        (fixture.process() == Some(next)).then_some(())
    });
    assert_eq!(running(&fixture), [next]);
}
