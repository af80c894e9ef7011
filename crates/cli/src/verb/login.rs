//! `muster login`: trades a password for a token, and keeps the token in a context.

use std::path::PathBuf;

use api::{LoggedIn, LoginBody};
use serde_json::json;

use super::{Context, environment};
use crate::account::{Account, Asked, parse_url};
use crate::client::Client;
use crate::contexts::{self, Contexts, ServerContext};
use crate::failure::{Exit, Failure};
use crate::format::{moment, now};
use crate::password;

pub const EXAMPLES: &str = "\
Examples:
  muster login https://muster.example.org:7100 --user alice
  muster login --user alice                               the server as for every verb
  pass show muster/alice | muster login --user alice --password-stdin
  muster login https://muster.example.org --user alice --ca /etc/muster/ca.pem --context prod
  MUSTER_TOKEN=$(muster login --user ci --password-stdin --print-token < password)

The password is sent once and not stored. The token that the server gives for it ends after 24
hours, with muster logout, and when the user is deleted. It is kept in a context, mode 0600, which
is the one in use from now on: muster context list, muster whoami.";

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where the server's API is [default: as for every verb, see --url]
    #[arg(value_name = "URL")]
    server: Option<String>,
    /// Who logs in [env: MUSTER_USER] [default: who logged in before]
    #[arg(short, long, value_name = "NAME")]
    user: Option<String>,
    /// Read the password from standard input instead of asking for it
    #[arg(long)]
    password_stdin: bool,
    /// Print the token, for MUSTER_TOKEN, and keep nothing
    #[arg(long)]
    print_token: bool,
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let out = &context.out;
    let target = LoginTarget::find(context.asked(), args.server.as_deref())?;
    let user = args
        .user
        .clone()
        .or_else(|| environment("MUSTER_USER").filter(|name| !name.is_empty()))
        .or_else(|| target.before.as_ref()?.user.clone())
        .ok_or_else(|| Failure::usage("who logs in? name the user: --user NAME"))?;
    let password = match args.password_stdin {
        true => password::from_stdin()?,
        false => {
            password::check_terminal()?;
            let prompt = format!("password of {user} at {}: ", target.account.url);
            password::ask(out, &prompt)?
        }
    };
    let client = Client::new(target.account.clone())?;
    let body = LoginBody {
        username: Some(user.clone()),
        password: Some(password),
        code: None,
    };
    let logged_in = client.log_in(&body)?;
    if args.print_token {
        let LoggedIn {
            bk_token,
            expires_at,
        } = &logged_in;
        match out.is_document() {
            true => out.document(&json!({"token": bk_token, "expires_at": expires_at}))?,
            false => out.line(bk_token)?,
        }
        return Ok(Exit::Ok);
    }
    let before = keep(&target, &user, &logged_in)?;
    if let Some(token) = before {
        end_login(&target.account, token);
    }
    let LoginTarget { name, account, .. } = &target;
    let expires_at = logged_in.expires_at;
    let until = moment(expires_at, now());
    let url = &account.url;
    out.result(
        &json!({"server": url, "context": name, "user": user, "expires_at": expires_at}),
        format!("logged in to {url} as {user} until {until}; context {name} is in use"),
    )?;
    warn_if_hidden(context, &logged_in.bk_token);
    Ok(Exit::Ok)
}

/// The server to log in to, and the context that keeps the login.
struct LoginTarget {
    name: String,
    /// That context as it was.
    before: Option<ServerContext>,
    account: Account,
}

