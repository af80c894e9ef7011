//! What is in a package. `.deb`, `.rpm` and `.tar.gz` are written from the same list of files.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Context;

use super::elf::Needs;
use super::gzip;
use super::target::Target;

/// What installers must know about a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Plain,
    /// Belongs to the administrator: an upgrade keeps changes.
    Config,
    Doc,
    Licence,
}

#[derive(Debug, Clone)]
pub(crate) struct File {
    /// Without the leading slash.
    pub(crate) path: String,
    pub(crate) mode: u32,
    pub(crate) kind: Kind,
    pub(crate) content: Vec<u8>,
}

#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) name: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) description: &'static str,
    pub(crate) files: Vec<File>,
    /// Shell functions, see `packaging/scripts/`.
    pub(crate) functions: &'static str,
    /// Packages that the shell functions need: Debian's name and that of distributions with rpm.
    pub(crate) needs_packages: &'static [(&'static str, &'static str)],
    /// Of all its binaries together.
    pub(crate) needs: Needs,
}

/// The binaries of a target, stripped, and what is made from them.
#[derive(Debug)]
pub(crate) struct Built<'a> {
    pub(crate) target: Target,
    pub(crate) version: &'a str,
    pub(crate) muster: Vec<u8>,
    pub(crate) agent: Vec<u8>,
    /// Written by `muster generate`.
    pub(crate) generated: &'a Path,
    pub(crate) notices: &'a str,
}

const MUSTER_DESCRIPTION: &str = "\
Muster keeps the processes of a fleet as operators want them. This package has
the server with its web console, and the command line client. It also carries
the agent, for hosts that are installed from this server.";

const AGENT_DESCRIPTION: &str = "\
The agent starts, stops and supervises the processes of one host as its Muster
server says. Stopping, upgrading or removing the agent leaves the processes
running. The same program is a relay for agents that cannot reach the server.";

