//! Live questions: the server asks, the agent answers in chunks, and neither buffers more than a window of them.
//!
//! ```text
//!   Ask { id, Logs … } ──────────────►
//!                      ◄────────────── Output { id, chunk } at most WINDOW of them
//!   Ask { id, More { chunks: 4 } } ──►  as the reader takes them
//!                      ◄────────────── Output { id, chunk, last }
//! ```
//!
//! A question ends with its connection and is never repeated. The agent sends a first output, possibly empty, as soon as it can
//! answer: an agent that sends nothing does not know questions.

use bytes::Bytes;
use model::config_file::DesiredFile;
use model::upgrade::Sha256;
use model::{FullName, Invalid, LinePattern};
use serde::{Deserialize, Serialize};

/// The largest chunk.
pub const MAX_CHUNK: usize = 64 * 1024;
/// How many chunks an agent sends before it is asked for more.
pub const WINDOW: u32 = 8;
/// How many questions one connection has open at a time.
pub const MAX_OPEN: usize = 32;

/// A question, or a message about an open one.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Ask {
    /// Unique within a connection.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// A [`Question`] as JSON.
    #[prost(string, tag = "2")]
    pub body_json: String,
    /// The content of a file, which would be several times as long in JSON.
    #[prost(bytes = "bytes", tag = "3")]
    pub content: Bytes,
}

/// The body of an [`Ask`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    /// What does the agent hold? Answered with a [`model::held::HeldReport`] as JSON.
    Held {},
    /// What does this process write? Answered with the bytes themselves.
    Logs(Logs),
    /// The same with fields that agents did not always know: these refuse the question instead of ignoring the fields.
    SelectedLogs(Logs),
    /// The same for one run by its number, which agents learned still later.
    RunLogs(Logs),
    /// Write this file. Answered at once with an empty output, and with a [`model::config_file::WrittenFile`] as JSON when it is
    /// done.
    WriteFile(WriteFile),
    /// What is in this file? Answered at once with an empty output, then with a [`model::config_file::FileLookup`] as one line of
    /// JSON and the content behind it.
    ReadFile(ReadFile),
    /// A part of a binary that shall replace the agent's. Answered at once with an empty output, then with a
    /// [`model::upgrade::UpgradeState`] as JSON.
    UpgradePart(UpgradePart),
    /// Become the binary that was sent. Answered in the same way, when the upgrade has begun.
    Upgrade(Upgrade),
    /// How far is the last upgrade? Answered in the same way.
    UpgradeState {},
    /// How much did this process use in the last hour? Answered with a [`model::figures::FigureSeries`] as JSON.
    Figures(FiguresOf),
    /// What were the last runs of this process? Answered with [`model::run_history::RunRecord`]s as JSON.
    Runs(RunsOf),
    /// Is the host fit for an agent? Answered at once with an empty output, and with a [`model::host_check::HostCheckReport`] as
    /// JSON when all is checked.
    Check {},
    /// The reader has taken this many chunks: as many more may come.
    More { chunks: u32 },
    /// The reader is gone.
    Cancel,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Logs {
    pub process: FullName,
    /// How many of the last lines come first.
    #[serde(default)]
    pub tail_lines: u32,
    /// Continues with what is written from now on.
    #[serde(default)]
    pub follow: bool,
    /// The run before the current or last one.
    #[serde(default, skip_serializing_if = "is_false")]
    pub previous: bool,
    /// Only what was written within this time, by the clock of the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<u64>,
    /// Only lines that match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grep: Option<LinePattern>,
    /// The run with this number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<u32>,
}

impl Logs {
    /// The question for an agent of any version.
    pub fn into_question(self) -> Question {
        let is_selected = self.previous || self.since_ms.is_some() || self.grep.is_some();
        match (self.run, is_selected) {
            (Some(_), _) => Question::RunLogs(self),
            (None, true) => Question::SelectedLogs(self),
            (None, false) => Question::Logs(self),
        }
    }
}

