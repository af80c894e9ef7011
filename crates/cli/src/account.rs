//! The server that client verbs talk to, and their credentials: from flags, environment, a context, or the file of a local server.
//!
//! [`Account::find`] decides what counts; [`WHERE`] and docs/reference/config.md describe it. A token or secret of a file goes
//! only to the server of that file, unless the user named both.

use std::fmt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use model::UnixMillis;
use serde::Deserialize;

use crate::contexts::{self, ReadContexts, ServerContext};
use crate::failure::Failure;
use crate::home;

/// Where `muster up` listens by default.
pub const DEFAULT_URL: &str = "http://127.0.0.1:7100";
/// Written by the server into its data directory, for its owner alone.
pub const FILE: &str = "cli.toml";

/// Shown below the help of the client verbs.
pub const WHERE: &str = "\
Server and credentials: for each line, the first that is given counts
               flag        environment                  else
  server       --url       MUSTER_URL                   context, cli.toml, http://127.0.0.1:7100
  trusted CAs  --ca        MUSTER_CA                    context, cli.toml, public CAs
  context      --context   MUSTER_CONTEXT               the one in use: muster context use
  credentials  --context   MUSTER_TOKEN, or MUSTER_APP_CODE and MUSTER_APP_SECRET
                                                        context, cli.toml
  cli.toml in  --data      MUSTER_DATA                  /var/lib/muster, ~/.local/share/muster
  user name    -           MUSTER_USER                  the user of the system

  A login (muster login) makes a context and puts it to use, in ~/.config/muster/contexts.toml.
  A server on this machine writes cli.toml. Credentials of either go only to the server that the
  same context or file names. --data, and MUSTER_DATA with a cli.toml, count before the context
  in use. The user name is for the audit trail: apps that are not trusted, and logins, send none.";

/// What the command line says about the server.
#[derive(Debug, Clone, Copy, Default)]
pub struct Asked<'a> {
    pub url: Option<&'a str>,
    pub ca: Option<&'a str>,
    pub data: Option<&'a str>,
    pub context: Option<&'a str>,
}

#[derive(Clone, PartialEq, Eq)]
pub struct Account {
    pub url: String,
    /// What named the server: a flag, a variable, a context or a file.
    pub url_from: String,
    /// The context that the server or the credentials come from.
    pub context: Option<String>,
    /// The only certificates trusted for an https:// server; None: public CAs.
    pub ca: Option<PathBuf>,
    pub app: Option<App>,
    pub login: Option<Login>,
    pub user: UserName,
    /// What to do when the server does not answer.
    pub advice: String,
    /// Why no credentials were found.
    pub remark: String,
    /// Files with a secret that other users can read.
    pub exposed: Vec<PathBuf>,
}

#[derive(Clone, PartialEq, Eq)]
pub struct App {
    pub code: String,
    pub secret: String,
    /// Whether it may name its user; None: the server knows.
    pub trusted: Option<bool>,
    /// Where they came from, for error messages.
    pub from: String,
}

/// A user who is logged in.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    pub token: String,
    /// Known if the token is of a context.
    pub user: Option<String>,
    pub expires_at: Option<UnixMillis>,
    /// Where it came from, for error messages.
    pub from: String,
}

/// The user that a trusted app names in the audit trail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserName {
    /// By `MUSTER_USER`.
    Asked(String),
    /// The user of the system, which only a trusted app sends.
    System(String),
    Unknown,
}

/// Secrets stay out of logs and panics.
impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Account")
            .field("url", &self.url)
            .field("context", &self.context)
            .field("app", &self.app)
            .field("login", &self.login)
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "App({} from {})", self.code, self.from)
    }
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Login({:?} from {})", self.user, self.from)
    }
}

/// `cli.toml`
#[derive(Default, Deserialize)]
#[serde(default)]
struct SavedAccount {
    url: Option<String>,
    app_code: Option<String>,
    app_secret: Option<String>,
    trusted: Option<bool>,
    ca: Option<String>,
}

