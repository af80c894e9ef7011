//! A minimal HTTP client: one keep-alive connection, one request at a time, no overhead in the figures.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

use anyhow::{Context, ensure};

use crate::server::{APP_CODE, APP_SECRET};

#[derive(Debug)]
pub(crate) struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream: BufReader::with_capacity(256 * 1024, stream),
        })
    }

    pub(crate) fn get(&mut self, path: &str) -> anyhow::Result<Vec<u8>> {
        self.send("GET", path, b"")
    }

    pub(crate) fn put(&mut self, path: &str, body: &[u8]) -> anyhow::Result<Vec<u8>> {
        self.send("PUT", path, body)
    }

    pub(crate) fn post(&mut self, path: &str, body: &[u8]) -> anyhow::Result<Vec<u8>> {
        self.send("POST", path, body)
    }

    /// Posts to a GSE endpoint and requires `"result":true`.
    pub(crate) fn gse(&mut self, name: &str, body: &[u8]) -> anyhow::Result<Vec<u8>> {
        self.esb(&format!("gse/{name}"), body)
    }

    /// The same for GSEKit.
    pub(crate) fn gsekit(&mut self, name: &str, body: &[u8]) -> anyhow::Result<Vec<u8>> {
        self.esb(&format!("gsekit/{name}"), body)
    }

    fn esb(&mut self, name: &str, body: &[u8]) -> anyhow::Result<Vec<u8>> {
        let answer = self.send("POST", &format!("/api/c/compapi/v2/{name}/"), body)?;
        let start = String::from_utf8_lossy(&answer[..answer.len().min(300)]).into_owned();
        ensure!(start.contains("\"result\":true"), "{name} answered {start}");
        Ok(answer)
    }

    fn send(&mut self, method: &str, path: &str, body: &[u8]) -> anyhow::Result<Vec<u8>> {
        let mut request = format!(
            "{method} {path} HTTP/1.1\r\nHost: bench\r\nX-Bkapi-App-Code: {APP_CODE}\r\n\
             X-Bkapi-App-Secret: {APP_SECRET}\r\nX-Bkapi-User-Name: bench\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n",
            body.len()
        )
        .into_bytes();
        request.extend_from_slice(body);
        self.stream.get_mut().write_all(&request)?;
        self.answer()
    }

    fn answer(&mut self) -> anyhow::Result<Vec<u8>> {
        let status = self.line()?;
        let is_success = [" 200 ", " 201 ", " 202 "]
            .iter()
            .any(|code| status.contains(code));
        ensure!(is_success, "{status}");
        let mut length = None;
        let mut chunked = false;
        loop {
            let line = self.line()?;
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':').context("a header has a colon")?;
            if name.eq_ignore_ascii_case("content-length") {
                length = Some(value.trim().parse::<usize>()?);
            }
            chunked |= name.eq_ignore_ascii_case("transfer-encoding");
        }
        if !chunked {
            return self.exactly(length.context("a length is known")?);
        }
        let mut body = Vec::new();
        loop {
            let size = usize::from_str_radix(self.line()?.trim(), 16)?;
            body.extend(self.exactly(size)?);
            self.line()?;
            if size == 0 {
                return Ok(body);
            }
        }
    }

    fn line(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        ensure!(
            self.stream.read_line(&mut line)? > 0,
            "the server closed the connection"
        );
        Ok(line.trim_end().to_owned())
    }

    fn exactly(&mut self, length: usize) -> anyhow::Result<Vec<u8>> {
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        Ok(body)
    }
}
