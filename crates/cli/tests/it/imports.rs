//! `muster import`: thirty files of each kind, each with what it becomes and what is reported; no line is lost in silence.
//!
//! `UPDATE_IMPORTS=1 cargo nextest run -p cli imports` writes the expectations again; read the difference.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use cli::import::{self, Imported, Settings, SourceKind};
use serde_json::Value;

use crate::command::muster;
use crate::real_server::RealServer;

const KINDS: [(&str, SourceKind); 5] = [
    ("supervisord", SourceKind::Supervisord),
    ("systemd", SourceKind::Systemd),
    ("pm2", SourceKind::Pm2),
    ("procfile", SourceKind::Procfile),
    ("compose", SourceKind::Compose),
];

fn folder(kind: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/imports")
        .join(kind)
}

/// The files of a kind, relative to its folder: plain ones, and those that have a folder with what is beside them.
fn files(kind: &str) -> Vec<String> {
    let mut files = BTreeSet::new();
    for entry in std::fs::read_dir(folder(kind)).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let inner = [format!("{name}/Procfile"), format!("{name}/compose.yaml")];
        let inner = inner
            .into_iter()
            .find(|inner| folder(kind).join(inner).exists());
        let ends = [".conf", ".service", ".timer", ".json"];
        if let Some(inner) = inner {
            files.insert(inner);
        } else if ends.iter().any(|end| name.ends_with(end)) {
            files.insert(name);
        }
    }
    files.into_iter().collect()
}

/// What some files need beside the common flags.
fn more(file: &str) -> &'static [&'static str] {
    match file {
        "31-order.service" => &["31-order-store.service", "31-order-migrate.service"],
        "32-circle.service" => &["32-circle-other.service"],
        "08-template@.service" => &["--instance", "mail,thumbs"],
        "06-environments.json" => &["--env", "production"],
        "12-limits.service" | "13-mem-limit/compose.yaml" => &["--cores", "4"],
        _ => &[],
    }
}

fn run(kind: &str, file: &str, flags: &[&str]) -> crate::command::Output {
    let common = [
        "import",
        file,
        "--user",
        "app",
        "--directory",
        "/srv/app",
        "-H",
        "10.0.0.1",
    ];
    let args = [&common[..], more(file), flags].concat();
    muster(&args).in_folder(&folder(kind)).run()
}