impl Account {
    /// Finds server and credentials. `env` reads one environment variable; an empty one counts as absent.
    pub fn find(asked: Asked<'_>, env: impl Fn(&str) -> Option<String>) -> Result<Self, Failure> {
        let env = |name: &str| env(name).filter(|value| !value.is_empty());
        let mut account = Self {
            url: DEFAULT_URL.to_owned(),
            url_from: "the default".to_owned(),
            context: None,
            ca: asked
                .ca
                .map(str::to_owned)
                .or_else(|| env("MUSTER_CA"))
                .map(PathBuf::from),
            app: None,
            login: None,
            user: match env("MUSTER_USER") {
                Some(name) => UserName::Asked(name),
                None => home::current_user().map_or(UserName::Unknown, UserName::System),
            },
            advice: "is the server running? try: muster up".to_owned(),
            remark: String::new(),
            exposed: Vec::new(),
        };
        account.take_environment(&env)?;
        let asked_url = match (asked.url, env("MUSTER_URL")) {
            (Some(url), _) => Some((parse_url(url)?, "--url")),
            // A flag counts before a variable.
            (None, Some(url)) if asked.context.is_none() => Some((parse_url(&url)?, "MUSTER_URL")),
            (None, _) => None,
        };
        let named_context = match (asked.context, env("MUSTER_CONTEXT")) {
            (Some(name), _) => Some((name.to_owned(), "--context")),
            (None, Some(name)) if asked.url.is_none() && asked.data.is_none() => {
                Some((name, "MUSTER_CONTEXT"))
            }
            (None, _) => None,
        };
        if let Some((name, named_by)) = named_context {
            account.take_named_context(&name, named_by, asked_url, &env)?;
            if !account.has_credentials() {
                account.take_file(&LocalFile::read(asked.data, &env)?);
            }
            return Ok(account);
        }
        if let Some((url, from)) = &asked_url {
            account.set_url(url, from);
            account.advice =
                "is the server running, and is this its address? see --url and MUSTER_URL"
                    .to_owned();
            if account.has_credentials() {
                return Ok(account);
            }
        }
        account.fill_from_files(asked.data, asked_url.is_some(), &env)?;
        Ok(account)
    }

    pub fn has_credentials(&self) -> bool {
        self.app.is_some() || self.login.is_some()
    }

    /// The credentials of the environment.
    fn take_environment(&mut self, env: &dyn Fn(&str) -> Option<String>) -> Result<(), Failure> {
        if let Some(token) = env("MUSTER_TOKEN") {
            self.login = Some(Login {
                token: parse_token(&token, "MUSTER_TOKEN")?,
                user: None,
                expires_at: None,
                from: "MUSTER_TOKEN".to_owned(),
            });
        }
        match (env("MUSTER_APP_CODE"), env("MUSTER_APP_SECRET")) {
            (Some(code), Some(secret)) => {
                self.app = Some(App {
                    code,
                    secret,
                    trusted: None,
                    from: "MUSTER_APP_CODE and MUSTER_APP_SECRET".to_owned(),
                });
            }
            (None, None) => {}
            (Some(_), None) => return Err(half("MUSTER_APP_CODE", "MUSTER_APP_SECRET")),
            (None, Some(_)) => return Err(half("MUSTER_APP_SECRET", "MUSTER_APP_CODE")),
        }
        Ok(())
    }

