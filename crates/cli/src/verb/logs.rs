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
use crate::processes::{full_name, parse_selector, query};
use crate::target::unknown;

pub const EXAMPLES: &str = "\
Examples:
  muster logs web/nginx                          the last 100 lines of its current or last run
  muster logs web/nginx --previous               of the run before: why did it crash?
  muster logs ops/backup --run 7                 of one run: muster runs ops/backup lists them
  muster logs web/nginx --since 10m --grep 'error|warn'
  muster logs web/nginx -f                       on all its hosts, until Ctrl-C
  muster logs web/nginx --tail 1000 -H 10.0.0.1,10.0.0.2
  muster logs web/nginx -l zone=a                on its hosts with this label
  muster logs -l 'tier=front,env!=test' --since 5m   of every process with these labels
  muster logs web/nginx -o json | jq -r .line

On several hosts each line begins with its host, of several processes also with their names: host after host, or with -f as they come.

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

/// How many processes are read at once: the server limits the open streams of a caller.
const MAX_SOURCES: usize = 50;
/// How many pieces of a host wait to be shown.
const MAX_WAITING: usize = 16;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The process; may be left out with --label
    #[arg(value_name = "NAMESPACE/NAME", required_unless_present = "label")]
    name: Option<FullName>,
    /// Only where it has these labels; without a name, of every process that has them: tier=front,zone!=b
    #[arg(short = 'l', long, visible_alias = "selector", value_name = "LABELS", value_parser = parse_selector)]
    label: Vec<String>,
    /// On this host: IP or CLOUD:IP; several, separated by commas. Without it, on every host that has the process
    #[arg(short = 'H', long, value_name = "HOST", value_delimiter = ',')]
    host: Vec<Host>,
    /// Go on with what is written from now on
    #[arg(short, long)]
    follow: bool,
    /// The run before the current one; before the last one, if it does not run
    #[arg(short, long, conflicts_with = "follow")]
    previous: bool,
    /// The run with this number: muster runs lists them
    #[arg(long, value_name = "N", conflicts_with_all = ["follow", "previous", "since"], value_parser = clap::value_parser!(u32).range(1..))]
    run: Option<u32>,
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
    fn path(&self, source: &Source) -> Path {
        process_path(&source.name)
            .join("logs")
            .query("host", source.host)
            .query("tail", self.tail)
            .maybe("follow", self.follow.then_some(true))
            .maybe("previous", self.previous.then_some(true))
            .maybe("run", self.run)
            .maybe(
                "since",
                self.since.map(|since| format!("{}s", since.as_secs())),
            )
            .maybe("grep", self.grep.as_ref())
    }
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let client = context.client()?;
    let sources = sources(&client, args)?;
    match sources.as_slice() {
        [source] => of_one(context, &client, args, source),
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
            (false, false, false) if self.run.is_some() => "that run wrote nothing",
            (false, false, false) => "it has written nothing",
        }
    }
}

/// Output that is read.
struct Source {
    name: FullName,
    host: Host,
    /// Whether several processes are shown.
    is_named: bool,
}

impl Source {
    /// What a line of it begins with.
    fn title(&self) -> String {
        match self.is_named {
            true => format!("{}@{}", self.name, self.host),
            false => self.host.to_string(),
        }
    }
}

/// The process on the hosts that were named, each once; else on all that have it. With labels, every process that has them.
fn sources(client: &Client, args: &Args) -> Result<Vec<Source>, Failure> {
    let mut found: Vec<(FullName, Host)> = Vec::new();
    let n_found = match (&args.name, args.label.is_empty()) {
        (Some(name), true) if !args.host.is_empty() => {
            found.extend(args.host.iter().map(|host| (name.clone(), *host)));
            found.len() as u64
        }
        _ => {
            let path = match &args.name {
                Some(name) => processes_named(name),
                None => Path::new("processes"),
            };
            let path = query(path, &[], &args.label).list("host", &args.host);
            let page = client.pages::<ProcessView>(&path, "processes", Some(MAX_SOURCES + 1))?;
            for row in &page.rows {
                found.push((full_name(row)?, row.host.to_string().parse()?));
            }
            page.count
        }
    };
    found.sort();
    found.dedup();
    let Some((first, _)) = found.first().cloned() else {
        return Err(match (&args.name, args.label.is_empty()) {
            (Some(name), true) => unknown(name),
            _ => Failure::new(
                Kind::NotFound,
                format!("no process has the labels {}", args.label.join(",")),
            )
            .advise("muster ps --wide lists processes and labels"),
        });
    };
    if found.len() > MAX_SOURCES {
        let (field, all, choice) = match &args.name {
            Some(name) => {
                let choice = format!("choose some of the hosts of {name}: --host IP[,IP…]");
                ("--host", counted(n_found, "host"), choice)
            }
            None => {
                let choice = "name one of them, or give more labels or --host".to_owned();
                ("--label", counted(n_found, "process"), choice)
            }
        };
        return Err(Failure::usage(format!(
            "{field}: {all} at once are too many: at most {MAX_SOURCES}"
        ))
        .advise(choice));
    }
    let is_named = found.iter().any(|(name, _)| *name != first);
    let sources = found.into_iter().map(|(name, host)| Source {
        name,
        host,
        is_named,
    });
    let sources: Vec<Source> = sources.collect();
    Ok(sources)
}

fn of_one(
    context: &Context,
    client: &Client,
    args: &Args,
    source: &Source,
) -> Result<Exit, Failure> {
    let mut stream = client.logs(&args.path(source))?;
    let mut lines = Lines::new(&context.out, args.raw, source, None);
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
                let again = format!("muster logs {} shows it again", source.name);
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
    sources: &[Source],
) -> Result<Exit, Failure> {
    let width = sources.iter().map(|source| source.title().len()).max();
    let mut lines: Vec<Lines<'_>> = sources
        .iter()
        .map(|source| Lines::new(&context.out, args.raw, source, width))
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
                    .warn(format!("{}: {}", sources[index].title(), failure.what()));
                failures.push(failure);
            }
        }
        Ok(false)
    };
    let client = Arc::new(client);
    if args.follow {
        let (sender, pieces) = sync_channel(MAX_WAITING);
        for (index, source) in sources.iter().enumerate() {
            read_beside(&client, args.path(source), index, sender.clone())?;
        }
        drop(sender);
        for (index, piece) in pieces {
            show(index, piece)?;
        }
    } else {
        // All are asked at once, and shown in order.
        let mut all: Vec<Receiver<(usize, HostPiece)>> = Vec::new();
        for (index, source) in sources.iter().enumerate() {
            let (sender, pieces) = sync_channel(MAX_WAITING);
            read_beside(&client, args.path(source), index, sender)?;
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
        Some(first) if n_failed == sources.len() => Err(Failure::new(
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
