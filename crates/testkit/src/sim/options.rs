//! Options of a simulated fleet.

use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use agent::config::ServerAddress;
use wire::enrol::JoinToken;

use super::SimError;

const EXAMPLES: &str = "Examples:
  sim --server 127.0.0.1:58725 --join TOKEN --agents 1000
  sim --server 127.0.0.1:58725 --join TOKEN --agents 1000 --procs 100 --api http://127.0.0.1:58780 --app CODE --secret SECRET
  sim --server A:58725,B:58725 --join TOKEN --agents 10000 --delay 5ms..50ms --fail 0.1% --status-rate 20000 --data ./sim

A process whose spec has the command ./fails.sh cannot be started.
Lines on standard input: connect, rate STATUSES_PER_SECOND, events EVENTS_PER_SECOND, cut, reset, stats,
durations, quit.
Answers are lines of JSON on standard output.";

/// A fleet of simulated agents, against real servers.
#[derive(Debug, Clone, clap::Parser)]
#[command(name = "sim", after_help = EXAMPLES)]
pub struct Options {
    /// Where agents connect; several, separated by commas, are used in turn.
    #[arg(long, value_delimiter = ',', required = true, value_parser = parse_server)]
    pub server: Vec<ServerAddress>,
    /// The join token.
    #[arg(long, value_parser = parse_token)]
    pub join: JoinToken,
    /// How many agents.
    #[arg(long, default_value_t = 100)]
    pub agents: usize,
    /// Registers so many processes on every host first; needs --api, --app and --secret.
    #[arg(long, default_value_t = 0)]
    pub procs: usize,
    /// Where the API answers, for --procs.
    #[arg(long, requires = "app", requires = "secret")]
    pub api: Option<String>,
    /// The app that registers.
    #[arg(long)]
    pub app: Option<String>,
    /// Its secret.
    #[arg(long)]
    pub secret: Option<String>,
    /// The namespace of what --procs registers.
    #[arg(long, default_value = "gse")]
    pub namespace: String,
    /// The cloud area of every host.
    #[arg(long, default_value_t = 0)]
    pub cloud: u32,
    /// The address of the first host; the others follow.
    #[arg(long, default_value = "10.0.0.1")]
    pub first_ip: IpAddr,
    /// How long an operation takes: 20ms, or anything in 5ms..50ms.
    #[arg(long, default_value = "5ms..50ms")]
    pub delay: Span,
    /// How many operations fail: 0.1%.
    #[arg(long, default_value = "0%")]
    pub fail: Chance,
    /// Statuses per second, of all agents together. Each agent reports all of its processes at a time.
    #[arg(long, default_value_t = 0.0)]
    pub status_rate: f64,
    /// Events per second, of all agents together: a process died and was started again.
    #[arg(long, default_value_t = 0.0)]
    pub event_rate: f64,
    /// New agents per second while the fleet comes up; 0 is all at once.
    #[arg(long, default_value_t = 0)]
    pub connect_rate: u32,
    /// Keeps the identities here, so that the same fleet can be had again without enrolling.
    #[arg(long)]
    pub data: Option<PathBuf>,
    /// Waits for the line `connect` before the first connection, and ends when standard input does.
    #[arg(long)]
    pub hold: bool,
    /// Ends by itself after this time: 60s.
    #[arg(long, value_parser = parse_duration)]
    pub duration: Option<Duration>,
    /// Threads; by default half of the cores, so that a server on the same machine has the other half.
    #[arg(long)]
    pub threads: Option<usize>,
}

impl Options {
    /// The address of each host, in order.
    pub(crate) fn host_ip(&self, index: usize) -> Result<IpAddr, SimError> {
        let too_many = || SimError::Options(format!("no address is left for host {index}"));
        let next = match self.first_ip {
            IpAddr::V4(first) => u32::try_from(index)
                .ok()
                .and_then(|index| first.to_bits().checked_add(index))
                .map(|bits| IpAddr::V4(bits.into())),
            IpAddr::V6(first) => first
                .to_bits()
                .checked_add(index as u128)
                .map(|bits| IpAddr::V6(bits.into())),
        };
        next.ok_or_else(too_many)
    }
}

/// A duration, or a range of durations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub least: Duration,
    pub most: Duration,
}

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (least, most) = text.split_once("..").unwrap_or((text, text));
        let span = Self {
            least: parse_duration(least)?,
            most: parse_duration(most)?,
        };
        match span.least <= span.most {
            true => Ok(span),
            false => Err(format!("{text:?} ends before it begins")),
        }
    }
}

/// A probability, from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Chance(pub f64);

impl FromStr for Chance {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let percent = text.strip_suffix('%').map(str::parse::<f64>);
        match percent {
            Some(Ok(percent)) if (0.0..=100.0).contains(&percent) => Ok(Self(percent / 100.0)),
            _ => Err(format!("must be a percentage such as 0.1%, not {text:?}")),
        }
    }
}

fn parse_duration(text: &str) -> Result<Duration, String> {
    let rule = || format!("must be a time such as 5ms or 60s, not {text:?}");
    let (number, unit) = match text.strip_suffix("ms") {
        Some(number) => (number, 0.001),
        None => (text.strip_suffix('s').ok_or_else(rule)?, 1.0),
    };
    let number: f64 = number.trim().parse().map_err(|_| rule())?;
    Duration::try_from_secs_f64(number * unit).map_err(|_| rule())
}

fn parse_server(text: &str) -> Result<ServerAddress, String> {
    ServerAddress::parse(text).map_err(|e| e.to_string())
}

fn parse_token(text: &str) -> Result<JoinToken, String> {
    JoinToken::parse(text).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[test]
    fn a_fleet_is_described_in_one_line() {
        let line = "sim --server 127.0.0.1:1,[::1]:2 --join abc --agents 300 --delay 5ms..1s --fail 0.5% --first-ip 10.0.0.250 --duration 2s";
        let options = Options::try_parse_from(line.split(' ')).unwrap();
        assert_eq!(options.server.len(), 2);
        assert_eq!(options.delay.least, Duration::from_millis(5));
        assert_eq!(options.delay.most, Duration::from_secs(1));
        assert_eq!(options.fail, Chance(0.005));
        assert_eq!(options.host_ip(10).unwrap().to_string(), "10.0.1.4");
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (option, value) in [
            ("--delay", "9ms..5ms"),
            ("--delay", "5"),
            ("--fail", "7"),
            ("--fail", "101%"),
            ("--server", "nowhere"),
        ] {
            let line = ["sim", "--server", "a:1", "--join", "abc", option, value];
            assert!(Options::try_parse_from(line).is_err(), "{option} {value}");
        }
    }
}