    /// The context that a flag or a variable names: the server is its own, and after `--context` the credentials are, too.
    fn take_named_context(
        &mut self,
        name: &str,
        named_by: &str,
        asked_url: Option<(String, &str)>,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<(), Failure> {
        let read = contexts::read(env)?;
        let context = read.contexts.find(name)?;
        let url = parse_url(&context.url)?;
        if let Some((asked, asked_by)) = asked_url
            && asked != url
        {
            return Err(Failure::usage(format!(
                "{asked_by} names {asked}, but {named_by} names context {name} with {url}"
            ))
            .advise(format!("leave one of {asked_by} and {named_by} out")));
        }
        if named_by == "--context" && context.has_credentials() {
            (self.app, self.login) = (None, None);
        }
        self.take_context(name, context, &url, &read)
    }

    /// The current context, then the file of a local server. A data directory that the user named counts before the context,
    /// which may be of another server.
    fn fill_from_files(
        &mut self,
        data: Option<&str>,
        is_url_asked: bool,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<(), Failure> {
        let read = contexts::read(env)?;
        let named_data = data.map(str::to_owned).or_else(|| env("MUSTER_DATA"));
        if !is_url_asked
            && named_data.is_none()
            && let Some((name, context)) = read.contexts.current()
        {
            self.take_context(name, context, &parse_url(&context.url)?, &read)?;
            if self.has_credentials() {
                return Ok(());
            }
        }
        let file = LocalFile::read(data, env)?;
        if !is_url_asked && self.context.is_none() {
            if let Some(data) = &named_data {
                self.advice = format!("is the server running? try: muster up --data {data}");
            }
            if let Some(url) = &file.url {
                self.set_url(url, &file.path.display().to_string());
            }
        }
        if let (None, Some((name, context))) = (&self.context, read.contexts.current()) {
            let url = parse_url(&context.url)?;
            let is_open = !is_url_asked && data.is_none() && file.url.is_none();
            if is_open || url == self.url {
                self.take_context(name, context, &url, &read)?;
            }
        }
        self.take_file(&file);
        Ok(())
    }

    /// What is still open, from the file of a local server; its secret only if it is for this server, or the user named both.
    fn take_file(&mut self, file: &LocalFile) {
        if file.is_exposed {
            self.exposed.push(file.path.clone());
        }
        let is_own = match &file.url {
            Some(url) => *url == self.url || (file.is_named && self.context.is_none()),
            None => false,
        };
        if is_own && self.ca.is_none() {
            self.ca = file.saved.ca.as_ref().map(PathBuf::from);
        }
        if self.has_credentials() {
            return;
        }
        let remark = match (&file.saved.app_code, &file.saved.app_secret) {
            (Some(code), Some(secret)) if is_own => {
                self.app = Some(App {
                    code: code.clone(),
                    secret: secret.clone(),
                    trusted: file.saved.trusted,
                    from: file.path.display().to_string(),
                });
                return;
            }
            (Some(_), Some(_)) => format!(
                "those in {} are for another server and were not sent",
                file.path.display()
            ),
            _ => file.remark.clone(),
        };
        if self.remark.is_empty() {
            self.remark = remark;
        }
    }

    /// The server of a context; and its credentials, where there are none yet.
    fn take_context(
        &mut self,
        name: &str,
        context: &ServerContext,
        url: &str,
        read: &ReadContexts,
    ) -> Result<(), Failure> {
        self.set_url(url, &format!("context {name}"));
        self.context = Some(name.to_owned());
        self.advice =
            format!("is the server running, and is this its address? muster context show {name}");
        self.remark = format!("context {name} has none");
        if self.ca.is_none() {
            self.ca.clone_from(&context.ca);
        }
        if read.is_exposed && context.has_credentials() {
            self.exposed.push(read.path.clone());
        }
        if self.has_credentials() {
            return Ok(());
        }
        let from = format!("context {name}");
        if let Some(token) = &context.token {
            self.login = Some(Login {
                token: parse_token(token, &from)?,
                user: context.user.clone(),
                expires_at: context.expires_at,
                from,
            });
        } else if let (Some(code), Some(secret)) = (&context.app_code, &context.app_secret) {
            self.app = Some(App {
                code: code.clone(),
                secret: secret.clone(),
                trusted: None,
                from,
            });
        }
        Ok(())
    }

    fn set_url(&mut self, url: &str, from: &str) {
        url.clone_into(&mut self.url);
        from.clone_into(&mut self.url_from);
    }
}

fn half(given: &str, missing: &str) -> Failure {
    Failure::usage(format!(
        "{given} is set but {missing} is not: set both or none"
    ))
}

/// A token goes into a header, so it has no blanks and no control characters.
fn parse_token(text: &str, from: &str) -> Result<String, Failure> {
    let token = text.trim();
    match !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic()) {
        true => Ok(token.to_owned()),
        // The value is a secret, so the message does not show it.
        false => Err(Failure::usage(format!(
            "the token of {from} has blanks or control characters"
        ))
        .advise("muster login --print-token prints one")),
    }
}

/// The file of a local server.
struct LocalFile {
    path: PathBuf,
    /// Whether the user named its directory.
    is_named: bool,
    saved: SavedAccount,
    /// Its server; None where there is no such file.
    url: Option<String>,
    /// Other users can read it.
    is_exposed: bool,
    /// Why it could not be used.
    remark: String,
}

impl LocalFile {
    fn read(data: Option<&str>, env: &dyn Fn(&str) -> Option<String>) -> Result<Self, Failure> {
        let named = data.map(str::to_owned).or_else(|| env("MUSTER_DATA"));
        let directory = named
            .as_deref()
            .map_or_else(|| home::default_data(env), PathBuf::from);
        let path = directory.join(FILE);
        let mut file = Self {
            is_named: named.is_some(),
            saved: SavedAccount::default(),
            url: None,
            is_exposed: false,
            remark: String::new(),
            path,
        };
        let shown = file.path.display();
        let text = match std::fs::read_to_string(&file.path) {
            Ok(text) => text,
            Err(error) => {
                use std::io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
                file.remark = match error.kind() {
                    NotFound | NotADirectory => format!("there is no {shown}"),
                    PermissionDenied => format!("{shown} is not yours to read"),
                    _ => {
                        return Err(Failure::usage(format!("{shown} cannot be read: {error}")));
                    }
                };
                return Ok(file);
            }
        };
        // Only the message: the full error quotes the line, which may hold the secret.
        file.saved = toml::from_str(&text).map_err(|e| {
            Failure::usage(format!("{shown}: {}", e.message()))
                .advise("it is written by the server: start that again, or remove the file")
        })?;
        let url = file.saved.url.as_deref().unwrap_or(DEFAULT_URL);
        file.url = Some(parse_url(url)?);
        file.is_exposed = is_exposed(&file.path);
        Ok(file)
    }
}

/// Whether other users can read the file.
pub fn is_exposed(file: &Path) -> bool {
    std::fs::metadata(file).is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0)
}

/// Without the slashes at its end.
pub fn parse_url(text: &str) -> Result<String, Failure> {
    let url = text.trim().trim_end_matches('/');
    let rest = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"));
    match rest {
        Some(rest) if !rest.is_empty() && !rest.contains([' ', '?', '#', '@']) => {
            Ok(url.to_owned())
        }
        _ => Err(Failure::usage(format!(
            "{text:?} is not the URL of a server: write {DEFAULT_URL} or https://SERVER"
        ))),
    }
}
