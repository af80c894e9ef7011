//! One file for each verb; operations share `operate.rs`.

pub mod agent;
pub mod app;
pub mod apply;
pub mod audit;
pub mod completions;
pub mod console;
pub mod context;
pub mod diff;
pub mod drain;
pub mod edit;
pub mod events;
pub mod export;
pub mod expression;
pub mod figures;
pub mod generate;
pub mod grant;
pub mod group;
pub mod history;
pub mod hosts;
pub mod import;
pub mod job;
pub mod login;
pub mod logins;
pub mod logout;
pub mod logs;
pub mod operate;
pub mod passwd;
pub mod ps;
pub mod register;
pub mod relay;
pub mod replicas;
pub mod resource;
pub mod rm;
pub mod rollback;
pub mod runs;
pub mod search;
pub mod server;
pub mod status;
pub mod store;
pub mod summary;
pub mod task;
pub mod template;
pub mod timeline;
pub mod token;
pub mod topology;
pub mod unregister;
pub mod up;
pub mod update;
pub mod user;
pub mod watch;
pub mod webhook;
pub mod whoami;
pub mod why;

use crate::account::{Account, Asked};
use crate::args::Global;
use crate::client::Client;
use crate::failure::{Failure, Kind};
use crate::out::Out;

/// The arguments that every verb gets besides its own flags.
#[derive(Debug)]
pub struct Context {
    pub out: Out,
    global: Global,
}

impl Context {
    pub fn new(global: Global) -> Self {
        Self {
            out: Out::new(global.output, global.quiet),
            global,
        }
    }

    /// A client of the server that flags, environment and files name.
    pub fn client(&self) -> Result<Client, Failure> {
        Client::new(self.account()?)?.with_user_name()
    }

    /// That server, and the credentials for it.
    pub fn account(&self) -> Result<Account, Failure> {
        let account = Account::find(self.asked(), environment)?;
        for file in &account.exposed {
            self.out.warn(format!(
                "others can read {file}, which holds a secret: chmod 600 {file}",
                file = file.display()
            ));
        }
        Ok(account)
    }

    /// What the global flags say about the server.
    pub fn asked(&self) -> Asked<'_> {
        let Global {
            url,
            ca,
            data,
            context,
            ..
        } = &self.global;
        Asked {
            url: url.as_deref(),
            ca: ca.as_deref(),
            data: data.as_deref(),
            context: context.as_deref(),
        }
    }

    /// `--data`, before or after the verb.
    pub fn data(&self) -> Option<&str> {
        self.global.data.as_deref()
    }
}

/// One variable of the environment.
pub fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The failure to find a business, with how to list them.
fn no_business(failure: Failure) -> Failure {
    failure.advise_on(Kind::NotFound, "muster topology show lists the businesses")
}

/// How many rows a list shows: without `--limit` all in JSON, and `default` in a table; `--limit 0` is all.
fn row_limit(limit: Option<usize>, is_json: bool, default: usize) -> Option<usize> {
    match (limit, is_json) {
        (Some(0), _) | (None, true) => None,
        (Some(limit), _) => Some(limit),
        (None, false) => Some(default),
    }
}
