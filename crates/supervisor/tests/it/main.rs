//! Real processes under a real supervisor.

mod keeper;
mod operate;
