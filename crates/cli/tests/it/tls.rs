//! A real server with https: trusted certificates, roles and the audit trail.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::command::Output;

struct Server {
    home: tempfile::TempDir,
    child: Child,
    url: String,
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/it/tls")
        .join(name)
}

fn command(home: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_muster"));
    command
        .args(args)
        .current_dir(home)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home)
        .env("MUSTER_DATA", home.join("data"));
    command
}

impl Server {
    fn start() -> Self {
        let home = tempfile::tempdir().unwrap();
        let (chain, key) = (file("chain.pem"), file("key.pem"));
        let args = ["server", "--http", "127.0.0.1:0", "--agents", "127.0.0.1:0"];
        let mut child = command(home.path(), &args)
            .args(["-o", "json", "--log", "error"])
            .arg("--http-tls-cert")
            .arg(chain)
            .env("MUSTER_HTTP_TLS_KEY", key)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut first).unwrap();
        let said: Value = serde_json::from_str(&first).unwrap();
        Self {
            home,
            child,
            url: said["url"].as_str().unwrap().to_owned(),
        }
    }

    fn run(&self, args: &[&str], stdin: &str) -> Output {
        let mut child = command(self.home.path(), args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut to = child.stdin.take().unwrap();
        to.write_all(stdin.as_bytes()).unwrap();
        drop(to);
        let output = child.wait_with_output().unwrap();
        Output {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    #[track_caller]
    fn fine(&self, args: &[&str], stdin: &str) -> String {
        let ran = self.run(args, stdin);
        assert_eq!(ran.code, 0, "{args:?}: {ran:?}");
        ran.stdout
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        let _ = kill_process(pid, Signal::TERM);
        let _ = self.child.wait();
    }
}

#[test]
fn the_command_line_trusts_only_the_given_ca() {
    let server = Server::start();
    assert!(
        server.url.starts_with("https://127.0.0.1:"),
        "{}",
        server.url
    );
    // What the server wrote for the command line on its machine is enough.
    assert!(
        server
            .fine(&["app", "list"], "")
            .contains("admin of everything")
    );
    let chain = file("chain.pem").display().to_string();
    server.fine(&["app", "list", "--ca", &chain], "");
    let another = file("another.pem").display().to_string();
    let ran = server.run(&["app", "list", "--ca", &another], "");
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.stderr.contains("certificate"), "{ran:?}");
    let key = file("nothing.pem").display().to_string();
    assert_eq!(server.run(&["app", "list", "--ca", &key], "").code, 2);
    let plain = server.url.replace("https", "http");
    assert_ne!(server.run(&["app", "list", "--url", &plain], "").code, 0);
}

#[test]
fn roles_are_given_and_taken_back_and_all_of_it_is_on_the_trail() {
    let server = Server::start();
    let create = [
        "user",
        "create",
        "ada",
        "--password-stdin",
        "--role",
        "operator",
    ];
    server.fine(
        &[&create[..], &["--business", "2", "-n", "gse"]].concat(),
        "correct horse\n",
    );
    server.fine(&["user", "grant", "ada", "--role", "viewer"], "");
    let list = server.fine(&["user", "list"], "");
    assert!(
        list.contains("operator of gse, business 2; viewer of everything"),
        "{list}"
    );
    let told = server.fine(&["user", "revoke", "ada", "--business", "2"], "");
    assert!(
        told.contains("operator of gse; viewer of everything"),
        "{told}"
    );
    let told = server.fine(&["user", "revoke", "ada"], "");
    assert!(told.contains("ada is now nothing"), "{told}");
    server.fine(
        &[
            "app",
            "create",
            "eyes",
            "--role",
            "viewer",
            "--business",
            "2",
        ],
        "",
    );
    server.fine(
        &["app", "grant", "eyes", "--role", "operator", "-n", "web"],
        "",
    );
    assert_eq!(
        server
            .run(&["user", "grant", "nobody", "--role", "viewer"], "")
            .code,
        4
    );
    let bad = ["user", "grant", "ada", "--role", "admin", "--business", "2"];
    assert_eq!(server.run(&bad, "").code, 2);

    let trail = server.fine(&["audit", "--object", "ada", "--since", "1h"], "");
    assert_eq!(trail.lines().count(), 5, "{trail}");
    let exported = server.fine(&["audit", "export", "--action", "user.grants"], "");
    let first: Value = serde_json::from_str(exported.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&first["object"], &first["detail"]),
        (&"ada".into(), &"nothing".into())
    );
    let to = server.home.path().join("audit.csv").display().to_string();
    let args = [
        "audit", "export", "--format", "csv", "--to", &to, "--object", "eyes",
    ];
    assert_eq!(server.fine(&args, ""), "");
    let csv = std::fs::read_to_string(&to).unwrap();
    assert!(csv.starts_with("id,at,app,user,"), "{csv}");
    assert_eq!(csv.lines().count(), 3, "{csv}");
}
