//! s6: one `s6-supervise` a process below one `s6-svscan`.
//!
//! It knows its own programs by absolute paths below `/usr/bin`, so it gets a view of the file system in which they are
//! there: an overlay in a mount namespace of its own, which only root can make and which ends with it.

use std::process::Command;

use super::install::Package;
use super::stage::Stage;
use super::{Peer, Started, runit, tree};

const IN_OVERLAY: &str = r#"
mount -t overlay overlay -o "lowerdir=$0:/usr/bin" /usr/bin && exec s6-svscan -c 2000 "$1"
"#;

#[derive(Debug)]
pub(super) struct S6;

impl Peer for S6 {
    fn name(&self) -> &'static str {
        "s6"
    }

    fn package(&self) -> Package {
        Package::Debian(&["s6", "libs6-2.11", "libskarnet2.13", "libexecline2.9"])
    }

    fn start(&self, stage: &Stage, n: usize) -> anyhow::Result<Started> {
        let services = runit::services(stage, n)?;
        let root = stage.peer(self.name());
        let binaries = root.join("usr/bin");
        let libraries = root.join(format!("usr/lib/{}-linux-gnu", std::env::consts::ARCH));
        let mut program = Command::new("unshare");
        program
            .args(["--mount", "sh", "-c", IN_OVERLAY])
            .arg(binaries)
            .arg(services)
            .env("LD_LIBRARY_PATH", libraries);
        tree::start(stage, &program, "TERM")
    }
}
