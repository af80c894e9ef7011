//! Controls the simulated fleet: command lines on standard input, lines of JSON on standard output.
//!
//! | line | does |
//! |---|---|
//! | `connect` | lets agents connect that `--hold` stopped |
//! | `rate N` | N statuses per second from now on |
//! | `events N` | N events per second from now on |
//! | `cut` | cuts every connection at once |
//! | `reset` | clears the durations of targets and heartbeats |
//! | `stats` | prints the counters |
//! | `durations` | prints how long targets and heartbeats took, as buckets with counts |
//! | `quit` | ends |

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use super::shared::Shared;

pub(super) struct Console {
    shared: Arc<Shared>,
    /// `None` after the end of standard input.
    lines: Option<mpsc::Receiver<String>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConsoleLine {
    Connect,
    Quit,
    Other,
}

impl ConsoleLine {
    pub(super) fn is_quit(self) -> bool {
        self == Self::Quit
    }
}

/// Prints one line of JSON with all counters.
pub(super) fn print_counters(event: &str, shared: &Shared) {
    let mut line = shared.counters.to_json();
    line["event"] = event.into();
    line["agents"] = shared.options.agents.into();
    print(&line);
}

fn print(line: &Value) {
    println!("{line}");
}

impl Console {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let (sender, lines) = mpsc::channel(16);
        // On its own thread: reading standard input cannot be cancelled.
        std::thread::spawn(move || {
            for line in std::io::stdin().lines().map_while(Result::ok) {
                if sender.blocking_send(line).is_err() {
                    return;
                }
            }
        });
        Self {
            shared,
            lines: Some(lines),
        }
    }

    pub(super) async fn until_connect(&mut self) -> ConsoleLine {
        loop {
            match self.next().await {
                ConsoleLine::Other => {}
                line => return line,
            }
        }
    }

    /// Until the line `quit`, a signal, or the end of the time.
    pub(super) async fn until_quit(&mut self, time: Duration) {
        let (Ok(mut interrupt), Ok(mut terminate)) = (
            signal(SignalKind::interrupt()),
            signal(SignalKind::terminate()),
        ) else {
            return;
        };
        let time = tokio::time::sleep(time);
        tokio::pin!(time);
        loop {
            tokio::select! {
                line = self.next() => if line.is_quit() { return },
                _ = interrupt.recv() => return,
                _ = terminate.recv() => return,
                () = &mut time => return,
            }
        }
    }

    async fn next(&mut self) -> ConsoleLine {
        let Some(lines) = &mut self.lines else {
            return std::future::pending().await;
        };
        match lines.recv().await {
            Some(line) => self.take(&line),
            None => {
                self.lines = None;
                match self.shared.options.hold {
                    true => ConsoleLine::Quit,
                    false => ConsoleLine::Other,
                }
            }
        }
    }

    fn print_durations(&self) {
        let counters = &self.shared.counters;
        print(&json!({
            "event": "durations",
            "targets": counters.targets.to_buckets(),
            "heartbeats": counters.heartbeats.to_buckets(),
        }));
    }

    fn take(&self, line: &str) -> ConsoleLine {
        let mut words = line.split_whitespace();
        let (verb, number) = (words.next().unwrap_or(""), words.next());
        let number = number.and_then(|number| number.parse::<f64>().ok());
        let load = &self.shared.load;
        match (verb, number) {
            ("", _) => {}
            ("connect", None) => return ConsoleLine::Connect,
            ("quit", None) => return ConsoleLine::Quit,
            ("stats", None) => print_counters("stats", &self.shared),
            ("durations", None) => self.print_durations(),
            ("reset", None) => self.shared.counters.reset(),
            ("cut", None) => load.send_modify(|load| load.cuts += 1),
            ("rate", Some(rate)) => load.send_modify(|load| load.statuses_per_sec = rate),
            ("events", Some(rate)) => load.send_modify(|load| load.events_per_sec = rate),
            _ => print(&json!({"event": "error", "line": line, "error": "no such line"})),
        }
        ConsoleLine::Other
    }
}
