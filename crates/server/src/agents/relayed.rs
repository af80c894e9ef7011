//! Connections through relays: reads the PROXY protocol header (version 2) in which a relay names the agent's address.
//!
//! The same header opens the stream of an agent in a connection that carries many ([`super::relay_connection`]).
//!
//! Only addresses of the setting `relays` may send one: a header decides which address the limits count and the audit trail
//! shows. Such an address may also connect without one, because an agent may run beside the relay.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use ipnet::IpNet;
use proxy_header::{ParseConfig, ProxyHeader};
use tokio::io::AsyncReadExt;
use tokio::time::timeout;

use super::socket::AgentSocket;

/// The first bytes of a header, version and command, family, length.
const SIGNATURE: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";
const FIXED: usize = 16;
/// How version 1, which is text, begins.
const VERSION_1: &[u8] = b"PROXY ";
/// The longest header that is read, without the fixed part. An address needs 36 bytes; the rest is what a proxy adds.
const MAX_LENGTH: usize = 2048;
const LOCAL: u8 = 0x20;
const UNSPECIFIED: u8 = 0x00;

/// The addresses of relays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Relays(Vec<IpNet>);

impl Relays {
    /// Parses addresses and networks, separated by commas: `10.0.0.5,10.8.0.0/16,fd00::/8`.
    pub fn parse(text: &str) -> Result<Self, model::Invalid> {
        let parts = text
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty());
        let parse = |part: &str| {
            let address = part
                .parse::<IpAddr>()
                .map(|ip| IpNet::from(ip.to_canonical()));
            address.or_else(|_| part.parse::<IpNet>()).map_err(|_| {
                let rule = format!(
                    "must be addresses or networks such as 10.0.0.5 or 10.8.0.0/16, not {part:?}"
                );
                model::Invalid::new("relays", rule)
            })
        };
        parts.map(parse).collect::<Result<_, _>>().map(Self)
    }

    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(&address))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl std::fmt::Display for Relays {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, network) in self.0.iter().enumerate() {
            let separator = if at == 0 { "" } else { "," };
            match network.prefix_len() == network.max_prefix_len() {
                true => write!(f, "{separator}{}", network.addr())?,
                false => write!(f, "{separator}{network}")?,
            }
        }
        Ok(())
    }
}

/// Where a connection comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Origin {
    /// The agent's address.
    pub(super) agent: SocketAddr,
    /// The relay's address as this server sees it, with the port that the agent connected to.
    pub(super) relay: Option<SocketAddr>,
}

/// Why a connection is closed before its TLS handshake.
#[derive(Debug, thiserror::Error)]
pub(super) enum HeaderError {
    #[error(
        "sends a PROXY header, but is no relay of this server: if it is one, add its address to --relays (MUSTER_RELAYS)"
    )]
    NotARelay,
    #[error(
        "wants to carry many agents, but is no relay of this server: if it is one, add its address to --relays (MUSTER_RELAYS)"
    )]
    NotAllowedToCarry,
    #[error("sends a PROXY header of version 1: the relay must speak version 2")]
    Version1,
    #[error(
        "sends a second PROXY header: relays cannot be chained, let each connect to the servers"
    )]
    Twice,
    #[error("sends a PROXY header of {0} bytes: at most {MAX_LENGTH} are read")]
    TooLong(usize),
    #[error("sends a PROXY header that is malformed")]
    Malformed,
    #[error("took too long to send its first bytes")]
    TooSlow,
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// How a connection begins.
#[derive(Debug)]
pub(super) enum Beginning {
    /// It is an agent's.
    Agent(Origin),
    /// It is of a relay, and carries many agents.
    Multiplexed,
}

/// What a server accepts from the peer of a connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Accepted {
    /// PROXY headers.
    pub(super) is_relay: bool,
    /// Many agents over one connection, if it is a relay.
    pub(super) multiplexes: bool,
}

/// Reads the header, if there is one; leaves everything else.
pub(super) async fn read_beginning(
    stream: &mut AgentSocket,
    peer: SocketAddr,
    Accepted {
        is_relay,
        multiplexes,
    }: Accepted,
    within: Duration,
) -> Result<Beginning, HeaderError> {
    let reading = async {
        let mut origin = Origin {
            agent: peer,
            relay: None,
        };
        match first_bytes(stream).await? {
            FirstBytes::Other => {}
            FirstBytes::Multiplexed if !is_relay => return Err(HeaderError::NotAllowedToCarry),
            FirstBytes::Multiplexed if multiplexes => return Ok(Beginning::Multiplexed),
            // The handshake refuses it, as that of an old server does.
            FirstBytes::Multiplexed => {}
            FirstBytes::Version1 if is_relay => return Err(HeaderError::Version1),
            FirstBytes::Version1 | FirstBytes::Version2 if !is_relay => {
                return Err(HeaderError::NotARelay);
            }
            FirstBytes::Version1 | FirstBytes::Version2 => {
                if let Some((agent, port)) = read_header(stream).await? {
                    origin.agent = agent;
                    origin.relay = Some(SocketAddr::new(peer.ip().to_canonical(), port));
                }
            }
        }
        Ok(Beginning::Agent(origin))
    };
    let read = timeout(within, reading).await;
    read.unwrap_or(Err(HeaderError::TooSlow))
}

