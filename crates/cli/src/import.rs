//! Turns files of other supervisors into definitions of Muster, and accounts for every line of them.
//!
//! Each reader ([`supervisord`], [`systemd`], [`pm2`], [`procfile`], [`compose`]) enters each setting into the [`ledger`] before it
//! looks at it, and then says what became of it: carried over, without effect here, or not carried over. A setting about
//! which a reader says nothing is reported as unknown, so that nothing is lost in silence. A [`draft::Draft`] gives up single
//! fields that Muster refuses, and reports them. Nothing here talks to a server.

pub mod compose;
mod compose_depends;
mod compose_health;
mod compose_service;
pub mod draft;
mod environment;
pub mod ledger;
mod order;
pub mod pm2;
mod pm2_command;
mod pm2_restart;
pub mod procfile;
pub mod supervisord;
mod supervisord_file;
mod supervisord_priority;
pub mod systemd;
mod systemd_calendar;
mod systemd_commands;
mod systemd_exec;
mod systemd_limits;
mod systemd_order;
mod systemd_restart;
mod systemd_service;
mod systemd_timer;
mod systemd_unit;
pub mod words;

use std::path::Path;

use crate::definition::Exported;
use crate::failure::Failure;
use crate::import::ledger::Ledger;
use crate::import::order::{Source, Wish};

/// The kinds of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum SourceKind {
    Supervisord,
    Systemd,
    Pm2,
    Procfile,
    Compose,
}

/// What a file does not say.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    pub namespace: Option<String>,
    pub user: Option<String>,
    pub directory: Option<String>,
    /// Of systemd's templates: `worker@.service`.
    pub instances: Vec<String>,
    /// Of pm2: `env_NAME`.
    pub environment: Option<String>,
    /// Of the hosts, for shares of a core.
    pub cores: Option<u32>,
    /// `CLOUD:IP`
    pub hosts: Vec<String>,
}

/// How the pid of what runs now is found on the host itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PidSource {
    /// `supervisorctl -c CONFIG pid NAME`; without a file that says how to reach supervisord, the default one counts.
    Supervisorctl {
        config: Option<String>,
        name: String,
    },
    /// `systemctl show -p MainPID UNIT`
    Systemctl(String),
    /// pm2's own pid file: `~/.pm2/pids/NAME-ID.pid`, found by `pm2 pid NAME`.
    Pm2(String),
    /// The process is not known to any program.
    Nowhere(&'static str),
}

/// A process that was read.
#[derive(Debug, Clone)]
pub struct ImportedProcess {
    pub definition: Exported,
    pub pid: PidSource,
    /// What the files call it.
    source: Source,
}

/// What files became.
#[derive(Debug, Default)]
pub struct Imported {
    pub processes: Vec<ImportedProcess>,
    pub ledger: Ledger,
    /// The orders of starts that the files ask for. They are kept until all files are read, because they may lead from one
    /// file to another.
    wishes: Vec<Wish>,
    units: Vec<systemd_order::UnitOrder>,
}

impl Imported {
    /// After the last file: makes `spec.after` of the orders, and closes the ledger.
    pub fn finish(&mut self) {
        let units = std::mem::take(&mut self.units);
        self.wishes.extend(systemd_order::wishes(&units));
        order::resolve(self);
        self.ledger.close();
    }
}

/// Reads one file into what was read before.
pub fn read(
    kind: SourceKind,
    file: &str,
    text: &str,
    settings: &Settings,
    imported: &mut Imported,
) -> Result<(), Failure> {
    match kind {
        SourceKind::Supervisord => supervisord::read(file, text, settings, imported),
        SourceKind::Systemd => systemd::read(file, text, settings, imported),
        SourceKind::Pm2 => pm2::read(file, text, settings, imported),
        SourceKind::Procfile => procfile::read(file, text, settings, imported),
        SourceKind::Compose => compose::read(file, text, settings, imported),
    }
}

/// By the name of the file, else by what stands in it.
pub fn detect(file: &str, text: &str) -> Option<SourceKind> {
    let name = Path::new(file)
        .file_name()?
        .to_string_lossy()
        .to_lowercase();
    let has = |begin: &str| {
        text.lines()
            .any(|line| line.trim_start().starts_with(begin))
    };
    let is_json = text.trim_start().starts_with(['{', '[']) && name.ends_with(".json");
    if name.ends_with(".service") || name.ends_with(".timer") {
        Some(SourceKind::Systemd)
    } else if name == "procfile" || name.starts_with("procfile.") {
        Some(SourceKind::Procfile)
    } else if is_json && (text.contains("\"apps\"") || text.contains("\"script\"")) {
        Some(SourceKind::Pm2)
    } else if (name.ends_with(".yaml") || name.ends_with(".yml"))
        && (has("services:") || name.contains("compose"))
    {
        Some(SourceKind::Compose)
    } else if [
        "[program:",
        "[supervisord]",
        "[group:",
        "[include]",
        "[fcgi-program:",
        "[eventlistener:",
    ]
    .iter()
    .any(|section| has(section))
    {
        Some(SourceKind::Supervisord)
    } else if has("[Service]") || has("[Timer]") {
        Some(SourceKind::Systemd)
    } else {
        None
    }
}

/// Whether it is a program that makes a pm2 configuration, which cannot be read without running it.
pub fn is_script(file: &str) -> bool {
    [".js", ".cjs", ".mjs", ".ts"]
        .iter()
        .any(|end| file.ends_with(end))
}

/// Who calls, and the folder of a file: for files that name neither.
fn caller(file: &str) -> (Option<String>, Option<String>) {
    let folder = Path::new(file)
        .parent()
        .filter(|path| !path.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let folder = std::fs::canonicalize(folder).ok();
    let folder = folder.and_then(|path| path.to_str().map(str::to_owned));
    (crate::home::current_user(), folder)
}
