//! The process's log on standard error; `muster server` and `muster up` use it, too.

use model::Invalid;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Libraries that log each attempt; limited to warnings.
const CHATTY: [&str; 2] = ["async_nats", "sqlx"];

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LogLevel {
    Off,
    Error,
    Warn,
    #[default]
    Info,
    Debug,
    Trace,
}

impl LogLevel {
    const ALL: [Self; 6] = [
        Self::Off,
        Self::Error,
        Self::Warn,
        Self::Info,
        Self::Debug,
        Self::Trace,
    ];

    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let text = text.trim();
        Self::ALL
            .into_iter()
            .find(|level| level.as_str().eq_ignore_ascii_case(text))
            .ok_or_else(|| {
                let rule = format!("must be off, error, warn, info, debug or trace, not {text:?}");
                Invalid::new("log", rule)
            })
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }

    fn filter(self) -> LevelFilter {
        match self {
            Self::Off => LevelFilter::OFF,
            Self::Error => LevelFilter::ERROR,
            Self::Warn => LevelFilter::WARN,
            Self::Info => LevelFilter::INFO,
            Self::Debug => LevelFilter::DEBUG,
            Self::Trace => LevelFilter::TRACE,
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LogFormat {
    #[default]
    Text,
    Json,
}

impl LogFormat {
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        match text.trim() {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            other => Err(Invalid::new(
                "log_format",
                format!("must be text or json, not {other:?}"),
            )),
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
        }
    }
}

/// Sends the process's log to standard error. Does nothing if a log is set up already.
pub fn init(level: LogLevel, format: LogFormat) {
    use std::io::IsTerminal;
    let log = fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    let targets = Targets::new()
        .with_default(level.filter())
        .with_targets(CHATTY.map(|target| (target, level.filter().min(LevelFilter::WARN))));
    let registry = tracing_subscriber::registry().with(targets);
    let _ = match format {
        LogFormat::Text => registry.with(log.with_target(false)).try_init(),
        LogFormat::Json => registry.with(log.json().flatten_event(true)).try_init(),
    };
}
