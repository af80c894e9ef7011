//! `muster context`: servers under a name, each with its login or its app.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::{Context, environment};
use crate::account::parse_url;
use crate::contexts::{self, Contexts, ServerContext, unknown};
use crate::failure::{Exit, Failure};
use crate::format::{clean, moment, now};
use crate::input::read_text;
use crate::table::{Cell, FieldList, TextTable};

pub const EXAMPLES: &str = "\
Examples:
  muster login https://muster.example.org:7100 --user alice --context prod
  muster context add lab http://10.0.0.2:7100             log in later: muster login --context lab
  pass show muster/ops | muster context add ci https://muster.example.org --app ops --secret-stdin
  muster context list
  muster context use prod                                 from now on
  muster ps --context lab                                 this once; or MUSTER_CONTEXT=lab
  muster context show prod
  muster context rename lab stage
  muster context remove stage

Contexts are in ~/.config/muster/contexts.toml ($XDG_CONFIG_HOME/muster), mode 0600.";

#[derive(Debug, clap::Subcommand)]
pub enum Action {
    /// List the contexts; a star marks the one in use
    #[command(after_help = EXAMPLES)]
    List,
    /// Use a context from now on
    #[command(after_help = EXAMPLES)]
    Use {
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Show a context, without its secrets
    #[command(after_help = EXAMPLES)]
    Show {
        /// Which one [default: the one in use]
        #[arg(value_name = "NAME")]
        name: Option<String>,
    },
    /// Add a server, without logging in
    #[command(after_help = EXAMPLES)]
    Add(AddArgs),
    /// Give a context another name
    #[command(after_help = EXAMPLES)]
    Rename {
        #[arg(value_name = "NAME")]
        name: String,
        #[arg(value_name = "NEW_NAME")]
        new_name: String,
    },
    /// Forget a context and its token; muster logout ends the login first
    #[command(after_help = EXAMPLES)]
    Remove {
        #[arg(value_name = "NAME")]
        name: String,
    },
}

#[derive(Debug, clap::Args)]
pub struct AddArgs {
    /// What it is called
    #[arg(value_name = "NAME")]
    name: String,
    /// Where the server's API is
    #[arg(value_name = "URL")]
    server: String,
    /// Call as this app instead of a login
    #[arg(long, value_name = "CODE", requires = "secret_stdin")]
    app: Option<String>,
    /// Read the secret of the app from standard input
    #[arg(long, requires = "app")]
    secret_stdin: bool,
}

pub fn run(context: &Context, action: &Action) -> Result<Exit, Failure> {
    match action {
        Action::List => list(context)?,
        Action::Use { name } => use_context(context, name)?,
        Action::Show { name } => show(context, name.as_deref())?,
        Action::Add(args) => add(context, args)?,
        Action::Rename { name, new_name } => rename(context, name, new_name)?,
        Action::Remove { name } => remove(context, name)?,
    }
    Ok(Exit::Ok)
}

/// Reads the file, and warns if other users can.
fn read(context: &Context) -> Result<Contexts, Failure> {
    let read = contexts::read(&environment)?;
    if read.is_exposed {
        context.out.warn(format!(
            "others can read {file}, which holds secrets: chmod 600 {file}",
            file = read.path.display()
        ));
    }
    Ok(read.contexts)
}

/// The one that flag, environment or `muster context use` name.
fn current(context: &Context, contexts: &Contexts) -> Option<String> {
    let asked = context.asked().context.map(str::to_owned);
    let by_variable = environment("MUSTER_CONTEXT").filter(|name| !name.is_empty());
    asked.or(by_variable).or_else(|| contexts.current.clone())
}

fn list(context: &Context) -> Result<(), Failure> {
    let contexts = read(context)?;
    let current = current(context, &contexts);
    let is_current = |name: &String| current.as_ref() == Some(name);
    if context.out.is_document() {
        let rows: Vec<Value> = contexts
            .contexts
            .iter()
            .map(|(name, saved)| document(name, saved, is_current(name)))
            .collect();
        return context.out.document(&json!({"contexts": rows}));
    }
    let mut table = TextTable::new("|CONTEXT|SERVER|CALLS AS|~LOGIN");
    for (name, saved) in &contexts.contexts {
        let star = if is_current(name) { "*" } else { "" };
        table.row([
            Cell::from(star),
            name.as_str().into(),
            saved.url.as_str().into(),
            calls_as(saved).into(),
            login(saved).into(),
        ]);
    }
    let hint = "no contexts: muster login URL --user NAME makes one";
    context.out.table_or(&table, hint)
}

fn calls_as(saved: &ServerContext) -> String {
    match (&saved.app_code, &saved.user) {
        (Some(app), _) => format!("app {app}"),
        (None, Some(user)) => format!("user {user}"),
        (None, None) => "-".to_owned(),
    }
}

fn login(saved: &ServerContext) -> String {
    match (&saved.token, saved.expires_at, &saved.app_code) {
        (_, _, Some(_)) => "-".to_owned(),
        (None, _, None) => "logged out".to_owned(),
        (Some(_), Some(at), None) if at <= now() => format!("expired {}", moment(at, now())),
        (Some(_), Some(at), None) => format!("until {}", moment(at, now())),
        (Some(_), None, None) => "logged in".to_owned(),
    }
}

/// A context for programs, without its secrets.
fn document(name: &str, saved: &ServerContext, is_current: bool) -> Value {
    json!({
        "name": name,
        "server": saved.url,
        "ca": saved.ca,
        "user": saved.user,
        "app": saved.app_code,
        "logged_in": saved.token.is_some() && saved.expires_at.is_none_or(|at| at > now()),
        "expires_at": saved.expires_at,
        "current": is_current,
    })
}

fn show(context: &Context, name: Option<&str>) -> Result<(), Failure> {
    let contexts = read(context)?;
    let current = current(context, &contexts);
    let name = name.map(str::to_owned).or_else(|| current.clone());
    let name = name.ok_or_else(|| {
        Failure::usage("no context is in use").advise(
            "muster context list shows those there are; muster context use NAME chooses one",
        )
    })?;
    let saved = contexts.find(&name)?;
    let is_current = current.as_ref() == Some(&name);
    if context.out.is_document() {
        return context.out.document(&document(&name, saved, is_current));
    }
    let mut fields = FieldList::default();
    let in_use = if is_current { " (in use)" } else { "" };
    fields.put("context", &clean(&format!("{name}{in_use}")));
    fields.put("server", &clean(&saved.url));
    if let Some(ca) = &saved.ca {
        fields.put("trusted CAs", &clean(&ca.display().to_string()));
    }
    fields.put("calls as", &clean(&calls_as(saved)));
    fields.put("login", &clean(&login(saved)));
    context.out.text(&fields.render())
}

fn use_context(context: &Context, name: &str) -> Result<(), Failure> {
    let url = contexts::change(&environment, |contexts| {
        let url = contexts.find(name)?.url.clone();
        contexts.current = Some(name.to_owned());
        Ok(url)
    })?;
    context.out.result(
        &json!({"context": name, "server": url}),
        format!("context {name} is in use: {url}"),
    )?;
    if environment("MUSTER_CONTEXT").is_some_and(|other| !other.is_empty() && other != name) {
        context
            .out
            .warn("MUSTER_CONTEXT is set and counts before this: unset it");
    }
    Ok(())
}

fn add(context: &Context, args: &AddArgs) -> Result<(), Failure> {
    let name = contexts::parse_name(&args.name)?;
    let url = parse_url(&args.server)?;
    let ca = context.asked().ca.map(std::path::absolute).transpose();
    let ca: Option<PathBuf> = ca.map_err(|error| Failure::usage(format!("--ca: {error}")))?;
    let secret = args.app.as_ref().map(|_| read_secret()).transpose()?;
    let saved = ServerContext {
        url: url.clone(),
        ca,
        app_code: args.app.clone(),
        app_secret: secret,
        ..ServerContext::default()
    };
    contexts::change(&environment, |contexts| {
        if contexts.contexts.contains_key(&name) {
            return Err(Failure::usage(format!("context {name} exists already"))
                .advise("muster context remove forgets it; muster login --context logs in to it"));
        }
        contexts.contexts.insert(name.clone(), saved);
        Ok(())
    })?;
    let next = match args.app {
        Some(_) => format!("muster context use {name} puts it to use"),
        None => format!("muster login --context {name} --user NAME logs in"),
    };
    context.out.result(
        &json!({"context": name, "server": url}),
        format!("added context {name} with {url}; {next}"),
    )
}

fn read_secret() -> Result<String, Failure> {
    const MAX_SECRET: u64 = 4096;
    let bad = |error| Failure::usage(format!("the secret cannot be read: {error}"));
    let text = read_text("-", MAX_SECRET).map_err(bad)?;
    match text.trim() {
        "" => Err(Failure::usage("the secret is empty").advise("pipe it in: --secret-stdin")),
        secret => Ok(secret.to_owned()),
    }
}

fn rename(context: &Context, name: &str, new_name: &str) -> Result<(), Failure> {
    let new_name = contexts::parse_name(new_name)?;
    contexts::change(&environment, |contexts| {
        if contexts.contexts.contains_key(&new_name) {
            return Err(Failure::usage(format!("context {new_name} exists already")));
        }
        let saved = contexts
            .contexts
            .remove(name)
            .ok_or_else(|| unknown(name))?;
        contexts.contexts.insert(new_name.clone(), saved);
        if contexts.current.as_deref() == Some(name) {
            contexts.current = Some(new_name.clone());
        }
        Ok(())
    })?;
    context.out.result(
        &json!({"context": new_name, "before": name}),
        format!("context {name} is now {new_name}"),
    )
}

fn remove(context: &Context, name: &str) -> Result<(), Failure> {
    let (saved, was_current) = contexts::change(&environment, |contexts| {
        let saved = contexts
            .contexts
            .remove(name)
            .ok_or_else(|| unknown(name))?;
        let was_current = contexts.current.as_deref() == Some(name);
        if was_current {
            contexts.current = None;
        }
        Ok((saved, was_current))
    })?;
    context.out.result(
        &json!({"context": name, "removed": true}),
        format!("removed context {name}"),
    )?;
    if let (Some(_), Some(at)) = (&saved.token, saved.expires_at)
        && at > now()
    {
        let until = moment(at, now());
        context.out.note(format!(
            "the server still accepts its token until {until}; next time run muster logout first"
        ));
    }
    if was_current {
        context
            .out
            .note("no context is in use now: muster context use NAME chooses one");
    }
    Ok(())
}
