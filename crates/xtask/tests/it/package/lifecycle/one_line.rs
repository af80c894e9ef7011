//! The line that `muster token create` prints, under a real systemd and beside the agent's package.

use testing::wait;

use super::super::made::next_version;
use super::super::root::{Init, can_run, can_run_systemd, said};
use super::{Fixture, Installer, UNIT_LINK};

const UNIT: &str = "/etc/systemd/system/muster-agent.service";

/// The line of a new token, as the server of the package prints it on its own machine.
fn install_line(fixture: &Fixture) -> String {
    let made = fixture.muster(&["token", "create", "--expires-in", "1h"]);
    let line = made["install"].as_str().unwrap();
    assert!(line.starts_with("curl -fsS http://127.0.0.1:7100/install.sh | sh -s -- --token "));
    line.to_owned()
}

#[test]
fn under_systemd_one_line_installs_upgrades_and_uninstalls() {
    if !can_run() || !can_run_systemd() {
        return;
    }
    let fixture = Fixture::new(Installer::Dpkg, Init::Systemd);
    let root = &fixture.root;
    fixture.install(&fixture.current, &["muster"]);
    fixture.configure_server();
    root.run(&["systemctl", "start", "muster-server"]);
    fixture.wait_for_server();

    // The package of the server has an agent for its own processor; the address is that of the route to the server.
    let line = install_line(&fixture);
    let printed = root.run(&["sh", "-c", &line]);
    assert!(printed.contains("joined as host 0:127.0.0.1"), "{printed}");
    assert!(root.is_active("muster-agent"), "{printed}");
    let enabled = root.run(&["systemctl", "is-enabled", "muster-agent"]);
    assert_eq!(enabled.trim(), "enabled");
    // The small root has neither kill nor man, which it says, too.
    let verify = ["systemd-analyze", "verify", UNIT];
    let verified = said(&root.command(&verify).output().unwrap());
    assert!(!verified.contains("ignoring"), "{verified}");
    let (agent, process) = fixture.start_process();
    assert_eq!(root.main_pid("muster-agent"), agent);
    let printed = root.run(&["sh", "-c", &line]);
    assert!(printed.contains("runs already"), "{printed}");

    // A server of the next version hands out the next agent.
    fixture.install(&fixture.next, &["muster"]);
    let printed = wait::until("the server after its restart", || {
        let output = root.command(&["sh", "-c", &line]).output().unwrap();
        let printed = said(&output);
        printed.contains("went from").then_some(printed)
    });
    assert!(printed.contains("no process was touched"), "{printed}");
    assert_eq!(fixture.agent(), (agent, next_version()));
    assert_eq!(root.main_pid("muster-agent"), agent);
    assert!(root.runs(process, "sleep"));

    let uninstall = format!("{} --uninstall", line.split(" --token").next().unwrap());
    let printed = root.run(&["sh", "-c", &uninstall]);
    assert!(printed.contains("keep running"), "{printed}");
    assert!(!root.runs(agent, "muster-agent") && root.runs(process, "sleep"));
    for gone in [
        UNIT,
        UNIT_LINK,
        "/usr/bin/muster-agent",
        "/etc/muster/agent.toml",
    ] {
        let path = root.path(gone);
        assert!(!path.exists() && !path.is_symlink(), "{gone}");
    }
    assert!(root.path("etc/muster/server.toml").exists());
    let shown = root.run(&["systemctl", "show", "--property=LoadState", "muster-agent"]);
    assert_eq!(shown.trim(), "LoadState=not-found");

    // A program of a package is used as it is, and not removed.
    fixture.install(&fixture.next, &["muster-agent"]);
    let printed = root.run(&["sh", "-c", &line]);
    let kept = "/usr/bin/muster-agent belongs to the package muster-agent and is kept";
    assert!(printed.contains(kept), "{printed}");
    assert!(root.is_active("muster-agent") && !root.path(UNIT).exists());
    fixture.wait_for_agent();
    assert_eq!(wait::until("the process", || fixture.process()), process);
    let refused = root.command(&["sh", "-c", &uninstall]).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(said(&refused).contains("remove that (apt-get remove muster-agent"));
    assert!(root.is_active("muster-agent"));
}
