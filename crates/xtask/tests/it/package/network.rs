//! A network between throw-away roots: a bridge in a namespace of its own, with a link to each root.

use std::process::{Child, Command, Stdio};

use testing::wait;

use super::root::{Root, said};

/// Vanishes with its child process, which holds the namespace.
pub(super) struct Network {
    holder: Child,
}

impl Network {
    pub(super) fn new() -> Self {
        let holder = Command::new("unshare")
            .args(["--net", "cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let ours = std::fs::read_link("/proc/self/ns/net").unwrap();
        let theirs = format!("/proc/{}/ns/net", holder.id());
        wait::until("the namespace", || {
            std::fs::read_link(&theirs).is_ok_and(|theirs| theirs != ours)
        });
        let network = Self { holder };
        network.ip(network.holder.id(), "link add br0 type bridge");
        network.ip(network.holder.id(), "link set br0 up");
        network
    }

    /// Gives a root this address, with which the others reach it.
    pub(super) fn connect(&self, root: &Root, address: &str) {
        let (here, there) = (self.holder.id(), root.init());
        let port = format!("port{}", address.rsplit('.').next().unwrap());
        let link = format!("link add {port} type veth peer name eth0 netns {there}");
        self.ip(here, &link);
        self.ip(here, &format!("link set {port} master br0 up"));
        self.ip(there, &format!("addr add {address}/24 dev eth0"));
        self.ip(there, "link set eth0 up");
    }

    /// Runs `ip` in the network of a process.
    fn ip(&self, process: u32, words: &str) {
        let output = Command::new("nsenter")
            .args(["--target", &process.to_string(), "--net", "ip"])
            .args(words.split(' '))
            .output()
            .unwrap();
        assert!(output.status.success(), "ip {words}: {}", said(&output));
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}
