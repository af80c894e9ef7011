//! The stream of what happens: server-sent events, read line by line.

use std::io::{BufRead, BufReader, Read};
use std::time::Duration;

use serde_json::Value;

use super::{Client, Path, answer};
use crate::failure::Failure;

/// The longest line of the stream.
const MAX_LINE: u64 = 4 * 1024 * 1024;
/// The server sends a sign of life far more often than this.
const SILENCE: Duration = Duration::from_secs(90);

#[derive(Debug, Clone, PartialEq)]
pub struct Happening {
    /// `status`, `task`, `event`, `agent` or `lagged`.
    pub kind: String,
    pub data: Value,
}

/// Happenings as they come, until the connection ends.
pub struct Stream {
    lines: Box<dyn BufRead + Send>,
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Stream")
    }
}

impl Client {
    pub fn watch(
        &self,
        namespace: Option<&str>,
        host: Option<&str>,
        kinds: &[String],
    ) -> Result<Stream, Failure> {
        let kinds = (!kinds.is_empty()).then(|| kinds.join(","));
        let path = Path::new("watch")
            .maybe("namespace", namespace)
            .maybe("host", host)
            .maybe("kinds", kinds);
        let request = self.agent.get(self.url(&path));
        let request = request
            .config()
            .timeout_recv_response(Some(super::CONNECT))
            .timeout_per_read(Some(SILENCE))
            .build();
        let response = self
            .signed(request.header("Accept", "text/event-stream"))
            .call()
            .map_err(|e| answer::unreachable(self.account(), &e))?;
        if !response.status().is_success() {
            return Err(match self.read::<serde::de::IgnoredAny>(response) {
                Err(failure) => failure,
                Ok(_) => Failure::new(crate::failure::Kind::Failed, "the server sent no stream"),
            });
        }
        Ok(Stream::new(BufReader::new(
            response.into_body().into_reader(),
        )))
    }
}

impl Stream {
    pub fn new(lines: impl BufRead + Send + 'static) -> Self {
        Self {
            lines: Box::new(lines),
        }
    }

    /// None at the end of the stream. What is neither JSON nor known is passed on as text.
    fn read(&mut self) -> std::io::Result<Option<Happening>> {
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
                return Ok(Some(Happening { kind, data }));
            }
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "event" => value.clone_into(&mut kind),
                "data" => data.push(value.to_owned()),
                _ => {} // A comment (sign of life), an id, or something new.
            }
        }
    }
}

impl Iterator for Stream {
    type Item = std::io::Result<Happening>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn happenings_are_read_past_signs_of_life() {
        let text = ": hello\n\nevent: status\ndata: {\"pid\": 7}\n\n:\n\nevent: lagged\r\ndata: {\"missed\":\r\ndata: 3}\r\n\r\ndata: plain\n\nevent: cut";
        let stream = Stream::new(std::io::Cursor::new(text));
        let happenings: Vec<_> = stream.map(Result::unwrap).collect();
        let of = |kind: &str, data| Happening {
            kind: kind.into(),
            data,
        };
        assert_eq!(
            happenings,
            [
                of("status", json!({"pid": 7})),
                of("lagged", json!({"missed": 3})),
                of("message", json!("plain")),
            ]
        );
    }
}
