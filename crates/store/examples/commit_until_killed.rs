//! Commits for ever to the store whose URL is its argument, and prints each acknowledged revision. The crash test kills it and
//! checks the store.

#![allow(clippy::print_stdout, reason = "its output is what the test reads")]

use std::io::Write as _;

use model::change::{Changes, DefinitionId, HostId, NameId, ProcessId, ProcessRow};
use model::{Flag, UnixMillis};
use store::Store;

/// Enough processes in each commit for several pages.
const PER_COMMIT: u32 = 300;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let url = std::env::args().nth(1).unwrap_or_default();
    let store = Store::open(&url).await?;
    let mut head = store.head().await?;
    loop {
        let first = head.0 as u32 * PER_COMMIT;
        let processes = (first..first + PER_COMMIT).map(|id| ProcessRow {
            id: ProcessId(id),
            host: HostId(id),
            name: NameId(0),
            definition: DefinitionId(0),
            flag: Flag::Stopped,
            managed: false,
            registered_at: UnixMillis(1),
            incarnation: head.next(),
            owner: None,
        });
        let changes = Changes {
            processes: processes.collect(),
            ..Changes::default()
        };
        head = store.commit(head, &changes).await?;
        println!("acknowledged {}", head.0);
        std::io::stdout().flush()?;
    }
}
