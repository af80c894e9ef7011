//! The native API.

mod access;
mod bounds;
mod browsers;
mod console;
mod events;
mod facets;
mod find;
mod jobs;
mod label_grants;
mod labels;
mod live;
mod me;
mod operate_matching;
mod plain_jobs;
mod processes;
mod remove_hosts;
mod revoke_and_drain;
mod tasks;
mod templates;
mod topology;
mod versions;
mod view;
mod watch;
mod webhooks;
mod why;
