//! `muster store after-restore`: what `muster store restore` does at its end, for a store that other tools restored.

use serde_json::json;
use store::Store;

use super::super::server::runtime;
use super::super::{Context, environment};
use super::place;
use crate::config::{StorePlace, resolve_store};
use crate::confirm::ConfirmArgs;
use crate::failure::{Exit, Failure, Kind, chain};
use crate::format::{counted, now};

pub(super) const EXAMPLES: &str = "\
Examples:
  Stop all servers, then restore an older dump of PostgreSQL, then:
    pg_restore --clean --if-exists --no-owner --dbname='postgres://muster@db/muster' muster.dump
    muster store after-restore --store postgres://muster@db/muster --yes

Lets revisions and ids continue far above all that were used since the backup, ends operations that were
under way as unknown, and pauses jobs that were under way. Agents and callers have seen what happened
since: without this, a number could mean two things. muster store restore does the same by itself.";

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The store [env: MUSTER_STORE] [default: SQLite in the data directory]
    #[arg(long, value_name = "URL")]
    store: Option<String>,
    /// The server's settings file, which may name it [env: MUSTER_CONFIG]
    #[arg(long, value_name = "FILE")]
    config: Option<String>,
    #[command(flatten)]
    confirm: ConfirmArgs,
}

pub(super) fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let place = resolve_store(
        args.store.as_deref(),
        args.config.as_deref(),
        context.data(),
        &environment,
    )?;
    let (url, shown, _lock) = match place {
        StorePlace::Postgres { url, shown } => (url, shown, None),
        StorePlace::Sqlite { file, .. } => {
            if !place::has_store(&file)? {
                let what = format!("there is no store at {}", file.display());
                return Err(Failure::new(Kind::NotFound, what));
            }
            let folder = file.parent().unwrap_or(std::path::Path::new("."));
            let lock = place::lock(folder)?;
            let shown = file.display().to_string();
            (format!("sqlite:{shown}"), shown, Some(lock))
        }
    };
    args.confirm
        .ask(&format!("treat {shown} as restored from a backup"))?;
    let restored = runtime()?.block_on(async {
        let store = Store::open(&url).await?;
        let restored = store.begin_anew(now()).await;
        store.close().await;
        restored
    });
    let restored = restored
        .map_err(|error| Failure::new(Kind::Failed, format!("{shown}: {}", chain(&error))))?;
    let document = json!({
        "revision": restored.revision.0,
        "ended_operations": restored.ended_operations,
        "paused_jobs": restored.paused_jobs,
    });
    let text = format!(
        "servers may start on {shown}: {} ended as unknown, {} paused",
        counted(restored.ended_operations, "operation"),
        counted(restored.paused_jobs, "job"),
    );
    context.out.result(&document, text)?;
    Ok(Exit::Ok)
}