/// Waits for the first byte after a header, which must not begin another one.
pub(super) async fn refuse_second_header(
    stream: &AgentSocket,
    within: Duration,
) -> Result<(), HeaderError> {
    match timeout(within, first_bytes(stream)).await {
        Ok(Ok(FirstBytes::Version2)) => Err(HeaderError::Twice),
        Ok(Ok(FirstBytes::Version1 | FirstBytes::Multiplexed | FirstBytes::Other)) => Ok(()),
        Ok(Err(error)) => Err(error.into()),
        Err(_) => Err(HeaderError::TooSlow),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FirstBytes {
    Version1,
    Version2,
    /// A relay that carries many agents.
    Multiplexed,
    /// TLS, or bytes that the handshake refuses.
    Other,
}

/// Looks at the first bytes without taking them. The first one decides: TLS begins with 22, a header with CR or
/// `P`, a connection of many agents with `M`.
async fn first_bytes(stream: &AgentSocket) -> io::Result<FirstBytes> {
    let mut bytes = [0; SIGNATURE.len()];
    let n = stream.peek(&mut bytes).await?;
    if n == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let begins = |wanted: &[u8]| {
        let n = n.min(wanted.len());
        bytes[..n] == wanted[..n]
    };
    Ok(if begins(SIGNATURE) {
        FirstBytes::Version2
    } else if begins(VERSION_1) {
        FirstBytes::Version1
    } else if begins(&multiplex::MAGIC) {
        FirstBytes::Multiplexed
    } else {
        FirstBytes::Other
    })
}

/// The agent's address and the port of the relay; None where the header names no agent: the relay speaks for itself.
async fn read_header(stream: &mut AgentSocket) -> Result<Option<(SocketAddr, u16)>, HeaderError> {
    let mut bytes = vec![0; FIXED];
    stream.read_exact(&mut bytes).await?;
    let length = usize::from(u16::from_be_bytes([bytes[14], bytes[15]]));
    if !bytes.starts_with(SIGNATURE) {
        return Err(HeaderError::Malformed);
    }
    if length > MAX_LENGTH {
        return Err(HeaderError::TooLong(length));
    }
    bytes.resize(FIXED + length, 0);
    stream.read_exact(&mut bytes[FIXED..]).await?;
    parse(&bytes)
}

/// Where the stream of an agent comes from, by the header with which the relay opens it.
pub(super) fn parse_opening(opening: &[u8], relay: SocketAddr) -> Result<Origin, HeaderError> {
    let length = opening.get(14..FIXED).and_then(|it| it.try_into().ok());
    let is_whole =
        length.is_some_and(|it| FIXED + usize::from(u16::from_be_bytes(it)) == opening.len());
    if !is_whole || !opening.starts_with(SIGNATURE) {
        return Err(HeaderError::Malformed);
    }
    // A relay carries no agent of its own: that would be a stream without an address.
    let (agent, port) = parse(opening)?.ok_or(HeaderError::Malformed)?;
    Ok(Origin {
        agent,
        relay: Some(SocketAddr::new(relay.ip().to_canonical(), port)),
    })
}

fn parse(bytes: &[u8]) -> Result<Option<(SocketAddr, u16)>, HeaderError> {
    // What a local header says about addresses must be ignored, even if it makes no sense.
    if bytes[12] == LOCAL {
        return Ok(None);
    }
    let config = ParseConfig {
        include_tlvs: false,
        allow_v1: false,
        allow_v2: true,
    };
    let (header, _) = ProxyHeader::parse(bytes, config).map_err(|_| HeaderError::Malformed)?;
    match header.proxied_address() {
        Some(proxied) if proxied.protocol == proxy_header::Protocol::Stream => {
            let source = proxied.source;
            let agent = SocketAddr::new(source.ip().to_canonical(), source.port());
            Ok(Some((agent, proxied.destination.port())))
        }
        None if bytes[13] == UNSPECIFIED => Ok(None),
        // Datagrams and UNIX sockets: no agent can come that way.
        Some(_) | None => Err(HeaderError::Malformed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(command: u8, family: u8, rest: &[u8]) -> Vec<u8> {
        let mut bytes = SIGNATURE.to_vec();
        bytes.extend([command, family]);
        bytes.extend((rest.len() as u16).to_be_bytes());
        bytes.extend(rest);
        bytes
    }

    /// 10.0.0.7:1234 to 10.0.0.1:7101.
    const V4: [u8; 12] = [10, 0, 0, 7, 10, 0, 0, 1, 0x04, 0xd2, 0x1b, 0xbd];

    #[test]
    fn a_header_names_the_agent_and_the_port_of_the_relay() {
        let agent = |bytes: &[u8]| parse(bytes).unwrap();
        let expected = Some(("10.0.0.7:1234".parse().unwrap(), 7101));
        assert_eq!(agent(&header(0x21, 0x11, &V4)), expected);
        // A TLV of a kind that nobody knows, and one that is cut off: only the address is read.
        let mut more = V4.to_vec();
        more.extend([0xee, 0, 2, 1, 2, 0x04, 0xff]);
        assert_eq!(agent(&header(0x21, 0x11, &more)), expected);
        let mut v6 = [0; 36];
        (v6[0], v6[15], v6[32], v6[33]) = (0xfd, 7, 0x04, 0xd2);
        let expected = Some(("[fd00::7]:1234".parse().unwrap(), 0));
        assert_eq!(agent(&header(0x21, 0x21, &v6)), expected);
    }

    #[test]
    fn a_header_without_an_agent_is_of_the_relay_itself() {
        for bytes in [
            header(0x20, 0x00, &[]),
            header(0x20, 0x11, &V4),
            header(0x20, 0xff, &[1, 2, 3]),
            header(0x21, 0x00, &[]),
            header(0x21, 0x00, &V4),
        ] {
            assert_eq!(parse(&bytes).unwrap(), None, "{bytes:?}");
        }
    }

    #[test]
    fn a_malformed_header_is_refused() {
        for bytes in [
            header(0x11, 0x11, &V4),
            header(0x22, 0x11, &V4),
            header(0x21, 0x11, &V4[..11]),
            header(0x21, 0x21, &V4),
            header(0x21, 0x12, &V4),
            header(0x21, 0x31, &[0; 216]),
            header(0x21, 0x41, &V4),
        ] {
            let refused = parse(&bytes);
            assert!(matches!(refused, Err(HeaderError::Malformed)), "{bytes:?}");
        }
    }

    #[test]
    fn the_opening_of_a_stream_is_one_whole_header_of_an_agent() {
        let relay = "[::ffff:10.8.0.5]:4321".parse().unwrap();
        let whole = header(0x21, 0x11, &V4);
        let origin = parse_opening(&whole, relay).unwrap();
        assert_eq!(origin.agent, "10.0.0.7:1234".parse().unwrap());
        assert_eq!(origin.relay, Some("10.8.0.5:7101".parse().unwrap()));
        let longer = [&whole[..], b"x"].concat();
        for bad in [
            &[][..],
            &whole[..FIXED - 1],
            &whole[..FIXED],
            &whole[..whole.len() - 1],
            &longer,
            &header(0x20, 0x00, &[]),
            &header(0x21, 0x00, &[]),
            &header(0x11, 0x11, &V4),
            &[b'x'; 28],
        ] {
            let refused = parse_opening(bad, relay);
            assert!(matches!(refused, Err(HeaderError::Malformed)), "{bad:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_opening_is_read_or_refused(rest in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..80)) {
            let relay = "10.8.0.5:4321".parse().unwrap();
            parse_opening(&rest, relay).ok();
            let signed = [&SIGNATURE[..], &rest].concat();
            if let Ok(origin) = parse_opening(&signed, relay) {
                proptest::prop_assert!(origin.relay.is_some());
            }
        }
    }

    #[test]
    fn relays_are_addresses_and_networks() {
        let relays = Relays::parse("10.0.0.5, 10.8.0.0/16,fd00::/8,::ffff:10.9.9.9").unwrap();
        assert_eq!(relays.to_string(), "10.0.0.5,10.8.0.0/16,fd00::/8,10.9.9.9");
        for (address, expected) in [
            ("10.0.0.5", true),
            ("::ffff:10.0.0.5", true),
            ("10.0.0.6", false),
            ("10.8.255.1", true),
            ("10.9.0.1", false),
            ("10.9.9.9", true),
            ("fd12::1", true),
            ("fe80::1", false),
        ] {
            let address: IpAddr = address.parse().unwrap();
            assert_eq!(relays.contains(address), expected, "{address}");
        }
        for bad in ["10.0.0", "relay1", "10.0.0.0/33", "10.0.0.1:7101"] {
            assert!(Relays::parse(bad).unwrap_err().rule.contains(bad));
        }
    }
}
