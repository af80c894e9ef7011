//! The GSEKit dialect.

pub(crate) mod business;
mod errors;
mod filters;
mod jobs;
mod meta;
mod pages;
mod rows;
