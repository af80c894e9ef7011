//! A server that does not outlive us. A shell in between holds the end of a pipe whose other end only we hold: when we are
//! gone, for whatever reason, it ends the server and removes its files. (`PR_SET_PDEATHSIG` would do that when the *thread*
//! ends that started it.)

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::EngineError;
use crate::programs::RunAs;

/// Longer than any engine takes to start or to end on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// `$1` is the farewell signal and `$2` the folder to remove; the rest is the server. A server that does not heed its
/// farewell for five seconds is killed.
const SHELL: &str = r#"
farewell=$1 folder=$2; shift 2
exec 3<&0 </dev/null
"$@" 3<&- >&2 & server=$!
echo $server
exec >&-
(
  read -r _ <&3
  trap '' TERM
  kill -s $farewell $server
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    kill -s 0 $server || break
    sleep 0.5
  done
  kill -s KILL $server
  rm -rf "$folder"
) 2>/dev/null & leash=$!
exec 3<&-
wait $server
kill -s TERM $leash
"#;

/// A running server.
#[derive(Debug)]
pub(crate) struct Leash {
    name: &'static str,
    shell: Child,
    server: Pid,
}

/// What a server is told when we are gone.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Farewell {
    /// PostgreSQL's "immediate" end, which leaves no shared memory behind.
    Quit,
    Kill,
}

impl Leash {
    /// Starts it, in this folder, which is removed when we are gone. What it writes is appended to `log`.
    pub(crate) fn start(
        name: &'static str,
        run_as: RunAs,
        server: &Command,
        farewell: Farewell,
        folder: &Path,
        log: &Path,
    ) -> Result<Self, EngineError> {
        let log_file = File::options().create(true).append(true).open(log);
        let log_file = log_file.map_err(EngineError::io("open", log))?;
        let mut command = run_as.command(Path::new("sh"));
        let farewell = match farewell {
            Farewell::Quit => "QUIT",
            Farewell::Kill => "KILL",
        };
        command.args(["-c", SHELL, "sh", farewell]).arg(folder);
        command.arg(server.get_program()).args(server.get_args());
        command.current_dir(folder).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(log_file);
        let shell = command.spawn();
        let mut shell = shell.map_err(EngineError::io("run", Path::new("sh")))?;
        let mut line = String::new();
        let said = shell.stdout.take().expect("it is piped");
        let read = BufReader::new(said).read_line(&mut line);
        read.map_err(EngineError::io("hear", Path::new("sh")))?;
        match line.trim().parse().ok().and_then(Pid::from_raw) {
            Some(server) => Ok(Self {
                name,
                shell,
                server,
            }),
            None => Err(EngineError::Failed {
                program: name.into(),
                output: last_lines(log),
            }),
        }
    }

    pub(crate) fn server(&self) -> Pid {
        self.server
    }

    /// Waits until it serves. Fails when it ends before.
    pub(crate) fn await_ready(
        &mut self,
        log: &Path,
        mut is_ready: impl FnMut() -> bool,
    ) -> Result<(), EngineError> {
        let begun = Instant::now();
        while !is_ready() {
            if self.is_gone() {
                return Err(EngineError::Failed {
                    program: self.name.into(),
                    output: last_lines(log),
                });
            }
            self.still_patient(begun, "ready")?;
        }
        Ok(())
    }

    pub(crate) fn signal(&self, signal: Signal) {
        // One that is gone needs none.
        let _ = kill_process(self.server, signal);
    }

    /// Waits until the server is gone.
    pub(crate) fn await_gone(mut self) -> Result<(), EngineError> {
        let begun = Instant::now();
        while !self.is_gone() {
            self.still_patient(begun, "gone")?;
        }
        Ok(())
    }

    /// Kills the server and its children at once.
    pub(crate) fn kill(self) -> Result<(), EngineError> {
        // A stopped parent makes no more of them.
        self.signal(Signal::STOP);
        let children = children_of(self.server);
        for child in &children {
            let _ = kill_process(*child, Signal::KILL);
        }
        self.signal(Signal::KILL);
        let begun = Instant::now();
        while children.iter().any(|child| is_alive(*child)) {
            self.still_patient(begun, "gone")?;
        }
        self.await_gone()
    }

    fn is_gone(&mut self) -> bool {
        !matches!(self.shell.try_wait(), Ok(None))
    }

    fn still_patient(&self, begun: Instant, state: &'static str) -> Result<(), EngineError> {
        if begun.elapsed() > PATIENCE {
            return Err(EngineError::Late {
                program: self.name.into(),
                state,
                after: PATIENCE,
            });
        }
        std::thread::sleep(LOOK_AGAIN);
        Ok(())
    }
}

impl Drop for Leash {
    fn drop(&mut self) {
        // The end of the pipe makes the shell say farewell.
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}

fn children_of(parent: Pid) -> Vec<Pid> {
    let pid = parent.as_raw_nonzero();
    let listed = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let listed = listed.unwrap_or_default();
    let pids = listed.split_whitespace();
    pids.filter_map(|pid| Pid::from_raw(pid.parse().ok()?))
        .collect()
}

/// A process that nobody reaps yet is not alive.
fn is_alive(pid: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    let stat = stat.unwrap_or_default();
    let state = stat.rsplit_once(") ").map(|(_, rest)| rest.as_bytes()[0]);
    state.is_some_and(|state| state != b'Z' && state != b'X')
}

fn last_lines(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines = Vec::from_iter(text.lines());
    lines[lines.len().saturating_sub(20)..].join("\n")
}
