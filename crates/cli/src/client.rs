//! A client of the native API: sends requests, repeats those that a busy server refused, and turns refusals into failures
//! that say what to do. Requests and responses are the types of the crate `api`.

use std::io::Read;
use std::time::Duration;

use api::{LoggedIn, LoginBody, TaskDetail, WhoAmI};
use model::FullName;
use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Map, Value};
use ureq::http::{Response, StatusCode};
use ureq::typestate::{WithBody, WithoutBody};
use ureq::{Agent, Body, RequestBuilder};

mod change_stream;
mod log_stream;
mod path;
mod refusal;
mod tls;

pub use change_stream::{ChangeEvent, ChangeStream, reopen};
pub use log_stream::LogStream;
pub use path::{Path, business_path, job_path, process_path, processes_named, task_path};

use crate::account::{Account, UserName};
use crate::failure::{Failure, Kind};
use crate::format::{count, counted};
use crate::out::Out;

/// The largest page that the server gives.
const MAX_PAGE: usize = 1000;
/// Longer than any response of the server takes, however many targets it is about.
const TIMEOUT: Duration = Duration::from_secs(120);
/// Longer than the server waits for an agent.
const AGENT_TIMEOUT: Duration = Duration::from_secs(30);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The largest response that is read: a page of results with all their output.
const MAX_RESPONSE: u64 = 512 * 1024 * 1024;
/// How often a request is sent that the server was too busy for.
const MAX_TRIES: u32 = 5;

#[derive(Debug)]
pub struct Client {
    account: Account,
    agent: Agent,
    /// The name that goes with the app's credentials.
    user_name: Option<String>,
}

/// Some rows, and how many there are in all.
#[derive(Debug)]
pub struct Page<T> {
    pub count: u64,
    pub rows: Vec<T>,
}

impl<T> Page<T> {
    /// A remark where rows are left out.
    pub fn note_rest(&self, out: &Out, noun: &str) {
        let shown = self.rows.len();
        if shown > 0 && (shown as u64) < self.count {
            let (shown, all) = (count(shown), counted(self.count, noun));
            out.note(format!("{shown} of {all} shown: --limit 0 shows all"));
        }
    }
}

impl Client {
    pub fn new(account: Account) -> Result<Self, Failure> {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .user_agent(concat!("muster/", env!("CARGO_PKG_VERSION")))
            .proxy(None)
            .tls_config(tls::config(account.ca.as_deref())?)
            .build();
        Ok(Self {
            account,
            agent: config.into(),
            user_name: None,
        })
    }

    /// Decides whether requests name a user: only those of an app without a login do, and only if the app is trusted, or if
    /// `MUSTER_USER` asks for it. Where only the server knows whether the app is trusted, asks the server.
    pub fn with_user_name(mut self) -> Result<Self, Failure> {
        let (Some(app), None) = (&self.account.app, &self.account.login) else {
            return Ok(self);
        };
        self.user_name = match (&self.account.user, app.trusted) {
            (UserName::Asked(name), _) | (UserName::System(name), Some(true)) => Some(name.clone()),
            (UserName::System(name), None) => self.is_app_trusted()?.then(|| name.clone()),
            (UserName::System(_), Some(false)) | (UserName::Unknown, _) => None,
        };
        Ok(self)
    }

    fn is_app_trusted(&self) -> Result<bool, Failure> {
        match self.get::<WhoAmI>(&Path::new("whoami")) {
            Ok(caller) => Ok(caller.app.is_some_and(|app| app.trusted)),
            // An older server wants a user name from every app.
            Err(failure) if failure.kind == Kind::NotFound => Ok(true),
            Err(failure) => Err(failure),
        }
    }

    /// Logs in. A wrong password is not tried again.
    pub fn log_in(&self, body: &LoginBody) -> Result<LoggedIn, Failure> {
        let request = self.with_body(self.agent.post(self.url(&Path::new("login"))));
        let response = request.send_json(body).map_err(|e| self.unreachable(&e))?;
        match response.status() {
            StatusCode::UNAUTHORIZED | StatusCode::TOO_MANY_REQUESTS => {
                let user = body.username.as_deref().unwrap_or_default();
                self.read_with(response, |account, status, text| {
                    refusal::login_refused(account, user, status, text)
                })
            }
            _ => self.read(response),
        }
    }

