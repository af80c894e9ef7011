//! Commands and files in the documents are right: `muster` takes every command line, and programs take every settings file.

use std::path::{Path, PathBuf};

use clap::Parser;
use cli::args::Cli;

use crate::command::muster;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// README and everything below `docs/`, except decisions, which stay as they were written.
fn documents() -> Vec<(String, String)> {
    let mut found = vec![root().join("README.md")];
    let mut folders = vec![root().join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("decisions") {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        (
            path.file_name().unwrap().to_string_lossy().into_owned(),
            text,
        )
    };
    found.into_iter().map(read).collect()
}

/// The blocks of a document that begin with this fence.
fn blocks<'a>(text: &'a str, fence: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(fence)
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap())
}

/// The simple commands of a shell script, as far as documents use it: quotes, comments, continued lines, pipes and lists.
fn commands(script: &str) -> Vec<Vec<String>> {
    let script = script.replace("\\\n", " ");
    let mut all = Vec::new();
    for line in script.lines() {
        let (mut words, mut word, mut is_word, mut quote) =
            (Vec::new(), String::new(), false, None);
        for c in line.chars() {
            match (quote, c) {
                (Some(open), c) if open == c => quote = None,
                (Some(_), c) => word.push(c),
                (None, '\'' | '"') => (quote, is_word) = (Some(c), true),
                (None, '#') if !is_word => break,
                (None, ' ' | '\t' | '|' | ';' | '&' | '(' | ')' | '>' | '<') => {
                    if is_word {
                        words.push(std::mem::take(&mut word));
                    }
                    is_word = false;
                    if !" \t".contains(c) {
                        all.push(std::mem::take(&mut words));
                    }
                }
                (None, c) => {
                    word.push(c);
                    is_word = true;
                }
            }
        }
        if is_word {
            words.push(word);
        }
        all.push(words);
    }
    // Variables before a command belong to its environment.
    let is_variable = |word: &String| {
        let name = word.split_once('=').map(|(name, _)| name);
        name.is_some_and(|name| name.chars().all(|c| c.is_ascii_uppercase() || c == '_'))
    };
    all.into_iter()
        .map(|words| words.into_iter().skip_while(is_variable).collect())
        .collect()
}

#[test]
fn shell_is_split_into_commands() {
    let script = "A=1 muster ps -o json | head  # list\nmuster register a/b \\\n  --start 'x; y'; echo \"a b\"";
    let expected: Vec<Vec<&str>> = vec![
        vec!["muster", "ps", "-o", "json"],
        vec!["head"],
        vec!["muster", "register", "a/b", "--start", "x; y"],
        vec!["echo", "a b"],
    ];
    assert_eq!(commands(script), expected);
}

#[test]
fn every_command_line_of_the_documents_is_one_that_muster_takes() {
    let mut wrong = Vec::new();
    let mut n_commands = 0;
    for (name, text) in documents() {
        let joined = text.replace("\\\n", " ");
        // Marked `sh`, `sh run`, or `sh run MACHINE`.
        let scripts = blocks(&text, "```sh").filter_map(|block| Some(block.split_once('\n')?.1));
        // Indented commands, those in the help of verbs among them; what a command does stands beside it.
        let indented = joined.lines().filter(|line| line.starts_with("  "));
        let indented = indented.map(|line| line.trim().split("  ").next().unwrap());
        for words in scripts.chain(indented).flat_map(commands) {
            if words.first().is_none_or(|word| word != "muster") {
                continue;
            }
            n_commands += 1;
            if let Err(error) = Cli::try_parse_from(&words)
                && error.exit_code() != 0
            {
                let why = error.to_string();
                let why = why.lines().next().unwrap_or_default().to_owned();
                wrong.push(format!("{name}: {}: {why}", words.join(" ")));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(n_commands > 200, "{n_commands}");
}

/// Every block of TOML is a file of the server, of the relay, of the agent, or of the CLI; the first line of the text before it, or the keys,
/// say which.
#[test]
fn every_settings_file_of_the_documents_is_one_that_programs_take() {
    let mut n_files = 0;
    for (name, text) in documents() {
        for file in blocks(&text, "```toml\n") {
            n_files += 1;
            let has = |key: &str| {
                file.lines()
                    .any(|line| line.starts_with(&format!("{key} = ")))
            };
            let (verb, text) = match (has("http"), has("server")) {
                (_, true) if has("listen") => (
                    &["relay", "--config", "file.toml", "--print-config"][..],
                    file.to_owned(),
                ),
                (true, _) => (
                    &["server", "--config", "file.toml", "--print-config"][..],
                    file.to_owned(),
                ),
                (_, true) => (
                    &["agent", "--config", "file.toml", "--print-config"][..],
                    file.to_owned(),
                ),
                _ => (&["ps"][..], local(file)),
            };
            let file_name = if verb == ["ps"] {
                "cli.toml"
            } else {
                "file.toml"
            };
            let ran = muster(verb).file(file_name, &text).in_home().run();
            // Nothing listens where the CLI's file leads, which shows that it was read.
            let expected = if verb == ["ps"] { 3 } else { 0 };
            assert_eq!(ran.code, expected, "{name}: {file}\n{ran:?}");
        }
    }
    assert!(n_files >= 5, "{n_files}");
}

/// The file of a CLI for a server that is not there, without the file that it names.
fn local(file: &str) -> String {
    let lines = file.lines().filter(|line| !line.starts_with("ca = "));
    let lines = lines.map(|line| match line.starts_with("url = ") {
        true => "url = \"http://127.0.0.1:9\"",
        false => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}
