//! Signals to fake processes.

use rustix::process::Signal;

use super::host;
use crate::machine::Run;

pub(crate) fn signal(run: Run, signal: Signal, _user: &str) -> Result<(), String> {
    host::call(|table| table.signal(run, signal == Signal::TERM));
    Ok(())
}

pub(crate) fn signal_group(leader: Run, sig: Signal) -> Result<(), String> {
    signal(leader, sig, "")
}
