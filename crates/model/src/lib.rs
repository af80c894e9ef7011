//! Data types that all crates share: hosts, names, specs, statuses, operations, changes.
//!
//! Parsing validates: a value of these types obeys its rules. The crate does no I/O, reads no clock and has no async code.

#[macro_use]
mod macros;

pub mod access;
pub mod bounds;
pub mod change;
pub mod config_file;
pub mod config_template;
pub mod digest;
pub mod event;
pub mod expression;
pub mod figures;
pub mod group;
pub mod held;
pub mod host;
pub mod host_check;
pub mod invalid;
pub mod job;
pub mod kernel;
pub mod lenient;
pub mod line_pattern;
pub mod name;
pub mod operation;
pub mod rare;
pub mod reason;
pub mod run_history;
pub mod scope;
pub mod selector;
pub mod spec;
pub mod status;
pub mod text;
pub mod time;
pub mod timeline;
pub mod topology;
pub mod upgrade;
pub mod version;
pub mod webhook;

pub use host::{AgentId, Host};
pub use invalid::Invalid;
pub use line_pattern::LinePattern;
pub use name::{FullName, Labels, Namespace, ProcessName};
pub use operation::{Code, Op, OpId, Outcome, TaskId};
pub use reason::Reason;
pub use spec::Spec;
pub use status::{Flag, ProcessState, State, Status};
pub use time::UnixMillis;
