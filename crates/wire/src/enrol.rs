//! Enrolment: one request and one response, over TLS without a client certificate.
//!
//! The agent authenticates the server by the fingerprint of its CA, which is part of the join token; the server authenticates
//! the agent by the secret in the token. One length-delimited frame each way.

/// The protocol's name in the TLS handshake: on the same port as [`crate::ALPN`], but without a client certificate.
pub const ALPN: &[u8] = b"muster-enrol/1";
/// The longest frame: the peers are not authenticated yet.
pub const MAX_FRAME: usize = 64 * 1024;
/// The name in the server's certificate, wherever it listens.
pub const SERVER_NAME: &str = "muster-server";

/// Between secret and fingerprint of a join token.
const SEPARATOR: char = '.';

/// The agent's request.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Enrol {
    /// The token's id and secret, without the fingerprint.
    #[prost(string, tag = "1")]
    pub token: String,
    #[prost(uint32, tag = "2")]
    pub cloud: u32,
    #[prost(string, tag = "3")]
    pub ip: String,
    /// Empty: the server chooses one.
    #[prost(string, tag = "4")]
    pub agent_id: String,
    /// A PKCS#10 request in DER for the agent's own key.
    #[prost(bytes = "vec", tag = "5")]
    pub csr_der: Vec<u8>,
}

/// The server's response. A non-empty `refused` is the reason why there is no certificate.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Enrolled {
    #[prost(string, tag = "1")]
    pub refused: String,
    #[prost(bytes = "vec", tag = "2")]
    pub certificate_der: Vec<u8>,
    #[prost(bytes = "vec", tag = "3")]
    pub ca_der: Vec<u8>,
    #[prost(string, tag = "4")]
    pub agent_id: String,
    /// Whether the refusal is temporary, so that the agent tries again.
    #[prost(bool, tag = "5")]
    pub retry: bool,
    /// The server's clock; 0 from servers that do not tell it.
    #[prost(int64, tag = "6")]
    pub server_time_ms: i64,
}

/// A join token as users see it: `SECRET` alone, or `SECRET.FINGERPRINT`, where the fingerprint (SHA-256 of the CA's
/// certificate, 64 hexadecimal digits) lets the agent authenticate the server before it sends the secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JoinToken {
    pub secret: String,
    pub ca_sha256: Option<[u8; 32]>,
}

impl JoinToken {
    pub fn parse(text: &str) -> Result<Self, model::Invalid> {
        let text = text.trim();
        let (secret, fingerprint) = match text.rsplit_once(SEPARATOR) {
            Some((secret, fingerprint)) => (secret, Some(fingerprint)),
            None => (text, None),
        };
        if secret.is_empty() {
            return Err(model::Invalid::required("join"));
        }
        let ca_sha256 = fingerprint
            .map(|digits| {
                parse_hex(digits).ok_or_else(|| {
                    model::Invalid::new("join", "must end in 64 hexadecimal digits after the dot")
                })
            })
            .transpose()?;
        Ok(Self {
            secret: secret.to_owned(),
            ca_sha256,
        })
    }
}

impl std::fmt::Display for JoinToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.secret)?;
        let Some(fingerprint) = self.ca_sha256 else {
            return Ok(());
        };
        write!(f, "{SEPARATOR}")?;
        fingerprint
            .iter()
            .try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

fn parse_hex(digits: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if digits.len() != 64 || !digits.is_ascii() {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_read_back_what_they_print() {
        for token in [
            JoinToken {
                secret: "abc".into(),
                ca_sha256: None,
            },
            JoinToken {
                secret: "abc".into(),
                ca_sha256: Some([0xA7; 32]),
            },
        ] {
            assert_eq!(JoinToken::parse(&token.to_string()).unwrap(), token);
        }
        assert!(JoinToken::parse("").is_err());
        assert!(JoinToken::parse("abc.123").is_err());
    }
}
