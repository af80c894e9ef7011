//! `cargo xtask notices`: what packages say about the crates they contain.

use std::process::{Command, Output};

fn notices(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_xtask"))
        .arg("notices")
        .args(args)
        .output()
        .unwrap()
}

/// The lines of each crate, by `name version`.
fn entries(text: &str) -> Vec<Vec<&str>> {
    let list = text.split("\n\n").map(|entry| entry.lines().collect());
    list.filter(|entry: &Vec<&str>| entry.len() > 2 && entry[1].starts_with("  licence: "))
        .collect()
}

#[test]
fn notices_list_each_shipped_crate_with_its_licence_text() {
    let output = notices(&[]);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let entries = entries(&text);
    let find = |name: &str| {
        let start = format!("{name} ");
        entries.iter().find(|entry| entry[0].starts_with(&start))
    };
    for name in ["tokio", "ring", "rustls", "libsqlite3-sys", "clap", "axum"] {
        let entry = find(name).unwrap_or_else(|| panic!("{name} is missing"));
        assert!(
            entry
                .iter()
                .any(|line| line.starts_with("  source: https://")),
            "{entry:?}"
        );
        assert!(entry.last().unwrap().starts_with("  texts: "), "{entry:?}");
    }
    let ring = find("ring").unwrap();
    let number = ring.last().unwrap().split(['[', ']']).nth(1).unwrap();
    assert!(text.contains(&format!("\n[{number}]\n\n")), "{ring:?}");
    // Test tools, build tools and our own crates are in no binary of others' making.
    for name in ["proptest", "cc", "muster", "xtask", "control", "testkit"] {
        assert!(find(name).is_none(), "{name}");
    }
    // What the web console contains, which the server embeds.
    assert!(
        text.contains("\n@codemirror/merge "),
        "the console's notices are missing"
    );
    let mut names: Vec<&str> = entries.iter().map(|entry| entry[0]).collect();
    let listed = names.clone();
    names.dedup();
    assert_eq!(names, listed);
    assert!(listed.len() > 100, "{}", listed.len());
}

#[test]
fn notices_are_the_same_each_time_and_name_no_folder_of_this_machine() {
    let folder = tempfile::TempDir::with_prefix("muster-notices-").unwrap();
    let file = folder.path().join("notices");
    let output = notices(&["--output", file.to_str().unwrap()]);
    assert!(
        output.status.success() && output.stdout.is_empty(),
        "{output:?}"
    );
    let written = std::fs::read(&file).unwrap();
    assert!(written == notices(&[]).stdout, "two runs differ");
    let text = String::from_utf8(written).unwrap();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let root = root.canonicalize().unwrap();
    assert!(!text.contains(root.to_str().unwrap()));
    assert!(!text.contains("/registry/src/"));
}

#[test]
fn notices_say_what_is_wrong() {
    for (args, expected) in [
        (
            &["--output", "/nowhere/notices"][..],
            "--output /nowhere/notices: cannot be written",
        ),
        (&["--target", "x86_64-pc-windows-msvc"], "Linux only"),
    ] {
        let output = notices(args);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(
            !output.status.success() && said.contains(expected),
            "{said}"
        );
        assert!(output.stdout.is_empty());
    }
    let help = notices(&["--help"]);
    let help = String::from_utf8(help.stdout).unwrap();
    assert!(help.contains("Examples:\n  cargo xtask notices"), "{help}");
}
