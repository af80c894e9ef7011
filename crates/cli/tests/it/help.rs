//! Every verb explains itself.

use crate::command::muster;

const VERBS: [&str; 24] = [
    "up",
    "server",
    "agent",
    "register",
    "update",
    "unregister",
    "start",
    "stop",
    "restart",
    "reload",
    "kill",
    "manage",
    "unmanage",
    "query",
    "ps",
    "status",
    "task",
    "hosts",
    "watch",
    "app",
    "token",
    "user",
    "audit",
    "completions",
];

#[test]
fn every_verb_has_help_with_examples() {
    for verb in VERBS {
        let ran = muster(&[verb, "--help"]).run();
        assert_eq!(ran.code, 0, "{verb}: {ran:?}");
        assert!(ran.stdout.contains("Examples:"), "{verb}");
        assert!(ran.stdout.contains(&format!("muster {verb}")), "{verb}");
        let longest = ran.stdout.lines().map(|line| line.chars().count()).max();
        assert!(
            longest <= Some(100),
            "{verb} has a line of {longest:?} columns"
        );
    }
}

#[test]
fn the_main_help_lists_verbs_and_exit_codes() {
    let ran = muster(&["--help"]).run();
    assert_eq!(ran.code, 0);
    for verb in VERBS {
        assert!(ran.stdout.contains(&format!("\n  {verb} ")), "{verb}");
    }
    assert!(ran.stdout.contains("Exit codes:"));
    assert!(ran.stdout.contains("5  timed out while waiting"));
}

#[test]
fn the_version_is_told() {
    let ran = muster(&["--version"]).run();
    assert_eq!(
        ran.stdout,
        format!("muster {}\n", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn completions_know_the_verbs() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = muster(&["completions", shell]).run();
        assert_eq!(ran.code, 0);
        assert!(ran.stdout.contains("unregister"), "{shell}");
    }
}

#[test]
fn a_wrong_command_line_ends_with_2() {
    for args in [
        &["frobnicate"][..],
        &["start"],
        &["start", "no-slash"],
        &["start", "a/b", "--all", "--host", "10.0.0.1"],
        &["start", "a/b", "--timeout", "soon"],
        &["ps", "--state", "odd"],
        &["ps", "--host", "nonsense"],
        &["register", "a/b", "--label", "novalue"],
        &["register", "a/b", "--config-file", "/x:123"],
        &["task", "12"],
        &["-o", "yaml", "ps"],
        &["completions", "tcsh"],
        &["watch", "--kind", "odd"],
    ] {
        let ran = muster(args).run();
        assert_eq!(ran.code, 2, "{args:?}: {ran:?}");
        assert!(ran.stdout.is_empty(), "{args:?}: {ran:?}");
        assert!(ran.stderr.starts_with("error: "), "{args:?}: {ran:?}");
    }
}
