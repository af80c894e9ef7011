//! A server that answers by a closure and records requests.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::Value;

#[derive(Debug, Clone)]
pub(crate) struct Request {
    /// `GET /api/v1/processes?start=0`.
    pub(crate) line: String,
    pub(crate) headers: Vec<String>,
    pub(crate) body: Value,
}

pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: String,
    pub(crate) body: String,
}

pub(crate) fn ok(body: Value) -> Response {
    status(200, body)
}

pub(crate) fn status(status: u16, body: Value) -> Response {
    Response {
        status,
        headers: String::new(),
        body: body.to_string(),
    }
}

pub(crate) struct FakeServer {
    pub(crate) url: String,
    asked: Arc<Mutex<Vec<Request>>>,
}

impl FakeServer {
    /// Serves until the test ends; each connection carries one request.
    pub(crate) fn new(answer: impl Fn(&Request) -> Response + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let remembered = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let Some(request) = read(&stream) else {
                    continue;
                };
                remembered.lock().unwrap().push(request.clone());
                write(stream, &answer(&request));
            }
        });
        Self { url, asked }
    }

    /// The same response to every request.
    pub(crate) fn answering(status_code: u16, body: Value) -> Self {
        Self::new(move |_| status(status_code, body.clone()))
    }

    pub(crate) fn asked(&self) -> Vec<Request> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.asked().into_iter().map(|asked| asked.line).collect()
    }
}

fn read(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader.read_line(&mut first).ok()?;
    let line = first.trim_end().strip_suffix(" HTTP/1.1")?.to_owned();
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        match header.trim_end() {
            "" => break,
            header => headers.push(header.to_lowercase()),
        }
    }
    let value_of = |name: &str| {
        let line = headers.iter().find(|line| line.starts_with(name))?;
        line.split_once(':')
            .map(|(_, value)| value.trim().to_owned())
    };
    let mut body = Vec::new();
    if let Some(length) = value_of("content-length") {
        body.resize(length.parse().ok()?, 0);
        reader.read_exact(&mut body).ok()?;
    } else if value_of("transfer-encoding").is_some() {
        loop {
            let mut size = String::new();
            reader.read_line(&mut size).ok()?;
            let size = usize::from_str_radix(size.trim(), 16).ok()?;
            let mut chunk = vec![0; size + 2];
            reader.read_exact(&mut chunk).ok()?;
            if size == 0 {
                break;
            }
            body.extend_from_slice(&chunk[..size]);
        }
    }
    let body = match body.is_empty() {
        true => Value::Null,
        false => serde_json::from_slice(&body).ok()?,
    };
    Some(Request {
        line,
        headers,
        body,
    })
}

fn write(mut stream: TcpStream, answer: &Response) {
    let text = format!(
        "HTTP/1.1 {} X\r\nContent-Length: {}\r\nConnection: close\r\n{}\r\n{}",
        answer.status,
        answer.body.len(),
        answer.headers,
        answer.body
    );
    // The client may have closed the connection.
    stream.write_all(text.as_bytes()).ok();
}
