//! What `cargo machete` and the offline parts of `cargo deny` check, without minutes to build them: no unused dependency, and
//! only the licences, crates and sources that `deny.toml` allows.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

#[test]
fn every_dependency_is_used() {
    let metadata = metadata();
    let members = strings(&metadata["workspace_members"]);
    let mut unused = Vec::new();
    for package in array(&metadata["packages"]) {
        if !members.contains(text(&package["id"])) {
            continue;
        }
        let source = source_of(package);
        for dependency in array(&package["dependencies"]) {
            let name = text(&dependency["name"]);
            let rename = dependency["rename"].as_str();
            let library = rename.map_or_else(|| library_of(&metadata, name), str::to_owned);
            if !has_word(&source, &library) {
                unused.push(format!("{}: {name}", text(&package["name"])));
            }
        }
    }
    unused.sort();
    unused.dedup();
    assert!(unused.is_empty(), "unused dependencies: {unused:#?}");
}

#[test]
fn every_workspace_dependency_has_a_user() {
    let root = root();
    let manifest: toml::Table = read(&root.join("Cargo.toml")).parse().unwrap();
    let declared = manifest["workspace"]["dependencies"].as_table().unwrap();
    let metadata = metadata();
    let members = strings(&metadata["workspace_members"]);
    let packages = array(&metadata["packages"]).iter();
    let used: BTreeSet<&str> = packages
        .filter(|package| members.contains(text(&package["id"])))
        .flat_map(|package| array(&package["dependencies"]))
        .map(|dependency| text(&dependency["name"]))
        .collect();
    let unused: Vec<&String> = declared
        .keys()
        .filter(|name| !used.contains(name.as_str()))
        .collect();
    assert!(unused.is_empty(), "no crate uses {unused:?}");
}

#[test]
fn every_dependency_is_allowed() {
    let rules: toml::Table = read(&root().join("deny.toml")).parse().unwrap();
    let licences = rules["licenses"]["allow"].as_array().unwrap();
    let licences: BTreeSet<&str> = licences.iter().map(|it| it.as_str().unwrap()).collect();
    let banned = rules["bans"]["deny"].as_array().unwrap();
    let banned: BTreeSet<&str> = banned
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    let mut wrong = Vec::new();
    for package in array(&metadata()["packages"]) {
        let name = text(&package["name"]);
        let licence = package["license"].as_str().unwrap_or("no licence");
        if !is_allowed(licence, &licences) {
            wrong.push(format!("{name}: the licence {licence} is not in deny.toml"));
        }
        if banned.contains(name) {
            wrong.push(format!("{name}: banned in deny.toml"));
        }
        if let Some(source) = package["source"].as_str()
            && !source.starts_with("registry+")
        {
            wrong.push(format!(
                "{name}: comes from {source}, not from the registry"
            ));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn licence_expressions_are_understood() {
    let allowed = BTreeSet::from(["MIT", "ISC", "Apache-2.0 WITH LLVM-exception"]);
    for (expression, expected) in [
        ("MIT", true),
        ("GPL-3.0", false),
        ("MIT/GPL-3.0", true),
        ("GPL-3.0 OR MIT", true),
        ("GPL-3.0 AND MIT", false),
        ("(MIT OR GPL-3.0) AND ISC", true),
        ("(GPL-3.0 OR MPL-2.0) AND ISC", false),
        ("Apache-2.0 WITH LLVM-exception OR GPL-3.0", true),
    ] {
        assert_eq!(is_allowed(expression, &allowed), expected, "{expression}");
    }
}

/// Evaluates an SPDX expression; AND binds tighter than OR.
fn is_allowed(expression: &str, allowed: &BTreeSet<&str>) -> bool {
    let expression = expression.replace('/', " OR ");
    let (open, close) = (expression.rfind('('), expression.find(')'));
    if let (Some(_), Some(close)) = (open, close) {
        let open = expression[..close]
            .rfind('(')
            .expect("balanced parentheses");
        let inner = match is_allowed(&expression[open + 1..close], allowed) {
            true => "TRUE",
            false => "FALSE",
        };
        let flat = format!("{}{inner}{}", &expression[..open], &expression[close + 1..]);
        return is_allowed(&flat, allowed);
    }
    let one = |licence: &str| licence == "TRUE" || allowed.contains(licence);
    expression
        .split(" OR ")
        .any(|all| all.split(" AND ").all(|licence| one(licence.trim())))
}

/// Packages as they are built for Linux.
fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--offline"])
        .args(["--filter-platform", "x86_64-unknown-linux-gnu"])
        .current_dir(root())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The name that source uses: `md-5` has the library `md5`.
fn library_of(metadata: &Value, name: &str) -> String {
    let mut packages = array(&metadata["packages"]).iter();
    let package = packages
        .find(|package| text(&package["name"]) == name)
        .unwrap();
    let is_library = |target: &&Value| {
        let kinds = strings(&target["kind"]);
        kinds.contains("lib") || kinds.contains("proc-macro")
    };
    let library = array(&package["targets"]).iter().find(is_library);
    text(&library.unwrap()["name"]).replace('-', "_")
}

/// All Rust source of a package: the folders of its targets, and what lies below them.
fn source_of(package: &Value) -> String {
    let targets = array(&package["targets"]).iter();
    let folders: BTreeSet<PathBuf> = targets
        .map(|target| Path::new(text(&target["src_path"])).canonicalize().unwrap())
        .map(|path| path.parent().unwrap().to_owned())
        .collect();
    let mut source = String::new();
    // A build script lies beside the manifest: only the file itself, not every folder below.
    let is_package = |folder: &Path| folder.join("Cargo.toml").is_file();
    for folder in &folders {
        let is_below =
            |other: &PathBuf| other != folder && folder.starts_with(other) && !is_package(other);
        let is_package = is_package(folder);
        if !folders.iter().any(is_below) || is_package {
            add_source(folder, !is_package, &mut source);
        }
    }
    source
}

fn add_source(folder: &Path, with_folders: bool, source: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && with_folders {
            add_source(&path, true, source);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            source.push_str(&read(&path));
        }
    }
}

fn has_word(source: &str, word: &str) -> bool {
    let is_part = |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    source.match_indices(word).any(|(at, _)| {
        let bytes = source.as_bytes();
        let before = at.checked_sub(1).and_then(|at| bytes.get(at));
        !is_part(before) && !is_part(bytes.get(at + word.len()))
    })
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

fn array(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn strings(value: &Value) -> BTreeSet<&str> {
    array(value).iter().map(text).collect()
}
