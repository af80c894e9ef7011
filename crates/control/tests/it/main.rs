//! `control` with a real store in a temporary folder, and agents that speak real frames.

#![allow(clippy::unwrap_used, reason = "a failed expectation is a failed test")]

mod access;
mod config_files;
mod enrol;
mod events;
mod fold;
mod jobs;
mod leaving;
mod operate;
mod presence;
mod question;
mod register;
mod replicas;
mod restart;
mod rig;
mod templates;
mod topology;
mod topology_histories;
