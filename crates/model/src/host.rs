//! Hosts, identified by cloud area and address; agents may have an additional id.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Invalid;

/// (cloud, ip): the identity of a machine. The supplier id that v1 callers send is echoed and not part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Host {
    pub cloud: u32,
    pub ip: IpAddr,
}

impl Host {
    pub const fn new(cloud: u32, ip: IpAddr) -> Self {
        Self { cloud, ip }
    }

    /// Adds `cloud:ip` to a text, faster than by formatting.
    pub fn write_to(&self, text: &mut String) {
        let mut number = itoa::Buffer::new();
        text.push_str(number.format(self.cloud));
        text.push(':');
        write_ip(self.ip, text);
    }

    /// Parses the two fields as API callers send them.
    pub fn parse(cloud: i64, ip: &str) -> Result<Self, Invalid> {
        Ok(Self {
            cloud: parse_cloud(cloud)?,
            ip: parse_ip(ip)?,
        })
    }
}

/// Adds an address to a text: one of IPv4, of which there are very many, faster than by formatting.
pub fn write_ip(ip: IpAddr, text: &mut String) {
    let IpAddr::V4(ip) = ip else {
        return text.push_str(&ip.to_string());
    };
    let mut number = itoa::Buffer::new();
    for (n, part) in ip.octets().into_iter().enumerate() {
        if n > 0 {
            text.push('.');
        }
        text.push_str(number.format(part));
    }
}

pub fn parse_cloud(cloud: i64) -> Result<u32, Invalid> {
    u32::try_from(cloud)
        .ok()
        .filter(|c| *c <= i32::MAX as u32)
        .ok_or_else(|| Invalid::new("bk_cloud_id", "must be a whole number from 0 to 2147483647"))
}

pub fn parse_ip(ip: &str) -> Result<IpAddr, Invalid> {
    let ip = ip.trim();
    if ip.is_empty() {
        return Err(Invalid::required("ip"));
    }
    // An IPv4 address written as IPv6 is the same machine.
    ip.parse::<IpAddr>()
        .map(|ip| ip.to_canonical())
        .map_err(|_| Invalid::new("ip", format!("must be an IPv4 or IPv6 address, not {ip:?}")))
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.cloud, self.ip)
    }
}

/// Parses `cloud:ip`. A bare address is in cloud area 0; write a bare IPv6 address in brackets, because `2001:db8::1` is
/// also the host `db8::1` in cloud area 2001.
impl FromStr for Host {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let text = text.trim();
        let unbracketed = |ip: &str| ip.trim_start_matches('[').trim_end_matches(']').to_owned();
        if let Some((cloud, ip)) = text.split_once(':')
            && let (Ok(cloud), Ok(ip)) = (cloud.parse::<i64>(), parse_ip(&unbracketed(ip)))
        {
            return Ok(Self {
                cloud: parse_cloud(cloud)?,
                ip,
            });
        }
        parse_ip(&unbracketed(text))
            .map(|ip| Self { cloud: 0, ip })
            .map_err(|_| {
                Invalid::new(
                    "host",
                    format!("must be CLOUD:IP or an IP address, not {text:?}"),
                )
            })
    }
}

string_conversions!(Host, Host::from_str, |host: Host| host.to_string());

/// The id by which GSE 2.0 callers name an agent.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AgentId(Box<str>);

impl AgentId {
    pub const MAX_LEN: usize = 64;

    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let text = text.trim();
        if text.is_empty() {
            return Err(Invalid::required("bk_agent_id"));
        }
        let max = Self::MAX_LEN;
        ensure!(
            text.len() <= max,
            "bk_agent_id",
            "must be at most {max} bytes"
        );
        let is_allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
        ensure!(
            text.bytes().all(is_allowed),
            "bk_agent_id",
            "may hold letters, digits, '-', '_' and '.' only"
        );
        Ok(Self(text.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

string_conversions!(AgentId, AgentId::parse, |id: AgentId| id.0.into());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_parses_from_its_display() {
        for text in ["0:10.0.0.1", "7:::1", "12:fe80::1:2"] {
            let host: Host = text.parse().unwrap();
            assert_eq!(host.to_string(), text);
            assert_eq!(host.to_string().parse::<Host>().unwrap(), host);
        }
    }

    #[test]
    fn a_bare_address_is_in_cloud_area_0() {
        assert_eq!(
            "10.0.0.1".parse::<Host>().unwrap(),
            Host::parse(0, "10.0.0.1").unwrap()
        );
        assert_eq!(
            "::1".parse::<Host>().unwrap(),
            Host::parse(0, "::1").unwrap()
        );
        assert_eq!(
            "[2001:db8::1]".parse::<Host>().unwrap(),
            Host::parse(0, "2001:db8::1").unwrap()
        );
    }

    #[test]
    fn a_mapped_address_is_the_same_host() {
        assert_eq!(
            Host::parse(0, "::ffff:10.0.0.1").unwrap(),
            Host::parse(0, "10.0.0.1").unwrap()
        );
    }

    #[test]
    fn bad_hosts_name_the_field() {
        assert_eq!(
            Host::parse(-1, "10.0.0.1").unwrap_err().field,
            "bk_cloud_id"
        );
        assert_eq!(Host::parse(0, "10.0.0").unwrap_err().field, "ip");
        assert_eq!(Host::parse(0, "").unwrap_err().rule, "is required");
        assert_eq!("nonsense".parse::<Host>().unwrap_err().field, "host");
    }

    #[test]
    fn agent_ids_are_bounded() {
        assert!(AgentId::parse(&"a".repeat(64)).is_ok());
        assert!(AgentId::parse(&"a".repeat(65)).is_err());
        assert!(AgentId::parse("a:b").is_err());
    }
}
