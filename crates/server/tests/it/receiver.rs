//! A receiver of webhooks: a small HTTP server that answers as the test says and records its requests.

use std::net::SocketAddr;

use ring::hmac;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use crate::rig::TIMEOUT;

/// How many requests may wait for the test.
const MAX_KEPT: usize = 1024;

pub(crate) struct Receiver {
    pub(crate) address: SocketAddr,
    received: mpsc::Receiver<ReceivedRequest>,
}

#[derive(Debug)]
pub(crate) struct ReceivedRequest {
    head: String,
    body: Vec<u8>,
}

impl Receiver {
    /// Answers the nth request with the status `answer(n)`.
    pub(crate) async fn new(answer: impl Fn(usize) -> u16 + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, received) = mpsc::channel(MAX_KEPT);
        tokio::spawn(async move {
            for n in 0.. {
                let (stream, _) = listener.accept().await.unwrap();
                if sender.send(serve(stream, answer(n)).await).await.is_err() {
                    return;
                }
            }
        });
        Self { address, received }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/hook?from=muster", self.address)
    }

    pub(crate) async fn next(&mut self) -> ReceivedRequest {
        tokio::time::timeout(TIMEOUT, self.received.recv())
            .await
            .expect("a delivery")
            .unwrap()
    }

    /// The reasons of the next few events, in the order of their arrival.
    pub(crate) async fn reasons(&mut self, n: usize) -> Vec<String> {
        let mut reasons = Vec::new();
        for _ in 0..n {
            let event = self.next().await.json();
            reasons.push(event["reason"].as_str().unwrap().to_owned());
        }
        reasons
    }

    /// Whether no request waits.
    pub(crate) fn is_empty(&mut self) -> bool {
        self.received.try_recv().is_err()
    }
}

async fn serve(mut stream: TcpStream, status: u16) -> ReceivedRequest {
    let mut bytes = Vec::new();
    let end = loop {
        assert_ne!(stream.read_buf(&mut bytes).await.unwrap(), 0);
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut received = ReceivedRequest {
        head,
        body: bytes[end + 4..].to_vec(),
    };
    let length: usize = received.header("content-length").parse().unwrap();
    while received.body.len() < length {
        assert_ne!(stream.read_buf(&mut received.body).await.unwrap(), 0);
    }
    let answer = format!("HTTP/1.1 {status} X\r\ncontent-length: 2\r\n\r\nok");
    stream.write_all(answer.as_bytes()).await.unwrap();
    received
}

impl ReceivedRequest {
    pub(crate) fn request_line(&self) -> &str {
        self.head.lines().next().unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> String {
        let found = self
            .head
            .lines()
            .filter_map(|line| line.split_once(": "))
            .find(|(key, _)| key.eq_ignore_ascii_case(name));
        found
            .unwrap_or_else(|| panic!("no {name}: {}", self.head))
            .1
            .to_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// Whether the sender knows the secret.
    pub(crate) fn is_signed_with(&self, secret: &str) -> bool {
        let signature = self.header("x-muster-signature");
        let hex = signature.strip_prefix("sha256=").unwrap();
        let tag: Vec<u8> = (0..hex.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
            .collect();
        let mut signed = self.header("x-muster-timestamp").into_bytes();
        signed.push(b'.');
        signed.extend_from_slice(&self.body);
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
        hmac::verify(&key, &signed, &tag).is_ok()
    }
}