fn is_false(flag: &bool) -> bool {
    !*flag
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteFile {
    pub file: DesiredFile,
    /// Travels beside the JSON; at most [`model::config_file::MAX_BYTES`].
    #[serde(skip)]
    pub content: Bytes,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadFile {
    pub path: String,
    /// A longer file is not read at all.
    pub max_bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpgradePart {
    /// Of the whole binary.
    pub sha256: Sha256,
    pub size: u64,
    /// Where the content belongs. The agent takes it only if it has all that is before, and answers what it has.
    pub offset: u64,
    /// Travels beside the JSON; at most [`model::upgrade::MAX_PART`].
    #[serde(skip)]
    pub content: Bytes,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Upgrade {
    pub sha256: Sha256,
    /// The version that the binary must be of.
    pub version: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FiguresOf {
    pub process: FullName,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunsOf {
    pub process: FullName,
}

impl Ask {
    pub fn new(id: u64, question: &Question) -> Self {
        let body_json = serde_json::to_string(question).expect("a question has only string keys");
        let content = match question {
            Question::WriteFile(write) => write.content.clone(),
            Question::UpgradePart(part) => part.content.clone(),
            Question::Upgrade(_)
            | Question::UpgradeState {}
            | Question::Held {}
            | Question::Logs(_)
            | Question::SelectedLogs(_)
            | Question::RunLogs(_)
            | Question::ReadFile(_)
            | Question::Figures(_)
            | Question::Runs(_)
            | Question::Check {}
            | Question::More { .. }
            | Question::Cancel => Bytes::new(),
        };
        Self {
            id,
            body_json,
            content,
        }
    }

    pub fn question(&self) -> Result<Question, Invalid> {
        let mut question = serde_json::from_str(&self.body_json)
            .map_err(|e| Invalid::new("ask", e.to_string()))?;
        match &mut question {
            Question::WriteFile(write) => write.content = self.content.clone(),
            Question::UpgradePart(part) => part.content = self.content.clone(),
            _ => {}
        }
        Ok(question)
    }
}

/// Part of an answer.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Output {
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// At most [`MAX_CHUNK`] bytes.
    #[prost(bytes = "vec", tag = "2")]
    pub chunk: Vec<u8>,
    /// Nothing follows.
    #[prost(bool, tag = "3")]
    pub last: bool,
    /// Why there is no answer, or no more of it. Such an output is the last.
    #[prost(string, tag = "4")]
    pub refused: String,
}

impl Output {
    pub fn refuse(id: u64, reason: impl Into<String>) -> Self {
        Self {
            id,
            last: true,
            refused: reason.into(),
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;
    use proptest::prelude::{any, prop, proptest};
    use tokio_util::codec::{Decoder, Encoder};

    use super::*;
    use crate::{Codec, Down, DownKind, Up};

    #[test]
    fn an_unknown_question_of_a_newer_server_is_refused() {
        let ask = Ask {
            id: 1,
            body_json: "{\"weather\":{}}".into(),
            content: Bytes::new(),
        };
        assert_eq!(ask.question().unwrap_err().field, "ask");
    }

    #[test]
    fn the_longest_file_of_any_bytes_fits_into_one_frame() {
        let question = Question::WriteFile(WriteFile {
            file: DesiredFile {
                path: "/\u{1}".repeat(2048),
                ..wanted()
            },
            content: vec![1; model::config_file::MAX_BYTES].into(),
        });
        let mut bytes = BytesMut::new();
        let mut codec = Codec::<Down, Down>::new();
        let frame = Ask::new(1, &question).into();
        codec.encode(frame, &mut bytes).unwrap();
    }

    fn wanted() -> DesiredFile {
        DesiredFile {
            path: "/etc/app.conf".into(),
            owner: "app".into(),
            group: "users".into(),
            mode: 0o640,
            md5: "d41d8cd98f00b204e9800998ecf8427e".into(),
            keep_backups: 5,
        }
    }

    proptest! {
        #[test]
        fn questions_read_back_what_they_say(id in any::<u64>(), tail_lines in any::<u32>(), follow in any::<bool>(), chunks in any::<u32>(), path in any::<String>(), mode in any::<u32>(), max_bytes in any::<u64>(), content in prop::collection::vec(any::<u8>(), 0..2000)) {
            let process: FullName = "web/nginx".parse().unwrap();
            let logs = |since: Option<u32>| Logs {
                process: process.clone(),
                tail_lines,
                follow,
                previous: since.is_some(),
                since_ms: since.map(u64::from),
                grep: since.map(|_| LinePattern::parse("a|b").unwrap()),
                run: None,
            };
            let file = DesiredFile { path: path.clone(), mode, ..wanted() };
            for question in [
                Question::Held {},
                logs(None).into_question(),
                logs(Some(chunks)).into_question(),
                Logs { run: Some(chunks), ..logs(Some(chunks)) }.into_question(),
                Question::WriteFile(WriteFile { file, content: content.into() }),
                Question::ReadFile(ReadFile { path, max_bytes }),
                Question::Figures(FiguresOf { process: process.clone() }),
                Question::Runs(RunsOf { process: process.clone() }),
                Question::UpgradePart(UpgradePart { sha256: Sha256::of_bytes(&[7; 32]), size: max_bytes, offset: id, content: "part".into() }),
                Question::Upgrade(Upgrade { sha256: Sha256::of_bytes(&[7; 32]), version: "1.2.3".into() }),
                Question::UpgradeState {},
                Question::Check {},
                Question::More { chunks },
                Question::Cancel,
            ] {
                let mut bytes = BytesMut::new();
                let mut codec = Codec::<Down, Down>::new();
                codec.encode(Ask::new(id, &question).into(), &mut bytes).unwrap();
                let Some(Down { kind: Some(DownKind::Ask(ask)) }) = codec.decode(&mut bytes).unwrap() else {
                    panic!("no ask");
                };
                assert_eq!((ask.id, ask.question().unwrap()), (id, question));
            }
        }

        #[test]
        fn outputs_carry_any_bytes(id in any::<u64>(), chunk in prop::collection::vec(any::<u8>(), 0..2000), last in any::<bool>()) {
            let output = Output { id, chunk, last, refused: String::new() };
            let mut bytes = BytesMut::new();
            let mut codec = Codec::<Up, Up>::new();
            codec.encode(output.clone().into(), &mut bytes).unwrap();
            assert_eq!(codec.decode(&mut bytes).unwrap(), Some(output.into()));
        }
    }
}
