//! A network namespace for one replica, with two links to the host: the back link to store and bus, which can be cut, and
//! the front link to agents and clients.
//!
//! A child process that reads from a pipe holds the namespace, so it vanishes with the test, however that ends.

use std::net::Ipv4Addr;
use std::process::{Child, Command, Stdio};

use engines::Port;

use crate::wait;

/// Addresses reserved for benchmarks (RFC 2544).
const FIRST_ADDRESS: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 0);
/// Two links of four addresses each.
const N_ADDRESSES: u32 = 8;
const FIRST_PORT: u16 = 21_000;

#[derive(Debug)]
pub struct Network {
    holder: Child,
    /// A port number that is reserved for this test, used as a unique number.
    number: Port,
}

/// The two links.
#[derive(Debug, Clone, Copy)]
enum Link {
    Back,
    Front,
}

impl Network {
    /// Fails where this user or this machine may not make network namespaces.
    pub fn make() -> Result<Self, String> {
        let holder = Command::new("unshare")
            .args(["--net", "cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn();
        let network = Self {
            holder: holder.map_err(|error| format!("unshare: {error}"))?,
            number: Port::take().unwrap(),
        };
        network.connect()?;
        Ok(network)
    }

    fn connect(&self) -> Result<(), String> {
        let pid = self.holder.id().to_string();
        let ours = std::fs::read_link("/proc/self/ns/net").map_err(|e| e.to_string())?;
        wait::until("the network namespace", || {
            let theirs = std::fs::read_link(format!("/proc/{pid}/ns/net"));
            theirs.is_ok_and(|theirs| theirs != ours)
        });
        for link in [Link::Back, Link::Front] {
            let (name, there) = (self.name(link), format!("{}-", self.name(link)));
            let (here_ip, there_ip) = (self.outside(link), self.inside(link));
            let inside = |words: &[&str]| {
                let enter = ["--target", &pid, "--net", "ip"];
                run("nsenter", &[&enter, words].concat())
            };
            run(
                "ip",
                &["link", "add", &name, "type", "veth", "peer", "name", &there],
            )?;
            run("ip", &["link", "set", &there, "netns", &pid])?;
            run(
                "ip",
                &["address", "add", &format!("{here_ip}/30"), "dev", &name],
            )?;
            run("ip", &["link", "set", &name, "up"])?;
            inside(&["address", "add", &format!("{there_ip}/30"), "dev", &there])?;
            inside(&["link", "set", &there, "up"])?;
            inside(&["link", "set", "lo", "up"])?;
        }
        Ok(())
    }

    /// The address of a server inside, for agents and clients.
    pub(super) fn front(&self) -> Ipv4Addr {
        self.inside(Link::Front)
    }

    /// An address of the host, for programs inside: of store and bus, or of a relay.
    pub fn back(&self) -> Ipv4Addr {
        self.outside(Link::Back)
    }

    /// The prefix of a command that runs inside.
    pub fn wrapper(&self) -> Vec<String> {
        let pid = self.holder.id().to_string();
        let words = ["nsenter", "--target", &pid, "--net", "--"];
        words.map(str::to_owned).to_vec()
    }

    /// Cuts the back link silently: packets to and from store and bus are lost.
    pub fn cut(&self) {
        run("ip", &["link", "set", &self.name(Link::Back), "down"]).unwrap();
    }

    pub fn heal(&self) {
        run("ip", &["link", "set", &self.name(Link::Back), "up"]).unwrap();
    }

    fn name(&self, link: Link) -> String {
        let end = match link {
            Link::Back => "b",
            Link::Front => "f",
        };
        format!("muster{}{end}", self.number.number())
    }

    fn outside(&self, link: Link) -> Ipv4Addr {
        let number = u32::from(self.number.number() - FIRST_PORT);
        let offset = match link {
            Link::Back => 1,
            Link::Front => 5,
        };
        Ipv4Addr::from(u32::from(FIRST_ADDRESS) + number * N_ADDRESSES + offset)
    }

    fn inside(&self, link: Link) -> Ipv4Addr {
        Ipv4Addr::from(u32::from(self.outside(link)) + 1)
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

fn run(program: &str, arguments: &[&str]) -> Result<(), String> {
    let ran = Command::new(program)
        .args(arguments)
        .output()
        .map_err(|e| format!("{program}: {e} (the Debian package iproute2 has ip)"))?;
    match ran.status.success() {
        true => Ok(()),
        false => Err(format!(
            "{program} {}: {}",
            arguments.join(" "),
            String::from_utf8_lossy(&ran.stderr).trim()
        )),
    }
}
