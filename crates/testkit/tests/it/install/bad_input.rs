//! Each bad input ends with a sentence and a code, and changes nothing.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use super::*;

/// Runs the script, and expects that it refuses and leaves no file.
#[track_caller]
fn refused(machine: &Machine, words: &[&str], code: i32, sentence: &str) {
    let before = machine.files();
    let ran = machine.run(words);
    assert_eq!(ran.code, Some(code), "{words:?}: {}", ran.said);
    assert!(ran.said.contains(sentence), "{words:?}: {}", ran.said);
    assert_eq!(machine.files(), before, "{words:?}: {}", ran.said);
    assert!(!machine.data().exists());
}

/// A server between host and server, which changes what it hands out. Ends with the test.
fn changing(
    cluster: &Cluster,
    change: impl Fn(&str, Vec<u8>) -> Vec<u8> + Send + 'static,
) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = format!("http://{}", cluster.http());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = Vec::new();
            let mut byte = [0];
            while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|n| n > 0) {
                request.push(byte[0]);
            }
            let request = String::from_utf8_lossy(&request).into_owned();
            let path = request.split(' ').nth(1).unwrap_or("/").to_owned();
            let got = Command::new("curl")
                .args(["-fsS", &format!("{server}{path}")])
                .output();
            let body = got.unwrap().stdout;
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            // The client may have gone.
            let _ = stream.write_all(head.as_bytes());
            let _ = stream.write_all(&change(&path, body));
        }
    });
    url
}

#[test]
fn options_that_are_wrong() {
    let cluster = start();
    let machine = Machine::new(&cluster, "host");
    for (words, sentence) in [
        (&["--what"][..], "there is no option --what"),
        (&["--token"], "--token needs a value"),
        (&["--token", ""], "--token needs a value"),
        (
            &["--token", "a;reboot"],
            "--token has a character that is not allowed",
        ),
        (&["--token", "x", "--ip", "a\"b"], "--ip has a character"),
        (
            &["--token", "x", "--ca", "ca.pem"],
            "--ca must be an absolute path, not ca.pem",
        ),
        (
            &["--token", "x", "--cloud-id", "-1"],
            "--cloud-id must be a whole number, not -1",
        ),
        (&["--purge"], "--purge goes with --uninstall"),
        (
            &[],
            "--token is needed, because this host has not joined yet",
        ),
    ] {
        refused(&machine, words, 2, sentence);
    }
    let secret = any_token(&cluster);
    let words = ["--token", &secret, "--ip", "10.8.9"];
    refused(
        &machine,
        &words,
        1,
        "an option is not valid; nothing was changed",
    );
    let words = ["--token", &secret, "--version", "7.7.7"];
    let arch = std::env::consts::ARCH;
    let sentence =
        format!("the server has no agent 7.7.7 for {arch}; it has: muster-agent-{OLD}-{arch}.");
    refused(&machine, &words, 1, &sentence);
}

#[test]
fn a_token_that_the_server_does_not_take() {
    let cluster = start();
    let machine = Machine::new(&cluster, "host");
    let good = any_token(&cluster);
    let (_, fingerprint) = good.rsplit_once('.').unwrap();
    let sentence = "server rejected this agent";
    let unknown = format!("no-such-token.{fingerprint}");
    refused(
        &machine,
        &["--token", &unknown, "--ip", "10.8.9.1"],
        1,
        sentence,
    );
    let other_host = token(&cluster, json!({"host": "10.8.9.2"}));
    let other_host = other_host["token"].as_str().unwrap();
    refused(
        &machine,
        &["--token", other_host, "--ip", "10.8.9.1"],
        1,
        sentence,
    );
    let words = ["--token", "secret.abc", "--ip", "10.8.9.1"];
    refused(&machine, &words, 1, "must end in 64 hexadecimal digits");
    // The token of another fleet: its secret is not sent.
    let other = start();
    let words = ["--token", &any_token(&other), "--ip", "10.8.9.1"];
    refused(&machine, &words, 1, "nothing was changed");
    let sentence = "the server shows no CA with the fingerprint of the join token";
    refused(&machine, &words, 1, sentence);
    // A host whose agent is connected.
    let taken = cluster.agent("10.8.9.3");
    let words = ["--token", good.as_str(), "--ip", "10.8.9.3"];
    refused(
        &machine,
        &words,
        1,
        "this host did not join; nothing was changed",
    );
    drop(taken);
    assert_eq!(
        cluster.api.native("GET", "/api/v1/hosts", None).1["count"],
        1
    );
}

