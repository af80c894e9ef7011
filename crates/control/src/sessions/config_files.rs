//! Writes and reads configuration files on hosts, through their connected agents.
//!
//! The caller has checked permissions. A file is replaced as a whole or not at all; after a lost connection it is unknown which,
//! so writing the same content again is right.

use std::time::Duration;

use model::config_file::{DesiredFile, FileLookup, FileMetadata, MAX_BYTES, WrittenFile};
use model::{Host, Invalid};
use tokio::sync::{Semaphore, SemaphorePermit};
use wire::ask::{Question, ReadFile, WriteFile};

use super::Sessions;
use super::question::{Unfinished, away};
use crate::ControlError;

/// How many files are transferred to or from one host at a time; further ones wait.
const AT_A_TIME: usize = 4;
/// How long an agent may take to start: this content, and that of files before it, has to reach it first.
const START_WITHIN: Duration = Duration::from_secs(60);
/// How long a host may take for one file once it has started.
const DONE_WITHIN: Duration = Duration::from_secs(120);

/// A file on a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileOnHost {
    pub content: Vec<u8>,
    pub md5: String,
    pub owner: String,
    pub group: String,
    pub mode: u32,
}

/// Limits the file transfers of one connection.
#[derive(Debug)]
pub(crate) struct FileSlots(Semaphore);

impl Default for FileSlots {
    fn default() -> Self {
        Self(Semaphore::new(AT_A_TIME))
    }
}

impl FileSlots {
    /// Waits for a free slot. None when the connection has ended.
    async fn acquire(&self) -> Option<SemaphorePermit<'_>> {
        self.0.acquire().await.ok()
    }

    pub(crate) fn close(&self) {
        self.0.close();
    }
}

impl Sessions {
    /// Writes a file on a host.
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
        let action = format!("writing {}", file.path);
        let question = Question::WriteFile(WriteFile {
            file,
            content: content.into(),
        });
        let answer = self.transfer(host, question, &action).await?;
        serde_json::from_slice(&answer)
            .map(WrittenFile::bound)
            .map_err(|_| not_understood(host, &action))
    }

    /// Reads a file of a host; None when it does not exist. A file longer than `max_bytes` is refused.
    pub async fn read_file(
        &self,
        host: Host,
        path: &str,
        max_bytes: u64,
    ) -> Result<Option<FileOnHost>, ControlError> {
        let action = format!("reading {path}");
        let question = Question::ReadFile(ReadFile {
            path: path.to_owned(),
            max_bytes,
        });
        let mut answer = self.transfer(host, question, &action).await?;
        let not_understood = || not_understood(host, &action);
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

    async fn transfer(
        &self,
        host: Host,
        question: Question,
        action: &str,
    ) -> Result<Vec<u8>, ControlError> {
        let id = self.core.fleet().host_id(&host);
        let id = id.ok_or_else(|| ControlError::NotFound(format!("host {host} is not known")))?;
        let outbox = match self.replicas.holder(id) {
            None => Some(self.core.outboxes.outbox(id).ok_or_else(|| away(host))?),
            // Transfers through another replica are limited by the number of questions per connection.
            Some(_) => None,
        };
        let _slot = match &outbox {
            Some(outbox) => Some(
                outbox
                    .file_slots
                    .acquire()
                    .await
                    .ok_or_else(|| away(host))?,
            ),
            None => None,
        };
        let answer = self.start_question(host, question, START_WITHIN).await?;
        answer.finish(DONE_WITHIN).await.map_err(|error| match error {
            Unfinished::Refused(reason) => ControlError::Declined(reason),
            Unfinished::Disconnected => ControlError::Away(format!(
                "the agent of host {host} disconnected while it was {action}: try again"
            )),
            Unfinished::TooLate => ControlError::Away(format!(
                "the agent of host {host} was not done with {action} in {} s: its disk may be stuck",
                DONE_WITHIN.as_secs()
            )),
            Unfinished::TooLong => not_understood(host, action),
        })
    }
}

fn not_understood(host: Host, action: &str) -> ControlError {
    let why = "with what this server does not understand";
    ControlError::Declined(format!(
        "the agent of host {host} answered {why} to {action}"
    ))
}
