//! Turns `console/dist` into a table of embedded files: each as it is, and compressed where that makes it smaller.
//!
//! Without `console/dist`, or if it is empty, the table is empty: the server then says how to build the console.

use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::{env, fs};

use flate2::Compression;
use flate2::write::GzEncoder;

fn main() {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let dist = manifest.join("../../console/dist");
    // A folder that is missing would make cargo run this again at every build. It may be read-only: then it does.
    let _read_only = fs::create_dir_all(&dist);
    println!("cargo::rerun-if-changed={}", dist.display());
    println!("cargo::rerun-if-changed=build.rs");

    let mut paths = Vec::new();
    list(&dist, &mut paths).unwrap_or_else(|e| panic!("cannot read {}: {e}", dist.display()));
    paths.sort();
    if paths.is_empty() {
        println!(
            "cargo::warning=the web console is not built; for a server with it: npm ci && npm run build, in console/, then build again"
        );
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let mut table = String::from("&[\n");
    for (index, path) in paths.iter().enumerate() {
        let content =
            fs::read(path).unwrap_or_else(|e| panic!("cannot read {}: {e}", path.display()));
        let name = path.strip_prefix(&dist).expect("it was found there");
        let name = name.to_str().expect("the names of built files are ASCII");
        // Copies, so that the compiler embeds what was compressed, even while the console is built anew.
        let plain = format!("{index}.plain");
        write(&out.join(&plain), &content);
        let gzip = gzip(&content);
        let gzip = match gzip.len() < content.len() {
            true => {
                let file = format!("{index}.gz");
                write(&out.join(&file), &gzip);
                format!("Some({})", include(&file))
            }
            false => "None".to_owned(),
        };
        writeln!(
            table,
            "    File {{ path: {name:?}, content_type: {:?}, etag: {:?}, plain: {}, gzip: {gzip} }},",
            content_type(path),
            format!("\"{:016x}\"", hash(&content)),
            include(&plain),
        )
        .expect("writing into a string cannot fail");
    }
    table.push_str("]\n");
    write(&out.join("files.rs"), table.as_bytes());
}

fn include(file: &str) -> String {
    format!("include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{file}\"))")
}

fn list(folder: &Path, into: &mut Vec<PathBuf>) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let path = entry?.path();
        match path.is_dir() {
            true => list(&path, into)?,
            false => into.push(path),
        }
    }
    Ok(())
}

fn write(path: &Path, content: &[u8]) {
    fs::write(path, content).unwrap_or_else(|e| panic!("cannot write {}: {e}", path.display()));
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let written = encoder.write_all(content).and_then(|()| encoder.finish());
    written.expect("writing into memory cannot fail")
}

/// Tells one build of a file from another; nothing depends on it being hard to guess.
fn hash(content: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(content);
    hasher.finish()
}

fn content_type(path: &Path) -> &'static str {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("ico") => "image/x-icon",
        Some("json" | "webmanifest") => "application/json",
        Some("woff2") => "font/woff2",
        Some("txt") => "text/plain; charset=utf-8",
        other => panic!(
            "{}: add the content type of {other:?} files to build.rs",
            path.display()
        ),
    }
}
