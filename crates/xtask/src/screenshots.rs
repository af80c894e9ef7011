//! Pictures of the web console, taken in a real browser of a server with a simulated fleet and one real agent.

use std::path::PathBuf;
use std::time::Duration;

use crate::browser::{self, Script};
use crate::deployment::{Deployment, Fleet, RealAgent};
use crate::{interrupt, server};

pub(crate) const EXAMPLES: &str = "\
Examples:
  cargo xtask screenshots                     writes docs/images again
  cargo xtask screenshots --every /tmp/look   every page at 1440, 1280 and 390 px, in both languages and themes, to look at";

const N_AGENTS: usize = 240;
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Writes pictures of every page into this folder instead of those that the documents show.
    #[arg(long)]
    every: Option<PathBuf>,
    /// With --every: only pages whose address contains this.
    #[arg(long, default_value = "", requires = "every")]
    page: String,
    /// Takes the binaries as they are beside this one.
    #[arg(long)]
    built: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    browser::build()?;
    if !args.built {
        server::build(&server::PROGRAMS)?;
    }
    interrupt::watch()?;
    let fleet = Fleet {
        delay: "200ms..2s".to_owned(),
        fail: "3%".to_owned(),
        ..Fleet::new(N_AGENTS)
    };
    let (mut deployment, _) = Deployment::start(&fleet)?;
    deployment.simulator.tell("connect")?;
    deployment.until_connected(N_AGENTS, PATIENCE)?;
    let agent = RealAgent::start(deployment.agents(), deployment.http())?;
    browser::add_user(&mut deployment.client()?)?;
    let (kind, folder) = match &args.every {
        Some(folder) => ("every", folder.clone()),
        None => ("docs", browser::folder().join("../docs/images")),
    };
    std::fs::create_dir_all(&folder)?;
    let folder = std::fs::canonicalize(folder)?;
    let script = Script {
        name: "screenshots.mjs",
        args: &[
            kind.to_owned(),
            folder.display().to_string(),
            args.page.clone(),
        ],
        http: deployment.http(),
        folder: agent.folder(),
        host: RealAgent::HOST,
    };
    script.run(
        |request| deployment.simulator.tell(request),
        |line| {
            println!("{line}");
            Ok(())
        },
    )?;
    drop(agent);
    deployment.end()
}
