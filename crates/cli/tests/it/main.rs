//! The binary `muster` as its users meet it: command line, files and environment in; text, JSON and exit codes out.

// Helpers are part of the tests: a panic in them is a failed test.
#![allow(clippy::unwrap_used)]

mod account;
mod command;
mod config;
mod descriptors;
mod events;
mod exit_codes;
mod help;
mod jobs;
mod json;
mod leaving;
mod lists;
mod live;
mod operate;
mod register;
mod script;
mod store;
mod templates;
mod terminal;
mod tls;
mod topology;
mod up;
mod watch;
