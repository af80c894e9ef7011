//! Every relative link and anchor in a Markdown file leads somewhere, and every document and test that code or text names
//! exists.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap()
}

/// The files below the root with one of these extensions, except what tools make.
fn files(extensions: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let extension = path
                .extension()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            if path.is_dir() {
                if !["target", "node_modules", "dist"].contains(&name.as_str()) && name != ".git" {
                    folders.push(path);
                }
            } else if extensions.contains(&extension.as_str()) {
                found.push(path);
            }
        }
    }
    found.sort();
    assert!(found.len() > 10);
    found
}

/// The text without code: neither blocks between fences nor spans between backticks.
fn prose(text: &str) -> String {
    let mut out = String::new();
    let mut is_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            out.extend(line.split('`').step_by(2));
        }
        out.push('\n');
    }
    out
}

/// The targets of `[text](target)` with their lines.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut links = Vec::new();
    for (number, line) in prose(text).lines().enumerate() {
        let mut rest = line;
        while let Some((_, after)) = rest.split_once("](") {
            let Some((target, after)) = after.split_once(')') else {
                break;
            };
            let target = target.split(" \"").next().unwrap();
            links.push((number + 1, target.to_owned()));
            rest = after;
        }
    }
    links
}

/// The anchors of a file's headings, as Git hosts make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut is_code = false;
    let mut anchors = BTreeSet::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        let heading = line.trim_start_matches('#');
        if is_code || heading.len() == line.len() || !heading.starts_with(' ') {
            continue;
        }
        let slug: String = heading
            .trim()
            .to_lowercase()
            .chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
            .map(|c| if c == ' ' { '-' } else { c })
            .collect();
        let n = counts.entry(slug.clone()).or_default();
        anchors.insert(match *n {
            0 => slug,
            n => format!("{slug}-{n}"),
        });
        *n += 1;
    }
    anchors
}

/// Resolves `..` without links, so that a path that leaves the repository is noticed.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => _ = plain.pop(),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

fn broken_links(file: &Path, text: &str) -> Vec<String> {
    let mut broken = Vec::new();
    for (line, target) in links(text) {
        if target.contains("://") || target.starts_with("mailto:") {
            continue;
        }
        let (path, anchor) = target.split_once('#').unwrap_or((&target, ""));
        let path = match path.is_empty() {
            true => file.to_owned(),
            false => plain(&file.parent().unwrap().join(path)),
        };
        let is_there = path.starts_with(root()) && path.exists();
        let has_anchor = || {
            let other = std::fs::read_to_string(&path).unwrap_or_default();
            anchors(if path == file { text } else { &other }).contains(anchor)
        };
        if !is_there || !(anchor.is_empty() || has_anchor()) {
            let file = file.strip_prefix(root()).unwrap_or(file);
            broken.push(format!("{}:{line}: {target}", file.display()));
        }
    }
    broken
}

#[test]
fn every_link_leads_somewhere() {
    let broken: Vec<String> = files(&["md"])
        .iter()
        .flat_map(|file| broken_links(file, &std::fs::read_to_string(file).unwrap()))
        .collect();
    assert!(broken.is_empty(), "broken links: {broken:#?}");
}

#[test]
fn broken_links_are_found() {
    let file = root().join("docs/README.md");
    for (text, n_broken) in [
        ("[a](../README.md) [b](../nothing.md)", 1),
        ("[a](#here)\n\n# Here!\n[b](#there)", 1),
        (
            "`[a](nothing.md)` and\n```\n[b](nothing.md)\n```\n[c](../../..)",
            1,
        ),
        ("[a](https://example.org/nothing)", 0),
        (
            "# `muster ps`: x\n# `muster ps`: x\n[a](#muster-ps-x) [b](#muster-ps-x-1) [c](#muster-ps-x-2)",
            1,
        ),
    ] {
        assert_eq!(broken_links(&file, text).len(), n_broken, "{text}");
    }
}

#[test]
fn documents_that_are_named_exist() {
    let mut missing = Vec::new();
    for file in files(&["md", "rs", "sh", "toml", "html"]) {
        let text = std::fs::read_to_string(&file).unwrap();
        for (at, _) in text.match_indices("docs/") {
            let is_start =
                !text[..at].ends_with(|c: char| c.is_alphanumeric() || "/-_.".contains(c));
            let name: String = text[at..]
                .chars()
                .take_while(|c| c.is_alphanumeric() || "/-_.".contains(*c))
                .collect();
            let name = name.trim_end_matches('.');
            let is_file = name.ends_with(".md") || name.ends_with(".json");
            // Links are relative to their file; the test above checks them.
            let is_link = text[..at].ends_with("](");
            if is_start && is_file && !is_link && !root().join(name).exists() {
                let file = file.strip_prefix(root()).unwrap().display();
                missing.push(format!("{file}: {name}"));
            }
        }
    }
    assert!(missing.is_empty(), "named, but not there: {missing:#?}");
}

#[test]
fn the_index_leads_to_every_document() {
    let docs = root().join("docs");
    let index = std::fs::read_to_string(docs.join("README.md")).unwrap();
    let linked: BTreeSet<PathBuf> = links(&index)
        .iter()
        .map(|(_, target)| plain(&docs.join(target.split('#').next().unwrap())))
        .collect();
    let unlinked: Vec<PathBuf> = files(&["md"])
        .into_iter()
        .filter(|file| file.starts_with(&docs) && !file.starts_with(docs.join("decisions")))
        .filter(|file| file.file_name().unwrap() != "README.md" && !linked.contains(file))
        .collect();
    assert!(
        unlinked.is_empty(),
        "docs/README.md does not link {unlinked:#?}"
    );
}

/// The functions of each crate, by the crate's folder.
fn functions() -> BTreeMap<String, BTreeSet<String>> {
    let mut functions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let crates = root().join("crates");
    for path in files(&["rs"]) {
        let Ok(below) = path.strip_prefix(&crates) else {
            continue;
        };
        let krate = below.components().next().unwrap().as_os_str();
        let text = std::fs::read_to_string(&path).unwrap();
        let names = text.split("fn ").skip(1).map(|rest| {
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
            rest.split(|c| !is_name(c)).next().unwrap().to_owned()
        });
        let known = functions.entry(krate.to_str().unwrap().to_owned());
        known.or_default().extend(names);
    }
    functions
}

/// The tests that a text names as `crate: test`, without those that stand for a whole module.
fn named_tests(text: &str) -> Vec<(String, String)> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let spans = text.split('`').skip(1).step_by(2);
    let named = spans.filter_map(|span| span.split_once(": "));
    let named = named.map(|(krate, test)| {
        let test = test.rsplit("::").next().unwrap().trim();
        (krate.to_owned(), test.to_owned())
    });
    named
        .filter(|(_, test)| test.contains('_') && !test.contains([' ', '/', '*']))
        .collect()
}

#[test]
fn every_test_that_the_threat_model_names_exists() {
    let text = std::fs::read_to_string(root().join("docs/operations/security.md")).unwrap();
    let (named, functions) = (named_tests(&text), functions());
    assert!(named.len() > 50, "{}", named.len());
    let missing: Vec<_> = named
        .iter()
        .filter(|(krate, test)| !functions.get(krate).is_some_and(|all| all.contains(test)))
        .collect();
    assert!(missing.is_empty(), "{missing:#?}");
}
