//! Files that the server wants written or read. The work is done beside the session, because a disk can be slow; that it
//! has begun is told at once, so that a server can tell a slow disk from an agent that knows no such question.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use model::config_file::FileLookup;
use supervisor::{Allowed, ConfigFiles};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use wire::ask::{ReadFile, WriteFile};

use super::{Piece, Source};

/// How many files are worked on at a time, whoever asked and whether they still wait.
const AT_A_TIME: usize = 8;

/// The files of this host, as far as a server may have them. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Files {
    files: Arc<ConfigFiles>,
    room: Arc<Semaphore>,
}

type Done = Result<Vec<u8>, String>;

impl Files {
    pub(crate) fn new(allowed: Allowed) -> Self {
        Self {
            files: Arc::new(ConfigFiles::new(allowed)),
            room: Arc::new(Semaphore::new(AT_A_TIME)),
        }
    }

    pub(super) fn write(&self, write: WriteFile) -> Source {
        self.begin(move |files| {
            let WriteFile { file, content } = write;
            let written = files.write(&file, &content).map_err(|error| {
                tracing::warn!(%error, "a file that the server wants is not written");
                error.to_string()
            })?;
            if !written.unchanged {
                tracing::info!(path = written.path, md5 = written.md5, "wrote a file");
            }
            serde_json::to_vec(&written).map_err(|error| error.to_string())
        })
    }

    pub(super) fn read(&self, read: ReadFile) -> Source {
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

    fn begin(&self, work: impl FnOnce(&ConfigFiles) -> Done + Send + 'static) -> Source {
        let Ok(permit) = Arc::clone(&self.room).try_acquire_owned() else {
            let reason = format!(
                "this host is at work on {AT_A_TIME} files already, and they take long: try again later"
            );
            return Source::Refused(reason);
        };
        let files = Arc::clone(&self.files);
        Source::Working(Working {
            has_begun: false,
            work: tokio::task::spawn_blocking(move || {
                let done = work(&files);
                drop(permit);
                done
            }),
        })
    }
}

/// Work on one file.
#[derive(Debug)]
pub(super) struct Working {
    has_begun: bool,
    work: JoinHandle<Done>,
}

impl Working {
    pub(super) fn next(&mut self) -> Option<Piece> {
        let has_begun = std::mem::replace(&mut self.has_begun, true);
        (!has_begun).then(|| Piece::Chunk(Vec::new()))
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Done> {
        Pin::new(&mut self.work).poll(cx).map(|done| {
            let failed = |error| Err(format!("the agent failed at this file: {error}"));
            done.unwrap_or_else(failed)
        })
    }
}
