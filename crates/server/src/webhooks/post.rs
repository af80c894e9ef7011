//! One signed POST to a webhook.

use std::io;
use std::time::Duration;

use model::webhook::WebhookUrl;
use ureq::tls::TlsConfig;

/// How long a receiver may take, from the first packet to its response.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How long the response body is read and thrown away, so that the receiver can finish sending it.
const DISCARD_TIMEOUT: Duration = Duration::from_millis(500);
const MAX_RESPONSE_HEAD: usize = 16 * 1024;
const MAX_DISCARDED: u64 = 64 * 1024;

#[derive(Debug, thiserror::Error)]
pub(crate) enum PostError {
    #[error("cannot connect")]
    Connect(#[source] io::Error),
    #[error("the connection broke")]
    Broken(#[source] io::Error),
    #[error("no answer within {} s", TIMEOUT.as_secs())]
    TimedOut,
    #[error("what came back is no HTTP answer")]
    NotHttp,
    #[error("answered with status {0}")]
    Status(u16),
}

/// The HTTP client of all webhooks. It follows no redirects, uses no proxy, and opens a connection for each POST.
#[derive(Debug, Clone)]
pub(crate) struct WebhookClient(ureq::Agent);

impl WebhookClient {
    pub(crate) fn new(tls: &TlsConfig) -> Self {
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(TIMEOUT))
            .timeout_recv_body(Some(DISCARD_TIMEOUT))
            .http_status_as_error(false)
            .max_redirects(0)
            .max_response_header_size(MAX_RESPONSE_HEAD)
            .max_idle_connections(0)
            .proxy(None)
            .user_agent(concat!("muster/", env!("CARGO_PKG_VERSION")))
            .tls_config(tls.clone())
            .build();
        Self(config.into())
    }

    /// Returns the status, which is from 200 to 299.
    pub(super) async fn post(
        &self,
        url: &WebhookUrl,
        headers: &[(&str, String)],
        body: Vec<u8>,
    ) -> Result<u16, PostError> {
        let mut request = self
            .0
            .post(url.as_str())
            .header("Content-Type", "application/json")
            .header("Connection", "close");
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        let sent = tokio::task::spawn_blocking(move || {
            let mut response = request.send(body)?;
            let discarded = response.body_mut().with_config().limit(MAX_DISCARDED);
            // The receiver has answered: an error in the body changes nothing.
            io::copy(&mut discarded.reader(), &mut io::sink()).ok();
            Ok(response.status())
        });
        let sent: Result<_, ureq::Error> = sent.await.map_err(|e| PostError::Broken(e.into()))?;
        match sent? {
            status if status.is_success() => Ok(status.as_u16()),
            status => Err(PostError::Status(status.as_u16())),
        }
    }
}

impl From<ureq::Error> for PostError {
    fn from(error: ureq::Error) -> Self {
        use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
        match error {
            ureq::Error::Timeout(_) => Self::TimedOut,
            ureq::Error::Protocol(_)
            | ureq::Error::Http(_)
            | ureq::Error::LargeResponseHeader(..) => Self::NotHttp,
            ureq::Error::Io(error) => match error.kind() {
                // The receiver closed the connection without a response.
                UnexpectedEof => Self::NotHttp,
                ConnectionReset | ConnectionAborted | BrokenPipe => Self::Broken(error),
                _ => Self::Connect(error),
            },
            other => Self::Connect(other.into_io()),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;
    use crate::outgoing::tls_roots;

    /// Answers every request with the same bytes and closes the connection.
    async fn answer(mut stream: impl AsyncRead + AsyncWrite + Unpin, bytes: &[u8]) {
        let mut request = Vec::new();
        while !request.ends_with(b"{}") {
            assert_ne!(stream.read_buf(&mut request).await.unwrap(), 0);
        }
        let request = String::from_utf8(request).unwrap().to_lowercase();
        assert!(
            request.starts_with("post /hook?a=b http/1.1\r\n"),
            "{request}"
        );
        for header in ["content-length: 2", "connection: close", "x: y"] {
            assert!(request.contains(&format!("\r\n{header}\r\n")), "{request}");
        }
        stream.write_all(bytes).await.unwrap();
        let _ = stream.shutdown().await;
    }

    async fn post(client: &WebhookClient, url: &str) -> Result<u16, PostError> {
        let url = WebhookUrl::parse(url).unwrap();
        let headers = [("X", "y".to_owned())];
        client.post(&url, &headers, b"{}".to_vec()).await
    }

    #[tokio::test]
    async fn the_status_of_the_response_decides() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook?a=b", listener.local_addr().unwrap());
        let client = WebhookClient::new(&tls_roots(None).unwrap());
        let exchange = async |bytes: &str| {
            let accept = async {
                let (stream, _): (TcpStream, _) = listener.accept().await.unwrap();
                answer(stream, bytes.as_bytes()).await;
            };
            tokio::join!(post(&client, &url), accept).0
        };
        for (bytes, status) in [
            ("HTTP/1.1 204 No Content\r\n\r\n", 204),
            ("HTTP/1.0 200 OK\r\nX: y\r\n\r\nhi", 200),
            ("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\ncut", 200),
            (
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 202 Ok\r\nContent-Length: 0\r\n\r\n",
                202,
            ),
        ] {
            assert_eq!(exchange(bytes).await.unwrap(), status, "{bytes}");
        }
        for (bytes, status) in [
            ("HTTP/1.1 500 Oh no\r\ncontent-length: 2\r\n\r\nab", 500),
            (
                "HTTP/1.1 307 Elsewhere\r\nlocation: http://h/\r\ncontent-length: 0\r\n\r\n",
                307,
            ),
        ] {
            let refused = exchange(bytes).await;
            assert!(
                matches!(refused, Err(PostError::Status(s)) if s == status),
                "{refused:?}"
            );
        }
        let long = format!(
            "HTTP/1.1 200 OK\r\nX: {}\r\n",
            "y".repeat(2 * MAX_RESPONSE_HEAD)
        );
        for bytes in [
            "",
            "SSH-2.0-x\r\n\r\n",
            "HTTP/1.1 OK\r\n\r\n",
            "HTTP/1.1 200 OK\r\n",
            &long,
        ] {
            let refused = exchange(bytes).await;
            assert!(
                matches!(refused, Err(PostError::NotHttp)),
                "{bytes}: {refused:?}"
            );
        }
    }

    #[tokio::test]
    async fn a_receiver_behind_tls_is_called_only_if_it_is_trusted() {
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
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                if let Ok(stream) = acceptor.accept(stream).await {
                    answer(stream, b"HTTP/1.1 204 No Content\r\n\r\n").await;
                }
            }
        });
        let url = format!("https://localhost:{port}/hook?a=b");
        let trusting = WebhookClient::new(&tls_roots(Some(&ca)).unwrap());
        assert_eq!(post(&trusting, &url).await.unwrap(), 204);
        let public = WebhookClient::new(&tls_roots(None).unwrap());
        let refused = post(&public, &url).await;
        assert!(matches!(refused, Err(PostError::Connect(_))), "{refused:?}");
    }
}
