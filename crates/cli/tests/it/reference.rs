//! The pages of `docs/reference/` about the command line and the settings say what the code says.
//!
//! Rewrite them with `UPDATE_REFERENCE=1 cargo nextest run -p cli reference`.

use std::collections::BTreeSet;
use std::fmt::Write;

use agent::config::{AgentArgs, AgentConfig};
use agent::relay::{RelayArgs, RelayConfig};
use clap::{Args, Command, CommandFactory};
use cli::args::Cli;
use cli::config::{KEYS, ServerArgs};
use cli::verb::generate::without_shared_flags;
use testing::reference::{check_page, check_part, table};

/// How wide the help is written, whatever the terminal.
const WIDTH: usize = 100;

#[test]
fn the_page_of_the_command_line_is_the_help_of_every_verb() {
    let mut command = Cli::command().term_width(WIDTH).max_term_width(WIDTH);
    command.build();
    let mut page = String::from(
        "# Command line\n\nFor users of `muster`: the help of every verb. `muster VERB --help` prints the same. This page is made from the \
         code:\n`UPDATE_REFERENCE=1 cargo nextest run -p cli reference`.\n\nThe options under [muster](#muster) count for every verb, and \
         `-h, --help` prints its help.\n`muster-agent` takes the flags of [muster agent](#muster-agent), and `muster-agent upgrade` those of \
         [muster agent\nupgrade](#muster-agent-upgrade); `muster-agent relay` is [muster relay](#muster-relay).\n",
    );
    add(&mut page, command, "muster");
    check_page("cli.md", &page);
}

fn add(page: &mut String, mut command: Command, name: &str) {
    let is_root = name == "muster";
    if !is_root {
        command = without_shared_flags(command);
    }
    let help = command.clone().term_width(WIDTH).render_help().to_string();
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    writeln!(
        page,
        "\n## {name}\n\n```text\n{}\n```",
        lines.join("\n").trim()
    )
    .unwrap();
    for below in command.get_subcommands() {
        if below.get_name() != "help" && !below.is_hide_set() {
            add(page, below.clone(), &format!("{name} {}", below.get_name()));
        }
    }
}

/// A flag that is also a key of the file: key, flag, variable, default, meaning.
fn settings(command: &Command) -> Vec<Vec<String>> {
    let flags = command
        .get_arguments()
        .filter_map(|arg| Some((arg.get_long()?, arg)));
    flags
        .filter(|(flag, arg)| {
            !["config", "print-config", "join-only", "help"].contains(flag) && !arg.is_hide_set()
        })
        .map(|(flag, arg)| {
            let help = arg.get_help().unwrap().to_string().replace('\n', " ");
            let (meaning, notes) = help
                .split_once(" [env: ")
                .unwrap_or_else(|| panic!("{flag}: {help}"));
            let variable = notes.split(']').next().unwrap();
            let default = match notes.split_once("[default: ") {
                Some((_, default)) => default.split(']').next().unwrap(),
                None => "none",
            };
            let code = |text: &str| format!("`{text}`");
            vec![
                code(&flag.replace('-', "_")),
                code(&format!("--{flag}")),
                code(variable),
                default.to_owned(),
                meaning.to_owned(),
            ]
        })
        .collect()
}

const HEAD: [&str; 5] = ["key", "flag", "variable", "default", "meaning"];

#[test]
fn the_page_of_settings_lists_each_flag() {
    let server = settings(&ServerArgs::augment_args(Command::new("server")));
    check_part("config.md", "server", &table(&HEAD, server));
    let agent = settings(&AgentArgs::augment_args(Command::new("agent")));
    check_part("config.md", "agent", &table(&HEAD, agent));
    let relay = settings(&RelayArgs::augment_args(Command::new("relay")));
    check_part("config.md", "relay", &table(&HEAD, relay));
}

/// The first cells of all tables between two headings.
fn documented(from: &str, until: &str) -> BTreeSet<String> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/reference/config.md"
    );
    let page = std::fs::read_to_string(path).unwrap();
    let part = page
        .split(from)
        .nth(1)
        .unwrap()
        .split(until)
        .next()
        .unwrap();
    let keys = part
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    keys.map(str::to_owned).collect()
}

#[test]
fn the_page_of_settings_lists_each_key_of_the_files() {
    let keys: BTreeSet<String> = KEYS.iter().map(|key| key.name.to_owned()).collect();
    assert_eq!(documented("\n## Server\n", "\n## Agent\n"), keys);

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("agent.toml");
    std::fs::write(&file, "no_such_key = 1").unwrap();
    let args = AgentArgs {
        config: Some(file.to_str().unwrap().to_owned()),
        ..AgentArgs::default()
    };
    let refused = AgentConfig::resolve(&args, |_| None)
        .unwrap_err()
        .to_string();
    let (_, known) = refused.split_once("is no setting: ").unwrap();
    let keys: BTreeSet<String> = known.split(", ").map(str::to_owned).collect();
    assert_eq!(documented("\n## Agent\n", "\n## Relay\n"), keys);

    let args = RelayArgs {
        config: args.config,
        ..RelayArgs::default()
    };
    let refused = RelayConfig::resolve(&args, |_| None).unwrap_err();
    let refused = refused.to_string();
    let (_, known) = refused.split_once("is no setting: ").unwrap();
    let keys: BTreeSet<String> = known.split(", ").map(str::to_owned).collect();
    assert_eq!(documented("\n## Relay\n", "\n## Command line\n"), keys);
}
