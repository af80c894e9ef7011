//! The native API, typed: one method for each call, failures in the words of the command line.

use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use ureq::http::{Response, StatusCode};
use ureq::{Agent, Body};

mod access;
mod answer;
mod events;
mod fleet;
mod job;
mod live;
mod path;
mod task;
mod template;
mod trust;
mod view;
mod watch;

pub use access::{
    AppRow, AuditFilter, AuditRow, CreatedApp, CreatedToken, GrantRow, NewApp, TokenRow, UserRow,
};
pub use events::{CreatedWebhook, EventFilter, EventRow, NewWebhook, WebhookRow, WebhookTest};
pub use fleet::{
    DefinitionRow, HostResult, HostRow, Page, ProcessFilter, ProcessRow, ProcessView, Registration,
    ReplicaRow, Results,
};
pub use job::{CreatedJob, JobCounts, JobFilter, JobRow, JobTaskRow, NewJob, RetriedJob};
pub use live::{ComparedRow, ForeignRow, LogsWanted};
pub use path::Path;
pub use task::{Counts, Instance, Operate, Operated, TargetRow, TaskRow, TaskView, Wanted};
pub use template::{
    Bindings, ConfigFileRow, FileRow, Preview, TemplateFields, TemplateRow, VersionRow,
};
pub use view::{
    BusinessRow, Difference, Explained, Import, InstanceRow, Tally, TroubleRow, ViewFilter, ViewRow,
};
pub use watch::{Happening, Stream};

use crate::account::Account;
use crate::failure::{Failure, Kind};

/// The largest page that the server gives.
pub const MAX_PAGE: usize = 1000;
/// Longer than any answer of the server takes, however many targets it is about.
const PATIENCE: Duration = Duration::from_secs(120);
const CONNECT: Duration = Duration::from_secs(5);
/// The largest answer that is read: a page of results with all their output.
const MAX_ANSWER: u64 = 512 * 1024 * 1024;
/// How often a request is sent that the server was too busy for.
const MAX_TRIES: u32 = 5;

#[derive(Debug)]
pub struct Client {
    account: Account,
    agent: Agent,
}

impl Client {
    pub fn new(account: Account) -> Result<Self, Failure> {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_connect(Some(CONNECT))
            .user_agent(concat!("muster/", env!("CARGO_PKG_VERSION")))
            .proxy(None)
            .tls_config(trust::config(account.ca.as_deref())?)
            .build();
        Ok(Self {
            account,
            agent: config.into(),
        })
    }

    pub fn account(&self) -> &Account {
        &self.account
    }

    /// Any answer as whatever the caller wants to see in it.
    pub fn get<T: DeserializeOwned>(&self, path: &Path) -> Result<T, Failure> {
        self.get_within(path, PATIENCE)
    }

    fn get_within<T: DeserializeOwned>(
        &self,
        path: &Path,
        patience: Duration,
    ) -> Result<T, Failure> {
        self.answer(|| {
            let request = self.agent.get(self.url(path));
            let request = request.config().timeout_global(Some(patience)).build();
            self.signed(request).call()
        })
    }

    fn post<T: DeserializeOwned>(&self, path: &Path, body: &impl Serialize) -> Result<T, Failure> {
        self.answer(|| {
            let request = self.agent.post(self.url(path));
            let request = request.config().timeout_global(Some(PATIENCE)).build();
            self.signed(request).send_json(body)
        })
    }

    fn put<T: DeserializeOwned>(&self, path: &Path, body: &impl Serialize) -> Result<T, Failure> {
        self.answer(|| {
            let request = self.agent.put(self.url(path));
            let request = request.config().timeout_global(Some(PATIENCE)).build();
            self.signed(request).send_json(body)
        })
    }

    fn delete<T: DeserializeOwned>(
        &self,
        path: &Path,
        body: Option<&impl Serialize>,
    ) -> Result<T, Failure> {
        self.answer(|| {
            let request = self.agent.delete(self.url(path));
            let request = request.config().timeout_global(Some(PATIENCE)).build();
            let request = self.signed(request);
            match body {
                Some(body) => request.force_send_body().send_json(body),
                None => request.call(),
            }
        })
    }

    fn url(&self, path: &Path) -> String {
        format!("{}/api/v1{path}", self.account.url)
    }

    fn signed<B>(&self, mut request: ureq::RequestBuilder<B>) -> ureq::RequestBuilder<B> {
        if let Some(app) = &self.account.app {
            request = request
                .header_raw("X-Bkapi-App-Code", app.code.as_bytes())
                .header_raw("X-Bkapi-App-Secret", app.secret.as_bytes());
        }
        if !self.account.user.is_empty() {
            request = request.header_raw("X-Bkapi-User-Name", self.account.user.as_bytes());
        }
        request
    }

    /// Sends, and sends again as long as the server only says that it is busy.
    fn answer<T: DeserializeOwned>(
        &self,
        send: impl Fn() -> Result<Response<Body>, ureq::Error>,
    ) -> Result<T, Failure> {
        let mut tries = 1;
        loop {
            let response = send().map_err(|e| answer::unreachable(&self.account, &e))?;
            if let Some(pause) = answer::retry_after(&response)
                && tries < MAX_TRIES
            {
                tries += 1;
                std::thread::sleep(pause);
                continue;
            }
            return self.read(response);
        }
    }

    fn read<T: DeserializeOwned>(&self, mut response: Response<Body>) -> Result<T, Failure> {
        let status = response.status();
        let text = response
            .body_mut()
            .with_config()
            .limit(MAX_ANSWER)
            .read_to_vec()
            .map_err(|e| answer::unreachable(&self.account, &e))?;
        // A registration that no host took is told with 409, and with the result of each host.
        let is_result =
            status.is_success() || (status == StatusCode::CONFLICT && answer::has_results(&text));
        if !is_result {
            return Err(answer::refused(&self.account, status, &text));
        }
        let text: &[u8] = if text.is_empty() { b"null" } else { &text };
        serde_json::from_slice(text).map_err(|e| {
            Failure::new(
                Kind::Failed,
                format!(
                    "{} answered something else than expected: {e}",
                    self.account.url
                ),
            )
            .advise("is this a Muster server, and of this version?")
        })
    }
}
