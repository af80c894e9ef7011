//! The examples of settings in `packaging/config/` are valid and complete, and `muster generate` writes what packages need.

use std::collections::BTreeSet;

use agent::config::{AgentArgs, AgentConfig};
use agent::relay::{RelayArgs, RelayConfig};
use clap::{Args, Command};
use cli::config::KEYS;

use crate::command::muster;

fn example(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/config");
    std::fs::read_to_string(format!("{folder}/{name}")).unwrap()
}

/// The example with every setting in force: `#key = …` becomes `key = …`.
fn with_all_settings(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let setting = line.strip_prefix('#').filter(|rest| !rest.starts_with(' '));
        setting.unwrap_or(line)
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn keys(text: &str) -> BTreeSet<String> {
    let table: toml::Table = text.parse().unwrap();
    table.keys().cloned().collect()
}

/// Each setting has a comment above it, or above the settings that it follows at once.
fn check_comments(text: &str) {
    for block in text.split("\n\n") {
        assert!(block.starts_with("# "), "no comment above: {block}");
    }
}

#[test]
fn the_example_of_the_server_names_every_setting() {
    let text = example("server.toml");
    check_comments(&text);
    let expected: BTreeSet<String> = KEYS.iter().map(|key| key.name.to_owned()).collect();
    let all = with_all_settings(&text);
    assert_eq!(keys(&all), expected);

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("server.toml");
    for (text, n_settings) in [(&text, 1), (&all, expected.len())] {
        assert_eq!(keys(text).len(), n_settings);
        std::fs::write(&file, text).unwrap();
        let path = file.to_str().unwrap();
        let output = muster(&["server", "--print-config", "--config", path]).run();
        assert_eq!(output.code, 0, "{output:?}");
        assert!(
            output.stdout.contains("agent_rate = \"1000\""),
            "{output:?}"
        );
    }
}

/// Checks that the example names each flag, and passes it to `resolve` as a file: as it is, and with every setting in force.
fn check_example<A: Args>(name: &str, resolve: impl Fn(String)) {
    let text = example(name);
    check_comments(&text);
    let flags = A::augment_args(Command::new("flags"));
    let flags = flags.get_arguments().filter_map(clap::Arg::get_long);
    let settings = flags.filter(|flag| !["config", "print-config", "join-only"].contains(flag));
    let expected: BTreeSet<String> = settings.map(|flag| flag.replace('-', "_")).collect();
    let all = with_all_settings(&text);
    assert_eq!(keys(&all), expected);

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(name);
    for text in [text, all] {
        std::fs::write(&file, text).unwrap();
        resolve(file.to_str().unwrap().to_owned());
    }
}

#[test]
fn the_example_of_the_agent_names_every_setting() {
    check_example::<AgentArgs>("agent.toml", |file| {
        let args = AgentArgs {
            config: Some(file),
            ..AgentArgs::default()
        };
        let config = AgentConfig::resolve(&args, |_| None).unwrap();
        assert_eq!(config.memory_max, 256 << 20);
    });
}

#[test]
fn the_example_of_the_relay_names_every_setting() {
    check_example::<RelayArgs>("relay.toml", |file| {
        let args = RelayArgs {
            config: Some(file),
            ..RelayArgs::default()
        };
        let config = RelayConfig::resolve(&args, |_| None).unwrap();
        assert_eq!(config.settings.max_connections, 20_000);
    });
}

#[test]
fn man_pages_and_completions_cover_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let output = muster(&["generate", path, "-o", "json"]).run();
    assert_eq!(output.code, 0, "{output:?}");
    assert_eq!(output.json()["folder"], path);
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    for (page, expected) in [
        ("man1/muster.1", "Keeps the processes of a fleet"),
        ("man1/muster-agent-upgrade.1", "Replace the binary"),
        ("man1/muster-ps.1", "  muster ps \\-\\-pending"),
        ("man8/muster-agent.8", "MUSTER_JOIN_TOKEN"),
        ("man8/muster-agent-upgrade.8", "\\-\\-binary"),
        ("bash/muster", "MUSTER_COMPLETE"),
        ("bash/muster-agent", "--memory-max"),
        ("zsh/_muster", "#compdef muster"),
        ("zsh/_muster-agent", "#compdef muster-agent"),
        ("fish/muster.fish", "muster"),
        ("fish/muster-agent.fish", "complete -c muster-agent"),
    ] {
        let text = read(page);
        assert!(text.contains(expected), "{page}: {text}");
    }
    // Flags of every verb are described once, on the first page.
    assert!(read("man1/muster.1").contains("\\-\\-context"));
    assert!(!read("man1/muster-ps.1").contains("\\-\\-context"));
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let output = muster(&["generate", file.path().to_str().unwrap()]).run();
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("cannot write below"), "{output:?}");
}
