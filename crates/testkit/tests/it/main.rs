//! End-to-end tests: real servers, agents, processes and HTTP.

#![allow(clippy::unwrap_used, reason = "a failed expectation is a failed test")]

mod adopt;
mod agent_binary;
mod agent_upgrades;
mod agents;
mod cluster;
mod command_line;
mod config_files;
mod console;
mod container;
mod crash_agent;
mod crash_server;
mod dialects;
mod documents;
mod events;
mod examples;
mod fixture;
mod host_check;
mod install;
mod jobs;
mod logs;
mod operations;
mod order;
mod readme;
mod relays;
mod remove_hosts;
mod restore;
mod rolling;
mod sim;
mod simulated_fleet;
mod soak;
mod states;
mod updating;
mod webhooks;
