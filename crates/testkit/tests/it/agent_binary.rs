//! Binaries of agents that a server hands out.

use std::path::{Path, PathBuf};
use std::process::Command;

use testkit::{Cluster, program};

pub(crate) const OLD: &str = env!("CARGO_PKG_VERSION");
/// As long as the old one: it takes its place in a copy of the binary.
pub(crate) const NEW: &str = "9.9.9";

/// A copy of the agent that says it is of another version, without debug information.
pub(crate) fn agent_of_version(version: &str, to: &Path) {
    let stripped = Command::new("strip")
        .arg("-o")
        .arg(to)
        .arg(program::path("muster-agent"))
        .status();
    assert!(stripped.unwrap().success());
    let mut bytes = std::fs::read(to).unwrap();
    let (old, new) = (OLD.as_bytes(), version.as_bytes());
    assert_eq!(old.len(), new.len());
    let places: Vec<usize> = (0..bytes.len() - old.len())
        .filter(|at| &bytes[*at..*at + old.len()] == old)
        .collect();
    for at in places {
        bytes[at..at + new.len()].copy_from_slice(new);
    }
    std::fs::write(to, bytes).unwrap();
    let says = Command::new(to).arg("--version").output().unwrap();
    assert_eq!(
        String::from_utf8_lossy(&says.stdout).trim(),
        format!("muster-agent {version}")
    );
}

/// A binary that says this version, and does this when it is started as an agent.
pub(crate) fn impostor(version: &str, instead: &str, to: &Path) {
    let script = format!(
        "#!/bin/sh\nif [ \"$1\" = --version ]; then echo muster-agent {version}; exit; fi\n{instead}\n"
    );
    std::fs::write(to, script).unwrap();
}

/// Where the server looks for binaries.
pub(crate) fn handed_out(cluster: &Cluster, version: &str, arch: &str) -> PathBuf {
    let folder = cluster.path().join("server/agents");
    std::fs::create_dir_all(&folder).unwrap();
    folder.join(format!("muster-agent-{version}-{arch}"))
}
