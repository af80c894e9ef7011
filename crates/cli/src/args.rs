//! The command line as a whole: the flags that every verb takes, and the list of verbs.

use clap::{Args, Parser, Subcommand, ValueEnum};
use model::Op;

use crate::config::SOURCES;
use crate::confirm::WHEN;
use crate::failure::{EXIT_CODES, Failure};
use crate::out::{Format, Out};
use crate::verb::{
    agent, app, apply, audit, completions, console, context, diff, drain, edit, events, export,
    expression, figures, generate, group, history, hosts, import, job, login, logins, logout, logs,
    operate, passwd, ps, register, relay, replicas, rm, rollback, runs, search, server, status,
    store, summary, task, template, timeline, token, topology, unregister, up, update, user, watch,
    webhook, whoami, why,
};

const EXAMPLES: &str = "\
Examples:
  muster up                                              everything on this machine
  muster register demo/sleeper --start 'sleep 1000'      describe a process
  muster start demo/sleeper                              start it, and keep it running
  muster ps                                              what runs where
  muster stop demo/sleeper --all                         stop it on every host
  muster restart 'app/*' db/redis -l tier=front          many at once
";

#[derive(Debug, Parser)]
#[command(
    name = "muster",
    version,
    propagate_version = true,
    max_term_width = 120
)]
#[command(about = "Keeps the processes of a fleet as you want them")]
#[command(after_help = format!("{EXAMPLES}\n{EXIT_CODES}\n\n{WHEN}\n\n{}", crate::account::WHERE))]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub verb: Verb,
}

