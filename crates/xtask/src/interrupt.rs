//! Ctrl-C: checked at each wait, so that destructors end everything that was started.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::bail;
use tokio::signal::unix::{SignalKind, signal};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Installs handlers for SIGINT and SIGTERM.
pub(crate) fn watch() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    let (mut interrupt, mut terminate) = {
        let _inside = runtime.enter();
        (
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
        )
    };
    std::thread::spawn(move || {
        runtime.block_on(async {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        });
        INTERRUPTED.store(true, Ordering::Relaxed);
        eprintln!("interrupted: ending what was started");
    });
    Ok(())
}

pub(crate) fn check() -> anyhow::Result<()> {
    match INTERRUPTED.load(Ordering::Relaxed) {
        true => bail!("interrupted"),
        false => Ok(()),
    }
}

/// Sleeps, unless interrupted.
pub(crate) fn sleep(time: Duration) -> anyhow::Result<()> {
    let until = Instant::now() + time;
    loop {
        check()?;
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        std::thread::sleep(left.min(Duration::from_millis(100)));
    }
}