    /// Ends the login whose token this client sends.
    pub fn log_out(&self) -> Result<(), Failure> {
        let request = self.with_body(self.agent.post(self.url(&Path::new("logout"))));
        let response = request.send_empty().map_err(|e| self.unreachable(&e))?;
        self.read::<IgnoredAny>(response).map(|_| ())
    }

    pub fn account(&self) -> &Account {
        &self.account
    }

    pub fn get<T: DeserializeOwned>(&self, path: &Path) -> Result<T, Failure> {
        self.get_within(path, TIMEOUT)
    }

    pub fn get_within<T: DeserializeOwned>(
        &self,
        path: &Path,
        timeout: Duration,
    ) -> Result<T, Failure> {
        self.send(|| {
            self.bodyless(self.agent.get(self.url(path)), timeout)
                .call()
        })
    }

    pub fn post<T: DeserializeOwned>(
        &self,
        path: &Path,
        body: &impl Serialize,
    ) -> Result<T, Failure> {
        self.send(|| {
            self.with_body(self.agent.post(self.url(path)))
                .send_json(body)
        })
    }

    pub fn put<T: DeserializeOwned>(
        &self,
        path: &Path,
        body: &impl Serialize,
    ) -> Result<T, Failure> {
        self.send(|| {
            self.with_body(self.agent.put(self.url(path)))
                .send_json(body)
        })
    }

    pub fn delete<T: DeserializeOwned>(&self, path: &Path) -> Result<T, Failure> {
        self.send(|| {
            self.bodyless(self.agent.delete(self.url(path)), TIMEOUT)
                .call()
        })
    }

    pub fn delete_with<T: DeserializeOwned>(
        &self,
        path: &Path,
        body: &impl Serialize,
    ) -> Result<T, Failure> {
        self.send(|| {
            self.bodyless(self.agent.delete(self.url(path)), TIMEOUT)
                .force_send_body()
                .send_json(body)
        })
    }

    /// Reads the pages of a list until it ends or there are `limit` rows.
    pub fn pages<T: DeserializeOwned>(
        &self,
        path: &Path,
        list: &str,
        limit: Option<usize>,
    ) -> Result<Page<T>, Failure> {
        self.pages_from(path, list, 0, limit)
    }

    /// The same from a row on.
    pub fn pages_from<T: DeserializeOwned>(
        &self,
        path: &Path,
        list: &str,
        start: usize,
        limit: Option<usize>,
    ) -> Result<Page<T>, Failure> {
        let mut rows: Vec<T> = Vec::new();
        loop {
            let asked = limit
                .map_or(MAX_PAGE, |limit| limit - rows.len())
                .clamp(1, MAX_PAGE);
            let path = path
                .clone()
                .query("start", start + rows.len())
                .query("limit", asked);
            let mut response: Map<String, Value> = self.get(&path)?;
            let count = response.get("count").and_then(Value::as_u64).unwrap_or(0);
            let page: Vec<T> = read(response.remove(list).unwrap_or(Value::Null))?;
            // A page may be shorter than asked for where its rows are long.
            let is_last = page.is_empty();
            rows.extend(page);
            if is_last
                || (start + rows.len()) as u64 >= count
                || limit.is_some_and(|limit| rows.len() >= limit)
            {
                return Ok(Page { count, rows });
            }
        }
    }

    /// One process with its definitions.
    pub fn process<T: DeserializeOwned>(&self, name: &FullName) -> Result<T, Failure> {
        self.get(&process_path(name))
    }

    pub fn hosts<T: DeserializeOwned>(
        &self,
        connected: Option<bool>,
        limit: Option<usize>,
    ) -> Result<Page<T>, Failure> {
        let path = Path::new("hosts").maybe("connected", connected);
        self.pages(&path, "hosts", limit)
    }

