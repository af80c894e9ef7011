//! `cargo xtask package`: real `dpkg` and `rpm` install, upgrade and remove the packages in throw-away roots, with a server, an
//! agent and a supervised process.

mod files;
mod guide;
mod lifecycle;
mod made;
mod network;
mod root;
mod scripts;