impl LoginTarget {
    fn find(asked: Asked<'_>, server: Option<&str>) -> Result<Self, Failure> {
        let url = match (server, asked.url) {
            (Some(_), Some(_)) => {
                return Err(Failure::usage(
                    "the server is named twice: give the URL or --url, not both",
                ));
            }
            (server, url) => server.or(url).map(parse_url).transpose()?,
        };
        let contexts = contexts::read(&environment)?.contexts;
        let named = match (asked.context, environment("MUSTER_CONTEXT")) {
            (Some(name), _) => Some(contexts::parse_name(name)?),
            (None, Some(name)) if url.is_none() && !name.is_empty() => {
                Some(contexts::parse_name(&name)?)
            }
            (None, _) => None,
        };
        let before = named.as_ref().and_then(|name| contexts.contexts.get(name));
        if let (Some(name), Some(url), Some(before)) = (&named, &url, before)
            && parse_url(&before.url)? != *url
        {
            return Err(Failure::usage(format!(
                "context {name} is for {}, not for {url}",
                before.url
            ))
            .advise("name another context, or remove this one: muster context remove"));
        }
        // A new context takes its server from everything else.
        let context = named.as_deref().filter(|_| before.is_some());
        let account = Account::find(
            Asked {
                url: url.as_deref(),
                context,
                ..asked
            },
            |name| (name != "MUSTER_CONTEXT").then(|| environment(name))?,
        )?;
        let name = named.unwrap_or_else(|| name_for(&contexts, &account.url));
        let before = contexts.contexts.get(&name).cloned();
        if let Some(app) = before.as_ref().and_then(|before| before.app_code.as_ref()) {
            return Err(Failure::usage(format!(
                "context {name} calls as app {app}, without a login"
            ))
            .advise("name another context: --context NAME"));
        }
        Ok(Self {
            name,
            before,
            account: Account {
                app: None,
                login: None,
                ..account
            },
        })
    }
}

/// The context of this server, the one in use first; else a new name.
fn name_for(contexts: &Contexts, url: &str) -> String {
    let is_of_server = |context: &ServerContext| {
        context.app_code.is_none() && parse_url(&context.url).is_ok_and(|other| other == url)
    };
    let current = contexts
        .current()
        .filter(|(_, context)| is_of_server(context));
    let any = contexts
        .contexts
        .iter()
        .find(|(_, context)| is_of_server(context));
    if let Some(name) = current
        .map(|(name, _)| name)
        .or(any.map(|(name, _)| name.as_str()))
    {
        return name.to_owned();
    }
    let name = contexts::name_of(url);
    let is_free = |name: &String| !contexts.contexts.contains_key(name);
    let numbered = (2..).map(|n| format!("{name}-{n}"));
    std::iter::once(name.clone())
        .chain(numbered)
        .find(is_free)
        .unwrap_or(name)
}

/// Stores the token; returns the one that it replaces.
fn keep(target: &LoginTarget, user: &str, logged_in: &LoggedIn) -> Result<Option<String>, Failure> {
    let ca = target.account.ca.as_ref().map(std::path::absolute);
    let ca: Option<PathBuf> = ca
        .transpose()
        .map_err(|error| Failure::usage(format!("--ca: {error}")))?;
    contexts::change(&environment, |contexts| {
        let saved = contexts.contexts.entry(target.name.clone()).or_default();
        let before = saved.token.take();
        *saved = ServerContext {
            url: target.account.url.clone(),
            ca,
            user: Some(user.to_owned()),
            token: Some(logged_in.bk_token.clone()),
            expires_at: Some(logged_in.expires_at),
            ..ServerContext::default()
        };
        contexts.current = Some(target.name.clone());
        Ok(before)
    })
}

/// Ends the login that a new one replaces. It may have ended already, so a failure is no matter.
fn end_login(account: &Account, token: String) {
    let old = Account {
        login: Some(crate::account::Login {
            token,
            user: None,
            expires_at: None,
            from: String::new(),
        }),
        ..account.clone()
    };
    if let Ok(client) = Client::new(old) {
        let _ended_already = client.log_out();
    }
}

/// Warns if the next command would call with other credentials.
fn warn_if_hidden(context: &Context, token: &str) {
    let Ok(next) = Account::find(Asked::default(), environment) else {
        return;
    };
    let from = match (&next.login, &next.app) {
        (Some(login), None) if login.token == token => return,
        (Some(login), _) if login.token != token => &login.from,
        (_, Some(app)) => &app.from,
        _ => return,
    };
    context.out.warn(format!(
        "the next command does not use this login, because {from} counts before it: see muster whoami"
    ));
}
