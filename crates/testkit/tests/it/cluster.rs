//! Several servers as one, with real processes, while everything that can fail does: nothing acknowledged is lost, nothing
//! is executed twice, and every target ends.

mod agents;
mod bus;
mod cut_off;
mod drain;
mod killed;
mod soak;
mod start;
mod store;
mod tasks;
mod visible;
mod writes;
