//! testkit

pub mod odd;
