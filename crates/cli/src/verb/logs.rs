//! `muster logs`: the output of a process, on one host or on several at once.

mod lines;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use api::ProcessView;
use model::{FullName, Host, LinePattern};

use self::lines::Lines;
use super::Context;
use crate::client::{Client, Path, process_path, processes_named};
use crate::failure::{Exit, Failure, Kind};
use crate::format::{counted, parse_duration};
use crate::target::unknown;

pub const EXAMPLES: &str = "\
Examples:
  muster logs web/nginx                          the last 100 lines of its current or last run
  muster logs web/nginx --previous               of the run before: why did it crash?
  muster logs web/nginx --since 10m --grep 'error|warn'
  muster logs web/nginx -f                       on all its hosts, until Ctrl-C
  muster logs web/nginx --tail 1000 -H 10.0.0.1,10.0.0.2
  muster logs web/nginx -o json | jq -r .line

On several hosts each line begins with its host: host after host, or with -f as they come.

The agent keeps the end of the output of the last runs (3 runs and 1 MiB each by default), also of
starts that failed, and of what a daemon's start command wrote. A process with log_path writes into
that file instead; then its last lines are shown, of all runs, and --previous shows the part of it
that the run before wrote.

--since knows the time of a line to the minute, and shows up to a minute more; lines have no time of
their own. --grep takes a regular expression without look-around and back-references, (?i) ignores
case; --tail counts the lines that match.

On a terminal, control characters are shown as ^[ and the like, because a log could steer it
otherwise; --raw writes them as they are, and so does a pipe or a file.
The hosts' agents must be connected.";

/// How many hosts are read at once: the server limits the open streams of a caller.
const MAX_HOSTS: usize = 50;
/// How many pieces of a host wait to be shown.
const MAX_WAITING: usize = 16;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The process
    #[arg(value_name = "NAMESPACE/NAME")]
    name: FullName,
    /// On this host: IP or CLOUD:IP; several, separated by commas. Without it, on every host that has the process
    #[arg(short = 'H', long, value_name = "HOST", value_delimiter = ',')]
    host: Vec<Host>,
    /// Go on with what is written from now on
    #[arg(short, long)]
    follow: bool,
    /// The run before the current one; before the last one, if it does not run
    #[arg(short, long, conflicts_with = "follow")]
    previous: bool,
    /// Only what was written within this time: 90s, 10m, 2h, 1d; of all runs that are kept
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    since: Option<Duration>,
    /// Only lines that match this regular expression
    #[arg(long, value_name = "RE")]
    grep: Option<LinePattern>,
    /// Begin with this many of the last lines
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(..=100_000))]
    tail: u32,
    /// Write control characters to the terminal as they are
    #[arg(long)]
    raw: bool,
}

impl Args {
    fn path(&self, host: Host) -> Path {
        process_path(&self.name)
            .join("logs")
            .query("host", host)
            .query("tail", self.tail)
            .maybe("follow", self.follow.then_some(true))
            .maybe("previous", self.previous.then_some(true))
            .maybe(
                "since",
                self.since.map(|since| format!("{}s", since.as_secs())),
            )
            .maybe("grep", self.grep.as_ref())
    }
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let client = context.client()?;
    let hosts = hosts(&client, args)?;
    match hosts.as_slice() {
        [host] => of_one(context, &client, args, *host),
        several => of_several(context, client, args, several),
    }
}

impl Args {
    /// Why nothing was shown.
    fn nothing(&self) -> &'static str {
        match (self.grep.is_some(), self.since.is_some(), self.previous) {
            (true, ..) => "no line matches",
            (false, true, _) => "nothing was written within that time",
            (false, false, true) => "the run before wrote nothing",
            (false, false, false) => "it has written nothing",
        }
    }
}

/// The hosts that were named, each once; else all that have the process.
fn hosts(client: &Client, args: &Args) -> Result<Vec<Host>, Failure> {
    let mut hosts = args.host.clone();
    let mut n_hosts = hosts.len() as u64;
    if hosts.is_empty() {
        let page = client.pages::<ProcessView>(
            &processes_named(&args.name),
            "processes",
            Some(MAX_HOSTS + 1),
        )?;
        n_hosts = page.count;
        for row in &page.rows {
            hosts.push(row.host.to_string().parse()?);
        }
    }
    hosts.sort();
    hosts.dedup();
    if hosts.is_empty() {
        return Err(unknown(&args.name));
    }
    if hosts.len() > MAX_HOSTS {
        let (all, name) = (counted(n_hosts, "host"), &args.name);
        return Err(Failure::usage(format!(
            "--host: {all} at once are too many: at most {MAX_HOSTS}"
        ))
        .advise(format!(
            "choose some of the hosts of {name}: --host IP[,IP…]"
        )));
    }
    Ok(hosts)
}

