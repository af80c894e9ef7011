//! Rules about the workspace itself.

#![allow(clippy::unwrap_used, reason = "a failed expectation is a failed test")]

mod dependencies;
mod links;
mod notices;
mod package;
