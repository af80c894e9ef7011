//! Writes and reads configuration files for the server, on blocking threads, because a disk can be slow. An empty first
//! chunk says that the work has begun, so that the server can tell a slow disk from an agent without this question.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use model::config_file::FileLookup;
use supervisor::{AllowedPaths, ConfigFiles};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use wire::ask::{ReadFile, WriteFile};

use super::{AnswerSource, NextChunk};

/// Limit of concurrent file operations, also of cancelled questions.
const AT_A_TIME: usize = 8;

/// The files of this host that the server may access. Clones share the limit.
#[derive(Debug, Clone)]
pub(crate) struct HostFiles {
    files: Arc<ConfigFiles>,
    room: Arc<Semaphore>,
}

type FileResult = Result<Vec<u8>, String>;

impl HostFiles {
    pub(crate) fn new(allowed: AllowedPaths) -> Self {
        Self {
            files: Arc::new(ConfigFiles::new(allowed)),
            room: Arc::new(Semaphore::new(AT_A_TIME)),
        }
    }

    pub(super) fn write(&self, write: WriteFile) -> AnswerSource {
        self.begin(move |files| {
            let WriteFile { file, content } = write;
            let written = files.write(&file, &content).map_err(|error| {
                tracing::warn!(%error, "cannot write a config file");
                error.to_string()
            })?;
            if !written.unchanged {
                tracing::info!(
                    path = written.path,
                    md5 = written.md5,
                    "wrote a config file"
                );
            }
            serde_json::to_vec(&written).map_err(|error| error.to_string())
        })
    }

    pub(super) fn read(&self, read: ReadFile) -> AnswerSource {
        self.begin(move |files| {
            let found = files
                .read(&read.path, read.max_bytes)
                .map_err(|error| error.to_string())?;
            let (found, content) = match found {
                Some((head, content)) => (FileLookup::File(head), content),
                None => (FileLookup::Nothing, Vec::new()),
            };
            let mut bytes = serde_json::to_vec(&found).map_err(|error| error.to_string())?;
            bytes.push(b'\n');
            bytes.extend(content);
            Ok(bytes)
        })
    }

    fn begin(
        &self,
        work: impl FnOnce(&ConfigFiles) -> FileResult + Send + 'static,
    ) -> AnswerSource {
        let Ok(permit) = Arc::clone(&self.room).try_acquire_owned() else {
            let reason = format!(
                "this host is at work on {AT_A_TIME} files already, and they take long: try again later"
            );
            return AnswerSource::Refused(reason);
        };
        let files = Arc::clone(&self.files);
        AnswerSource::File(FileTask::new(move || {
            let done = work(&files);
            drop(permit);
            done
        }))
    }
}

/// One file operation on a blocking thread.
#[derive(Debug)]
pub(super) struct FileTask {
    has_begun: bool,
    work: JoinHandle<FileResult>,
}

impl FileTask {
    pub(super) fn new(work: impl FnOnce() -> FileResult + Send + 'static) -> Self {
        Self {
            has_begun: false,
            work: tokio::task::spawn_blocking(work),
        }
    }

    pub(super) fn next(&mut self) -> Option<NextChunk> {
        let has_begun = std::mem::replace(&mut self.has_begun, true);
        (!has_begun).then(|| NextChunk::Chunk(Vec::new()))
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<FileResult> {
        Pin::new(&mut self.work).poll(cx).map(|done| {
            let failed = |error| Err(format!("the agent failed at this file: {error}"));
            done.unwrap_or_else(failed)
        })
    }
}
