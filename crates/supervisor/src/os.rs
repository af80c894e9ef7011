//! The host: processes, users, files, clocks. The only unsafe code of Muster is below here.

pub(crate) mod check;
pub(crate) mod clock;
pub(crate) mod disk;
pub(crate) mod exits;
pub(crate) mod identity;
pub(crate) mod kill;
pub(crate) mod look;
pub(crate) mod pidfile;
pub(crate) mod procfs;
pub(crate) mod sample;
pub(crate) mod sink;
pub(crate) mod sockets;
pub(crate) mod spawn;
pub(crate) mod user;
