//! What a binary needs of the host's libraries: which of them, and which versions of glibc's symbols.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use anyhow::Context;
use object::elf;
use object::endian::Endianness;
use object::read::elf::{ElfFile64, FileHeader, Sym};

/// A version of glibc: `2.17`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Glibc(pub(crate) u32, pub(crate) u32);

impl Glibc {
    /// The newest version that packages may need: CentOS 7, and every distribution since.
    pub(crate) const CEILING: Self = Self(2, 17);

    /// `GLIBC_2.17` or `GLIBC_2.2.5`, whose last part does not matter; nothing for other names.
    fn parse(name: &str) -> Option<Self> {
        let mut parts = name.strip_prefix("GLIBC_")?.split('.');
        Some(Self(
            parts.next()?.parse().ok()?,
            parts.next()?.parse().ok()?,
        ))
    }
}

impl fmt::Display for Glibc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

/// What the dynamic linker must find before a binary can start.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    /// `libc.so.6`
    pub(crate) libraries: BTreeSet<String>,
    /// Versions of a library's symbols: `(libc.so.6, GLIBC_2.17)`.
    pub(crate) versions: BTreeSet<(String, String)>,
    /// Symbols by version, as far as the version is glibc's.
    symbols: BTreeMap<Glibc, BTreeSet<String>>,
}

impl Needs {
    pub(crate) fn of(binary: &[u8]) -> anyhow::Result<Self> {
        let file = ElfFile64::<Endianness>::parse(binary).context("it is no 64-bit ELF file")?;
        let endian = file.endian();
        let mut needs = Self::default();
        let dynamic = file.elf_dynamic_table()?;
        for entry in dynamic.iter() {
            if entry.tag == elf::DT_NEEDED {
                let name = String::from_utf8_lossy(dynamic.string(entry)?).into_owned();
                needs.libraries.insert(name);
            }
        }
        let sections = file.elf_header().sections(endian, binary)?;
        let Some(versions) = sections.versions(endian, binary)? else {
            return Ok(needs);
        };
        let symbols = file.elf_dynamic_symbol_table();
        for (index, symbol) in symbols.enumerate() {
            if !symbol.is_undefined(endian) {
                continue;
            }
            let version = versions.version(versions.version_index(endian, index).index())?;
            let Some((version, library)) = version.and_then(|it| Some((it.name(), it.file()?)))
            else {
                continue;
            };
            let version = String::from_utf8_lossy(version).into_owned();
            let library = String::from_utf8_lossy(library).into_owned();
            if let Some(glibc) = Glibc::parse(&version) {
                let name = symbol.name(endian, symbols.strings())?;
                let name = String::from_utf8_lossy(name).into_owned();
                needs.symbols.entry(glibc).or_default().insert(name);
            }
            needs.versions.insert((library, version));
        }
        Ok(needs)
    }

    /// The oldest glibc that has every symbol; none for a static binary.
    pub(crate) fn glibc(&self) -> Option<Glibc> {
        self.symbols.keys().next_back().copied()
    }

    /// The symbols that a glibc of this version does not have: `memcpy (2.14)`.
    pub(crate) fn newer_than(&self, ceiling: Glibc) -> Vec<String> {
        let newer = self
            .symbols
            .iter()
            .filter(|(version, _)| **version > ceiling);
        newer
            .flat_map(|(version, names)| {
                names.iter().map(move |name| format!("{name} ({version})"))
            })
            .collect()
    }

    pub(crate) fn is_static(&self) -> bool {
        self.libraries.is_empty()
    }

    /// For a package with several binaries.
    pub(crate) fn merge(&mut self, other: Self) {
        self.libraries.extend(other.libraries);
        self.versions.extend(other.versions);
        for (version, names) in other.symbols {
            self.symbols.entry(version).or_default().extend(names);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_glibc_are_ordered_by_number() {
        assert_eq!(Glibc::parse("GLIBC_2.2.5"), Some(Glibc(2, 2)));
        assert!(Glibc::parse("GLIBC_2.9") < Glibc::parse("GLIBC_2.17"));
        for other in ["GLIBC_PRIVATE", "GCC_3.0", "2.17"] {
            assert_eq!(Glibc::parse(other), None, "{other}");
        }
    }

    #[test]
    fn this_test_needs_the_libraries_of_this_host() {
        let path = std::env::current_exe().expect("a test has a program");
        let binary = std::fs::read(path).expect("it can be read");
        let needs = Needs::of(&binary).expect("it is an ELF file");
        assert!(needs.libraries.contains("libc.so.6"), "{needs:?}");
        let glibc = needs.glibc().expect("std uses glibc");
        // Rust's standard library itself needs this much.
        assert!(glibc >= Glibc(2, 17), "{glibc}");
        assert!(!needs.newer_than(Glibc(2, 2)).is_empty());
        assert!(needs.newer_than(glibc).is_empty());
        assert!(Needs::of(b"#!/bin/sh\n").is_err());
    }
}
