//! The stream of change events: server-sent events, read line by line.

use std::io::{BufRead, BufReader, Read};
use std::time::Duration;

use serde_json::Value;

use super::{Client, Path};
use crate::failure::{Failure, Kind};
use crate::processes::query;

/// The longest line of the stream.
const MAX_LINE: u64 = 4 * 1024 * 1024;
const RETRY: Duration = Duration::from_secs(1);
/// The server sends a keep-alive far more often than this.
const MAX_SILENCE: Duration = Duration::from_secs(90);

#[derive(Debug, Clone, PartialEq)]
pub struct ChangeEvent {
    /// `status`, `task`, `event`, `agent` or `lagged`.
    pub kind: String,
    pub data: Value,
}

/// Change events as they come, until the connection ends.
pub struct ChangeStream {
    lines: Box<dyn BufRead + Send>,
    last_id: Option<String>,
}

impl std::fmt::Debug for ChangeStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ChangeStream")
    }
}

impl Client {
    pub fn watch(
        &self,
        namespace: Option<&str>,
        host: Option<&str>,
        labels: &[String],
        kinds: &[impl std::fmt::Display],
    ) -> Result<ChangeStream, Failure> {
        self.watch_since(None, namespace, host, labels, kinds)
    }

    /// What happened after the event with this id, and then what happens.
    pub fn watch_since(
        &self,
        since: Option<&str>,
        namespace: Option<&str>,
        host: Option<&str>,
        labels: &[String],
        kinds: &[impl std::fmt::Display],
    ) -> Result<ChangeStream, Failure> {
        let path = query(Path::new("watch"), &[], labels)
            .maybe("namespace", namespace)
            .maybe("host", host)
            .list("kinds", kinds)
            .maybe("since", since);
        let request = self.signed(self.agent.get(self.url(&path)));
        let request = request
            .config()
            .timeout_recv_response(Some(super::CONNECT_TIMEOUT))
            .timeout_per_read(Some(MAX_SILENCE))
            .build();
        let reader = self.open(request.header("Accept", "text/event-stream"))?;
        Ok(ChangeStream::new(BufReader::new(reader)))
    }
}

impl ChangeStream {
    pub fn new(lines: impl BufRead + Send + 'static) -> Self {
        Self {
            lines: Box::new(lines),
            last_id: None,
        }
    }

    /// Where to go on with after the connection has ended.
    pub fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// None at the end of the stream. Data that is no JSON is passed on as text.
    fn read(&mut self) -> std::io::Result<Option<ChangeEvent>> {
        let mut kind = String::new();
        let mut data: Vec<String> = Vec::new();
        loop {
            let mut line = String::new();
            if (&mut self.lines).take(MAX_LINE).read_line(&mut line)? == 0 {
                return Ok(None);
            }
            let line = line.trim_end_matches(['\n', '\r']);
            if line.is_empty() {
                if data.is_empty() {
                    kind.clear();
                    continue;
                }
                let text = data.join("\n");
                let data = serde_json::from_str(&text).unwrap_or(Value::String(text));
                let kind = match kind.is_empty() {
                    true => "message".to_owned(),
                    false => kind,
                };
                return Ok(Some(ChangeEvent { kind, data }));
            }
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "event" => value.clone_into(&mut kind),
                "data" => data.push(value.to_owned()),
                "id" => self.last_id = Some(value.to_owned()),
                _ => {} // A comment (keep-alive), or a field of a newer server.
            }
        }
    }
}

/// Opens a stream again, and tries until the server can be reached.
pub fn reopen(open: impl Fn() -> Result<ChangeStream, Failure>) -> Result<ChangeStream, Failure> {
    loop {
        std::thread::sleep(RETRY);
        match open() {
            Err(failure) if failure.kind == Kind::Unreachable => {}
            opened => return opened,
        }
    }
}

impl Iterator for ChangeStream {
    type Item = std::io::Result<ChangeEvent>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keep_alives_are_skipped() {
        let text = ": hello\nid: a-1\n\nevent: status\nid: a-2\ndata: {\"pid\": 7}\n\n:\n\nevent: lagged\r\ndata: {\"missed\":\r\ndata: 3}\r\n\r\ndata: plain\n\nevent: cut";
        let mut stream = ChangeStream::new(std::io::Cursor::new(text));
        let changes: Vec<_> = stream.by_ref().map(Result::unwrap).collect();
        assert_eq!(stream.last_id(), Some("a-2"));
        let of = |kind: &str, data| ChangeEvent {
            kind: kind.into(),
            data,
        };
        assert_eq!(
            changes,
            [
                of("status", json!({"pid": 7})),
                of("lagged", json!({"missed": 3})),
                of("message", json!("plain")),
            ]
        );
    }
}
