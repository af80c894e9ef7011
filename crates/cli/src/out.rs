//! Writes results to standard output, and remarks and progress to standard error. Nothing else writes to the terminal.
//!
//! Output contains foreign text, so everything for a terminal goes through [`crate::terminal_safe`]. Into a pipe or a file,
//! bytes go as they are.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::client::read;
use crate::colors::{Style, paint};
use crate::failure::{Failure, Kind};
use crate::table::{TextTable, cut};
use crate::terminal_safe::{self, EscapingWriter};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    // Plain comments: with help of their own, clap would spread every help page over three times the lines.
    #[default]
    Table, // for people
    Wide, // with more columns where there are some, and nothing cut
    Json, // for programs
    Yaml,
    Name, // the first column of a list, for another command
}

#[derive(Debug, Clone)]
pub struct Out {
    format: Format,
    quiet: bool,
    /// Standard output is a terminal, and colours are wanted.
    colour: bool,
    /// Standard error is a terminal: a line of progress may be redrawn.
    live: bool,
    live_colour: bool,
    /// Columns of the terminal; none where output goes elsewhere and nothing is cut.
    width: Option<usize>,
}

impl Out {
    pub fn new(format: Format, quiet: bool) -> Self {
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let stdout = io::stdout();
        let live = io::stderr().is_terminal();
        Self {
            format,
            quiet,
            colour: wanted && stdout.is_terminal(),
            live,
            live_colour: wanted && live,
            width: width_of(&stdout),
        }
    }

    /// Whether results are written as documents for programs, not as text for people.
    pub fn is_document(&self) -> bool {
        matches!(self.format, Format::Json | Format::Yaml)
    }

    /// Whether lists are written as names alone.
    pub fn is_names(&self) -> bool {
        self.format == Format::Name
    }

    /// Whether tables have their further columns.
    pub fn is_wide(&self) -> bool {
        self.format == Format::Wide
    }

    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Whether a line on standard error can be redrawn.
    pub fn is_live(&self) -> bool {
        self.live && !self.quiet
    }

    pub fn is_terminal(&self) -> bool {
        self.width.is_some()
    }

    /// The width of the terminal that progress is drawn on.
    pub fn live_width(&self) -> usize {
        width_of(&io::stderr()).unwrap_or(80)
    }

    pub fn paint(&self, style: Style, text: &str) -> String {
        paint(self.colour, style, text)
    }

    /// One line of the result.
    pub fn line(&self, text: impl Display) -> Result<(), Failure> {
        self.text(&format!("{text}\n"))
    }

    /// Text of the result.
    pub fn text(&self, text: &str) -> Result<(), Failure> {
        match self.is_terminal() {
            true => self.raw(terminal_safe::text(text).as_bytes()),
            false => self.raw(text.as_bytes()),
        }
    }

    /// A line and a table that are drawn again and again: on a terminal over the last ones, cut to its height.
    pub fn screen(&self, head: &str, table: &TextTable) -> Result<(), Failure> {
        let text = table.render(self.width, self.colour);
        let Some(height) = height_of(&io::stdout()) else {
            return self.text(&format!("{head}\n{text}"));
        };
        // The last line stays free, so that the shell's prompt or an error follows on a line of its own.
        let height = height.saturating_sub(1).max(2);
        let head = cut(head, self.width.unwrap_or(80));
        let mut lines = Vec::from_iter([head.as_str()].into_iter().chain(text.lines()));
        let hidden = match lines.len() > height {
            true => format!("… and {} more rows", lines.len() + 1 - height),
            false => String::new(),
        };
        if !hidden.is_empty() {
            lines.truncate(height - 1);
            lines.push(&hidden);
        }
        // From the upper left corner, each line cleared behind its end, and everything below: nothing flickers.
        let lines: Vec<_> = lines.iter().map(|line| terminal_safe::text(line)).collect();
        let drawn = format!("\x1b[H{}\x1b[K\n\x1b[J", lines.join("\x1b[K\n"));
        self.raw(drawn.as_bytes())
    }

    /// Standard output for foreign bytes.
    pub fn stream(&self) -> Sink {
        match self.is_terminal() {
            true => Sink::Terminal(EscapingWriter::new(io::stdout())),
            false => Sink::Raw(io::stdout()),
        }
    }

    /// Bytes of the result, as they are, wherever they go.
    pub fn raw(&self, bytes: &[u8]) -> Result<(), Failure> {
        let mut stdout = io::stdout().lock();
        stdout
            .write_all(bytes)
            .and_then(|()| stdout.flush())
            .map_err(cannot_write)
    }

    /// A line that only says that all went well: left out when quiet.
    pub fn success(&self, text: impl Display) -> Result<(), Failure> {
        match self.quiet {
            true => Ok(()),
            false => self.line(text),
        }
    }

    /// The result of a command that changed something: a document for programs, a line for people.
    pub fn result(&self, document: &impl Serialize, text: impl Display) -> Result<(), Failure> {
        match self.is_document() {
            true => self.document(document),
            false => self.success(text),
        }
    }