#[test]
fn every_file_becomes_what_was_expected() {
    let is_update = std::env::var_os("UPDATE_IMPORTS").is_some();
    let mut differ = Vec::new();
    for (kind, _) in KINDS {
        let files = files(kind);
        assert!(files.len() >= 30, "{kind}: {}", files.len());
        for file in files {
            let ran = run(kind, &file, &[]);
            let here = folder(kind).canonicalize().unwrap();
            let mut shown = format!("exit code {}\n", ran.code);
            write!(
                shown,
                "--- definitions\n{}--- reported\n{}",
                ran.stdout, ran.stderr
            )
            .unwrap();
            let shown = shown.replace(here.to_str().unwrap(), "HERE");
            let expected = folder(kind)
                .join("expected")
                .join(file.replace('/', "-") + ".txt");
            if is_update {
                std::fs::create_dir_all(expected.parent().unwrap()).unwrap();
                std::fs::write(&expected, &shown).unwrap();
            }
            let known = std::fs::read_to_string(&expected).unwrap_or_default();
            if known != shown {
                differ.push(format!("{kind}/{file}:\n{shown}"));
            }
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n\n"));
}

/// Lines that say nothing by themselves: comments, and brackets of JSON.
fn says_nothing(kind: &str, line: &str) -> bool {
    let line = line.trim();
    line.is_empty()
        || (kind != "pm2" && line.starts_with('#'))
        || (matches!(kind, "supervisord" | "systemd") && line.starts_with(';'))
        || line.chars().all(|c| "{}[], ".contains(c))
        || line == "\"apps\": ["
}

#[test]
fn every_line_is_accounted_for() {
    for (kind, _) in KINDS {
        for file in files(kind) {
            let ran = run(kind, &file, &["-o", "json"]);
            assert!(ran.code == 0 || ran.code == 3, "{kind}/{file}: {ran:?}");
            let document = ran.json();
            let settings = document["settings"].as_array().unwrap();
            let mut reported = 0;
            let mut covered: BTreeSet<(String, u64)> = BTreeSet::new();
            for one in settings {
                let fate = one["fate"].as_str().unwrap();
                assert!(
                    ["carried", "no_effect", "not_carried"].contains(&fate),
                    "{one}"
                );
                assert!(!one["text"].as_str().unwrap().is_empty(), "{one}");
                reported += usize::from(fate == "not_carried");
                for line in one["line"].as_u64().unwrap()..=one["last_line"].as_u64().unwrap() {
                    covered.insert((one["file"].as_str().unwrap().to_owned(), line));
                }
            }
            assert_eq!(ran.code == 3, reported > 0, "{kind}/{file}");
            let text = std::fs::read_to_string(folder(kind).join(&file)).unwrap();
            for (number, line) in (1..).zip(text.lines()) {
                assert!(
                    says_nothing(kind, line) || covered.contains(&(file.clone(), number)),
                    "{kind}/{file}:{number}: {line:?} is lost in silence"
                );
            }
        }
    }
}

#[test]
fn every_definition_is_one_that_apply_takes() {
    for (kind, _) in KINDS {
        for file in files(kind) {
            let text = run(kind, &file, &[]).stdout;
            let documents = cli::declare::document::parse("imported.yaml", &text).unwrap();
            let declared = cli::declare::kinds::declared(&documents);
            assert!(
                declared.is_ok(),
                "{kind}/{file}: {}\n{text}",
                declared.unwrap_err()
            );
            let n_written = text.matches("\n- namespace: ").count();
            assert_eq!(declared.unwrap().processes.len(), n_written, "{text}");
        }
    }
}

/// Each file in a namespace of its own, all in one `apply`.
#[test]
fn a_server_registers_every_definition() {
    let server = RealServer::start();
    let written = server.home.path().join("imported");
    std::fs::create_dir(&written).unwrap();
    let mut n_processes = 0;
    for (kind, _) in KINDS {
        for (index, file) in files(kind).into_iter().enumerate() {
            let namespace = format!("{kind}-{index}");
            let text = run(kind, &file, &["-n", &namespace]).stdout;
            n_processes += text.matches("\n- namespace: ").count();
            std::fs::write(written.join(format!("{namespace}.yaml")), text).unwrap();
        }
    }
    server.fine(&["apply", "-f", "imported", "--yes"], "");
    let listed: Value = serde_json::from_str(&server.fine(&["ps", "-o", "json"], "")).unwrap();
    assert_eq!(listed["count"], n_processes);
    // The server says the same of them, dependencies included.
    let again = server.run(&["apply", "-f", "imported", "--dry-run"], "");
    assert_eq!(again.code, 0, "{again:?}");
}

#[test]
fn garbage_is_never_a_panic() {
    let mut random = testing::Random::new(7);
    let pieces = [
        "%(", "${", "\"", "'", "\\", "\n", "[", "]", "{", "}", ":", "=", "ü", "业", "\t", "- ",
        "\0", "%", "$", ";",
    ];
    for (kind, source) in KINDS {
        for file in files(kind) {
            let text = std::fs::read_to_string(folder(kind).join(&file)).unwrap();
            for _ in 0..40 {
                let mut characters: Vec<char> = text.chars().collect();
                for _ in 0..=random.below(6) {
                    let at = random.below(characters.len() + 1);
                    let piece = pieces[random.below(pieces.len())];
                    match random.below(8_u32) {
                        0 => characters.truncate(at),
                        1 | 2 => {
                            let end = (at + random.below(9_usize)).min(characters.len());
                            characters.drain(at..end);
                        }
                        _ => drop(characters.splice(at..at, piece.chars())),
                    }
                }
                let text: String = characters.into_iter().collect();
                let (mut imported, settings) = (Imported::default(), Settings::default());
                // Whether it is an error does not matter.
                import::read(source, &file, &text, &settings, &mut imported).ok();
                imported.finish();
                if let Ok(documents) = cli::declare::document::parse("x.yaml", &text) {
                    cli::declare::kinds::declared(&documents).ok();
                }
            }
        }
    }
}

#[test]
fn a_file_of_no_known_kind_and_a_program_are_refused() {
    for (name, text, expected) in [
        ("notes.txt", "hello\n", "--kind"),
        (
            "ecosystem.config.js",
            "module.exports = {}",
            "JSON.stringify",
        ),
        ("broken.json", "{\"apps\": [", "broken.json:1: is no JSON"),
        (
            "twice.json",
            "{\"apps\": [{\"name\": \"a\",\n\"name\": \"b\"}]}",
            "twice.json:2: apps[0].name: stands twice",
        ),
        ("compose.yaml", "services: [\n", "is no YAML"),
        ("lonely.timer", "[Timer]\nOnCalendar=daily\n", "its service"),
    ] {
        let ran = muster(&["import", name]).file(name, text).in_home().run();
        assert_eq!(ran.code, 2, "{name}: {ran:?}");
        assert!(ran.stderr.contains(expected), "{name}: {ran:?}");
        assert_eq!(ran.stdout, "", "{name}");
    }
}

#[test]
fn the_kind_can_be_said_and_every_line_explained() {
    let text = "web: ./web --x\n";
    let ran = muster(&[
        "import",
        "programs",
        "--kind",
        "procfile",
        "--explain",
        "--user",
        "a",
        "--directory",
        "/srv",
    ])
    .file("programs", text)
    .in_home()
    .run();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        ran.stderr
            .contains("programs:1: web: ./web --x: → control.start_cmd"),
        "{ran:?}"
    );
    assert!(ran.stdout.contains("start_cmd: ./web --x"), "{ran:?}");
    assert!(ran.stdout.contains("# Name the hosts"), "{ran:?}");
    // Without hosts, apply refuses it.
    let ran = muster(&["apply", "-f", "-", "--dry-run"])
        .stdin(&ran.stdout)
        .run();
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("processes[0].hosts"), "{ran:?}");
}

#[test]
fn comments_hold_what_was_not_carried_over() {
    let ran = muster(&["import", "a.conf", "--comments"])
        .file(
            "a.conf",
            "[program:a]\ncommand=/bin/a\nuser=a\nautorestart=true\npriority=five\n",
        )
        .in_home()
        .run();
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(
        ran.stdout
            .contains("# a.conf:5: priority=five: is no number"),
        "{ran:?}"
    );
    let parsed: Value = serde_norway::from_str(&ran.stdout).unwrap();
    assert_eq!(parsed["processes"][0]["name"], "a");
}
