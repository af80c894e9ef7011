//! Several replicas with real processes and faults of every part: nothing acknowledged is lost, nothing is executed twice,
//! every target ends.

mod agents;
mod bus;
mod cut_off;
mod drain;
mod killed;
mod relays;
mod soak;
mod start;
mod store;
mod tasks;
mod visible;
mod writes;
