//! Writes a `.tar.gz` with the files of all packages: for distributions without `.deb` and `.rpm`.

use std::io;

use super::Release;
use super::archive::{Entry, Tar};
use super::contents::{self, Package};
use super::target::Target;

pub(crate) fn file_name(target: Target, release: &Release) -> String {
    format!("{}.tar.gz", folder(target, release))
}

/// The one folder that the archive unpacks into; below it the paths are those of an installation.
fn folder(target: Target, release: &Release) -> String {
    format!("muster-{}-{}", release.version, target.short())
}

pub(crate) fn write(
    packages: &[Package],
    target: Target,
    release: &Release,
) -> io::Result<Vec<u8>> {
    let top = folder(target, release);
    let files = || packages.iter().flat_map(|package| &package.files);
    let folders = contents::folders(files());
    let folders = folders
        .iter()
        .map(|path| Entry::folder(&format!("{top}/{path}")));
    let files = files().map(|file| Entry::File {
        path: format!("{top}/{}", file.path),
        mode: file.mode,
        content: &file.content,
    });
    let entries = std::iter::once(Entry::folder(&top))
        .chain(folders)
        .chain(files);
    Tar::new(release).write(entries)
}
