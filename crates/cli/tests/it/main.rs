//! The binary `muster` as its users meet it: command line, files and environment in; text, JSON and exit codes out.

mod account;
mod command;
mod config;
mod exit_codes;
mod help;
mod lists;
mod operate;
mod register;
mod script;
mod up;
mod watch;
