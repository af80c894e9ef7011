//! Real processes under a real supervisor.

// Every helper here is part of a test, where an unwrap is an assertion.
#![allow(clippy::unwrap_used)]

mod answer;
mod backoff;
mod config_files;
mod crash;
mod disk;
mod drift;
mod faults;
mod groups;
mod harness;
mod health;
mod interpreters;
mod journals;
mod kept_output;
mod limits;
mod logs;
mod names;
mod namespaces;
mod oom;
mod operate;
mod order;
mod pids;
mod probes;
mod process_state;
mod programs;
mod rights;
mod run_history;
mod runtime;
mod schedule;
mod shortage;
mod states;
mod stopping;
mod storm;
mod surroundings;
mod usage;
