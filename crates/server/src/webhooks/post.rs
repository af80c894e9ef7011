//! One POST over one connection: all the HTTP that a webhook needs.

use std::io;
use std::time::Duration;

use model::webhook::WebhookUrl;
use rustls_pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::outgoing::Trust;

/// How long a receiver may take, from the first packet to its answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long the rest of an answer is read, which nobody needs: so that the receiver can finish in peace.
const COURTESY: Duration = Duration::from_millis(500);
/// The longest head of an answer.
const MAX_HEAD: usize = 16 * 1024;
/// How much of an answer's body is read.
const MAX_REST: u64 = 64 * 1024;

#[derive(Debug, thiserror::Error)]
pub(crate) enum PostError {
    #[error("cannot connect")]
    Connect(#[source] io::Error),
    #[error("the connection broke")]
    Broken(#[source] io::Error),
    #[error("no answer within {} s", PATIENCE.as_secs())]
    TimedOut,
    #[error("what came back is no HTTP answer")]
    NotHttp,
    #[error("answered with status {0}")]
    Status(u16),
}

/// Answers the status, which is from 200 to 299. Redirections are not followed.
pub(super) async fn post(
    url: &WebhookUrl,
    trust: &Trust,
    headers: &[(&str, String)],
    body: &[u8],
) -> Result<u16, PostError> {
    let exchange = async {
        let mut stream = connect(url, trust).await.map_err(PostError::Connect)?;
        let request = request(url, headers, body);
        stream
            .write_all(&request)
            .await
            .map_err(PostError::Broken)?;
        let head = read_head(&mut stream).await?;
        Ok((head, stream))
    };
    let (head, stream) = tokio::time::timeout(PATIENCE, exchange)
        .await
        .unwrap_or(Err(PostError::TimedOut))?;
    if head.n_missing > 0 {
        let mut rest = stream.take(head.n_missing.min(MAX_REST));
        let mut nowhere = tokio::io::sink();
        let reading = tokio::io::copy(&mut rest, &mut nowhere);
        // Whether it comes or not, the receiver has answered.
        let _ = tokio::time::timeout(COURTESY, reading).await;
    }
    match head.status {
        200..=299 => Ok(head.status),
        status => Err(PostError::Status(status)),
    }
}

/// Whatever bytes go over.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

async fn connect(url: &WebhookUrl, trust: &Trust) -> io::Result<Box<dyn Stream>> {
    let stream = TcpStream::connect((url.host(), url.port())).await?;
    if !url.is_secure() {
        return Ok(Box::new(stream));
    }
    let name = ServerName::try_from(url.host().to_owned()).map_err(io::Error::other)?;
    let connector = TlsConnector::from(trust.config());
    Ok(Box::new(connector.connect(name, stream).await?))
}

fn request(url: &WebhookUrl, headers: &[(&str, String)], body: &[u8]) -> Vec<u8> {
    let mut text = format!(
        "POST {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: muster/{}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nConnection: close\r\n",
        url.target(),
        url.authority(),
        env!("CARGO_PKG_VERSION"),
        body.len(),
    );
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    text += "\r\n";
    let mut bytes = text.into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

#[derive(Debug, PartialEq)]
struct Head {
    status: u16,
    /// How much of the body is still to come; as much as there is, when the head does not say.
    n_missing: u64,
}

async fn read_head(stream: &mut (impl AsyncReadExt + Unpin)) -> Result<Head, PostError> {
    let mut bytes = Vec::new();
    loop {
        while let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let (head, rest) = (&bytes[..end], &bytes[end + 4..]);
            let head = parse_head(head, rest.len() as u64).ok_or(PostError::NotHttp)?;
            if head.status >= 200 {
                return Ok(head);
            }
            // 1xx only says that the answer is still to come.
            bytes.drain(..end + 4);
        }
        if bytes.len() > MAX_HEAD {
            return Err(PostError::NotHttp);
        }
        let n = stream
            .read_buf(&mut bytes)
            .await
            .map_err(PostError::Broken)?;
        if n == 0 {
            return Err(PostError::NotHttp);
        }
    }
}

fn parse_head(head: &[u8], n_read: u64) -> Option<Head> {
    let text = String::from_utf8_lossy(head);
    let mut lines = text.split("\r\n");
    let (version, status) = lines.next()?.split_once(' ')?;
    let status = status.split(' ').next()?;
    if !version.starts_with("HTTP/1.") || status.len() != 3 {
        return None;
    }
    let status: u16 = status.parse().ok().filter(|status| *status >= 100)?;
    let length = lines
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .and_then(|(_, value)| value.trim().parse::<u64>().ok());
    let length = match status {
        100..=199 | 204 | 304 => 0,
        _ => length.unwrap_or(u64::MAX),
    };
    Some(Head {
        status,
        n_missing: length.saturating_sub(n_read),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(answer: &str) -> Result<(u16, u64), PostError> {
        let head = read_head(&mut answer.as_bytes()).await?;
        Ok((head.status, head.n_missing))
    }

    #[tokio::test]
    async fn the_status_is_read_whatever_stands_around_it() {
        for (answer, status, n_missing) in [
            ("HTTP/1.1 204 No Content\r\n\r\n", 204, 0),
            ("HTTP/1.0 200\r\nX: y\r\n\r\nhi", 200, u64::MAX - 2),
            ("HTTP/1.1 500 Oh no\r\ncontent-length: 5\r\n\r\nab", 500, 3),
            (
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 202 Ok\r\nContent-Length: 0\r\n\r\n",
                202,
                0,
            ),
        ] {
            assert_eq!(read(answer).await.unwrap(), (status, n_missing), "{answer}");
        }
        let long = format!("HTTP/1.1 200 OK\r\nX: {}\r\n", "y".repeat(2 * MAX_HEAD));
        for answer in [
            "",
            "SSH-2.0-x\r\n\r\n",
            "HTTP/1.1 OK\r\n\r\n",
            "HTTP/1.1 200 OK\r\n",
            &long,
        ] {
            let refused = read(answer).await;
            assert!(matches!(refused, Err(PostError::NotHttp)), "{refused:?}");
        }
    }

    /// A receiver behind TLS that answers 204 to whoever trusts it.
    #[tokio::test]
    async fn a_receiver_behind_tls_is_told_only_if_it_is_trusted() {
        let folder = tempfile::tempdir().unwrap();
        let key = rcgen::KeyPair::generate().unwrap();
        let params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let ca = folder.path().join("ca.pem");
        std::fs::write(&ca, certificate.pem()).unwrap();
        let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
        let key = rustls_pki_types::PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        let acceptor = tokio_rustls::TlsAcceptor::from(std::sync::Arc::new(config));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let Ok(mut stream) = acceptor.accept(stream).await else {
                    continue;
                };
                let mut some = [0; 4096];
                let n = stream.read(&mut some).await.unwrap();
                assert!(some[..n].starts_with(b"POST /hook "));
                let answer = b"HTTP/1.1 204 No Content\r\n\r\n";
                stream.write_all(answer).await.unwrap();
                let _ = stream.shutdown().await;
            }
        });
        let url = WebhookUrl::parse(&format!("https://localhost:{port}/hook")).unwrap();
        let trusting = Trust::read(Some(&ca)).unwrap();
        assert_eq!(post(&url, &trusting, &[], b"{}").await.unwrap(), 204);
        let public = Trust::read(None).unwrap();
        let refused = post(&url, &public, &[], b"{}").await;
        assert!(matches!(refused, Err(PostError::Connect(_))), "{refused:?}");
    }

    #[test]
    fn a_request_is_whole() {
        let url = WebhookUrl::parse("http://h:81/x?y").unwrap();
        let request = request(&url, &[("A", "b".to_owned())], b"{}");
        let text = String::from_utf8(request).unwrap();
        assert!(
            text.starts_with("POST /x?y HTTP/1.1\r\nHost: h:81\r\n"),
            "{text}"
        );
        assert!(text.ends_with("A: b\r\n\r\n{}"), "{text}");
        assert!(text.contains("\r\nContent-Length: 2\r\n"), "{text}");
    }
}
