//! The door: HTTP for callers, TLS for agents. Boot order is in [`boot`], and shutdown is the same list backwards.

pub mod agents;
pub mod boot;
pub mod ca;
mod cmdb;
pub mod config;
pub mod http;
mod limits;
mod outgoing;
mod shed;
mod webhooks;

use tokio::sync::watch;

pub use agents::DoorSettings;
pub use boot::{BootError, Running, start};
pub use cmdb::CmdbConfig;
pub use config::Config;
pub use http::Origin;
pub use http::listen::{HttpDoor, TlsFiles};
pub use webhooks::Senders;

/// Resolves when the signal says stop, or when nobody is left to say it.
pub(crate) async fn stopped(stop: &mut watch::Receiver<bool>) {
    // An error means that the sender is gone, which is as good as a stop.
    let _ = stop.wait_for(|stop| *stop).await;
}
