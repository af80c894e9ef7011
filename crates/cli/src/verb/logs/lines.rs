//! Writes the output of a host: bytes for people, with the host before each line where there are several, and a document
//! for each line for programs.

use serde_json::json;

use super::Source;

use crate::colors::Style;
use crate::failure::Failure;
use crate::out::{Out, Sink};

/// A longer line is cut in two, so that memory is bounded.
const MAX_LINE: usize = 64 * 1024;

pub(super) struct Lines<'a> {
    out: &'a Out,
    source: &'a Source,
    /// What begins each line of text; none where bytes go on as they come.
    prefix: Option<String>,
    /// Where bytes go; none where they are written raw.
    sink: Option<Sink>,
    partial: Vec<u8>,
}

impl<'a> Lines<'a> {
    /// `width` is that of the longest title, where there are several sources.
    pub(super) fn new(
        out: &'a Out,
        is_raw: bool,
        source: &'a Source,
        width: Option<usize>,
    ) -> Self {
        let prefix = width.map(|width| {
            let title = source.title();
            out.paint(Style::Dim, &format!("{title:<width$} | "))
        });
        Self {
            out,
            source,
            prefix,
            sink: (!is_raw).then(|| out.stream()),
            partial: Vec::new(),
        }
    }

    pub(super) fn show(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        if bytes.is_empty() {
            return Ok(());
        }
        if !self.out.is_document() && self.prefix.is_none() {
            return self.write(bytes);
        }
        self.partial.extend_from_slice(bytes);
        let mut rest = std::mem::take(&mut self.partial);
        let whole = match rest.iter().rposition(|byte| *byte == b'\n') {
            Some(at) => {
                let after = rest.split_off(at + 1);
                std::mem::replace(&mut rest, after)
            }
            None => Vec::new(),
        };
        self.partial = rest;
        for line in whole.split_inclusive(|byte| *byte == b'\n') {
            self.line(line)?;
        }
        match self.partial.len() > MAX_LINE {
            true => self.end(),
            false => Ok(()),
        }
    }

    /// Writes a last line without a newline.
    pub(super) fn end(&mut self) -> Result<(), Failure> {
        let line = std::mem::take(&mut self.partial);
        if !line.is_empty() {
            self.line(&line)?;
        }
        match &mut self.sink {
            Some(sink) => sink.end(),
            None => Ok(()),
        }
    }

    fn line(&mut self, line: &[u8]) -> Result<(), Failure> {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        if self.out.is_document() {
            let text = String::from_utf8_lossy(line);
            let host = self.source.host.to_string();
            let line = match self.source.is_named {
                true => json!({"process": self.source.name, "host": host, "line": text}),
                false => json!({"host": host, "line": text}),
            };
            return self.out.stream_document(&line);
        }
        let prefix = self.prefix.clone().unwrap_or_default();
        self.out.text(&prefix)?;
        self.write(&[line, b"\n"].concat())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        match &mut self.sink {
            Some(sink) => sink.show(bytes),
            None => self.out.raw(bytes),
        }
    }
}
