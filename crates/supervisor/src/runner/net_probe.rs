//! TCP and HTTP probes: non-blocking sockets, each in a task of its own, so that the runner never waits for a peer.
//!
//! A peer may be slow, silent or hostile: each probe has its timeout, reads a bounded head and body, and keeps nothing.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use model::spec::probes::{HttpTarget, ProbeTarget, TcpTarget};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::side_command::StartError;
use crate::os::plain;
use crate::os::shortage::{self, is_shortage};

/// The longest head of a response.
const MAX_HEAD: usize = 16 * 1024;
/// How many headers a response may have.
const MAX_HEADERS: usize = 128;
/// How much of a body is searched.
const MAX_BODY: usize = 64 * 1024;

/// Tries a target; the error says what failed. A shortage says nothing about the process.
pub(super) async fn probe(target: &ProbeTarget, timeout: Duration) -> Result<(), StartError> {
    let (what, trying) = match target {
        ProbeTarget::Tcp(tcp) => {
            let address = address(tcp.host(), tcp.port);
            (
                address,
                tokio::time::timeout(timeout, connect_only(tcp)).await,
            )
        }
        ProbeTarget::Http(http) => {
            let url = format!("http://{}{}", address(http.host(), http.port), http.path);
            (
                format!("GET {url}"),
                tokio::time::timeout(timeout, get(http)).await,
            )
        }
        // Side commands run it.
        ProbeTarget::Exec(_) => return Ok(()),
    };
    let failure = match trying {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(Failure::Shortage(why))) => return Err(StartError::Shortage(why)),
        Ok(Err(Failure::Answer(why))) => why,
        Err(_) => format!("no answer after {} s", timeout.as_secs_f32()),
    };
    Err(StartError::Refused(format!("{what}: {failure}")))
}

/// Why a probe failed.
#[derive(Debug)]
enum Failure {
    /// Because of the process.
    Answer(String),
    /// The agent or its host lacks something.
    Shortage(String),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.raw_os_error() {
            Some(libc::ENOBUFS) => {
                Self::Shortage("the agent's host has no memory left for sockets".to_owned())
            }
            // Of epoll.
            Some(libc::ENOSPC) => Self::Shortage(
                "the agent may watch no more sockets (fs.epoll.max_user_watches)".to_owned(),
            ),
            _ if is_shortage(&error) => Self::Shortage(shortage::words(&error)),
            _ => Self::Answer(plain(&error).to_lowercase()),
        }
    }
}

/// `127.0.0.1:80`, `[::1]:80`.
fn address(host: &str, port: u16) -> String {
    match host.parse::<Ipv6Addr>() {
        Ok(host) => format!("[{host}]:{port}"),
        Err(_) => format!("{host}:{port}"),
    }
}

/// Connects to the first address of the host that answers.
async fn connect(host: &str, port: u16) -> Result<TcpStream, Failure> {
    let mut failure = Failure::Answer("it has no address".to_owned());
    for address in look_up(host, port).await? {
        match TcpStream::connect(address).await {
            Ok(stream) => return Ok(stream),
            Err(error) if lacks_port(&error, address) => {
                let why = "no local port is free for a connection (net.ipv4.ip_local_port_range)";
                failure = Failure::Shortage(why.to_owned());
            }
            Err(error) => failure = error.into(),
        }
    }
    Err(failure)
}

async fn look_up(host: &str, port: u16) -> Result<Vec<SocketAddr>, Failure> {
    if let Ok(ip) = host.parse::<IpAddr>() {
        return Ok(vec![(ip, port).into()]);
    }
    let found = tokio::net::lookup_host((host, port)).await;
    found.map(Iterator::collect).map_err(|error| {
        // The resolver hides that it could not open a file or a socket.
        match shortage::require_room() {
            Ok(()) => error.into(),
            Err(lacks) => lacks.into(),
        }
    })
}