fn of_one(context: &Context, client: &Client, args: &Args, host: Host) -> Result<Exit, Failure> {
    let mut stream = client.logs(&args.path(host))?;
    let mut lines = Lines::new(&context.out, args.raw, host, None);
    let mut is_empty = true;
    loop {
        match stream.read() {
            Ok(Some(bytes)) => {
                is_empty &= bytes.is_empty();
                lines.show(&bytes)?;
            }
            Ok(None) => {
                lines.end()?;
                if is_empty {
                    context.out.note(args.nothing());
                }
                return Ok(Exit::Ok);
            }
            Err(failure) => {
                lines.end()?;
                let again = format!("muster logs {} shows it again", args.name);
                return Err(failure.advise(again));
            }
        }
    }
}

/// Output of one of several hosts.
enum HostPiece {
    Bytes(Vec<u8>),
    End,
    Failed(Failure),
}

fn of_several(
    context: &Context,
    client: Client,
    args: &Args,
    hosts: &[Host],
) -> Result<Exit, Failure> {
    let width = hosts.iter().map(|host| host.to_string().len()).max();
    let mut lines: Vec<Lines<'_>> = hosts
        .iter()
        .map(|host| Lines::new(&context.out, args.raw, *host, width))
        .collect();
    let mut failures = Vec::new();
    let mut show = |index: usize, piece: HostPiece| -> Result<bool, Failure> {
        match piece {
            HostPiece::Bytes(bytes) => {
                lines[index].show(&bytes)?;
                return Ok(true);
            }
            HostPiece::End => lines[index].end()?,
            HostPiece::Failed(failure) => {
                lines[index].end()?;
                context
                    .out
                    .warn(format!("{}: {}", hosts[index], failure.what()));
                failures.push(failure);
            }
        }
        Ok(false)
    };
    let client = Arc::new(client);
    if args.follow {
        let (sender, pieces) = sync_channel(MAX_WAITING);
        for (index, host) in hosts.iter().enumerate() {
            read_beside(&client, args.path(*host), index, sender.clone())?;
        }
        drop(sender);
        for (index, piece) in pieces {
            show(index, piece)?;
        }
    } else {
        // All are asked at once, and shown in order.
        let mut all: Vec<Receiver<(usize, HostPiece)>> = Vec::new();
        for (index, host) in hosts.iter().enumerate() {
            let (sender, pieces) = sync_channel(MAX_WAITING);
            read_beside(&client, args.path(*host), index, sender)?;
            all.push(pieces);
        }
        for pieces in all {
            for (index, piece) in pieces {
                show(index, piece)?;
            }
        }
    }
    let n_failed = failures.len();
    match failures.into_iter().next() {
        None => Ok(Exit::Ok),
        Some(first) if n_failed == hosts.len() => Err(Failure::new(
            first.kind,
            format!("no host could show it, for example: {}", first.what()),
        )),
        Some(_) => Ok(Exit::SomeFailed),
    }
}

/// Reads a host's output on a thread of its own, which ends with the program, or when its pieces are no longer read.
fn read_beside(
    client: &Arc<Client>,
    path: Path,
    index: usize,
    sender: SyncSender<(usize, HostPiece)>,
) -> Result<(), Failure> {
    let client = Arc::clone(client);
    let thread = std::thread::Builder::new().name(format!("logs {index}"));
    let read = move || {
        let mut stream = match client.logs(&path) {
            Ok(stream) => stream,
            Err(failure) => {
                sender.send((index, HostPiece::Failed(failure))).ok();
                return;
            }
        };
        loop {
            let piece = match stream.read() {
                Ok(Some(bytes)) => HostPiece::Bytes(bytes),
                Ok(None) => HostPiece::End,
                Err(failure) => HostPiece::Failed(failure),
            };
            let is_last = !matches!(piece, HostPiece::Bytes(_));
            if sender.send((index, piece)).is_err() || is_last {
                return;
            }
        }
    };
    let started = thread.spawn(read);
    started
        .map(drop)
        .map_err(|error| Failure::new(Kind::Failed, format!("cannot start a thread: {error}")))
}