#[test]
fn a_download_that_is_not_what_the_server_has() {
    let cluster = start();
    let machine = Machine::new(&cluster, "host");
    let secret = any_token(&cluster);
    let install = |url: &str, sentence: &str| {
        let words = ["--token", &secret, "--ip", "10.8.9.1", "--url", url];
        let agents = cluster.agents().to_string();
        refused(
            &machine,
            &[&words[..], &["--server", &agents]].concat(),
            1,
            sentence,
        );
    };
    let flipped = changing(&cluster, |path, mut body| {
        if path.contains("muster-agent") {
            let middle = body.len() / 2;
            body[middle] ^= 1;
        }
        body
    });
    install(
        &flipped,
        "it is not complete, or was changed on its way; nothing was changed",
    );
    let half = changing(&cluster, |path, mut body| {
        if path.contains("muster-agent") {
            body.truncate(body.len() / 2);
        }
        body
    });
    install(&half, "failed or is not complete; nothing was changed");
    let empty = changing(&cluster, |_, _| Vec::new());
    install(&empty, "cannot be reached; nothing was changed");
    install(
        "http://127.0.0.1:1",
        "http://127.0.0.1:1 cannot be reached; nothing was changed",
    );
    let nothing = format!("http://{}/api", cluster.http());
    install(
        &nothing,
        "is it the address of a Muster server? Nothing was changed",
    );
    // Half of the script does nothing.
    let (_, script) = cluster.api.native_text("GET", "/install.sh", None);
    for part in [0.3, 0.7, 0.999] {
        let half = &script[..(script.len() as f64 * part) as usize];
        let ran = Command::new("sh")
            .args(["-c", half, "sh", "--uninstall"])
            .output()
            .unwrap();
        let said = [ran.stdout, ran.stderr].concat();
        assert!(
            !String::from_utf8_lossy(&said).contains("muster: "),
            "{part}"
        );
    }
}

#[test]
fn a_host_of_another_architecture_and_a_program_that_does_not_run() {
    let cluster = start();
    let mut machine = Machine::new(&cluster, "host");
    let secret = any_token(&cluster);
    let words = ["--token", secret.as_str(), "--ip", "10.8.9.1"];
    let arch = std::env::consts::ARCH;
    let broken = handed_out(&cluster, "9.9.8", arch);
    fs::write(&broken, "#!/bin/sh\necho no such library >&2; exit 127\n").unwrap();
    let sentence = "the agent does not run on this host: no such library; nothing was changed";
    refused(&machine, &words, 1, sentence);
    fs::write(&broken, "#!/bin/sh\necho something else\n").unwrap();
    refused(
        &machine,
        &words,
        1,
        "is no agent, but says: something else; nothing was changed",
    );
    machine.add_program(
        "uname",
        "case $1 in -m) echo riscv64 ;; *) echo Linux ;; esac",
    );
    let sentence = format!(
        "the server has no agent for riscv64; it has: muster-agent-9.9.8-{arch}, muster-agent-{OLD}-{arch}."
    );
    refused(&machine, &words, 1, &sentence);
    machine.add_program("uname", "echo Darwin");
    refused(
        &machine,
        &words,
        1,
        "this is Darwin, and the agent runs on Linux only",
    );
}

#[test]
fn a_user_who_is_not_root() {
    let cluster = start();
    let mut machine = Machine::new(&cluster, "host");
    if !precondition::is_met(rustix::process::geteuid().is_root(), "root") {
        return;
    }
    let nobody = [
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
    ];
    machine.wrapper = nobody.map(str::to_owned).to_vec();
    let words = ["--token", &any_token(&cluster)];
    refused(
        &machine,
        &words,
        1,
        "this needs root, because the agent runs processes of other users",
    );
}

/// Runs a shell with small file systems on some folders, and then lists all files below the first argument.
const SMALL: &str = r#"folder=$1 size=$2; shift 2
while [ "$1" != -- ]; do
  mkdir -p "$folder/$1" && mount -t tmpfs -o "size=$size" small "$folder/$1"
  if [ "$size" = 4k ]; then head -c 4096 /dev/zero >"$folder/$1/full"; fi
  shift
done
shift
"$@"
code=$?
find "$folder" -type f ! -name full -exec echo left: {} +
exit $code"#;

#[test]
fn a_disk_that_is_full() {
    let cluster = start();
    let mut machine = Machine::new(&cluster, "host");
    let can_mount = ["unshare", "--mount", "true"];
    if !precondition::succeeds(&can_mount, "a mount namespace of its own") {
        return;
    }
    let secret = any_token(&cluster);
    let words = ["--token", secret.as_str(), "--ip", "10.8.9.1"];
    let folder = machine.folder.display().to_string();
    for (size, full, sentence) in [
        ("1m", "usr/bin", "cannot be written to"),
        (
            "4k",
            "etc/muster",
            "agent.toml.new cannot be written: is there room? Nothing was changed",
        ),
        ("4k", "var/data", "nothing was changed"),
    ] {
        let wrapper = [
            "unshare",
            "--mount",
            "--propagation",
            "private",
            "sh",
            "-c",
            SMALL,
            "small",
        ];
        let wrapper = [&wrapper[..], &[&folder, size, full, "--"]].concat();
        machine.wrapper = wrapper.into_iter().map(str::to_owned).collect();
        let ran = machine.run(&words);
        assert_eq!(ran.code, Some(1), "{full}: {}", ran.said);
        assert!(ran.said.contains(sentence), "{full}: {}", ran.said);
        assert!(!ran.said.contains("left: "), "{full}: {}", ran.said);
        fs::remove_dir_all(&machine.folder).unwrap();
        fs::create_dir(&machine.folder).unwrap();
    }
}
