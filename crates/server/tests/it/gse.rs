//! The GSE dialects.

mod agents;
mod credentials;
mod errors;
mod groups;
mod large;
mod operate;
mod register;
mod status;
