//! The native API.

mod access;
mod bounds;
mod browsers;
mod events;
mod jobs;
mod live;
mod me;
mod plain_jobs;
mod processes;
mod revoke_and_drain;
mod tasks;
mod templates;
mod topology;
mod view;
mod watch;
mod webhooks;