/// Whether the connection failed because every local port is taken. The host may also have no address of this family: then a
/// datagram socket, which sends nothing when it is connected, cannot be connected either.
fn lacks_port(error: &io::Error, to: SocketAddr) -> bool {
    if error.kind() != io::ErrorKind::AddrNotAvailable {
        return false;
    }
    let any: IpAddr = match to {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    match UdpSocket::bind((any, 0)) {
        Ok(socket) => socket.connect(to).is_ok(),
        Err(error) => is_shortage(&error),
    }
}

async fn connect_only(target: &TcpTarget) -> Result<(), Failure> {
    drop(connect(target.host(), target.port).await?);
    Ok(())
}

async fn get(target: &HttpTarget) -> Result<(), Failure> {
    let mut stream = connect(target.host(), target.port).await?;
    let request = format!(
        "GET {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: muster-agent\r\nAccept: */*\r\nConnection: close\r\n\r\n",
        target.path,
        address(target.host(), target.port),
    );
    stream.write_all(request.as_bytes()).await?;
    let mut bytes = Vec::new();
    let head = read_head(&mut stream, &mut bytes).await?;
    if !target.accepts(head.status) {
        return Err(Failure::Answer(format!("status {}", head.status)));
    }
    match &target.body {
        None => Ok(()),
        Some(wanted) => find_in_body(&mut stream, bytes, head, wanted).await,
    }
}

/// Where a response ends its body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    Length(usize),
    Chunked,
    /// It closes the connection.
    Close,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Head {
    /// In bytes.
    len: usize,
    status: u16,
    framing: Framing,
}

/// Reads up to the end of the head; what follows it stays behind it in `bytes`.
async fn read_head(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> Result<Head, Failure> {
    loop {
        if read_more(stream, bytes, MAX_HEAD).await? == 0 {
            return Err(Failure::Answer(match bytes.len() {
                MAX_HEAD.. => "the head of its answer is too long".to_owned(),
                _ => "it closed the connection before its answer was complete".to_owned(),
            }));
        }
        while let Some(head) = parse_head(bytes)? {
            // An interim answer, such as 103.
            if (100..200).contains(&head.status) {
                bytes.drain(..head.len);
                continue;
            }
            return Ok(head);
        }
    }
}

/// Reads once; 0 at the end of the stream, or when there are as many bytes as allowed.
async fn read_more(stream: &mut TcpStream, bytes: &mut Vec<u8>, most: usize) -> io::Result<usize> {
    let room = most.saturating_sub(bytes.len());
    stream.take(room as u64).read_buf(bytes).await
}

fn parse_head(bytes: &[u8]) -> Result<Option<Head>, Failure> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    let parsed = response
        .parse(bytes)
        .map_err(|error| Failure::Answer(format!("its answer is no HTTP: {error}")))?;
    let httparse::Status::Complete(len) = parsed else {
        return Ok(None);
    };
    let header = |name: &str| {
        let mut headers = response.headers.iter();
        let found = headers.find(|header| header.name.eq_ignore_ascii_case(name));
        found.and_then(|header| std::str::from_utf8(header.value).ok())
    };
    let is_chunked = header("transfer-encoding")
        .is_some_and(|value| value.to_ascii_lowercase().contains("chunked"));
    let length = header("content-length").and_then(|value| value.trim().parse().ok());
    Ok(Some(Head {
        len,
        status: response.code.unwrap_or_default(),
        framing: match (is_chunked, length) {
            (true, _) => Framing::Chunked,
            (false, Some(length)) => Framing::Length(length),
            (false, None) => Framing::Close,
        },
    }))
}

async fn find_in_body(
    stream: &mut TcpStream,
    mut bytes: Vec<u8>,
    head: Head,
    wanted: &str,
) -> Result<(), Failure> {
    let mut raw = bytes.split_off(head.len);
    loop {
        let (body, is_whole) = decode(&raw, head.framing);
        if contains(&body, wanted.as_bytes()) {
            return Ok(());
        }
        if is_whole || read_more(stream, &mut raw, MAX_BODY).await? == 0 {
            let part = match raw.len() {
                MAX_BODY.. => "first 64 KiB of its body do",
                _ => "body does",
            };
            return Err(Failure::Answer(format!(
                "the {part} not contain {wanted:?}"
            )));
        }
    }
}

/// The body as far as it has arrived, and whether that is all of it.
fn decode(raw: &[u8], framing: Framing) -> (Vec<u8>, bool) {
    match framing {
        Framing::Close => (raw.to_vec(), false),
        Framing::Length(length) => (raw[..length.min(raw.len())].to_vec(), raw.len() >= length),
        Framing::Chunked => decode_chunks(raw),
    }
}

fn decode_chunks(mut raw: &[u8]) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    loop {
        match httparse::parse_chunk_size(raw) {
            Ok(httparse::Status::Complete((_, 0))) => return (body, true),
            Ok(httparse::Status::Complete((begin, size))) => {
                let chunk = &raw[begin..];
                let size = usize::try_from(size).unwrap_or(usize::MAX);
                let Some((data, rest)) = chunk.split_at_checked(size) else {
                    body.extend_from_slice(chunk);
                    return (body, false);
                };
                body.extend_from_slice(data);
                raw = match rest {
                    [b'\r', b'\n', more @ ..] => more,
                    [] | [b'\r'] => return (body, false),
                    // What follows is no chunk.
                    _ => return (body, true),
                };
            }
            Ok(httparse::Status::Partial) => return (body, false),
            // What follows is no chunk.
            Err(_) => return (body, true),
        }
    }
}

fn contains(body: &[u8], wanted: &[u8]) -> bool {
    body.windows(wanted.len()).any(|part| part == wanted)
}

#[cfg(test)]
mod tests;
