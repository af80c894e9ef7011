//! Decisions of the packages' scripts that need a program which does not exist yet: the functions run for themselves.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use super::root::said;

const SERVER: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../packaging/scripts/muster.sh"
);

/// Upgrades the server's package where systemd runs a server, with a new program that answers so; what was said and done.
fn upgraded(new_program: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("muster");
    std::fs::write(&program, format!("#!/bin/sh\n{new_program}\n")).unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let calls = r#"set -e
        . "$0"
        program=$1 data=$2
        systemd_runs() { true; }
        systemctl() { true; }
        reload_units() { true; }
        enable_unit() { true; }
        act_on_unit() { echo "systemctl $*"; }
        after_install upgrade"#;
    let output = Command::new("sh")
        .args(["-c", calls, SERVER])
        .args([&program, folder.path()])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", said(&output));
    said(&output)
}

#[test]
fn a_server_that_would_refuse_agents_is_not_restarted() {
    const RESTARTED: &str = "systemctl restart muster-server.service";
    let asked = r#"[ "$1 $3 $4" = "--data agent versions" ] || exit 9"#;
    let printed = upgraded(&format!("{asked}; echo speaks with them"));
    assert!(printed.contains(RESTARTED), "{printed}");
    // No server answers.
    let printed = upgraded("echo cannot be reached >&2; exit 3");
    assert!(printed.contains(RESTARTED), "{printed}");
    let stranger =
        "this muster (9.0.0) does not speak with 3 agents: upgrade them before the server";
    let printed = upgraded(&format!("{asked}; echo '{stranger}' >&2; exit 1"));
    for expected in [
        stranger,
        "the server was not restarted",
        "then run: systemctl restart",
    ] {
        assert!(printed.contains(expected), "{printed}");
    }
    assert!(!printed.contains(RESTARTED), "{printed}");
}
