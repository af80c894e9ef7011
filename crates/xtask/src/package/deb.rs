//! Writes a `.deb`: an `ar` archive of two compressed tar files, as `deb(5)` describes it.

use std::collections::BTreeSet;
use std::fmt::Write;

use anyhow::{Context, bail};
use md5::{Digest, Md5};

use super::Release;
use super::archive::{Entry, Tar};
use super::contents::{self, File, Kind, Package};
use super::gzip;
use super::script::{self, Format};
use super::target::Target;

pub(crate) fn file_name(package: &Package, target: Target, release: &Release) -> String {
    format!(
        "{}_{}-1_{}.deb",
        package.name, release.version, target.debian_arch
    )
}

/// Says why a finding of lintian does not apply.
const LINTIAN_OVERRIDES: &str = "\
# The YAML parser is unsafe-libyaml-norway: libyaml translated to Rust, not the C library that Debian has.
muster: embedded-library *libyaml*
";

pub(crate) fn write(
    package: &Package,
    target: Target,
    release: &Release,
) -> anyhow::Result<Vec<u8>> {
    let own = own_files(package, release);
    // Debian has this licence already, and its rules want no copy.
    let shared = package.files.iter();
    let shared = shared.filter(|file| !file.path.ends_with("/LICENSE"));
    let files: Vec<&File> = shared.chain(&own).collect();

    let mut archive = b"!<arch>\n".to_vec();
    add_member(&mut archive, "debian-binary", b"2.0\n", release);
    let control = control_files(package, &files, target, release)?;
    let entries = control.iter().map(|(name, mode, content)| Entry::File {
        path: (*name).to_owned(),
        mode: *mode,
        content: content.as_bytes(),
    });
    let control = Tar::new(release).write(std::iter::once(Entry::folder("")).chain(entries))?;
    add_member(&mut archive, "control.tar.gz", &control, release);
    let folders = contents::folders(files.iter().copied());
    let folders = folders.iter().map(|path| Entry::folder(path));
    let entries = files.iter().map(|file| Entry::File {
        path: file.path.clone(),
        mode: file.mode,
        content: &file.content,
    });
    let entries = std::iter::once(Entry::folder(""))
        .chain(folders)
        .chain(entries);
    let data = Tar::new(release).write(entries)?;
    add_member(&mut archive, "data.tar.gz", &data, release);
    Ok(archive)
}

/// Files that only packages of Debian have.
fn own_files(package: &Package, release: &Release) -> Vec<File> {
    let name = package.name;
    let changelog = format!(
        "{name} ({version}-1) unstable; urgency=medium\n\n  * Release {version}; NEWS.gz says what is new.\n\n -- {}  {}\n",
        release.maintainer,
        release.rfc2822(),
        version = release.version,
    );
    let mut files = vec![File {
        path: format!("usr/share/doc/{name}/changelog.Debian.gz"),
        mode: 0o644,
        kind: Kind::Doc,
        content: gzip(changelog.as_bytes()),
    }];
    if name == "muster" {
        let path = "usr/share/lintian/overrides/muster";
        files.push(contents::plain(path, LINTIAN_OVERRIDES));
    }
    files
}

/// Name, mode and text of the files about the package.
fn control_files(
    package: &Package,
    files: &[&File],
    target: Target,
    release: &Release,
) -> anyhow::Result<Vec<(&'static str, u32, String)>> {
    let mut sums = String::new();
    for file in files {
        for byte in Md5::digest(&file.content) {
            write!(sums, "{byte:02x}")?;
        }
        writeln!(sums, "  {}", file.path)?;
    }
    let configs = files.iter().filter(|file| file.kind == Kind::Config);
    let configs = configs.map(|file| format!("/{}\n", file.path)).collect();
    let size = files.iter().map(|file| file.content.len()).sum();
    let mut control = vec![
        ("control", 0o644, control(package, size, target, release)?),
        ("md5sums", 0o644, sums),
        ("conffiles", 0o644, configs),
    ];
    for (name, calls) in script::DEB {
        let text = script::whole(Format::Deb, package.functions, calls);
        control.push((name, 0o755, text));
    }
    Ok(control)
}

fn control(
    package: &Package,
    size: usize,
    target: Target,
    release: &Release,
) -> anyhow::Result<String> {
    let mut description = String::new();
    for line in package.description.lines() {
        write!(description, "\n {line}")?;
    }
    Ok(format!(
        "Package: {}\nVersion: {}-1\nSection: admin\nPriority: optional\nArchitecture: {}\nMaintainer: {}\n\
         Installed-Size: {}\nDepends: {}\nDescription: {}{description}\n",
        package.name,
        release.version,
        target.debian_arch,
        release.maintainer,
        size.div_ceil(1024),
        depends(package)?,
        package.summary,
    ))
}

/// The Debian packages of the libraries that the binaries need.
fn depends(package: &Package) -> anyhow::Result<String> {
    let mut depends = BTreeSet::new();
    for library in &package.needs.libraries {
        let known = [
            "libc.so.",
            "libm.so.",
            "libpthread.so.",
            "libdl.so.",
            "librt.so.",
            "ld-linux-",
        ];
        if known.iter().any(|start| library.starts_with(start)) {
            let glibc = package
                .needs
                .glibc()
                .context("its symbols have no version")?;
            depends.insert(format!("libc6 (>= {glibc})"));
        } else if library == "libgcc_s.so.1" {
            depends.insert("libgcc-s1".to_owned());
        } else {
            bail!(
                "{} needs {library}, and no Debian package is known for it",
                package.name
            );
        }
    }
    depends.extend(
        package
            .needs_packages
            .iter()
            .map(|(debian, _)| (*debian).to_owned()),
    );
    Ok(depends.into_iter().collect::<Vec<_>>().join(", "))
}

fn add_member(archive: &mut Vec<u8>, name: &str, content: &[u8], release: &Release) {
    let head = format!(
        "{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n",
        release.time,
        0,
        0,
        100644,
        content.len()
    );
    archive.extend(head.as_bytes());
    archive.extend(content);
    if content.len() % 2 == 1 {
        archive.push(b'\n');
    }
}
