//! The host: processes, users, files, clocks. The only unsafe code of Muster is in here.
//!
//! The simulation (`cfg(fake_os)`) replaces the modules that touch processes and clocks by fake ones (`fake_os/`).

pub(crate) mod cgroup;
#[cfg_attr(fake_os, path = "fake_os/check.rs")]
pub(crate) mod check;
#[cfg_attr(fake_os, path = "fake_os/clock.rs")]
pub(crate) mod clock;
pub(crate) mod config_file;
mod direct;
pub(crate) mod disk;
#[cfg_attr(fake_os, path = "fake_os/durable.rs")]
pub(crate) mod durable;
#[cfg_attr(fake_os, path = "fake_os/exits.rs")]
pub(crate) mod exits;
#[cfg_attr(fake_os, path = "fake_os/family.rs")]
pub(crate) mod family;
pub(crate) mod family_query;
mod file_name;
#[cfg(fake_os)]
#[path = "fake_os/host.rs"]
pub mod host;
pub mod host_check;
#[cfg(not(fake_os))]
pub(crate) mod identity;
#[cfg(not(fake_os))]
mod inherited;
pub(crate) mod kept_runs;
pub(crate) mod kernel;
#[cfg_attr(fake_os, path = "fake_os/kernel_log.rs")]
pub(crate) mod kernel_log;
#[cfg_attr(fake_os, path = "fake_os/kill.rs")]
pub(crate) mod kill;
mod last_lines;
mod launch;
#[cfg(not(fake_os))]
pub(crate) mod limits;
pub(crate) mod md5;
#[cfg_attr(fake_os, path = "fake_os/observe.rs")]
pub(crate) mod observe;
pub(crate) mod observe_error;
pub(crate) mod observe_target;
pub(crate) mod other_process;
pub mod ourselves;
pub(crate) mod output_times;
#[cfg_attr(fake_os, path = "fake_os/pidfile.rs")]
pub(crate) mod pidfile;
#[cfg(fake_os)]
#[path = "fake_os/process_table.rs"]
mod process_table;
#[cfg_attr(fake_os, path = "fake_os/procfs.rs")]
pub(crate) mod procfs;
mod regular;
pub(crate) mod rights;
pub(crate) mod rotate;
pub(crate) mod run_ends;
#[cfg_attr(fake_os, path = "fake_os/sample.rs")]
pub(crate) mod sample;
#[cfg_attr(fake_os, path = "fake_os/shortage.rs")]
pub(crate) mod shortage;
pub(crate) mod sink;
#[cfg(not(fake_os))]
pub(crate) mod sockets;
#[cfg_attr(fake_os, path = "fake_os/spawn.rs")]
pub(crate) mod spawn;
pub(crate) mod spools;
pub(crate) mod tail;
#[cfg(fake_os)]
#[path = "fake_os/trace.rs"]
pub mod trace;
pub(crate) mod user;

/// An error without its number, for messages.
pub(crate) fn plain(error: &std::io::Error) -> String {
    let text = error.to_string();
    let plain = text.split(" (os error").next().unwrap_or_default();
    plain.to_owned()
}