    /// A response of the server: as it came for programs, written by `show` for people.
    pub fn response<T: DeserializeOwned>(
        &self,
        response: Value,
        show: impl FnOnce(T) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        match self.is_document() {
            true => self.document(&response),
            false => show(read(response)?),
        }
    }

    pub fn table(&self, table: &TextTable) -> Result<(), Failure> {
        match self.format {
            Format::Name => self.text(&table.names()),
            Format::Wide => self.text(&table.render(None, self.colour)),
            _ => self.text(&table.render(self.width, self.colour)),
        }
    }

    /// A table, and nothing where it has no rows.
    pub fn table_if_any(&self, table: &TextTable) -> Result<(), Failure> {
        match table.is_empty() {
            true => Ok(()),
            false => self.table(table),
        }
    }

    /// A table, or a remark in place of one without rows.
    pub fn table_or(&self, table: &TextTable, remark: &str) -> Result<(), Failure> {
        match table.is_empty() {
            true => self.note(remark),
            false => self.table(table)?,
        }
        Ok(())
    }

    /// A document, in the format that was asked for.
    pub fn document(&self, value: &impl Serialize) -> Result<(), Failure> {
        if self.format == Format::Yaml {
            let text = serde_norway::to_string(value).map_err(|e| {
                Failure::new(Kind::Failed, format!("cannot be written as YAML: {e}"))
            })?;
            return self.text(&text);
        }
        let text = serde_json::to_string_pretty(value).map_err(not_json)?;
        self.line(terminal_safe::json(&text))
    }

    /// Settings, as a configuration file.
    pub fn config(&self, table: &toml::Table) -> Result<(), Failure> {
        match self.is_document() {
            true => self.document(table),
            false => self.text(&table.to_string()),
        }
    }

    /// One document of a stream: a line of JSON, or a YAML document after `---`.
    pub fn stream_document(&self, value: &impl Serialize) -> Result<(), Failure> {
        if self.format == Format::Yaml {
            self.line("---")?;
            return self.document(value);
        }
        let text = serde_json::to_string(value).map_err(not_json)?;
        self.line(terminal_safe::json(&text))
    }

    /// A remark that is no part of the result.
    pub fn note(&self, text: impl Display) {
        if !self.quiet {
            self.stderr(&format!("{text}\n"));
        }
    }

    pub fn warn(&self, text: impl Display) {
        let word = paint(self.live_colour, Style::Warn, "warning:");
        self.stderr(&format!("{word} {text}\n"));
    }

    pub fn error(&self, failure: &Failure) {
        if failure.kind != Kind::Closed {
            let word = paint(self.live_colour, Style::Bad, "error:");
            self.stderr(&format!("{word} {failure}\n"));
        }
    }

    /// Draws over the last line of standard error; empty text removes it.
    pub fn redraw(&self, text: &str) {
        write_stderr(&format!("\r\x1b[2K{}", terminal_safe::text(text)));
    }

    fn stderr(&self, text: &str) {
        match self.live {
            true => write_stderr(&terminal_safe::text(text)),
            false => write_stderr(text),
        }
    }
}

fn write_stderr(text: &str) {
    // There is no place left to report a closed standard error.
    io::stderr().lock().write_all(text.as_bytes()).ok();
}

fn not_json(error: serde_json::Error) -> Failure {
    Failure::new(Kind::Failed, format!("cannot be written as JSON: {error}"))
}

/// Standard output for foreign bytes: escaped on a terminal, as they are elsewhere.
#[derive(Debug)]
pub enum Sink {
    Terminal(EscapingWriter<io::Stdout>),
    Raw(io::Stdout),
}

impl Sink {
    pub fn show(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.write_all(bytes)
            .and_then(|()| self.flush())
            .map_err(cannot_write)
    }

    /// Writes the bytes of a last character that was cut.
    pub fn end(&mut self) -> Result<(), Failure> {
        match self {
            Self::Terminal(writer) => writer.end().map_err(cannot_write),
            Self::Raw(_) => Ok(()),
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Terminal(writer) => writer.write(bytes),
            Self::Raw(stdout) => stdout.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Terminal(writer) => writer.flush(),
            Self::Raw(stdout) => stdout.flush(),
        }
    }
}

fn cannot_write(error: io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::new(Kind::Closed, "the output is closed"),
        _ => Failure::new(Kind::Failed, format!("cannot write the result: {error}")),
    }
}

/// Rows of the terminal; none where output goes elsewhere.
fn height_of(stream: &(impl std::os::fd::AsFd + IsTerminal)) -> Option<usize> {
    if !stream.is_terminal() {
        return None;
    }
    let rows = rustix::termios::tcgetwinsize(stream).map_or(0, |size| size.ws_row);
    Some(match rows {
        0 => 24,
        rows => usize::from(rows),
    })
}

fn width_of(stream: &(impl std::os::fd::AsFd + IsTerminal)) -> Option<usize> {
    if !stream.is_terminal() {
        return None;
    }
    let columns = rustix::termios::tcgetwinsize(stream).map_or(0, |size| size.ws_col);
    Some(match columns {
        0 => 80,
        columns => usize::from(columns),
    })
}
