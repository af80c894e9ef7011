//! Tests of the binary `muster`: command line, files and environment in; text, JSON and exit codes out.

// Helpers are part of the tests: a panic in them is a failed test.
#![allow(clippy::unwrap_used)]

mod account;
mod agents;
mod apply;
mod backup;
mod command;
mod config;
mod confirm;
mod descriptors;
mod documents;
mod events;
mod exit_codes;
mod failure_groups;
mod fake_server;
mod figures;
mod groups;
mod help;
mod hosts_remove;
mod imports;
mod jobs;
mod json;
mod labels;
mod lists;
mod login;
mod logins;
mod logs_and_diff;
mod messages;
mod operate;
mod packaging;
mod passwd;
mod plain_jobs;
mod precedence;
mod real_server;
mod reference;
mod register;
mod relay;
mod runs;
mod spec_sections;
mod store;
mod summary;
mod templates;
mod terminal;
mod timeline;
mod tls;
mod topology;
mod up;
mod watch;
mod why;