impl Built<'_> {
    /// Server, console and CLI.
    pub(crate) fn muster(&self) -> anyhow::Result<Package> {
        let mut files = vec![
            program("usr/bin/muster", &self.muster),
            program(
                &format!(
                    "usr/lib/muster/agents/muster-agent-{}-{}",
                    self.version, self.target.arch
                ),
                &self.agent,
            ),
            plain(
                "usr/lib/systemd/system/muster-server.service",
                include_str!("../../../../packaging/systemd/muster-server.service"),
            ),
            config(
                "etc/muster/server.toml.example",
                include_str!("../../../../packaging/config/server.toml"),
            ),
        ];
        self.add_docs("muster", &mut files);
        self.add_pages("man1", &mut files)?;
        self.add_completions("muster", &mut files)?;
        let mut needs = Needs::of(&self.muster)?;
        needs.merge(Needs::of(&self.agent)?);
        Ok(Package {
            name: "muster",
            summary: "server and command line of Muster, which supervises fleets",
            description: MUSTER_DESCRIPTION,
            files,
            functions: include_str!("../../../../packaging/scripts/muster.sh"),
            needs_packages: &[("passwd", "shadow-utils")],
            needs,
        })
    }

    /// The agent, which is also a relay.
    pub(crate) fn agent(&self) -> anyhow::Result<Package> {
        let mut files = vec![
            program("usr/bin/muster-agent", &self.agent),
            plain(
                "usr/lib/systemd/system/muster-agent.service",
                include_str!("../../../../packaging/systemd/muster-agent.service"),
            ),
            config(
                "etc/muster/agent.toml.example",
                include_str!("../../../../packaging/config/agent.toml"),
            ),
            plain(
                "usr/lib/systemd/system/muster-relay.service",
                include_str!("../../../../packaging/systemd/muster-relay.service"),
            ),
            config(
                "etc/muster/relay.toml.example",
                include_str!("../../../../packaging/config/relay.toml"),
            ),
        ];
        self.add_docs("muster-agent", &mut files);
        self.add_pages("man8", &mut files)?;
        self.add_completions("muster-agent", &mut files)?;
        Ok(Package {
            name: "muster-agent",
            summary: "agent of Muster, which supervises the processes of a host",
            description: AGENT_DESCRIPTION,
            files,
            functions: include_str!("../../../../packaging/scripts/muster-agent.sh"),
            needs_packages: &[],
            needs: Needs::of(&self.agent)?,
        })
    }

    fn add_docs(&self, package: &str, files: &mut Vec<File>) {
        let doc = |name: &str, kind: Kind, content: Vec<u8>| File {
            path: format!("usr/share/doc/{package}/{name}"),
            mode: 0o644,
            kind,
            content,
        };
        files.extend([
            doc("copyright", Kind::Licence, COPYRIGHT.into()),
            doc(
                "LICENSE",
                Kind::Licence,
                include_bytes!("../../../../LICENSE").to_vec(),
            ),
            doc(
                "THIRD-PARTY-NOTICES.gz",
                Kind::Licence,
                gzip(self.notices.as_bytes()),
            ),
            doc(
                "NEWS.gz",
                Kind::Doc,
                gzip(include_bytes!("../../../../CHANGELOG.md")),
            ),
        ]);
    }

    fn add_pages(&self, section: &str, files: &mut Vec<File>) -> anyhow::Result<()> {
        for (name, content) in read_folder(&self.generated.join(section))? {
            files.push(File {
                path: format!("usr/share/man/{section}/{name}.gz"),
                mode: 0o644,
                kind: Kind::Doc,
                content: gzip(&content),
            });
        }
        Ok(())
    }

    /// Where the shells of distributions look.
    fn add_completions(&self, program: &str, files: &mut Vec<File>) -> anyhow::Result<()> {
        for (from, to) in [
            (
                format!("bash/{program}"),
                format!("bash-completion/completions/{program}"),
            ),
            (
                format!("zsh/_{program}"),
                format!("zsh/vendor-completions/_{program}"),
            ),
            (
                format!("fish/{program}.fish"),
                format!("fish/vendor_completions.d/{program}.fish"),
            ),
        ] {
            let content = std::fs::read(self.generated.join(&from))
                .with_context(|| format!("muster generate wrote no {from}"))?;
            files.push(File {
                path: format!("usr/share/{to}"),
                mode: 0o644,
                kind: Kind::Plain,
                content,
            });
        }
        Ok(())
    }
}

/// Each folder of the files once, parents first.
pub(crate) fn folders<'a>(files: impl IntoIterator<Item = &'a File>) -> BTreeSet<String> {
    let mut folders = BTreeSet::new();
    for file in files {
        let ends = file.path.match_indices('/');
        folders.extend(ends.map(|(end, _)| file.path[..end].to_owned()));
    }
    folders
}

const COPYRIGHT: &str = "\
Muster: server, agent and command line.

Copyright 2026 the authors of Muster

Licensed under the Apache License, Version 2.0: the file LICENSE beside this one, or on Debian systems
/usr/share/common-licenses/Apache-2.0. The licences of the libraries that the binaries contain are in
THIRD-PARTY-NOTICES.gz beside this file.
";

fn program(path: &str, content: &[u8]) -> File {
    File {
        path: path.into(),
        mode: 0o755,
        kind: Kind::Plain,
        content: content.into(),
    }
}

pub(crate) fn plain(path: &str, content: &str) -> File {
    File {
        path: path.into(),
        mode: 0o644,
        kind: Kind::Plain,
        content: content.into(),
    }
}

fn config(path: &str, content: &str) -> File {
    File {
        kind: Kind::Config,
        ..plain(path, content)
    }
}

/// The files of a folder by name, sorted.
fn read_folder(folder: &Path) -> anyhow::Result<Vec<(String, Vec<u8>)>> {
    let entries = std::fs::read_dir(folder)
        .with_context(|| format!("{} cannot be read", folder.display()))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default();
        files.push((name.to_string_lossy().into_owned(), std::fs::read(&path)?));
    }
    files.sort();
    Ok(files)
}
