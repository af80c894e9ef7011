//! The one place that writes to the terminal: results on standard output, remarks and progress on standard error.
//!
//! What others say is in most of it, so everything for a terminal goes through [`crate::harmless`]. Elsewhere, bytes stay as
//! they are.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use serde::Serialize;

use crate::failure::{Failure, Kind};
use crate::harmless::{self, Harmless};
use crate::table::Table;
use crate::tone::{Tone, paint};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    // Plain comments: with help of their own, clap would spread every help page over three times the lines.
    #[default]
    Table, // for people
    Json, // for programs
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

    pub fn is_json(&self) -> bool {
        self.format == Format::Json
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

    pub fn paint(&self, tone: Tone, text: &str) -> String {
        paint(self.colour, tone, text)
    }

    /// One line of the result.
    pub fn line(&self, text: impl Display) -> Result<(), Failure> {
        self.text(&format!("{text}\n"))
    }

    /// Text of the result.
    pub fn text(&self, text: &str) -> Result<(), Failure> {
        match self.is_terminal() {
            true => self.raw(harmless::text(text).as_bytes()),
            false => self.raw(text.as_bytes()),
        }
    }

    /// Begins again at the top of an empty screen.
    pub fn clear(&self) -> Result<(), Failure> {
        self.raw(b"\x1b[H\x1b[2J")
    }

    /// Where a stream of bytes of others goes.
    pub fn stream(&self) -> Sink {
        match self.is_terminal() {
            true => Sink::Terminal(Harmless::new(io::stdout())),
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
    pub fn done(&self, text: impl Display) -> Result<(), Failure> {
        match self.quiet {
            true => Ok(()),
            false => self.line(text),
        }
    }

    /// What a command did: a document for programs, a line for people.
    pub fn did(&self, document: &impl Serialize, text: impl Display) -> Result<(), Failure> {
        match self.is_json() {
            true => self.json(document),
            false => self.done(text),
        }
    }

    pub fn table(&self, table: &Table) -> Result<(), Failure> {
        self.text(&table.render(self.width, self.colour))
    }

    pub fn json(&self, value: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(value)
            .map_err(|e| Failure::new(Kind::Failed, format!("cannot be written as JSON: {e}")))?;
        self.line(harmless::json(&text))
    }

    /// Settings, as the file that they could stand in.
    pub fn config(&self, table: &toml::Table) -> Result<(), Failure> {
        match self.is_json() {
            true => self.json(table),
            false => self.text(&table.to_string()),
        }
    }

    /// One JSON document on one line.
    pub fn json_line(&self, value: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string(value)
            .map_err(|e| Failure::new(Kind::Failed, format!("cannot be written as JSON: {e}")))?;
        self.line(harmless::json(&text))
    }

    /// A remark that is no part of the result.
    pub fn note(&self, text: impl Display) {
        if !self.quiet {
            self.stderr(&format!("{text}\n"));
        }
    }

    pub fn warn(&self, text: impl Display) {
        let word = paint(self.live_colour, Tone::Warn, "warning:");
        self.stderr(&format!("{word} {text}\n"));
    }

    pub fn error(&self, failure: &Failure) {
        if failure.kind != Kind::Closed {
            let word = paint(self.live_colour, Tone::Bad, "error:");
            self.stderr(&format!("{word} {failure}\n"));
        }
    }

    /// Draws over the last line of standard error; empty text removes it.
    pub fn redraw(&self, text: &str) {
        write_stderr(&format!("\r\x1b[2K{}", harmless::text(text)));
    }

    fn stderr(&self, text: &str) {
        match self.live {
            true => write_stderr(&harmless::text(text)),
            false => write_stderr(text),
        }
    }
}

/// Nobody can be told when standard error is gone.
fn write_stderr(text: &str) {
    let _nobody_listens = io::stderr().lock().write_all(text.as_bytes());
}

/// Standard output for bytes of others: harmless on a terminal, as they are elsewhere.
#[derive(Debug)]
pub enum Sink {
    Terminal(Harmless<io::Stdout>),
    Raw(io::Stdout),
}

impl Sink {
    pub fn show(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.write_all(bytes)
            .and_then(|()| self.flush())
            .map_err(cannot_write)
    }

    /// Writes what waits for the rest of a letter that never came.
    pub fn end(&mut self) -> Result<(), Failure> {
        match self {
            Self::Terminal(harmless) => harmless.end().map_err(cannot_write),
            Self::Raw(_) => Ok(()),
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Terminal(harmless) => harmless.write(bytes),
            Self::Raw(stdout) => stdout.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Terminal(harmless) => harmless.flush(),
            Self::Raw(stdout) => stdout.flush(),
        }
    }
}

fn cannot_write(error: io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::new(Kind::Closed, "nobody reads the output"),
        _ => Failure::new(Kind::Failed, format!("cannot write the result: {error}")),
    }
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
