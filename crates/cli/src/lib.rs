//! The binary `muster`: runs servers and agents, and is the client of the native API.
//!
//! # The path of a command
//!
//! The command line ([`args`]) names a verb; each verb is a file in [`verb`]. A client verb finds its server and credentials
//! ([`account`], [`contexts`]), resolves names, wildcards and labels to processes on hosts ([`processes`]), asks before it removes
//! or interrupts ([`confirm`]), sends requests through [`client`], and writes results through [`out`], the only module that writes to the
//! terminal. An operation becomes a task on the server, which is followed ([`follow`]) and reported ([`mod@report`]). Every
//! failure says what to do and has an exit code of its own ([`failure`]). Files of `muster apply` are planned in [`declare`], files of
//! other supervisors become definitions in [`import`]. Types of requests and responses are in the crate
//! `api`. Nothing here knows SQL, and the server alone decides what an operation means.

use std::process::ExitCode;

use clap::Parser;

pub mod account;
pub mod args;
pub mod business;
pub mod client;
pub mod colors;
pub mod completion;
pub mod config;
pub mod confirm;
pub mod contexts;
pub mod declare;
pub mod definition;
pub mod failure;
pub mod failure_groups;
pub mod follow;
pub mod format;
pub mod home;
pub mod import;
pub mod input;
pub mod interrupt;
pub mod out;
pub mod pace;
pub mod password;
pub mod processes;
pub mod progress;
pub mod report;
pub mod roll;
pub mod selection;
pub mod state;
pub mod table;
pub mod target;
pub mod terminal_safe;
pub mod verb;
pub mod version_counts;

use args::{Cli, Verb};
use verb::Context;

/// The whole of `muster`.
pub fn main() -> ExitCode {
    clap_complete::CompleteEnv::with_factory(completion::command)
        .var(completion::VARIABLE)
        .complete();
    let Cli { global, verb } = Cli::parse();
    let context = Context::new(global);
    let result = verb.check(&context.out).and_then(|()| run(&context, verb));
    match result {
        Ok(exit) => exit.into(),
        Err(failure) => {
            context.out.error(&failure);
            ExitCode::from(failure.code())
        }
    }
}

fn run(context: &Context, verb: Verb) -> Result<failure::Exit, failure::Failure> {
    use model::Op;
    use verb::{
        agent, app, apply, audit, completions, console, context as contexts, diff, drain, edit,
        events, export, expression, figures, generate, group, history, hosts, import, job, login,
        logins, logout, logs, operate, passwd, ps, register, relay, replicas, rm, rollback, runs,
        search, server, status, store, summary, task, template, timeline, token, topology,
        unregister, up, update, user, watch, webhook, whoami, why,
    };
    match verb {
        Verb::Up(args) => up::run(context, &args),
        Verb::Server(args) => server::run(context, &args),
        Verb::Agent(args) => agent::run(context, *args),
        Verb::Relay(args) => relay::run(context, &args),
        Verb::Register(args) => register::run(context, &args),
        Verb::Update(args) => update::run(context, &args),
        Verb::Rollback(args) => rollback::run(context, &args),
        Verb::Apply(args) => apply::run(context, &args),
        Verb::Import(args) => import::run(context, &args),
        Verb::Unregister(args) => unregister::run(context, &args),
        Verb::Rm(args) => rm::run(context, &args),
        Verb::Export(args) => export::run(context, &args),
        Verb::Edit(args) => edit::run(context, &args),
        Verb::Start(args) => operate::run(context, Op::Start, &args),
        Verb::Stop(args) => operate::run(context, Op::Stop, &args),
        Verb::Restart(args) => operate::run(context, Op::Restart, &args),
        Verb::Reload(args) => operate::run(context, Op::Reload, &args),
        Verb::Kill(args) => operate::run(context, Op::Kill, &args),
        Verb::Manage(args) => operate::run(context, Op::Manage, &args),
        Verb::Unmanage(args) => operate::run(context, Op::Unmanage, &args),
        Verb::Query(args) => operate::run(context, Op::Query, &args),
        Verb::Ps(args) => ps::run(context, &args),
        Verb::Status(args) => status::run(context, &args),
        Verb::Why(args) => why::run(context, &args),
        Verb::Timeline(args) => timeline::run(context, &args),
        Verb::Runs(args) => runs::run(context, &args),
        Verb::History(args) => history::run(context, &args),
        Verb::Figures(args) => figures::run(context, &args),
        Verb::Summary(args) => summary::run(context, &args),
        Verb::Task(args) => task::run(context, &args),
        Verb::Hosts(args) => hosts::run(context, &args),
        Verb::Search(args) => search::run(context, &args),
        Verb::Events(args) => events::run(context, &args),
        Verb::Logs(args) => logs::run(context, &args),
        Verb::Diff(args) => diff::run(context, &args),
        Verb::Watch(args) => watch::run(context, &args),
        Verb::Group(action) => group::run(context, &action),
        Verb::Topology(action) => topology::run(context, &action),
        Verb::Expression(action) => expression::run(context, &action),
        Verb::Job(action) => job::run(context, &action),
        Verb::Template(action) => template::run(context, &action),
        Verb::Console(args) => console::run(context, &args),
        Verb::Login(args) => login::run(context, &args),
        Verb::Logout(args) => logout::run(context, &args),
        Verb::Whoami(args) => whoami::run(context, &args),
        Verb::Logins(args) => logins::run(context, &args),
        Verb::Passwd(args) => passwd::run(context, &args),
        Verb::Context(action) => contexts::run(context, &action),
        Verb::App(action) => app::run(context, &action),
        Verb::Token(action) => token::run(context, &action),
        Verb::User(action) => user::run(context, &action),
        Verb::Webhook(action) => webhook::run(context, &action),
        Verb::Replicas(args) => replicas::run(context, &args),
        Verb::Drain(args) => drain::run(context, &args),
        Verb::Store(action) => store::run(context, &action),
        Verb::Audit(args) => audit::run(context, &args),
        Verb::Completions(args) => completions::run(context, &args),
        Verb::Generate(args) => generate::run(context, &args),
    }
}
