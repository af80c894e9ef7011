//! Help texts and completions.

use std::io::Write;
use std::process::{Command, Stdio};

use clap::CommandFactory;
use serde_json::json;

use crate::command::muster;
use crate::fake_server::{FakeServer, ok, status};

const VERBS: [&str; 46] = [
    "up",
    "server",
    "agent",
    "relay",
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
    "why",
    "timeline",
    "runs",
    "figures",
    "summary",
    "task",
    "hosts",
    "search",
    "events",
    "logs",
    "diff",
    "watch",
    "group",
    "topology",
    "expression",
    "job",
    "template",
    "logins",
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
fn completions_of_every_shell_ask_muster() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = muster(&["completions", shell]).run();
        assert_eq!(ran.code, 0, "{shell}: {ran:?}");
        assert!(ran.stdout.contains("MUSTER_COMPLETE"), "{shell}: {ran:?}");
    }
}

/// What bash would offer after this command line.
fn offered(server: &FakeServer, words: &[&str]) -> Vec<String> {
    let index = (words.len() - 1).to_string();
    let line = [&["--", "muster"], words].concat();
    let ran = muster(&line)
        .to(&server.url)
        .env("MUSTER_COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", &(words.len()).to_string())
        .env("_CLAP_COMPLETE_COMP_TYPE", "9")
        .env("_CLAP_COMPLETE_SPACE", "true")
        .env("_CLAP_IFS", "\n")
        .run();
    assert_eq!(ran.code, 0, "{index}: {ran:?}");
    ran.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn names_hosts_and_businesses_are_completed_from_the_server() {
    let server = FakeServer::new(|asked| match &asked.line {
        line if line.contains("/names?") => {
            ok(json!({"names": ["web/nginx", "web/napper"], "namespaces": ["web", "work"]}))
        }
        line if line.contains("/hosts?") => {
            ok(json!({"count": 2, "hosts": [{"host": "0:10.0.0.1"}, {"host": "7:10.0.0.2"}]}))
        }
        _ => ok(json!({"businesses": [{"id": 2, "name": "shop"}]})),
    });
    assert_eq!(offered(&server, &["unreg"]), ["unregister"]);
    assert_eq!(
        offered(&server, &["status", "web/n"]),
        ["web/nginx", "web/napper"]
    );
    assert_eq!(
        server.lines(),
        ["GET /api/v1/names?prefix=web%2Fn&limit=1000"]
    );
    assert_eq!(
        offered(&server, &["ps", "--namespace", "w"]),
        ["web", "work"]
    );
    assert_eq!(offered(&server, &["ps", "--host", "10"]), ["10.0.0.1"]);
    assert_eq!(offered(&server, &["ps", "--host", "7:"]), ["7:10.0.0.2"]);
}

#[test]
fn nothing_is_completed_without_a_server() {
    let server =
        FakeServer::new(|_| status(500, json!({"error": {"code": "internal", "message": "no"}})));
    assert_eq!(offered(&server, &["status", "web/n"]), Vec::<String>::new());
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
        &["-o", "xml", "ps"],
        &["completions", "tcsh"],
        &["watch", "--kind", "odd"],
    ] {
        let ran = muster(args).run();
        assert_eq!(ran.code, 2, "{args:?}: {ran:?}");
        assert!(ran.stdout.is_empty(), "{args:?}: {ran:?}");
        assert!(ran.stderr.starts_with("error: "), "{args:?}: {ran:?}");
    }
}
