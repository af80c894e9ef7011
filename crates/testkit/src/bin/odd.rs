//! The odd child program: its options give it any behaviour that a test needs.
//!
//! `odd OPTION…` executes the options in order and then runs until a signal ends it.
//!
//! | option | does |
//! |---|---|
//! | `--exit CODE` | exits with this code |
//! | `--after MS` | waits before the next option |
//! | `--print TEXT` | writes a line to standard output |
//! | `--complain TEXT` | writes a line to standard error |
//! | `--count FILE` | appends a line with its pid to a file, to count executions |
//! | `--report FILE` | writes its environment, descriptors, directory, ids, session, limits, umask |
//! | `--pid-file FILE` | writes its pid into a file; `--pid-text TEXT` appends this text |
//! | `--wrong-pid FILE PID` | writes another pid into a file |
//! | `--daemon` | double-forks; the daemon executes the options after it |
//! | `--await FILE` | waits until a file exists |
//! | `--title TEXT` | changes its task name and its arguments |
//! | `--exec PROGRAM` | executes this program with the rest as arguments, from a second thread |
//! | `--become UID` | changes its user |
//! | `--group` | creates a process group |
//! | `--close-output` | closes standard output and standard error |
//! | `--thread FILE` | writes the id of one of its threads into a file |
//! | `--child FILE` | starts a child that writes its pid into a file and stays; it is never reaped |
//! | `--ignore-term` | ignores SIGTERM |
//! | `--touch-on-hup FILE` | appends a line on SIGHUP |
//! | `--workers N` | starts N children that stay |
//! | `--leak-child` | starts a child in its own session that stays |
//! | `--hold-mib N` | holds memory |
//! | `--hold-fds N` | holds descriptors |
//! | `--burn` | uses a whole core |
//! | `--lines N` | writes N numbered lines a second to standard output, for ever |
//! | `--flood` | writes to standard output as fast as it can, for ever |
//! | `--talk PORT` | sends 1 KiB to a TCP port of this host every 10 ms |
//! | `--serve ADDRESS FILE` | listens at `ip:port` while the file exists: its first line is the status of HTTP answers, the rest their body |

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

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
            "--await" => {
                let file = value()?;
                while !fs::exists(&file)? {
                    std::thread::sleep(Duration::from_millis(5));
                }
            }
            "--title" => change_title(&value()?)?,
            "--exec" => {
                let mut command = Command::new(value()?);
                command.args(arguments.drain(..).rev());
                let thread = std::thread::spawn(move || command.exec());
                return Err(thread.join().unwrap_or_else(|_| io::Error::other("panic")));
            }
            "--become" => {
                let id = number(&value()?)? as u32;
                nix::unistd::setgroups(&[])?;
                nix::unistd::setgid(id.into())?;
                nix::unistd::setuid(id.into())?;
            }
            "--group" => rustix::process::setpgid(None, None)?,
            "--close-output" => {
                nix::unistd::close(1)?;
                nix::unistd::close(2)?;
            }
            "--thread" => {
                let file = value()?;
                std::thread::spawn(move || write_thread(&file));
            }
            "--child" => kept.push(Box::new(rerun(&["--pid-file", &value()?]).spawn()?)),
            "--ignore-term" => kept.push(Box::new(signals(&[libc::SIGTERM], None)?)),
            "--touch-on-hup" => kept.push(Box::new(signals(&[libc::SIGHUP], Some(value()?))?)),
            "--workers" => {
                for _ in 0..number(&value()?)? {
                    kept.push(Box::new(rerun(&["--stay"]).spawn()?));
                }
            }
            "--leak-child" => kept.push(Box::new(rerun(&["--second-fork"]).spawn()?)),
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
            "--lines" => write_lines(number(&value()?)?)?,
            "--flood" => loop {
                let line = [b'x'; 4096];
                io::stdout().write_all(&line)?;
            },
            "--talk" => talk(number(&value()?)? as u16)?,
            "--serve" => {
                let address = value()?;
                serve(&address, &value()?)?;
            }
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
fn rerun(options: &[&str]) -> Command {
    let program = std::env::args().next().unwrap_or_default();
    let mut command = Command::new(program);
    command.args(options);
    command
}

fn respawn(options: &[String]) -> io::Result<()> {
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    rerun(&options).stdin(Stdio::null()).spawn().map(drop)
}

/// Handles signals on a thread of its own, started before any other.
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
    // Atomically.
    let part = format!("{path}.part");
    fs::write(&part, text)?;
    fs::rename(&part, path)
}

/// Writes the id of this thread, which stays.
fn write_thread(path: &str) -> io::Result<()> {
    let link = fs::read_link("/proc/thread-self")?;
    let number = link.file_name().unwrap_or_default();
    fs::write(path, number.as_encoded_bytes())?;
    loop {
        std::thread::park();
    }
}

/// Overwrites the arguments, as `setproctitle` does.
fn change_title(title: &str) -> io::Result<()> {
    fs::write("/proc/self/comm", title)?;
    let stat = fs::read_to_string("/proc/self/stat")?;
    let rest = stat.rsplit(')').next().unwrap_or_default();
    let fields: Vec<u64> = rest
        .split_whitespace()
        .map(|field| field.parse().unwrap_or(0))
        .collect();
    // Fields 48 and 49 of the line, without the first two.
    let (Some(begin), Some(end)) = (fields.get(45), fields.get(46)) else {
        return Err(io::Error::other("no arguments in /proc/self/stat"));
    };
    let mut text = title.as_bytes().to_vec();
    text.resize((end - begin) as usize, 0);
    let memory = OpenOptions::new().write(true).open("/proc/self/mem")?;
    memory.write_all_at(&text, *begin)
}

fn write_lines(per_second: u64) -> io::Result<()> {
    let (begin, mut written) = (Instant::now(), 0);
    loop {
        let due = begin.elapsed().as_millis() as u64 * per_second / 1000;
        let mut lines = String::new();
        while written < due {
            written += 1;
            lines.push_str(&format!("{written:09} {:x<89}\n", ""));
        }
        // Whole lines per write, as loggers do.
        io::stdout().lock().write_all(lines.as_bytes())?;
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn serve(address: &str, file: &str) -> io::Result<()> {
    const POLL: Duration = Duration::from_millis(5);
    loop {
        while !fs::exists(file)? {
            std::thread::sleep(POLL);
        }
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        while let Ok(answer) = fs::read_to_string(file) {
            match listener.accept() {
                // A client that goes away is none of its business.
                Ok((stream, _)) => drop(respond(stream, &answer)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::sleep(POLL),
                Err(error) => return Err(error),
            }
        }
    }
}

fn respond(mut stream: TcpStream, answer: &str) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(Duration::from_secs(1)))?;
    let mut request = [0; 4096];
    if stream.read(&mut request)? == 0 {
        return Ok(());
    }
    let (status, body) = answer.split_once('\n').unwrap_or((answer, ""));
    let length = body.len();
    let head = format!("HTTP/1.1 {status} odd\r\nContent-Length: {length}\r\n\r\n");
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}

fn talk(port: u16) -> io::Result<()> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    loop {
        stream.write_all(&[7; 1024])?;
        std::thread::sleep(Duration::from_millis(10));
    }
}
