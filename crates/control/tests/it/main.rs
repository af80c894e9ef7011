//! `control` with a real store in a temporary folder, and fake agents that exchange real frames.

#![allow(clippy::unwrap_used, reason = "a failed expectation is a failed test")]
#![allow(clippy::disallowed_methods, reason = "tests inspect the fleet")]

mod access;
mod after;
mod config_files;
mod enrol;
mod events;
mod fold;
mod intake;
mod job_pause;
mod jobs;
mod leaving;
mod login_codes;
mod operate;
mod pace;
mod plain_jobs;
mod presence;
mod question;
mod register;
mod remove_hosts;
mod replicas;
mod restart;
mod retry_task;
mod rig;
mod rolling;
mod templates;
mod timeline;
mod topology;
mod topology_histories;
mod updating;
