//! The host: processes, users, files, clocks. The only unsafe code of Muster is below here.

pub(crate) mod cgroup;
pub(crate) mod check;
pub(crate) mod clock;
pub(crate) mod config_file;
pub(crate) mod disk;
pub(crate) mod exits;
pub(crate) mod family;
pub(crate) mod identity;
pub(crate) mod kill;
pub(crate) mod limits;
pub(crate) mod look;
pub(crate) mod md5;
pub mod ourselves;
pub(crate) mod pidfile;
pub(crate) mod procfs;
pub(crate) mod rotate;
pub(crate) mod sample;
pub(crate) mod sink;
pub(crate) mod sockets;
pub(crate) mod spawn;
pub(crate) mod tail;
pub(crate) mod user;

/// An error as people read it: its number is for programs.
pub(crate) fn plain(error: &std::io::Error) -> String {
    let text = error.to_string();
    let plain = text.split(" (os error").next().unwrap_or_default();
    plain.to_owned()
}
