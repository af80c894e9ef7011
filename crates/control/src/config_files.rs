//! Configuration files on hosts: written and read by the agent there, while it is connected.
//!
//! No rights are checked here: whoever calls has done so. A file is whole or unchanged on its host in any case; what a
//! lost connection takes away is only the word of which, so writing the same again is right.

use std::time::Duration;

use model::config_file::{DesiredFile, FileLookup, FileMetadata, MAX_BYTES, WrittenFile};
use model::{Host, Invalid};
use tokio::sync::{Semaphore, SemaphorePermit};
use wire::ask::{Question, ReadFile, WriteFile};

use crate::question::{Unfinished, away};
use crate::{Control, ControlError};

/// How many files are on their way to or from one host; further ones wait for their turn.
const AT_A_TIME: usize = 4;
/// How long an agent may take to begin: the content, and that of others before it, has to reach it first.
const BEGUN_WITHIN: Duration = Duration::from_secs(60);
/// How long a host may take for one file once it has begun.
const DONE_WITHIN: Duration = Duration::from_secs(120);

/// A file as it is on a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileOnHost {
    pub content: Vec<u8>,
    pub md5: String,
    pub owner: String,
    pub group: String,
    pub mode: u32,
}

/// Room for files on one connection.
#[derive(Debug)]
pub(crate) struct Room(Semaphore);

impl Default for Room {
    fn default() -> Self {
        Self(Semaphore::new(AT_A_TIME))
    }
}

impl Room {
    /// None when the connection has ended.
    async fn enter(&self) -> Option<SemaphorePermit<'_>> {
        self.0.acquire().await.ok()
    }

    pub(crate) fn close(&self) {
        self.0.close();
    }
}

impl Control {
    /// Makes a file on a host as wanted. `content` is the final bytes.
    pub async fn write_file(
        &self,
        host: Host,
        file: DesiredFile,
        content: Vec<u8>,
    ) -> Result<WrittenFile, ControlError> {
        file.check()?;
        if content.len() > MAX_BYTES {
            let rule = format!(
                "has {} bytes, and at most {MAX_BYTES} are written",
                content.len()
            );
            return Err(Invalid::new("content", rule).into());
        }
        let doing = format!("writing {}", file.path);
        let question = Question::WriteFile(WriteFile {
            file,
            content: content.into(),
        });
        let answer = self.work_on_file(host, question, &doing).await?;
        serde_json::from_slice(&answer)
            .map(WrittenFile::bound)
            .map_err(|_| not_understood(host, &doing))
    }

    /// What is in a file of a host; none when there is no such file. One longer than `max_bytes` is refused.
    pub async fn read_file(
        &self,
        host: Host,
        path: &str,
        max_bytes: u64,
    ) -> Result<Option<FileOnHost>, ControlError> {
        let doing = format!("reading {path}");
        let question = Question::ReadFile(ReadFile {
            path: path.to_owned(),
            max_bytes,
        });
        let mut answer = self.work_on_file(host, question, &doing).await?;
        let not_understood = || not_understood(host, &doing);
        let end = answer.iter().position(|byte| *byte == b'\n');
        let end = end.ok_or_else(not_understood)?;
        let found = serde_json::from_slice(&answer[..end]).map_err(|_| not_understood())?;
        answer.drain(..=end);
        Ok(match found {
            FileLookup::Nothing => None,
            FileLookup::File(FileMetadata { size, .. }) if size != answer.len() as u64 => {
                return Err(not_understood());
            }
            FileLookup::File(head) => {
                let head = head.bound();
                Some(FileOnHost {
                    content: answer,
                    md5: head.md5,
                    owner: head.owner,
                    group: head.group,
                    mode: head.mode,
                })
            }
        })
    }

    async fn work_on_file(
        &self,
        host: Host,
        question: Question,
        doing: &str,
    ) -> Result<Vec<u8>, ControlError> {
        let id = self.fleet().host_id(&host);
        let id = id.ok_or_else(|| ControlError::NotFound(format!("host {host} is not known")))?;
        let outbox = match self.0.replicas.holder(id) {
            None => Some(self.0.sessions.outbox(id).ok_or_else(|| away(host))?),
            // Those of other replicas are bounded by how many questions a connection has.
            Some(_) => None,
        };
        let _room = match &outbox {
            Some(outbox) => Some(outbox.files.enter().await.ok_or_else(|| away(host))?),
            None => None,
        };
        let answer = self.begin_to_ask(host, question, BEGUN_WITHIN).await?;
        answer.finish(DONE_WITHIN).await.map_err(|error| match error {
            Unfinished::Refused(reason) => ControlError::Declined(reason),
            Unfinished::Disconnected => ControlError::Away(format!(
                "the agent of host {host} disconnected while it was {doing}: try again"
            )),
            Unfinished::TooLate => ControlError::Away(format!(
                "the agent of host {host} was not done with {doing} in {} s: its disk may be stuck",
                DONE_WITHIN.as_secs()
            )),
            Unfinished::TooLong => not_understood(host, doing),
        })
    }
}

fn not_understood(host: Host, doing: &str) -> ControlError {
    let why = "with what this server does not understand";
    ControlError::Declined(format!(
        "the agent of host {host} answered {why} to {doing}"
    ))
}
