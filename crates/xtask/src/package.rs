//! `cargo xtask package`: binaries that run on old and new distributions, and packages of them.
//!
//! 1. build with zig's linker against glibc 2.17, for each target that the toolchain has (`build`);
//! 2. check which versions of glibc's symbols the binaries need (`elf`), and fail above;
//! 3. collect the files of each package (`contents`): binaries, units, examples of settings, man pages, completions, licences;
//! 4. write them as `.deb`, `.rpm` and `.tar.gz`, with checksums.
//!
//! The packages are written here and not by cargo-deb and cargo-generate-rpm: one list of files and one set of scripts serves all
//! formats, and CI, which makes packages in each run, need not compile both tools first.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, bail, ensure};
use clap::ValueEnum;
use flate2::{Compression, GzBuilder};

use crate::table::Table;

mod archive;
mod build;
mod contents;
mod deb;
mod elf;
mod release;
mod rpm;
mod script;
mod tarball;
mod target;
mod tools;

use build::Binaries;
use contents::Built;
use elf::Needs;
use release::Release;
use target::{Libc, Target};
use tools::Tools;

pub(crate) const EXAMPLES: &str = "Examples:
  cargo xtask package --setup                                  # installs zig from PyPI first, if it is missing
  cargo xtask package                                          # every target that the toolchain has
  cargo xtask package --target x86_64-unknown-linux-musl       # one target
  cargo xtask package --only deb --only rpm
  cargo xtask package --built target/debug --fast              # of binaries that are built already, for this machine

Writes below target/package. SOURCE_DATE_EPOCH, else the last commit, is the time of all files.
MUSTER_PACKAGE_MAINTAINER is the maintainer that packages name.";

/// The root of the repository.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The agent is on every host: it should stay small.
const AGENT_AIM: usize = 8_000_000;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Install the tools that are missing: zig and cargo-zigbuild, from PyPI, below target/.
    #[arg(long)]
    setup: bool,
    /// Build for this platform; again for more. Without it: for each that the toolchain has.
    #[arg(long, value_name = "TRIPLE", conflicts_with = "built")]
    target: Vec<String>,
    /// Make only this kind of file; again for more.
    #[arg(long, value_name = "KIND")]
    only: Vec<Kind>,
    /// Build nothing: package the muster and muster-agent of this folder, whatever glibc they need.
    #[arg(long, value_name = "DIR")]
    built: Option<PathBuf>,
    /// Compress quickly instead of well.
    #[arg(long)]
    fast: bool,
    /// Where to write.
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    Deb,
    Rpm,
    Tar,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let target_folder = Path::new(ROOT).canonicalize()?.join("target");
    let default = || target_folder.join("package");
    let output = args.output.clone().unwrap_or_else(default);
    let started = Instant::now();
    let step = |text: String| eprintln!("== {text} ({} s)", started.elapsed().as_secs());

    let mut not_built = Vec::new();
    let binaries = match &args.built {
        Some(folder) => {
            step(format!("binaries of {}", folder.display()));
            vec![Binaries::of_folder(folder, Target::host()?)?]
        }
        None => {
            let targets = targets(&args.target, &mut not_built)?;
            let tools = match args.setup {
                true => Tools::install(&target_folder)?,
                false => Tools::find(&target_folder)?,
            };
            step("web console".into());
            build::console()?;
            let mut binaries = Vec::new();
            for target in targets {
                step(format!("building for {}", target.to_build()));
                binaries.push(Binaries::build(&tools, target, &target_folder)?);
            }
            binaries
        }
    };

    step("man pages, completions and notices".into());
    let generated = tempfile::tempdir()?;
    let runnable = binaries.iter().find(|it| it.target.runs_here());
    let Some(runnable) = runnable else {
        bail!(
            "man pages come from a muster that runs on this machine: add --target {}",
            Target::host()?.triple()
        );
    };
    let version = runnable.version()?;
    runnable.generate(generated.path())?;
    let release = Release::new(version, args.fast)?;

    std::fs::create_dir_all(&output)
        .with_context(|| format!("{} cannot be created", output.display()))?;
    let mut made = Made::new(&output);
    for binaries in &binaries {
        let target = binaries.target;
        step(format!("packages for {}", target.triple()));
        let check = check(binaries)?;
        let notices = crate::notices::text_of(&target.triple())?;
        let built = Built {
            target,
            version: &release.version,
            muster: binaries.muster.clone(),
            agent: binaries.agent.clone(),
            generated: generated.path(),
            notices: &notices,
        };
        let packages = [built.muster()?, built.agent()?];
        made.row(target, "usr/bin/muster", &binaries.muster, &check);
        made.row(target, "usr/bin/muster-agent", &binaries.agent, &check);
        let wants = |kind| args.only.is_empty() || args.only.contains(&kind);
        // A static binary needs no package of its distribution, and the same names would stand for different files.
        if target.libc == Libc::Gnu {
            for package in &packages {
                if wants(Kind::Deb) {
                    let name = deb::file_name(package, target, &release);
                    made.write(
                        target,
                        &name,
                        &deb::write(package, target, &release)?,
                        &check,
                    )?;
                }
                if wants(Kind::Rpm) {
                    let name = rpm::file_name(package, target, &release);
                    made.write(
                        target,
                        &name,
                        &rpm::write(package, target, &release)?,
                        &check,
                    )?;
                }
            }
        }
        if wants(Kind::Tar) {
            let name = tarball::file_name(target, &release);
            made.write(
                target,
                &name,
                &tarball::write(&packages, target, &release)?,
                &check,
            )?;
        }
    }
    made.write_sums()?;
    step(format!("done: {}", output.display()));
    made.table.print();
    for binaries in &binaries {
        say_what_it_is(binaries, args.built.is_some());
    }
    for target in not_built {
        println!(
            "not built: {}: the toolchain has no standard library for it ({})",
            target.triple(),
            target.how_to_install()
        );
    }
    Ok(())
}

