//! Catches Ctrl-C while a task or job is followed, and says that it goes on.
//!
//! A signal that was caught once no longer ends the process by default, so the thread that waits for it stays to the end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;

use tokio::signal::unix::{SignalKind, signal};

use crate::failure::{Failure, Kind};
use crate::out::Out;

/// As long as it lives, a task or job is followed.
#[derive(Debug)]
pub struct Interrupt {
    is_followed: Arc<AtomicBool>,
}

impl Interrupt {
    /// Where the signal cannot be caught, it ends the process without a message.
    pub fn catch(out: &Out, what: &str, advice: String) -> Self {
        let is_followed = Arc::new(AtomicBool::new(true));
        let (caught, is_caught) = sync_channel::<()>(1);
        let thread = {
            let (out, what, is_followed) = (out.clone(), what.to_owned(), Arc::clone(&is_followed));
            move || {
                let is_interrupted = wait(|| drop(caught));
                if is_interrupted.is_ok() {
                    if is_followed.load(Ordering::Relaxed) {
                        report(&out, &what, advice);
                    }
                    exit();
                }
            }
        };
        let named = std::thread::Builder::new().name("interrupt".into());
        // Without the thread, the signal ends the process.
        named.spawn(thread).ok();
        // Returns when the signal is caught, or when the thread has given up.
        is_caught.recv().ok();
        Self { is_followed }
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        self.is_followed.store(false, Ordering::Relaxed);
    }
}

/// Returns when the signal has come. `caught` is called once it can no longer be missed.
fn wait(caught: impl FnOnce()) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    runtime.block_on(async {
        let mut interrupts = signal(SignalKind::interrupt())?;
        caught();
        interrupts.recv().await;
        Ok(())
    })
}

fn report(out: &Out, what: &str, advice: String) {
    if out.is_live() {
        out.redraw("");
    }
    let failure = Failure::new(Kind::Interrupted, format!("interrupted; {what} continues"));
    out.error(&failure.advise(advice));
}

#[expect(
    clippy::disallowed_methods,
    reason = "the main thread waits for an answer that may take long, and holds nothing that must be given back"
)]
fn exit() -> ! {
    std::process::exit(i32::from(Kind::Interrupted.code()))
}