#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// Where the server's API is [env: MUSTER_URL] [default: of the context, else of cli.toml, else http://127.0.0.1:7100]
    #[arg(long, global = true, value_name = "URL")]
    pub url: Option<String>,
    /// The context to use: a server and a login, see muster context [env: MUSTER_CONTEXT] [default: the one in use]
    #[arg(long, global = true, value_name = "NAME")]
    pub context: Option<String>,
    /// A PEM file with the CAs to trust for an https:// server [env: MUSTER_CA] [default: of the context, else of cli.toml,
    /// else public CAs]
    #[arg(long, global = true, value_name = "FILE")]
    pub ca: Option<String>,
    /// Data directory of a server on this machine [env: MUSTER_DATA] [default: /var/lib/muster, or ~/.local/share/muster]
    #[arg(long, global = true, value_name = "DIR")]
    pub data: Option<String>,
    /// How results are written
    #[arg(
        short,
        long,
        global = true,
        value_enum,
        value_name = "FORMAT",
        default_value_t
    )]
    pub output: Format,
    /// Print only results and errors
    #[arg(short, long, global = true)]
    pub quiet: bool,
}

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Run a server and one agent on this machine
    #[command(after_help = format!("{}\n\n{SOURCES}", up::EXAMPLES))]
    Up(up::UpArgs),
    /// Run a server
    #[command(after_help = format!("{}\n\n{SOURCES}", server::EXAMPLES))]
    Server(server::Args),
    /// Run the agent of a host
    #[command(after_help = agent::EXAMPLES)]
    Agent(Box<agent::Args>),
    /// Forward the connections of agents that cannot reach the servers
    #[command(after_help = ::agent::relay::EXAMPLES)]
    Relay(relay::Args),

    /// Describe a process: how it is started, stopped and kept alive, and on which hosts
    #[command(after_help = register::EXAMPLES)]
    Register(Box<register::Args>),
    /// Change what is registered, or register it
    #[command(after_help = update::EXAMPLES)]
    Update(Box<update::Args>),
    /// Give hosts the definition of an earlier version again
    #[command(after_help = rollback::EXAMPLES)]
    Rollback(Box<rollback::Args>),
    /// Make processes, groups, templates, webhooks and grants what files declare
    #[command(after_help = apply::EXAMPLES)]
    Apply(apply::Args),
    /// Turn files of supervisord, systemd, pm2, Procfile and compose into definitions
    #[command(after_help = import::EXAMPLES)]
    Import(import::Args),
    /// Forget a process, which keeps running
    #[command(after_help = unregister::examples())]
    Unregister(unregister::Args),
    /// Stop processes and forget them
    #[command(after_help = rm::examples())]
    Rm(rm::Args),
    /// Write definitions, or everything, as files that apply, register and update take
    #[command(after_help = export::examples())]
    Export(export::Args),
    /// Change a definition in an editor
    #[command(after_help = edit::EXAMPLES)]
    Edit(edit::Args),

    /// Start a process and keep it running
    #[command(after_help = operate::examples(Op::Start))]
    Start(operate::Args),
    /// Stop a process
    #[command(after_help = operate::examples(Op::Stop))]
    Stop(operate::Args),
    /// Stop and start a process
    #[command(after_help = operate::examples(Op::Restart))]
    Restart(operate::Args),
    /// Make a process read its configuration again
    #[command(after_help = operate::examples(Op::Reload))]
    Reload(operate::Args),
    /// End a process by force
    #[command(after_help = operate::examples(Op::Kill))]
    Kill(operate::Args),
    /// Manage a process: restart it when it dies
    #[command(after_help = operate::examples(Op::Manage))]
    Manage(operate::Args),
    /// Stop managing a process: leave it as it is
    #[command(after_help = operate::examples(Op::Unmanage))]
    Unmanage(operate::Args),
    /// Ask the agents for the current state of a process
    #[command(after_help = operate::examples(Op::Query))]
    Query(operate::Args),

    /// List processes with their state
    #[command(after_help = ps::EXAMPLES)]
    Ps(Box<ps::Args>),
    /// Show one process: spec, hosts, state
    #[command(after_help = status::examples())]
    Status(status::Args),
    /// Say why a process is as it is
    #[command(after_help = why::EXAMPLES)]
    Why(why::Args),
    /// Show what happened to a process or a host, and who asked for it
    #[command(after_help = timeline::EXAMPLES)]
    Timeline(timeline::Args),
    /// List the last runs of a process, with how each ended
    #[command(after_help = runs::EXAMPLES)]
    Runs(runs::Args),
    /// Show the versions of a process: who changed its definition, when, and how
    #[command(after_help = history::EXAMPLES)]
    History(history::Args),
    /// Show what a process used in the last hour
    #[command(after_help = figures::EXAMPLES)]
    Figures(figures::Args),
    /// Show what is wrong now
    #[command(after_help = summary::EXAMPLES)]
    Summary(summary::Args),
    /// Follow a task to its end, or list the last ones
    #[command(after_help = task::EXAMPLES)]
    Task(task::Args),
    /// List hosts, show or check one, or remove them
    #[command(after_help = hosts::EXAMPLES)]
    Hosts(hosts::Args),
    /// Find processes, namespaces, hosts, businesses and config templates by words
    #[command(after_help = search::EXAMPLES)]
    Search(search::Args),
    /// List events of processes: exits, restarts, exceeded limits
    #[command(after_help = events::EXAMPLES)]
    Events(events::Args),
    /// Show the output of a process
    #[command(after_help = logs::EXAMPLES)]
    Logs(logs::Args),
    /// Compare the processes that agents hold with those that the server wants
    #[command(after_help = diff::EXAMPLES)]
    Diff(diff::Args),
    /// Show changes as they happen
    #[command(after_help = watch::EXAMPLES)]
    Watch(watch::Args),

    /// Pools of cpu and memory that the processes of a namespace share on a host
    #[command(subcommand, after_help = group::EXAMPLES)]
    Group(group::Action),

    /// Businesses with their sets, modules and processes
    #[command(subcommand, after_help = topology::EXAMPLES)]
    Topology(topology::Action),
    /// Explain what an expression selects
    #[command(subcommand, after_help = expression::EXAMPLES)]
    Expression(expression::Action),
    /// Operate on many processes, in order and in batches
    #[command(subcommand, after_help = job::EXAMPLES)]
    Job(Box<job::Action>),
    /// Templates of config files, and the processes that they are for
    #[command(subcommand, after_help = template::EXAMPLES)]
    Template(Box<template::Action>),

    /// Print a link that logs a browser in to the web console
    #[command(after_help = console::EXAMPLES)]
    Console(console::Args),
    /// Log in to a server
    #[command(after_help = login::EXAMPLES)]
    Login(login::Args),
    /// End the login
    #[command(after_help = logout::EXAMPLES)]
    Logout(logout::Args),
    /// Show the server, the user or app that calls it, and their roles
    #[command(after_help = whoami::EXAMPLES)]
    Whoami(whoami::Args),
    /// List your own logins, or end some
    #[command(after_help = logins::EXAMPLES)]
    Logins(logins::Args),
    /// Change the password of the user who is logged in
    #[command(after_help = passwd::EXAMPLES)]
    Passwd(passwd::Args),
    /// Servers under a name, each with its login
    #[command(subcommand, after_help = context::EXAMPLES)]
    Context(context::Action),
    /// Programs that may call the API
    #[command(subcommand, after_help = app::EXAMPLES)]
    App(app::Action),
    /// Tokens that let new agents join
    #[command(subcommand, after_help = token::EXAMPLES)]
    Token(token::Action),
    /// People who can log in
    #[command(subcommand, after_help = user::EXAMPLES)]
    User(user::Action),
    /// List the replicas of the installation
    #[command(after_help = replicas::EXAMPLES)]
    Replicas(replicas::Args),
    /// Move a replica's agents to the other replicas
    #[command(after_help = drain::EXAMPLES)]
    Drain(drain::Args),
    /// Back up, restore and copy the store of a server
    #[command(subcommand, after_help = store::EXAMPLES)]
    Store(store::Action),
    /// Receivers of events over HTTP
    #[command(subcommand, after_help = webhook::EXAMPLES)]
    Webhook(webhook::Action),
    /// Who changed what, and when
    #[command(after_help = audit::EXAMPLES)]
    Audit(audit::Args),
    /// Print the completions of a shell
    #[command(after_help = completions::EXAMPLES)]
    Completions(completions::Args),
    /// Write the man pages and completions of muster and muster-agent into a folder, for packages
    #[command(hide = true, after_help = generate::EXAMPLES)]
    Generate(generate::Args),
}

/// A value as it is written on the command line, which is also its name in the API.
pub fn value_name(value: impl ValueEnum) -> String {
    let name = value.to_possible_value();
    name.map(|name| name.get_name().to_owned())
        .unwrap_or_default()
}

impl Verb {
    /// Refuses an output format that the verb has no use for.
    pub fn check(&self, out: &Out) -> Result<(), Failure> {
        let is_list = matches!(
            self,
            Self::Ps(_)
                | Self::Hosts(_)
                | Self::Task(_)
                | Self::Group(_)
                | Self::Topology(_)
                | Self::Job(_)
                | Self::Template(_)
                | Self::App(_)
                | Self::Token(_)
                | Self::User(_)
                | Self::Webhook(_)
                | Self::Replicas(_)
        );
        match out.is_names() && !is_list {
            true => Err(Failure::usage("-o name is for verbs that list something")
                .advise("muster ps -o name lists the names of processes")),
            false => Ok(()),
        }
    }
}
