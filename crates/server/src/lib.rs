//! The server: HTTP for callers, TLS for agents. Boot order is in [`boot`], and shutdown is the same list backwards.

pub mod agents;
pub mod boot;
pub mod ca;
mod cmdb;
pub mod config;
pub mod http;
mod limits;
mod outgoing;
mod shed;
mod slots;
mod webhooks;

use tokio::sync::watch;

pub use agents::{AgentListenerSettings, Relays};
pub use boot::{BootError, Running, start};
pub use cmdb::CmdbConfig;
pub use config::Config;
pub use http::Origin;
pub use http::listen::{HttpListenerSettings, TlsFiles};
pub use webhooks::Senders;

/// Resolves when the signal is true, or when its sender is gone.
pub(crate) async fn stopped(stop: &mut watch::Receiver<bool>) {
    stop.wait_for(|stop| *stop).await.ok();
}
