//! Third-party notices for packages: every crate that is compiled into the shipped binaries, with its licence texts, and what
//! the web console contains.
//!
//! Reads `cargo metadata` and the crates' source folders in the local registry; writes nothing that depends on the machine or
//! the time, so that the same `Cargo.lock` gives the same bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};
use serde_json::Value;

pub(crate) const EXAMPLES: &str = "Examples:
  cargo xtask notices                                               # to the terminal
  cargo xtask notices --output target/dist/THIRD-PARTY-NOTICES      # for a package
  cargo xtask notices --target aarch64-unknown-linux-gnu            # for a package of another architecture

Lists the crates that muster and muster-agent are built from (normal dependencies, no build or test tools). A crate whose source
holds no licence text is listed with its licence and repository, and counted on the error stream.";

/// What the web console contains, which the server embeds.
const CONSOLE: &str = include_str!("../../../console/NOTICE");

/// The packages whose binaries are shipped.
const SHIPPED: [&str; 2] = ["cli", "agent"];

/// How the name of a file with a licence begins, in lower case.
const LICENCE_FILES: [&str; 7] = [
    "license",
    "licence",
    "copying",
    "copyright",
    "notice",
    "unlicense",
    "patents",
];

/// The largest file that is taken for a licence text.
const MAX_TEXT: u64 = 256 * 1024;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where to write; without it to the terminal.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The platform that the package is for.
    #[arg(
        long,
        value_name = "TRIPLE",
        default_value = "x86_64-unknown-linux-gnu"
    )]
    target: String,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    ensure!(
        args.target.contains("-linux-"),
        "--target {}: Muster is built for Linux only",
        args.target
    );
    let notices = notices(&args.target)?;
    let text = notices.to_text();
    match &args.output {
        None => print!("{text}"),
        Some(path) => std::fs::write(path, text)
            .with_context(|| format!("--output {}: cannot be written", path.display()))?,
    }
    eprintln!(
        "{} crates, {} different texts, {} crates without a text",
        notices.crates.len(),
        notices.texts.len(),
        notices
            .crates
            .values()
            .filter(|it| it.texts.is_empty())
            .count()
    );
    Ok(())
}

/// The notices of a package for this platform.
pub(crate) fn text_of(target: &str) -> anyhow::Result<String> {
    Ok(notices(target)?.to_text())
}

fn notices(target: &str) -> anyhow::Result<Notices> {
    let metadata = metadata(target)?;
    Notices::read(&shipped_crates(&metadata)?)
}

fn metadata(target: &str) -> anyhow::Result<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked"])
        .args(["--filter-platform", target])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .output()
        .context("cargo metadata cannot be run")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "cargo metadata failed: {said}");
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The packages of others that the shipped binaries depend on, through normal dependencies.
fn shipped_crates(metadata: &Value) -> anyhow::Result<Vec<&Value>> {
    let packages: BTreeMap<&str, &Value> = array(&metadata["packages"])
        .iter()
        .map(|package| (text(&package["id"]), package))
        .collect();
    let nodes: BTreeMap<&str, &Value> = array(&metadata["resolve"]["nodes"])
        .iter()
        .map(|node| (text(&node["id"]), node))
        .collect();
    let is_ours = |package: &Value| package["source"].is_null();
    let mut waiting: Vec<&str> = packages
        .iter()
        .filter(|(_, package)| is_ours(package) && SHIPPED.contains(&text(&package["name"])))
        .map(|(id, _)| *id)
        .collect();
    ensure!(
        waiting.len() == SHIPPED.len(),
        "the workspace has not all of {SHIPPED:?}"
    );
    let mut seen = BTreeSet::new();
    while let Some(id) = waiting.pop() {
        if !seen.insert(id) {
            continue;
        }
        let node = nodes.get(id).with_context(|| format!("no node of {id}"))?;
        for dependency in array(&node["deps"]) {
            let mut kinds = array(&dependency["dep_kinds"]).iter();
            if kinds.any(|kind| kind["kind"].is_null()) {
                waiting.push(text(&dependency["pkg"]));
            }
        }
    }
    let found = seen.iter().filter_map(|id| packages.get(id).copied());
    Ok(found.filter(|package| !is_ours(package)).collect())
}

#[derive(Debug, Default)]
struct Notices {
    /// By name and version.
    crates: BTreeMap<(String, String), Crate>,
    /// Each text once, with its number.
    texts: BTreeMap<String, usize>,
}

