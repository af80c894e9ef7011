//! The server that client verbs talk to, and their credentials: flags, else environment, else the file of a local server.

use std::fmt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::failure::Failure;
use crate::home;

/// Where `muster up` listens by default.
pub const DEFAULT_URL: &str = "http://127.0.0.1:7100";
/// Written by the server into its data directory, for its owner alone.
pub const FILE: &str = "cli.toml";

/// Shown below the help of the client verbs.
pub const WHERE: &str = "\
Server and credentials:
  MUSTER_URL (or --url), MUSTER_APP_CODE and MUSTER_APP_SECRET. What they leave open is
  read from cli.toml in the data directory (--data, MUSTER_DATA), which a server on this
  machine writes. MUSTER_USER names you in the audit trail. MUSTER_CA (or --ca) is a PEM
  file with the CAs to trust for an https:// server, instead of public CAs.";

#[derive(Clone, PartialEq, Eq)]
pub struct Account {
    pub url: String,
    /// The only certificates trusted for an https:// server; None: public CAs.
    pub ca: Option<PathBuf>,
    pub app: Option<App>,
    pub user: String,
    /// What to do when the server does not answer.
    pub advice: String,
    /// Why no credentials were found.
    pub remark: String,
    /// A file with a secret that other users can read.
    pub exposed: Option<PathBuf>,
}

#[derive(Clone, PartialEq, Eq)]
pub struct App {
    pub code: String,
    pub secret: String,
    /// Where they came from, for error messages.
    pub from: String,
}

/// The secret stays out of logs and panics.
impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Account")
            .field("url", &self.url)
            .field("app", &self.app)
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "App({} from {})", self.code, self.from)
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SavedAccount {
    url: Option<String>,
    app_code: Option<String>,
    app_secret: Option<String>,
    ca: Option<String>,
}

impl Account {
    /// Finds server and credentials. `env` reads one environment variable; an empty one counts as absent.
    pub fn find(
        url: Option<&str>,
        data: Option<&str>,
        env: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, Failure> {
        let env = |name: &str| env(name).filter(|value| !value.is_empty());
        let named_data = data.map(str::to_owned).or_else(|| env("MUSTER_DATA"));
        let file = named_data
            .as_deref()
            .map_or_else(|| home::default_data(&env), PathBuf::from)
            .join(FILE);
        let asked_url = url
            .map(str::to_owned)
            .or_else(|| env("MUSTER_URL"))
            .map(|url| parse_url(&url))
            .transpose()?;
        let mut account = Self {
            url: DEFAULT_URL.to_owned(),
            ca: env("MUSTER_CA").map(PathBuf::from),
            app: None,
            user: env("MUSTER_USER")
                .or_else(home::current_user)
                .unwrap_or_default(),
            advice: "is the server running? try: muster up".to_owned(),
            remark: String::new(),
            exposed: None,
        };
        if asked_url.is_some() {
            account.advice =
                "is the server running, and is this its address? see --url and MUSTER_URL"
                    .to_owned();
        } else if let Some(data) = &named_data {
            account.advice = format!("is the server running? try: muster up --data {data}");
        }
        match (env("MUSTER_APP_CODE"), env("MUSTER_APP_SECRET")) {
            (Some(code), Some(secret)) => {
                let from = "MUSTER_APP_CODE and MUSTER_APP_SECRET".to_owned();
                account.app = Some(App { code, secret, from });
            }
            (None, None) => {}
            (Some(_), None) => return Err(half("MUSTER_APP_CODE", "MUSTER_APP_SECRET")),
            (None, Some(_)) => return Err(half("MUSTER_APP_SECRET", "MUSTER_APP_CODE")),
        }
        if let (Some(url), Some(_)) = (&asked_url, &account.app) {
            account.url.clone_from(url);
            return Ok(account);
        }
        account.fill_from(&file, asked_url, named_data.is_some())?;
        Ok(account)
    }

    /// Sends the secret of the file only to the server of the file, unless the user named both.
    fn fill_from(
        &mut self,
        file: &Path,
        asked_url: Option<String>,
        is_named: bool,
    ) -> Result<(), Failure> {
        let saved = match read(file)? {
            SavedFile::Read(saved, exposed) => {
                self.exposed = exposed.then(|| file.to_owned());
                saved
            }
            SavedFile::Absent => {
                self.remark = format!("there is no {}", file.display());
                SavedAccount::default()
            }
            SavedFile::Forbidden => {
                self.remark = format!("{} is not yours to read", file.display());
                SavedAccount::default()
            }
        };
        let saved_url = saved.url.as_deref().map(parse_url).transpose()?;
        let is_foreign = !is_named && asked_url.is_some() && asked_url != saved_url;
        if let Some(url) = asked_url.or(saved_url) {
            self.url = url;
        }
        if !is_foreign && self.ca.is_none() {
            self.ca = saved.ca.map(PathBuf::from);
        }
        if self.app.is_none()
            && let (Some(code), Some(secret)) = (saved.app_code, saved.app_secret)
        {
            match is_foreign {
                true => {
                    self.remark = format!(
                        "those in {} are for another server and were not sent",
                        file.display()
                    );
                }
                false => {
                    let from = file.display().to_string();
                    self.app = Some(App { code, secret, from });
                }
            }
        }
        Ok(())
    }
}

fn half(given: &str, missing: &str) -> Failure {
    Failure::usage(format!(
        "{given} is set but {missing} is not: set both or none"
    ))
}

enum SavedFile {
    /// The content, and whether other users can read it.
    Read(SavedAccount, bool),
    Absent,
    Forbidden,
}

fn read(file: &Path) -> Result<SavedFile, Failure> {
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) => {
            return match error.kind() {
                std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => {
                    Ok(SavedFile::Absent)
                }
                std::io::ErrorKind::PermissionDenied => Ok(SavedFile::Forbidden),
                _ => Err(Failure::usage(format!(
                    "{} cannot be read: {error}",
                    file.display()
                ))),
            };
        }
    };
    // Only the message: the full error quotes the line, which may hold the secret.
    let saved = toml::from_str(&text).map_err(|e| {
        Failure::usage(format!("{}: {}", file.display(), e.message()))
            .advise("it is written by the server: start that again, or remove the file")
    })?;
    let exposed =
        std::fs::metadata(file).is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0);
    Ok(SavedFile::Read(saved, exposed))
}

/// Without the slashes at its end.
fn parse_url(text: &str) -> Result<String, Failure> {
    let url = text.trim().trim_end_matches('/');
    let rest = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"));
    match rest {
        Some(rest) if !rest.is_empty() && !rest.contains([' ', '?', '#', '@']) => {
            Ok(url.to_owned())
        }
        _ => Err(Failure::usage(format!(
            "{text:?} is no URL of a server: write {DEFAULT_URL} or https://SERVER"
        ))),
    }
}
