//! The stream of a process's output: pieces of JSON, one on each line, with keep-alives between them.

use std::io::{BufRead, BufReader, Read};
use std::time::Duration;

use api::LogPiece;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::{AGENT_TIMEOUT, Client, Path, not_as_expected};
use crate::failure::{Failure, Kind};

/// The longest line of the stream: a chunk of an agent, escaped.
const MAX_LINE: u64 = 4 * 1024 * 1024;
/// The server sends a piece every ten seconds, if only an empty one.
const MAX_SILENCE: Duration = Duration::from_secs(35);

/// Output as it comes, until it ends.
pub struct LogStream {
    lines: Box<dyn BufRead + Send>,
    max_silence: Duration,
}

impl std::fmt::Debug for LogStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LogStream")
    }
}

impl Client {
    /// Opens the output at this path.
    pub fn logs(&self, path: &Path) -> Result<LogStream, Failure> {
        self.logs_with(path, MAX_SILENCE)
    }

    fn logs_with(&self, path: &Path, max_silence: Duration) -> Result<LogStream, Failure> {
        let path = path.clone().query("format", "json");
        let request = self.signed(self.agent.get(self.url(&path)));
        let request = request
            .config()
            .timeout_recv_response(Some(AGENT_TIMEOUT))
            .timeout_per_read(Some(max_silence))
            .build();
        let reader = self.open(request)?;
        Ok(LogStream::new(BufReader::new(reader), max_silence))
    }
}

impl LogStream {
    fn new(lines: impl BufRead + Send + 'static, max_silence: Duration) -> Self {
        Self {
            lines: Box::new(lines),
            max_silence,
        }
    }

    /// The next bytes of output, perhaps none; None at its end.
    pub fn read(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        let mut line = Vec::new();
        let read = (&mut self.lines)
            .take(MAX_LINE)
            .read_until(b'\n', &mut line);
        match read {
            Ok(0) => return Ok(None),
            Ok(_) => {}
            Err(error) => return Err(lost(&error, self.max_silence)),
        }
        let piece: LogPiece = serde_json::from_slice(&line).map_err(not_as_expected)?;
        if !piece.end.is_empty() {
            let what = format!("{}; the output ends here", piece.end);
            return Err(Failure::new(Kind::Unreachable, what));
        }
        let mut bytes = piece.text.into_bytes();
        if !piece.base64.is_empty() {
            let decoded = STANDARD.decode(&piece.base64);
            bytes.extend(decoded.map_err(|error| {
                let what = format!("the server's answer is not as expected: {error}");
                Failure::new(Kind::Failed, what)
            })?);
        }
        Ok(Some(bytes))
    }
}

fn lost(error: &std::io::Error, max_silence: Duration) -> Failure {
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref());
    let what = match cause {
        Some(ureq::Error::Timeout(_)) => format!(
            "the server has sent nothing for {} s: the connection is dead",
            max_silence.as_secs()
        ),
        Some(_) | None => format!("the connection to the server ended: {error}"),
    };
    Failure::new(Kind::Unreachable, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::{Account, Asked};

    fn read(text: &'static str) -> (Vec<u8>, Option<String>) {
        let mut stream = LogStream::new(std::io::Cursor::new(text), MAX_SILENCE);
        let mut all = Vec::new();
        loop {
            match stream.read() {
                Ok(Some(bytes)) => all.extend(bytes),
                Ok(None) => return (all, None),
                Err(failure) => return (all, Some(failure.what().to_owned())),
            }
        }
    }

    #[test]
    fn pieces_become_bytes_and_keep_alives_nothing() {
        let text = "{}\n{\"text\":\"a\\nb\"}\n{}\n{\"base64\":\"/w==\"}\n";
        assert_eq!(read(text), (b"a\nb\xff".to_vec(), None));
    }

    #[test]
    fn a_server_that_falls_silent_is_noticed() {
        use std::io::Write;
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
            let piece = "{\"text\":\"a\"}\n";
            write!(stream, "{head}{:x}\r\n{piece}\r\n", piece.len()).unwrap();
            stream
        });
        let home = tempfile::tempdir().unwrap();
        let asked = Asked {
            url: Some(&url),
            data: home.path().to_str(),
            ..Asked::default()
        };
        let account = Account::find(asked, |_| None).unwrap();
        let client = Client::new(account).unwrap();
        let path = Path::new("logs");
        let mut logs = client.logs_with(&path, Duration::from_millis(300)).unwrap();
        let _open = server.join().unwrap();
        assert_eq!(logs.read().unwrap(), Some(b"a".to_vec()));
        let failure = logs.read().unwrap_err();
        assert_eq!(failure.kind, Kind::Unreachable);
        assert!(failure.what().contains("has sent nothing"), "{failure}");
    }

    #[test]
    fn an_early_end_is_a_failure() {
        let (shown, why) = read("{\"text\":\"a\"}\n{\"end\":\"the agent disconnected\"}\n");
        assert_eq!(shown, b"a");
        let why = why.unwrap();
        assert_eq!(why, "the agent disconnected; the output ends here");
    }
}
