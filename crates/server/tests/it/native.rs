//! The native API.

mod access;
mod bounds;
mod browsers;
mod events;
mod jobs;
mod leaving;
mod live;
mod processes;
mod tasks;
mod templates;
mod topology;
mod view;
mod watch;
mod webhooks;
