//! A server that ends with the test process. A shell in between reads from a pipe whose other end only the test process holds:
//! when that is closed, for any reason, the shell ends the server and removes its files. (`PR_SET_PDEATHSIG` would end it with
//! the *thread* that started it.)

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
const POLL_EVERY: Duration = Duration::from_millis(5);

/// `$1` is the stop signal and `$2` the folder to remove; the rest is the server's command. A server that still runs five
/// seconds after the stop signal is killed.
const SHELL: &str = r#"
stop_signal=$1 folder=$2; shift 2
exec 3<&0 </dev/null
"$@" 3<&- >&2 & server=$!
echo $server
exec >&-
(
  read -r _ <&3
  trap '' TERM
  kill -s $stop_signal $server
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    kill -s 0 $server || break
    sleep 0.5
  done
  kill -s KILL $server
  rm -rf "$folder"
) 2>/dev/null & watcher=$!
exec 3<&-
wait $server
kill -s TERM $watcher
"#;

/// A running server.
#[derive(Debug)]
pub(crate) struct ServerProcess {
    name: &'static str,
    shell: Child,
    server: Pid,
}

/// The signal that ends a server when the test process is gone.
#[derive(Debug, Clone, Copy)]
pub(crate) enum StopSignal {
    /// PostgreSQL's "immediate" shutdown, which leaves no shared memory behind.
    Quit,
    Kill,
}

impl ServerProcess {
    /// Starts it in this folder, which is removed with the test process. Its output is appended to `log`.
    pub(crate) fn start(
        name: &'static str,
        run_as: RunAs,
        server: &Command,
        stop_signal: StopSignal,
        folder: &Path,
        log: &Path,
    ) -> Result<Self, EngineError> {
        let log_file = File::options().create(true).append(true).open(log);
        let log_file = log_file.map_err(EngineError::io("open", log))?;
        let mut command = run_as.command(Path::new("sh"));
        let stop_signal = match stop_signal {
            StopSignal::Quit => "QUIT",
            StopSignal::Kill => "KILL",
        };
        command.args(["-c", SHELL, "sh", stop_signal]).arg(folder);
        command.arg(server.get_program()).args(server.get_args());
        command.current_dir(folder).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(log_file);
        let shell = command.spawn();
        let mut shell = shell.map_err(EngineError::io("run", Path::new("sh")))?;
        let mut line = String::new();
        let stdout = shell.stdout.take().expect("it is piped");
        let read = BufReader::new(stdout).read_line(&mut line);
        read.map_err(EngineError::io("read from", Path::new("sh")))?;
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

    /// Waits until it is ready. Fails if it ends before.
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
            self.wait_or_time_out(begun, "ready")?;
        }
        Ok(())
    }

    pub(crate) fn signal(&self, signal: Signal) {
        // An error means that it is gone.
        let _ = kill_process(self.server, signal);
    }

    /// Waits until the server is gone.
    pub(crate) fn await_gone(mut self) -> Result<(), EngineError> {
        let begun = Instant::now();
        while !self.is_gone() {
            self.wait_or_time_out(begun, "gone")?;
        }
        Ok(())
    }

    /// Kills the server and its children at once.
    pub(crate) fn kill(self) -> Result<(), EngineError> {
        // A stopped parent forks no more children.
        self.signal(Signal::STOP);
        let children = children_of(self.server);
        for child in &children {
            let _ = kill_process(*child, Signal::KILL);
        }
        self.signal(Signal::KILL);
        let begun = Instant::now();
        while children.iter().any(|child| is_alive(*child)) {
            self.wait_or_time_out(begun, "gone")?;
        }
        self.await_gone()
    }

    fn is_gone(&mut self) -> bool {
        !matches!(self.shell.try_wait(), Ok(None))
    }

    fn wait_or_time_out(&self, begun: Instant, state: &'static str) -> Result<(), EngineError> {
        if begun.elapsed() > PATIENCE {
            return Err(EngineError::Late {
                program: self.name.into(),
                state,
                after: PATIENCE,
            });
        }
        std::thread::sleep(POLL_EVERY);
        Ok(())
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // Closing the pipe makes the shell end the server.
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

/// A zombie is not alive.
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