    /// The task once it has ended, or when `wait` is over; without its results.
    pub fn task(&self, id: &str, wait: Duration) -> Result<TaskDetail<'static>, Failure> {
        // A page of one failed target: only the counts are needed.
        let path = task_path(id)
            .query("wait", format!("{}s", wait.as_secs()))
            .query("failed", true)
            .query("limit", 1);
        self.get_within(&path, TIMEOUT + wait)
    }

    /// The job without its tasks: once it is over or more than `ended` tasks have ended, or when `wait` is over.
    pub fn job<T: DeserializeOwned>(
        &self,
        id: u32,
        wait: Duration,
        ended: Option<u32>,
    ) -> Result<T, Failure> {
        // A page of one failed task: only the counts are needed.
        let mut path = job_path(id).query("status", "failed").query("limit", 1);
        if !wait.is_zero() {
            path = path
                .query("wait", format!("{}ms", wait.as_millis()))
                .maybe("ended", ended);
        }
        self.get_within(&path, TIMEOUT + wait)
    }

    /// Opens a response that is no JSON, to be read as it comes.
    pub fn stream(&self, path: &Path) -> Result<impl Read + use<>, Failure> {
        let request = self.signed(self.agent.get(self.url(path)));
        let request = request.config().timeout_recv_response(Some(AGENT_TIMEOUT));
        self.open(request.build())
    }

    fn open(&self, request: RequestBuilder<WithoutBody>) -> Result<impl Read + use<>, Failure> {
        let response = request.call().map_err(|e| self.unreachable(&e))?;
        if response.status().is_success() {
            return Ok(response.into_body().into_reader());
        }
        Err(match self.read::<IgnoredAny>(response) {
            Err(failure) => failure,
            Ok(_) => Failure::new(Kind::Failed, "the server sent no output"),
        })
    }

    fn url(&self, path: &Path) -> String {
        format!("{}/api/v1{path}", self.account.url)
    }

    fn bodyless(
        &self,
        request: RequestBuilder<WithoutBody>,
        timeout: Duration,
    ) -> RequestBuilder<WithoutBody> {
        self.signed(request.config().timeout_global(Some(timeout)).build())
    }

    fn with_body(&self, request: RequestBuilder<WithBody>) -> RequestBuilder<WithBody> {
        self.signed(request.config().timeout_global(Some(TIMEOUT)).build())
    }

    fn signed<B>(&self, mut request: RequestBuilder<B>) -> RequestBuilder<B> {
        if let Some(app) = &self.account.app {
            request = request
                .header_raw("X-Bkapi-App-Code", app.code.as_bytes())
                .header_raw("X-Bkapi-App-Secret", app.secret.as_bytes());
        }
        if let Some(login) = &self.account.login {
            let bearer = format!("Bearer {}", login.token);
            request = request.header_raw("Authorization", bearer.as_bytes());
        }
        if let Some(name) = &self.user_name {
            request = request.header_raw("X-Bkapi-User-Name", name.as_bytes());
        }
        request
    }

    /// Sends, and sends again while the server only says that it is busy.
    fn send<T: DeserializeOwned>(
        &self,
        send: impl Fn() -> Result<Response<Body>, ureq::Error>,
    ) -> Result<T, Failure> {
        let mut tries = 1;
        loop {
            let response = send().map_err(|e| self.unreachable(&e))?;
            match refusal::retry_after(&response) {
                Some(pause) if tries < MAX_TRIES => std::thread::sleep(pause),
                _ => return self.read(response),
            }
            tries += 1;
        }
    }

    fn read<T: DeserializeOwned>(&self, response: Response<Body>) -> Result<T, Failure> {
        self.read_with(response, refusal::refused)
    }

    fn read_with<T: DeserializeOwned>(
        &self,
        mut response: Response<Body>,
        refused: impl FnOnce(&Account, StatusCode, &[u8]) -> Failure,
    ) -> Result<T, Failure> {
        let status = response.status();
        let body = response.body_mut().with_config().limit(MAX_RESPONSE);
        let text = body.read_to_vec().map_err(|e| self.unreachable(&e))?;
        // A registration that every host refused has status 409 and the result of each host.
        let is_result =
            status.is_success() || (status == StatusCode::CONFLICT && refusal::has_results(&text));
        if !is_result {
            return Err(refused(&self.account, status, &text));
        }
        let text: &[u8] = if text.is_empty() { b"null" } else { &text };
        serde_json::from_slice(text).map_err(|e| {
            let url = &self.account.url;
            let what = format!("{url} answered something else than expected: {e}");
            Failure::new(Kind::Failed, what).advise("is this a Muster server, and of this version?")
        })
    }

    fn unreachable(&self, error: &ureq::Error) -> Failure {
        refusal::unreachable(&self.account, error)
    }
}

/// A response, or part of one, that was kept as it came.
pub fn read<T: DeserializeOwned>(response: Value) -> Result<T, Failure> {
    serde_json::from_value(response).map_err(not_as_expected)
}

pub fn not_as_expected(error: serde_json::Error) -> Failure {
    let what = format!("the server's answer is not as expected: {error}");
    Failure::new(Kind::Failed, what)
}
