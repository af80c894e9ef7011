//! A server's address: name or IP, and port.

use std::fmt;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};

use model::Invalid;

/// `host:port`, an IPv6 address in brackets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerAddress {
    /// Without brackets.
    host: Box<str>,
    port: u16,
}

impl ServerAddress {
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let bad = || {
            let rule = format!("must be HOST:PORT, an IPv6 address in brackets, not {text:?}");
            Invalid::new("server", rule)
        };
        let (host, port) = text.trim().rsplit_once(':').ok_or_else(bad)?;
        let host = match host.strip_prefix('[').and_then(|h| h.strip_suffix(']')) {
            Some(v6) => v6
                .parse::<std::net::Ipv6Addr>()
                .map(|_| v6)
                .map_err(|_| bad())?,
            None => host,
        };
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let in_brackets = host.contains(':') && text.contains('[');
        if host.is_empty() || !(in_brackets || host.chars().all(is_name)) {
            return Err(bad());
        }
        let port = port.parse().ok().filter(|p| *p != 0).ok_or_else(bad)?;
        Ok(Self {
            host: host.into(),
            port,
        })
    }

    pub fn host(&self) -> &str {
        &self.host
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its addresses. Blocks while a name is looked up.
    pub(crate) fn resolve(&self) -> io::Result<impl Iterator<Item = SocketAddr>> {
        (self.host(), self.port).to_socket_addrs()
    }
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// Several addresses, separated by commas.
pub(super) fn parse_list(text: &str) -> Result<Vec<ServerAddress>, Invalid> {
    text.split(',').map(ServerAddress::parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_read_back_what_they_print() {
        for text in [
            "10.0.0.1:7801",
            "[::1]:7801",
            "muster.example.org:1",
            "a-b:65535",
        ] {
            assert_eq!(ServerAddress::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_bad_address_is_refused_with_the_rule() {
        for text in [
            "",
            "host",
            "host:",
            ":80",
            "host:0",
            "host:65536",
            "::1:80",
            "[x]:80",
            "a b:80",
        ] {
            let invalid = ServerAddress::parse(text).unwrap_err();
            assert!(invalid.rule.contains("HOST:PORT"), "{text}: {invalid}");
        }
    }
}
