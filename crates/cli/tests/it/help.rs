//! Help texts and completions.

use std::io::Write;
use std::process::{Command, Stdio};

use clap::CommandFactory;

use crate::command::muster;

const VERBS: [&str; 38] = [
    "up",
    "server",
    "agent",
    "register",
    "update",
    "unregister",
    "rm",
    "export",
    "edit",
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
    "events",
    "logs",
    "diff",
    "watch",
    "group",
    "topology",
    "expression",
    "job",
    "template",
    "app",
    "token",
    "user",
    "drain",
    "store",
    "webhook",
    "audit",
    "completions",
];

/// Every command line that help can be asked for: `["app", "create"]`.
fn command_paths(command: &clap::Command, above: &[String]) -> Vec<Vec<String>> {
    let below = command.get_subcommands().flat_map(|verb| {
        let path = [above, &[verb.get_name().to_owned()]].concat();
        let below = command_paths(verb, &path);
        std::iter::once(path).chain(below).collect::<Vec<_>>()
    });
    below.collect()
}

#[test]
fn every_verb_has_help_with_examples() {
    let paths = command_paths(&cli::args::Cli::command(), &[]);
    assert!(
        VERBS
            .iter()
            .all(|verb| paths.iter().any(|path| path == &[*verb]))
    );
    for path in paths {
        let words: Vec<&str> = path.iter().map(String::as_str).chain(["--help"]).collect();
        let line = path.join(" ");
        let ran = muster(&words).run();
        assert_eq!(ran.code, 0, "{line}: {ran:?}");
        let (_, examples) = ran
            .stdout
            .split_once("\nExamples:\n")
            .unwrap_or_else(|| panic!("{line}: {ran:?}"));
        assert!(examples.contains(&format!("muster {line}")), "{line}");
        let longest = ran.stdout.lines().map(|line| line.chars().count()).max();
        assert!(
            longest <= Some(100),
            "{line} has a line of {longest:?} columns"
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
fn the_version_is_printed() {
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
fn shells_can_read_their_completions() {
    for shell in ["bash", "zsh"] {
        let server = muster(&["completions", shell]).run().stdout;
        let Ok(mut child) = Command::new(shell)
            .arg("-n")
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
        else {
            assert_ne!(shell, "bash", "every machine that builds this has it");
            continue;
        };
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(server.as_bytes()).unwrap();
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{shell}: {output:?}");
        assert!(output.stderr.is_empty(), "{shell}: {output:?}");
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
