//! The odd child program: behaves as it is told, so that tests can have any process they need.
//!
//! `odd OPTION…` does the options in order and then stays until it is told to go.
//!
//! | option | does |
//! |---|---|
//! | `--exit CODE` | ends with this code instead of staying |
//! | `--after MS` | waits before the next option |
//! | `--print TEXT` | writes a line to standard output |
//! | `--complain TEXT` | writes a line to standard error |
//! | `--count FILE` | appends a line with its pid to a file: how often was it executed? |
//! | `--report FILE` | writes what it sees: environment, descriptors, directory, ids, session, limits, umask |
//! | `--pid-file FILE` | writes its pid into a file; `--pid-text TEXT` puts this behind it |
//! | `--wrong-pid FILE PID` | writes another pid into a file |
//! | `--daemon` | goes to the background as daemons do; the options after it are done there |
//! | `--ignore-term` | does not end on SIGTERM |
//! | `--touch-on-hup FILE` | appends a line on SIGHUP instead of ending |
//! | `--workers N` | starts N children that stay |
//! | `--leak-child` | starts a child in a session of its own that stays |
//! | `--hold-mib N` | holds memory |
//! | `--hold-fds N` | holds descriptors |
//! | `--burn` | uses a whole core |
//! | `--flood` | writes to standard output as fast as it can, for ever |
//! | `--talk PORT` | sends to a TCP port of this host without end |

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::MetadataExt;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    match act(&mut arguments) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            let _ = writeln!(io::stderr(), "odd: {error}");
            ExitCode::from(99)
        }
    }
}

fn act(arguments: &mut Vec<String>) -> io::Result<u8> {
    let mut kept: Vec<Box<dyn std::any::Any>> = Vec::new();
    arguments.reverse();
    let mut pid_text = String::new();
    while let Some(option) = arguments.pop() {
        let mut value = || {
            let missing = || io::Error::other(format!("{option} wants a value"));
            arguments.pop().ok_or_else(missing)
        };
        match option.as_str() {
            "--exit" => return value()?.parse().map_err(io::Error::other),
            "--after" => std::thread::sleep(Duration::from_millis(number(&value()?)?)),
            "--print" => {
                println_to(&mut io::stdout(), &value()?)?;
            }
            "--complain" => println_to(&mut io::stderr(), &value()?)?,
            "--count" => append(&value()?, &std::process::id().to_string())?,
            "--report" => report(&value()?)?,
            "--pid-text" => pid_text = value()?,
            "--pid-file" => {
                let text = format!("{}{pid_text}\n", std::process::id());
                fs::write(value()?, text)?;
            }
            "--wrong-pid" => {
                let file = value()?;
                let pid = value()?;
                fs::write(file, format!("{pid}\n"))?;
            }
            "--daemon" => {
                arguments.push("--second-fork".to_owned());
                arguments.reverse();
                respawn(arguments)?;
                return Ok(0);
            }
            "--second-fork" => {
                let _ = rustix::process::setsid();
                arguments.reverse();
                respawn(arguments)?;
                return Ok(0);
            }
            "--ignore-term" => kept.push(Box::new(signals(&[libc::SIGTERM], None)?)),
            "--touch-on-hup" => kept.push(Box::new(signals(&[libc::SIGHUP], Some(value()?))?)),
            "--workers" => {
                for _ in 0..number(&value()?)? {
                    kept.push(Box::new(again(&["--stay"]).spawn()?));
                }
            }
            "--leak-child" => kept.push(Box::new(again(&["--second-fork"]).spawn()?)),
            "--hold-mib" => {
                let bytes = number(&value()?)? as usize * 1024 * 1024;
                kept.push(Box::new(vec![1_u8; bytes]));
            }
            "--hold-fds" => {
                for _ in 0..number(&value()?)? {
                    kept.push(Box::new(File::open("/dev/null")?));
                }
            }
            "--burn" => loop {
                std::hint::spin_loop();
            },
            "--flood" => loop {
                let line = [b'x'; 4096];
                io::stdout().write_all(&line)?;
            },
            "--talk" => talk(number(&value()?)? as u16)?,
            "--stay" => {}
            other => return Err(io::Error::other(format!("no such option: {other}"))),
        }
    }
    loop {
        std::thread::park();
    }
}

fn println_to(stream: &mut dyn Write, text: &str) -> io::Result<()> {
    writeln!(stream, "{text}")?;
    stream.flush()
}

fn number(text: &str) -> io::Result<u64> {
    text.parse().map_err(io::Error::other)
}

fn append(path: &str, line: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    file.write_all(format!("{line}\n").as_bytes())
}

/// This program again, with other options.
fn again(options: &[&str]) -> Command {
    let program = std::env::args().next().unwrap_or_default();
    let mut command = Command::new(program);
    command.args(options);
    command
}

fn respawn(options: &[String]) -> io::Result<()> {
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    again(&options).stdin(Stdio::null()).spawn().map(drop)
}

/// Takes signals in a thread that waits for them, before any other thread is there.
fn signals(numbers: &[i32], touched: Option<String>) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let numbers = numbers.to_vec();
    let (ready, wait) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        runtime.block_on(async {
            let kind = tokio::signal::unix::SignalKind::from_raw(numbers[0]);
            let Ok(mut signal) = tokio::signal::unix::signal(kind) else {
                return;
            };
            let _ = ready.send(());
            while signal.recv().await.is_some() {
                if let Some(path) = &touched {
                    let _ = append(path, "signalled");
                }
            }
        });
    });
    wait.recv().map_err(io::Error::other)
}

fn report(path: &str) -> io::Result<()> {
    let mut text = String::new();
    for (name, value) in std::env::vars() {
        text.push_str(&format!("env {name}={value}\n"));
    }
    for entry in fs::read_dir("/proc/self/fd")? {
        let entry = entry?;
        if let Ok(target) = fs::read_link(entry.path()) {
            let name = entry.file_name();
            text.push_str(&format!("fd {} {}\n", name.display(), target.display()));
        }
    }
    text.push_str(&format!("cwd {}\n", std::env::current_dir()?.display()));
    let me = fs::metadata("/proc/self")?;
    text.push_str(&format!("uid {}\ngid {}\n", me.uid(), me.gid()));
    let mut stat = String::new();
    File::open("/proc/self/stat")?.read_to_string(&mut stat)?;
    let session = stat
        .rsplit(')')
        .next()
        .and_then(|rest| rest.split_whitespace().nth(3));
    text.push_str(&format!("session {}\n", session.unwrap_or("")));
    text.push_str(&format!("pid {}\n", std::process::id()));
    for name in ["status", "limits", "oom_score_adj"] {
        for line in fs::read_to_string(format!("/proc/self/{name}"))?.lines() {
            text.push_str(&format!("{name} {line}\n"));
        }
    }
    // Whole or not at all.
    let part = format!("{path}.part");
    fs::write(&part, text)?;
    fs::rename(&part, path)
}

fn talk(port: u16) -> io::Result<()> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    loop {
        stream.write_all(&[7; 1024])?;
        std::thread::sleep(Duration::from_millis(10));
    }
}