/// Those to build; the rest go to `not_built`.
fn targets(wanted: &[String], not_built: &mut Vec<Target>) -> anyhow::Result<Vec<Target>> {
    let mut targets = Vec::new();
    for text in wanted {
        let target = Target::parse(text)?;
        ensure!(
            target.is_installed()?,
            "--target {text}: the toolchain has no standard library for it: {}",
            target.how_to_install()
        );
        targets.push(target);
    }
    if wanted.is_empty() {
        for target in target::ALL {
            match target.is_installed()? {
                true => targets.push(target),
                false => not_built.push(target),
            }
        }
    }
    Ok(targets)
}

/// Fails for a binary that would not start where it should; returns what it needs, for the table.
fn check(binaries: &Binaries) -> anyhow::Result<String> {
    let mut needs = Needs::of(&binaries.muster).context("muster")?;
    needs.merge(Needs::of(&binaries.agent).context("muster-agent")?);
    if binaries.target.libc == Libc::Musl {
        ensure!(
            needs.is_static(),
            "{}: the binaries should be static, and need {:?}",
            binaries.target.triple(),
            needs.libraries
        );
        return Ok("static".into());
    }
    let newer = needs.newer_than(elf::Glibc::CEILING);
    ensure!(
        newer.is_empty() || !binaries.has_ceiling,
        "{}: the binaries must run with glibc {}, and need newer symbols: {}",
        binaries.target.triple(),
        elf::Glibc::CEILING,
        newer.join(", ")
    );
    Ok(needs.glibc().map_or_else(String::new, |it| it.to_string()))
}

fn say_what_it_is(binaries: &Binaries, was_built: bool) {
    let triple = binaries.target.triple();
    match was_built {
        true => println!(
            "packaged as built: {triple}; the limit of glibc {} was not checked",
            elf::Glibc::CEILING
        ),
        false => println!("built: {triple}"),
    }
    let megabytes = |bytes: usize| format!("{}.{} MB", bytes / 1_000_000, bytes / 100_000 % 10);
    let size = binaries.agent.len();
    let verdict = match size <= AGENT_AIM {
        true => "within the aim of",
        false => "above the aim of",
    };
    println!(
        "  muster-agent: {}, {verdict} {}",
        megabytes(size),
        megabytes(AGENT_AIM)
    );
    if binaries.target.libc == Libc::Musl {
        println!(
            "  musl has no NSS: users of LDAP or SSSD resolve only where nscd runs; the gnu binaries use NSS"
        );
    }
}

/// The files that were written.
struct Made<'a> {
    folder: &'a Path,
    table: Table,
    sums: String,
}

impl<'a> Made<'a> {
    fn new(folder: &'a Path) -> Self {
        Self {
            folder,
            table: Table::new(["file", "bytes", "sha256", "target", "highest glibc"]),
            sums: String::new(),
        }
    }

    fn write(
        &mut self,
        target: Target,
        name: &str,
        content: &[u8],
        check: &str,
    ) -> anyhow::Result<()> {
        let path = self.folder.join(name);
        std::fs::write(&path, content)
            .with_context(|| format!("{} cannot be written", path.display()))?;
        let sum = self.row(target, name, content, check);
        self.sums.push_str(&format!("{sum}  {name}\n"));
        Ok(())
    }

    fn row(&mut self, target: Target, name: &str, content: &[u8], check: &str) -> String {
        let sum = ring::digest::digest(&ring::digest::SHA256, content);
        let sum: String = sum
            .as_ref()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let size = crate::table::thousands(content.len() as f64);
        self.table.row([name, &size, &sum, &target.short(), check]);
        sum
    }

    /// For `sha256sum --check SHA256SUMS`.
    fn write_sums(&self) -> anyhow::Result<()> {
        Ok(std::fs::write(self.folder.join("SHA256SUMS"), &self.sums)?)
    }
}

/// Compressed as well as possible, with no time and no name: the same bytes each time.
fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzBuilder::new().write(Vec::new(), Compression::best());
    let written = encoder.write_all(content).and_then(|()| encoder.finish());
    written.expect("writing to a Vec does not fail")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binaries_that_need_a_newer_glibc_are_refused_with_the_symbols() {
        let folder = tempfile::tempdir().expect("a folder");
        // This test is linked against the glibc of this machine.
        let this = std::env::current_exe().expect("a test has a program");
        for name in ["muster", "muster-agent"] {
            std::fs::copy(&this, folder.path().join(name)).expect("a copy");
        }
        let read = |target, has_ceiling| {
            Binaries::read(folder.path(), target, has_ceiling).expect("they can be read")
        };
        let host = Target::host().expect("a known platform");
        let refused = check(&read(host, true))
            .expect_err("a newer glibc")
            .to_string();
        assert!(
            refused.contains("must run with glibc 2.17, and need newer symbols: "),
            "{refused}"
        );
        assert!(refused.contains(" (2."), "{refused}");
        let glibc = check(&read(host, false)).expect("no limit");
        assert!(glibc.starts_with("2."), "{glibc}");
        let musl = Target {
            libc: Libc::Musl,
            ..host
        };
        let refused = check(&read(musl, true))
            .expect_err("not static")
            .to_string();
        assert!(refused.contains("should be static"), "{refused}");
    }
}
