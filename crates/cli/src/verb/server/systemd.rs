//! Tells systemd that the server is up (`Type=notify` in its unit): `systemctl start` returns when the API answers.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use super::super::environment;

/// Set by systemd for the service that it starts.
const VARIABLE: &str = "NOTIFY_SOCKET";

/// Does nothing without systemd. A failure is logged: the server works all the same.
pub(super) fn tell_ready() {
    let Some(address) = environment(VARIABLE).filter(|address| !address.is_empty()) else {
        return;
    };
    if let Err(error) = send(&address, b"READY=1") {
        tracing::warn!(address, %error, "cannot tell systemd that the server is up");
    }
}

fn send(address: &str, message: &[u8]) -> io::Result<()> {
    // A name in the abstract namespace is written with @ in place of its first byte, 0.
    let address = match address.strip_prefix('@') {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(address)?,
    };
    UnixDatagram::unbound()?.send_to_addr(message, &address)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(socket: &UnixDatagram) -> String {
        let mut buffer = [0; 64];
        let n = socket.recv(&mut buffer).unwrap();
        String::from_utf8_lossy(&buffer[..n]).into_owned()
    }

    #[test]
    fn both_kinds_of_addresses_are_understood() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        send(path.to_str().unwrap(), b"READY=1").unwrap();
        assert_eq!(received(&socket), "READY=1");

        let name = path.display().to_string();
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let socket = UnixDatagram::bind_addr(&address).unwrap();
        send(&format!("@{name}"), b"READY=1").unwrap();
        assert_eq!(received(&socket), "READY=1");
        assert!(send("/does/not/exist", b"READY=1").is_err());
    }
}
