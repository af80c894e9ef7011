//! `muster logs`: the output of a process.

use std::io::{ErrorKind, Read};

use model::{FullName, Host};
use serde_json::json;

use super::Context;
use crate::client::process_path;
use crate::failure::{Exit, Failure, Kind};
use crate::out::{Out, Sink};

pub const EXAMPLES: &str = "\
Examples:
  muster logs web/nginx                          its last 100 lines
  muster logs web/nginx --tail 1000 --host 10.0.0.1
  muster logs web/nginx -f                       goes on until Ctrl-C
  muster logs web/nginx -o json | jq -r .line

On a terminal, control characters are shown as ^[ and the like, because a log could steer it
otherwise; --raw writes them as they are, and so does a pipe or a file.

Shows the file that log_path names, or what the agent keeps of a program in the foreground that
has none; where there is neither, what the last operation wrote.
The host's agent must be connected.";

/// How the server begins a last line that says why the output ends early.
const NOTICE: &[u8] = b"muster: ";
const BUFFER: usize = 64 * 1024;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The process
    #[arg(value_name = "NAMESPACE/NAME")]
    name: FullName,
    /// On this host: IP or CLOUD:IP; may be left out where it is on one host only
    #[arg(short = 'H', long, value_name = "HOST")]
    host: Option<Host>,
    /// Go on with what is written from now on
    #[arg(short, long)]
    follow: bool,
    /// Begin with this many of the last lines
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(..=100_000))]
    tail: u32,
    /// Write control characters to the terminal as they are
    #[arg(long)]
    raw: bool,
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let client = context.client()?;
    let path = process_path(&args.name)
        .join("logs")
        .maybe("host", args.host)
        .query("tail", args.tail)
        .maybe("follow", args.follow.then_some(true));
    let mut stream = client.stream(&path)?;
    let mut filter = NoticeFilter::default();
    let mut lines = Lines::new(&context.out, args.raw);
    let mut buffer = vec![0; BUFFER];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => lines.show(&filter.pass(&buffer[..n]))?,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => {
                lines.show(&filter.rest().unwrap_or_default())?;
                lines.end()?;
                let what = format!("the connection to the server ended: {error}");
                return Err(Failure::new(Kind::Unreachable, what));
            }
        }
    }
    let notice = match filter.rest() {
        Ok(rest) => {
            lines.show(&rest)?;
            None
        }
        Err(notice) => Some(notice),
    };
    lines.end()?;
    match notice {
        None => Ok(Exit::Ok),
        Some(notice) => Err(Failure::new(Kind::Unreachable, notice)
            .advise(format!("muster logs {} shows it again", args.name))),
    }
}

/// Separates the output of the process from a last line of the server.
#[derive(Debug, Default)]
struct NoticeFilter {
    line: Vec<u8>,
    /// The bytes passed on do not end in a newline.
    is_within_line: bool,
}

impl NoticeFilter {
    /// The bytes that surely come from the process.
    fn pass(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut all = std::mem::take(&mut self.line);
        all.extend_from_slice(bytes);
        let whole = all.strip_suffix(b"\n").unwrap_or(&all);
        let newline = whole.iter().rposition(|byte| *byte == b'\n');
        let begin = newline.map_or(0, |at| at + 1);
        let last = &all[begin..];
        let is_begun_before = begin == 0 && self.is_within_line;
        let may_be_notice = last.starts_with(NOTICE) || NOTICE.starts_with(last);
        if may_be_notice && !is_begun_before {
            self.line = all.split_off(begin);
        }
        if let Some(last) = all.last() {
            self.is_within_line = *last != b'\n';
        }
        all
    }

    /// At the end: the rest of the output, or the notice of the server.
    fn rest(&mut self) -> Result<Vec<u8>, String> {
        let line = std::mem::take(&mut self.line);
        match line.strip_prefix(NOTICE) {
            Some(notice) => Err(String::from_utf8_lossy(notice).trim().to_owned()),
            None => Ok(line),
        }
    }
}

/// Writes bytes for people, and a document for each line for programs.
struct Lines<'a> {
    out: &'a Out,
    /// Where bytes go; none where they are written raw.
    sink: Option<Sink>,
    partial: Vec<u8>,
}

impl<'a> Lines<'a> {
    fn new(out: &'a Out, is_raw: bool) -> Self {
        Self {
            out,
            sink: (!is_raw).then(|| out.stream()),
            partial: Vec::new(),
        }
    }

    fn show(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        if !self.out.is_document() {
            return match &mut self.sink {
                Some(sink) => sink.show(bytes),
                None => self.out.raw(bytes),
            };
        }
        self.partial.extend_from_slice(bytes);
        while let Some(at) = self.partial.iter().position(|byte| *byte == b'\n') {
            let rest = self.partial.split_off(at + 1);
            let line = std::mem::replace(&mut self.partial, rest);
            self.line(&line)?;
        }
        // A line that is too long is cut, so that memory is bounded.
        match self.partial.len() > BUFFER {
            true => self.end(),
            false => Ok(()),
        }
    }

    /// Writes a last line without a newline.
    fn end(&mut self) -> Result<(), Failure> {
        if let Some(sink) = &mut self.sink {
            sink.end()?;
        }
        let line = std::mem::take(&mut self.partial);
        match line.is_empty() {
            true => Ok(()),
            false => self.line(&line),
        }
    }

    fn line(&self, bytes: &[u8]) -> Result<(), Failure> {
        let text = String::from_utf8_lossy(bytes);
        self.out
            .stream_document(&json!({"line": text.trim_end_matches('\n')}))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(parts: &[&str]) -> (String, Result<Vec<u8>, String>) {
        let mut filter = NoticeFilter::default();
        let shown: Vec<u8> = parts
            .iter()
            .flat_map(|part| filter.pass(part.as_bytes()))
            .collect();
        (String::from_utf8(shown).unwrap(), filter.rest())
    }

    #[test]
    fn only_a_notice_in_the_last_line_is_kept_back() {
        let notice = Err("it ended".to_owned());
        assert_eq!(read(&["a\nb\n"]), ("a\nb\n".into(), Ok(vec![])));
        assert_eq!(
            read(&["a\n", "muster: it ended\n"]),
            ("a\n".into(), notice.clone())
        );
        assert_eq!(
            read(&["a\nmus", "ter: it", " ended\n"]),
            ("a\n".into(), notice)
        );
        // The process itself may write the prefix in the middle, or within a line.
        let middle = "muster: hello\nb\n";
        assert_eq!(read(&[middle]), (middle.into(), Ok(vec![])));
        assert_eq!(
            read(&["I am ", "muster: x\n"]),
            ("I am muster: x\n".into(), Ok(vec![]))
        );
        assert_eq!(read(&["a\nm"]), ("a\n".into(), Ok(b"m".to_vec())));
    }
}
