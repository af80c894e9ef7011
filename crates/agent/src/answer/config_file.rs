//! Writes and reads configuration files for the server, on blocking threads, because a disk can be slow.

use std::sync::Arc;

use model::config_file::FileLookup;
use supervisor::{AllowedPaths, ConfigFiles};
use tokio::sync::Semaphore;
use wire::ask::{ReadFile, WriteFile};

use super::AnswerSource;
use super::blocking::{BlockingTask, TaskResult};

/// Limit of concurrent file operations, also of cancelled questions.
const AT_A_TIME: usize = 8;

/// The files of this host that the server may access. Clones share the limit.
#[derive(Debug, Clone)]
pub(crate) struct HostFiles {
    files: Arc<ConfigFiles>,
    room: Arc<Semaphore>,
}

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
        work: impl FnOnce(&ConfigFiles) -> TaskResult + Send + 'static,
    ) -> AnswerSource {
        let Ok(permit) = Arc::clone(&self.room).try_acquire_owned() else {
            let reason = format!(
                "this host is at work on {AT_A_TIME} files already, and they take long: try again later"
            );
            return AnswerSource::Refused(reason);
        };
        let files = Arc::clone(&self.files);
        AnswerSource::Task(BlockingTask::begin(move || {
            let done = work(&files);
            drop(permit);
            done
        }))
    }
}