#[derive(Debug)]
struct Crate {
    licence: String,
    authors: Vec<String>,
    repository: Option<String>,
    /// Name of the file, and the text.
    texts: Vec<(String, String)>,
}

impl Notices {
    fn read(packages: &[&Value]) -> anyhow::Result<Self> {
        let mut notices = Self::default();
        for package in packages {
            let (name, version) = (text(&package["name"]), text(&package["version"]));
            let manifest = Path::new(text(&package["manifest_path"]));
            let folder = manifest.parent().context("a manifest lies in a folder")?;
            let named = package["license_file"].as_str();
            let texts = licence_texts(folder, named)
                .with_context(|| format!("the source of {name} {version} cannot be read"))?;
            let licence = package["license"].as_str();
            if licence.is_none() && texts.is_empty() {
                bail!("{name} {version} names no licence and holds no text of one");
            }
            let one = Crate {
                licence: licence.unwrap_or("see its text").to_owned(),
                authors: array(&package["authors"])
                    .iter()
                    .map(|author| text(author).to_owned())
                    .collect(),
                repository: ["repository", "homepage"]
                    .iter()
                    .find_map(|key| package[key].as_str())
                    .map(str::to_owned),
                texts,
            };
            notices
                .crates
                .insert((name.to_owned(), version.to_owned()), one);
        }
        for one in notices.crates.values() {
            for (_, text) in &one.texts {
                let number = notices.texts.len() + 1;
                notices.texts.entry(text.clone()).or_insert(number);
            }
        }
        Ok(notices)
    }

    fn to_text(&self) -> String {
        let mut out = String::from(
            "THIRD-PARTY NOTICES\n\nMuster is licensed under Apache-2.0. Its binaries contain the crates below, under the licences of \
             their authors.\nThe numbers in brackets refer to the texts at the end.\n\n",
        );
        for ((name, version), one) in &self.crates {
            line(&mut out, format_args!("{name} {version}"));
            line(&mut out, format_args!("  licence: {}", one.licence));
            if !one.authors.is_empty() {
                line(
                    &mut out,
                    format_args!("  authors: {}", one.authors.join(", ")),
                );
            }
            if let Some(repository) = &one.repository {
                line(&mut out, format_args!("  source: {repository}"));
            }
            let texts: Vec<String> = one
                .texts
                .iter()
                .map(|(file, text)| format!("{file} [{}]", self.texts[text]))
                .collect();
            let texts = match texts.is_empty() {
                true => "none in its source".to_owned(),
                false => texts.join(", "),
            };
            line(&mut out, format_args!("  texts: {texts}\n"));
        }
        let by_number: BTreeMap<usize, &str> = self
            .texts
            .iter()
            .map(|(text, n)| (*n, text.as_str()))
            .collect();
        for (number, text) in by_number {
            let rule = "-".repeat(78);
            line(&mut out, format_args!("{rule}\n[{number}]\n\n{text}\n"));
        }
        let rule = "-".repeat(78);
        line(&mut out, format_args!("{rule}\n\n{}", CONSOLE.trim_end()));
        out
    }
}

/// The licence texts of a crate's source, by file name: beside its manifest, in a folder of licences, and where the manifest says.
fn licence_texts(folder: &Path, named: Option<&str>) -> anyhow::Result<Vec<(String, String)>> {
    let mut files = BTreeSet::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = file_name(&path);
        let is_licence = LICENCE_FILES
            .iter()
            .any(|start| name.to_lowercase().starts_with(start));
        if !is_licence {
            continue;
        }
        if path.is_dir() {
            for entry in std::fs::read_dir(&path)? {
                let below = entry?.path();
                files.insert((format!("{name}/{}", file_name(&below)), below));
            }
        } else {
            files.insert((name, path));
        }
    }
    if let Some(named) = named {
        files.insert((named.to_owned(), folder.join(named)));
    }
    let mut texts = Vec::new();
    for (name, path) in files {
        let is_source = path.extension().is_some_and(|extension| extension == "rs");
        let facts = std::fs::metadata(&path)?;
        if is_source || !facts.is_file() || facts.len() > MAX_TEXT {
            continue;
        }
        let bytes = std::fs::read(&path)?;
        let text = String::from_utf8_lossy(&bytes).replace("\r\n", "\n");
        let text = text.trim_matches('\n').trim_end();
        if !text.is_empty() {
            texts.push((name, text.to_owned()));
        }
    }
    Ok(texts)
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    writeln!(out, "{text}").expect("writing to a String does not fail");
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
