//! Histories of the whole.

#![allow(clippy::print_stdout, reason = "a failed history is read by people")]

mod histories;
