//! `muster login`, `logout`, `whoami` and `context` with real servers.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::command::Output;
use crate::real_server::{RealServer, command, pem, run};

/// A user of the command line with a home of their own, on a machine without a server.
struct Person {
    home: tempfile::TempDir,
}

impl Person {
    fn new() -> Self {
        Self {
            home: tempfile::tempdir().unwrap(),
        }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = command(self.home.path(), args);
        // Root's default is /var/lib/muster, where the machine of the test may have a server.
        command.env("MUSTER_DATA", self.home.path().join("none"));
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        run(self.command(args), "")
    }

    fn run_with(&self, args: &[&str], variables: &[(&str, &str)]) -> Output {
        let mut command = self.command(args);
        command.envs(variables.iter().copied());
        run(command, "")
    }

    #[track_caller]
    fn fine(&self, args: &[&str]) -> Output {
        let ran = self.run(args);
        assert_eq!(ran.code, 0, "{args:?}: {ran:?}");
        ran
    }

    /// Logs in with the right password.
    #[track_caller]
    fn log_in(&self, args: &[&str]) -> Output {
        let ran = self.try_log_in(args, "correct horse\n");
        assert_eq!(ran.code, 0, "{args:?}: {ran:?}");
        ran
    }

    fn try_log_in(&self, args: &[&str], password: &str) -> Output {
        let args = [&["login", "--password-stdin"], args].concat();
        run(self.command(&args), password)
    }

    fn file(&self) -> PathBuf {
        self.home.path().join(".config/muster/contexts.toml")
    }

    fn saved(&self) -> toml::Table {
        let text = std::fs::read_to_string(self.file()).unwrap();
        toml::from_str(&text).unwrap()
    }

    #[track_caller]
    fn whoami(&self, args: &[&str]) -> Value {
        let args = [&["whoami", "-o", "json"], args].concat();
        self.fine(&args).json()
    }
}

fn mode(file: &Path) -> u32 {
    let metadata = std::fs::metadata(file).unwrap();
    metadata.permissions().mode() & 0o777
}

#[test]
fn a_login_is_kept_as_a_token_and_ends_with_logout() {
    let server = RealServer::start();
    server.add_user("alice", &["--role", "operator", "-n", "web"]);
    let alice = Person::new();
    let ran = alice.log_in(&[&server.url, "--user", "alice", "--context", "prod"]);
    assert!(
        ran.stdout
            .starts_with(&format!("logged in to {} as alice until 20", server.url)),
        "{ran:?}"
    );
    assert!(
        ran.stdout.ends_with("; context prod is in use\n"),
        "{ran:?}"
    );
    assert_eq!(ran.stderr, "");

    // The file is the user's alone, and holds the token and not the password.
    assert_eq!(mode(&alice.file()), 0o600);
    assert_eq!(mode(alice.file().parent().unwrap()), 0o700);
    let text = std::fs::read_to_string(alice.file()).unwrap();
    assert!(!text.contains("correct horse"), "{text}");
    let token = alice.saved()["contexts"]["prod"]["token"]
        .as_str()
        .unwrap()
        .to_owned();

    assert_eq!(alice.fine(&["ps"]).stdout, "");
    let caller = alice.whoami(&[]);
    assert_eq!(caller["server"], server.url);
    assert_eq!(caller["context"], "prod");
    assert_eq!(caller["credentials_from"], "context prod");
    assert_eq!(caller["app"], Value::Null);
    assert_eq!(caller["user"]["name"], "alice");
    assert_eq!(
        caller["user"]["grants"],
        json!([{"role": "operator", "everything": false, "namespaces": ["web"], "businesses": [], "label": null}])
    );
    assert!(caller["user"]["expires_at"].as_i64().unwrap() > 1_600_000_000_000);
    let shown = alice.fine(&["whoami"]).stdout;
    assert!(shown.contains("alice, logged in until 20"), "{shown}");
    assert!(shown.contains("operator of web"), "{shown}");

    let ran = alice.fine(&["logout"]);
    assert_eq!(
        ran.stdout,
        format!("alice is logged out of {}\n", server.url)
    );
    let saved = alice.saved();
    assert!(saved["contexts"]["prod"].get("token").is_none(), "{saved}");
    // The server does not take the token any more.
    let ran = alice.run_with(
        &["ps"],
        &[("MUSTER_URL", &server.url), ("MUSTER_TOKEN", &token)],
    );
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(
        ran.stderr.contains(
            "refused the login (from MUSTER_TOKEN): the login has expired or was ended: log in again"
        ),
        "{ran:?}"
    );
    let ran = alice.run(&["ps"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(
        ran.stderr
            .contains("needs credentials, and none were found (context prod has none)"),
        "{ran:?}"
    );
    assert!(
        ran.stderr
            .contains("log in: muster login --context prod --user NAME"),
        "{ran:?}"
    );
    let ran = alice.fine(&["logout"]);
    assert!(ran.stdout.starts_with("not logged in to "), "{ran:?}");

    let trail = server.fine(&["audit", "--user", "alice"], "");
    assert!(
        trail.contains("login") && trail.contains("logout"),
        "{trail}"
    );
}

#[test]
fn what_is_wrong_with_a_login_is_said() {
    let server = RealServer::start();
    server.add_user("alice", &[]);
    let alice = Person::new();
    let to = |user| [server.url.as_str(), "--user", user];
    let ran = alice.try_log_in(&to("alice"), "wrong horse\n");
    assert_eq!(ran.code, 3, "{ran:?}");
    let refused = format!(
        "error: {} refused the login of alice: the user is unknown or the password is wrong\n",
        server.url
    );
    assert_eq!(ran.stderr, refused);
    let ran = alice.try_log_in(&to("nobody"), "correct horse\n");
    assert_eq!(ran.stderr, refused.replace("alice", "nobody"));
    let ran = alice.try_log_in(&to("alice"), "");
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (2, "error: the password is empty\n")
    );

    // Neither a terminal nor --password-stdin.
    let ran = alice.run(&["login", &server.url, "--user", "alice"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(
        ran.stderr.contains(
            "there is no terminal to ask for the password\n  pipe it in, with --password-stdin"
        ),
        "{ran:?}"
    );
    let ran = alice.try_log_in(&[&server.url], "correct horse\n");
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("--user NAME"), "{ran:?}");

    let ran = alice.try_log_in(
        &["http://127.0.0.1:9", "--user", "alice"],
        "correct horse\n",
    );
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(
        ran.stderr.contains("cannot reach http://127.0.0.1:9: "),
        "{ran:?}"
    );
    let ran = alice.try_log_in(&["ftp://x", "--user", "alice"], "correct horse\n");
    assert_eq!(ran.code, 2, "{ran:?}");
    let ran = alice.try_log_in(&[&server.url, "--url", &server.url, "--user", "a"], "x\n");
    assert_eq!(ran.code, 2, "{ran:?}");
    // A refused login leaves nothing behind.
    assert!(!alice.file().exists());

    // After five wrong passwords the server says how long to wait, and the command does not try again by itself.
    let ran = loop {
        let ran = alice.try_log_in(&to("alice"), "wrong horse\n");
        assert_eq!(ran.code, 3, "{ran:?}");
        if ran.stderr != refused {
            break ran;
        }
    };
    assert!(
        ran.stderr.contains("too many failed logins: try again in"),
        "{ran:?}"
    );
}

#[test]
fn a_certificate_that_is_not_trusted_is_told_from_an_unreachable_server() {
    let server = RealServer::start_tls();
    server.add_user("alice", &[]);
    let alice = Person::new();
    let login = [server.url.as_str(), "--user", "alice"];
    for ca in [None, Some(pem("another.pem"))] {
        let ca = ca.map(|ca| ca.display().to_string());
        let ca: Vec<&str> = ca.iter().flat_map(|ca| ["--ca", ca]).collect();
        let ran = alice.try_log_in(&[&login[..], &ca].concat(), "correct horse\n");
        assert_eq!(ran.code, 3, "{ran:?}");
        assert!(
            ran.stderr.starts_with(&format!(
                "error: the certificate of {} is not trusted: ",
                server.url
            )),
            "{ran:?}"
        );
        assert!(ran.stderr.contains("--ca FILE"), "{ran:?}");
    }
    // Neither is https where the server speaks http, nor the other way round, called a matter of trust.
    let plain = RealServer::start();
    for (right, wrong) in [
        (&server.url, server.url.replace("https", "http")),
        (&plain.url, plain.url.replace("http", "https")),
    ] {
        let ran = alice.run(&["ps", "--url", &wrong]);
        assert_eq!(ran.code, 3, "{ran:?}");
        assert!(
            ran.stderr.ends_with(&format!("\n  try {right}\n")),
            "{ran:?}"
        );
    }
    // The CA is kept with the login, as an absolute path.
    std::fs::copy(pem("chain.pem"), alice.home.path().join("ca.pem")).unwrap();
    alice.log_in(&[&login[..], &["--ca", "ca.pem"]].concat());
    alice.fine(&["ps"]);
    let mut elsewhere = alice.command(&["whoami"]);
    elsewhere.current_dir("/");
    assert_eq!(run(elsewhere, "").code, 0);
}

#[test]
fn a_password_is_typed_without_echo() {
    let server = RealServer::start();
    server.add_user("alice", &[]);
    let alice = Person::new();
    let line = format!(
        "{} login {} --user alice",
        env!("CARGO_BIN_EXE_muster"),
        server.url
    );
    let mut script = Command::new("script");
    script
        .args(["--quiet", "--return", "--command", &line, "/dev/null"])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("SHELL", "/bin/sh")
        .env("HOME", alice.home.path())
        .env("MUSTER_DATA", alice.home.path().join("none"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = script.spawn().expect("script of util-linux");
    let mut typed = child.stdin.take().unwrap();
    let mut shown = std::io::BufReader::new(child.stdout.take().unwrap());
    // The echo is off before the prompt appears.
    let mut seen = Vec::new();
    while !seen.ends_with(b": ") {
        let mut byte = [0];
        std::io::Read::read_exact(&mut shown, &mut byte).unwrap();
        seen.push(byte[0]);
    }
    std::io::Write::write_all(&mut typed, b"correct horse\r").unwrap();
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut shown, &mut rest).unwrap();
    assert!(child.wait().unwrap().success(), "{rest}");
    assert!(rest.contains("as alice until"), "{rest}");
    assert!(!rest.contains("correct horse"), "{rest}");
    assert_eq!(alice.whoami(&[])["user"]["name"], "alice");
}

#[test]
fn contexts_are_listed_used_renamed_and_removed() {
    let (one, two) = (RealServer::start(), RealServer::start());
    one.add_user("alice", &[]);
    two.add_user("bob", &["--role", "admin"]);
    let person = Person::new();
    let hint = person.fine(&["context", "list"]).stderr;
    assert!(hint.contains("muster login URL --user NAME"), "{hint}");
    person.log_in(&[&one.url, "--user", "alice", "--context", "one"]);
    person.log_in(&[&two.url, "--user", "bob", "--context", "two"]);
    assert_eq!(person.whoami(&[])["user"]["name"], "bob");
    assert_eq!(
        person.whoami(&["--context", "one"])["user"]["name"],
        "alice"
    );
    let ran = person.run_with(&["whoami", "-o", "json"], &[("MUSTER_CONTEXT", "one")]);
    assert_eq!(ran.json()["user"]["name"], "alice");
    // The flag counts before the variable.
    let ran = person.run_with(
        &["whoami", "-o", "json", "--context", "two"],
        &[("MUSTER_CONTEXT", "one")],
    );
    assert_eq!(ran.json()["user"]["name"], "bob");

    person.fine(&["context", "use", "one"]);
    assert_eq!(person.whoami(&[])["server"], one.url);
    let list = person.fine(&["context", "list"]).stdout;
    let lines: Vec<&str> = list.lines().collect();
    assert!(
        lines[1].starts_with("*  one") && lines[1].contains("user alice"),
        "{list}"
    );
    assert!(lines[2].trim_start().starts_with("two"), "{list}");
    let listed = person.fine(&["context", "list", "-o", "json"]).json();
    let (first, second) = (&listed["contexts"][0], &listed["contexts"][1]);
    assert_eq!(
        (&first["name"], &first["current"]),
        (&json!("one"), &json!(true))
    );
    assert_eq!(
        (&second["user"], &second["logged_in"]),
        (&json!("bob"), &json!(true))
    );
    assert!(!listed.to_string().contains("token"), "{listed}");

    person.fine(&["context", "rename", "one", "prod"]);
    assert_eq!(person.whoami(&[])["context"], "prod");
    let shown = person.fine(&["context", "show"]).stdout;
    assert!(
        shown.contains("prod (in use)") && shown.contains(&one.url),
        "{shown}"
    );
    let ran = person.fine(&["context", "remove", "prod"]);
    assert!(
        ran.stderr.contains("still accepts its token until"),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("no context is in use now"), "{ran:?}");
    assert_eq!(person.run(&["context", "show"]).code, 2);

    for (args, part) in [
        (
            &["context", "use", "none"][..],
            "there is no context \"none\"",
        ),
        (&["ps", "--context", "none"], "there is no context \"none\""),
        (
            &["context", "rename", "two", "a b"],
            "is not a name for a context",
        ),
        (
            &["context", "rename", "none", "x"],
            "there is no context \"none\"",
        ),
        (
            &["context", "remove", "none"],
            "there is no context \"none\"",
        ),
        (
            &["context", "add", "two", "http://x"],
            "context two exists already",
        ),
        (&["context", "add", "x", "x"], "is not the URL of a server"),
        (
            &["context", "add", "x", "http://x", "--app", "a"],
            "--secret-stdin",
        ),
        (
            &["ps", "--context", "two", "--url", "http://127.0.0.1:9"],
            "--url names http://127.0.0.1:9, but --context names context two with",
        ),
        (
            &[
                "login",
                "http://127.0.0.1:9",
                "--context",
                "two",
                "--user",
                "x",
                "--password-stdin",
            ],
            "context two is for",
        ),
    ] {
        let before = person.saved();
        let ran = person.run(args);
        assert_eq!(ran.code, 2, "{args:?}: {ran:?}");
        assert!(ran.stderr.contains(part), "{args:?}: {ran:?}");
        assert_eq!(person.saved(), before);
    }
}

#[test]
fn a_new_login_in_a_context_ends_the_one_before() {
    let server = RealServer::start();
    server.add_user("alice", &[]);
    server.add_user("bob", &[]);
    let person = Person::new();
    person.log_in(&[&server.url, "--user", "alice"]);
    let host = server.url.strip_prefix("http://").unwrap();
    let token = person.saved()["contexts"][host]["token"]
        .as_str()
        .unwrap()
        .to_owned();
    let with_token = [
        ("MUSTER_URL", server.url.as_str()),
        ("MUSTER_TOKEN", token.as_str()),
    ];
    assert_eq!(person.run_with(&["whoami"], &with_token).code, 0);
    // The server and the context are those in use.
    let ran = person.log_in(&["--user", "bob"]);
    assert!(
        ran.stdout.contains(&format!("context {host} is in use")),
        "{ran:?}"
    );
    assert_eq!(person.whoami(&[])["user"]["name"], "bob");
    assert_eq!(person.run_with(&["whoami"], &with_token).code, 3);
    assert_eq!(person.saved()["contexts"].as_table().unwrap().len(), 1);
    // The user of the context logs in again without being named.
    person.log_in(&[]);
    assert_eq!(person.whoami(&[])["user"]["name"], "bob");
}

#[test]
fn a_token_of_the_environment_needs_no_context() {
    let server = RealServer::start();
    server.add_user("ci", &[]);
    let person = Person::new();
    let printed = person.log_in(&[&server.url, "--user", "ci", "--print-token"]);
    let token = printed.stdout.trim_end();
    assert!(!token.is_empty() && !person.file().exists());
    let variables = [("MUSTER_URL", server.url.as_str()), ("MUSTER_TOKEN", token)];
    let ran = person.run_with(&["whoami", "-o", "json"], &variables);
    assert_eq!(ran.json()["user"]["name"], "ci");
    assert_eq!(ran.json()["credentials_from"], "MUSTER_TOKEN");
    let ran = person.run_with(&["logout"], &variables);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("unset MUSTER_TOKEN"), "{ran:?}");
    assert_eq!(person.run_with(&["whoami"], &variables).code, 3);
    let ran = person.run_with(&["ps"], &[("MUSTER_TOKEN", "a b")]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(!ran.stderr.contains("a b"), "{ran:?}");
}

#[test]
fn an_expired_login_says_so_and_how_to_renew_it() {
    let server = RealServer::start();
    server.add_user("alice", &[]);
    let alice = Person::new();
    alice.log_in(&[&server.url, "--user", "alice", "--context", "prod"]);
    // The admin deletes the user, which ends the login; as far as this machine knows it has not expired.
    server.fine(&["user", "delete", "alice", "--yes"], "");
    let ran = alice.run(&["ps"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(
        ran.stderr.contains(
            "refused the login of alice (from context prod): the login has expired or was ended"
        ),
        "{ran:?}"
    );
    assert!(
        ran.stderr
            .contains("log in again: muster login --context prod --user alice"),
        "{ran:?}"
    );
    // The same login a day later.
    let text = std::fs::read_to_string(alice.file()).unwrap();
    let expires_at = text
        .lines()
        .find(|line| line.starts_with("expires_at"))
        .unwrap();
    std::fs::write(alice.file(), text.replace(expires_at, "expires_at = 1000")).unwrap();
    let ran = alice.run(&["ps"]);
    assert!(
        ran.stderr.contains("(from context prod): it has expired"),
        "{ran:?}"
    );
    let list = alice.fine(&["context", "list"]).stdout;
    assert!(list.contains("expired 1970-01-01"), "{list}");
}

#[test]
fn the_file_of_contexts_is_private_or_complained_about() {
    let server = RealServer::start();
    server.add_user("alice", &[]);
    let alice = Person::new();
    alice.log_in(&[&server.url, "--user", "alice"]);
    let set = |mode: u32| {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(alice.file(), permissions).unwrap();
    };
    set(0o644);
    let ran = alice.fine(&["ps"]);
    assert!(
        ran.stderr.starts_with("warning: others can read "),
        "{ran:?}"
    );
    // The next change of the file makes it private again.
    alice.log_in(&["--user", "alice"]);
    assert_eq!(mode(&alice.file()), 0o600);
    assert!(!alice.fine(&["ps"]).stderr.contains("warning"));

    std::fs::write(alice.file(), "current = \"x\"\ntoken = \"hush").unwrap();
    let ran = alice.run(&["ps"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("contexts.toml"), "{ran:?}");
    assert!(!ran.stderr.contains("hush"), "{ran:?}");
    // What the environment names completely does not need the file.
    let secret = server.add_app("ops", &[]);
    let variables = [
        ("MUSTER_URL", server.url.as_str()),
        ("MUSTER_APP_CODE", "ops"),
        ("MUSTER_APP_SECRET", secret.as_str()),
    ];
    assert_eq!(alice.run_with(&["ps"], &variables).code, 0);
    // There is no place for contexts without a home.
    let mut homeless =
        alice.command(&["login", &server.url, "--user", "alice", "--password-stdin"]);
    homeless.env_remove("HOME");
    let ran = run(homeless, "correct horse\n");
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("HOME is not set"), "{ran:?}");
}

#[test]
fn an_app_that_is_not_trusted_works_and_names_no_user() {
    let server = RealServer::start();
    let secret = server.add_app("ops", &["--namespace", "web"]);
    let person = Person::new();
    let variables = [
        ("MUSTER_URL", server.url.as_str()),
        ("MUSTER_APP_CODE", "ops"),
        ("MUSTER_APP_SECRET", secret.as_str()),
    ];
    let ran = person.run_with(&["ps"], &variables);
    assert_eq!(ran.code, 0, "{ran:?}");
    let caller = person
        .run_with(&["whoami", "-o", "json"], &variables)
        .json();
    assert_eq!(
        (&caller["app"]["code"], &caller["user"]),
        (&json!("ops"), &Value::Null)
    );
    let ran = person.run_with(&["start", "db/redis", "--host", "10.0.0.1"], &variables);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert_eq!(
        ran.stderr,
        "error: app ops lacks role operator in namespace db\n  \
         an admin can grant it: muster app grant ops --role operator --namespace db\n  \
         muster whoami shows who you are and your roles\n"
    );
    // A user name that was given is not dropped silently.
    let named = [&variables[..], &[("MUSTER_USER", "alice")]].concat();
    let ran = person.run_with(&["ps"], &named);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(
        ran.stderr
            .contains("app ops is not trusted, so it may not name a user"),
        "{ran:?}"
    );

    // The same app in a context, and in a file that a person wrote.
    let add = [
        "context",
        "add",
        "ci",
        &server.url,
        "--app",
        "ops",
        "--secret-stdin",
    ];
    let ran = run(person.command(&add), &format!("{secret}\n"));
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(mode(&person.file()), 0o600);
    let caller = person.whoami(&["--context", "ci"]);
    assert_eq!(
        (&caller["app"]["code"], &caller["user"]),
        (&json!("ops"), &Value::Null)
    );
    let ran = person.try_log_in(&["--context", "ci", "--user", "x"], "x\n");
    assert_eq!(ran.code, 2, "{ran:?}");
    let ran = person.fine(&["logout", "--context", "ci"]);
    assert!(
        ran.stdout.contains("app ops (from context ci) calls there"),
        "{ran:?}"
    );
    let data = person.home.path().join("written");
    std::fs::create_dir(&data).unwrap();
    let file = data.join("cli.toml");
    let text = format!(
        "url = \"{}\"\napp_code = \"ops\"\napp_secret = \"{secret}\"\n",
        server.url
    );
    std::fs::write(&file, text).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let caller = person.whoami(&["--data", data.to_str().unwrap()]);
    assert_eq!(
        (&caller["app"]["code"], &caller["user"]),
        (&json!("ops"), &Value::Null)
    );

    // The server's own app is trusted, and names the user of the system as before.
    let caller: Value = serde_json::from_str(&server.fine(&["whoami", "-o", "json"], "")).unwrap();
    assert_eq!(caller["app"]["trusted"], true);
    assert_eq!(caller["user"]["logged_in"], false);
}

#[test]
fn a_refusal_says_whether_the_app_or_the_user_lacks_the_role() {
    let server = RealServer::start();
    server.add_user("alice", &["--role", "viewer", "-n", "web"]);
    let secret = server.add_app("ops", &["--role", "operator", "-n", "web"]);
    let person = Person::new();
    person.log_in(&[&server.url, "--user", "alice"]);
    let start = ["start", "web/nginx", "--host", "10.0.0.1"];
    let ran = person.run(&start);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert_eq!(
        ran.stderr,
        "error: user alice lacks role operator in namespace web\n  \
         an admin can grant it: muster user grant alice --role operator --namespace web\n  \
         muster whoami shows who you are and your roles\n"
    );
    let ran = person.run(&["user", "list"]);
    assert!(
        ran.stderr
            .starts_with("error: user alice lacks role admin\n"),
        "{ran:?}"
    );
    // Together with an app: both must have the role.
    let token = person
        .log_in(&[&server.url, "--user", "alice", "--print-token"])
        .stdout;
    let variables = [
        ("MUSTER_URL", server.url.as_str()),
        ("MUSTER_TOKEN", token.trim_end()),
        ("MUSTER_APP_CODE", "ops"),
        ("MUSTER_APP_SECRET", secret.as_str()),
    ];
    let caller = person
        .run_with(&["whoami", "-o", "json"], &variables)
        .json();
    assert_eq!(
        (&caller["app"]["code"], &caller["user"]["name"]),
        (&json!("ops"), &json!("alice"))
    );
    let ran = person.run_with(&start, &variables);
    assert!(
        ran.stderr
            .starts_with("error: user alice lacks role operator in namespace web\n"),
        "{ran:?}"
    );
    let ran = person.run_with(&["start", "db/redis", "--host", "10.0.0.1"], &variables);
    assert!(
        ran.stderr
            .starts_with("error: app ops and user alice lack role operator in namespace db\n"),
        "{ran:?}"
    );
}

#[test]
fn logout_without_the_server_keeps_the_token() {
    let server = RealServer::start();
    server.add_user("alice", &[]);
    let alice = Person::new();
    alice.log_in(&[&server.url, "--user", "alice", "--context", "prod"]);
    drop(server);
    let ran = alice.run(&["logout"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(
        ran.stderr
            .contains("muster context remove prod forgets it here"),
        "{ran:?}"
    );
    assert!(alice.saved()["contexts"]["prod"].get("token").is_some());
    alice.fine(&["context", "remove", "prod"]);
    assert!(
        !std::fs::read_to_string(alice.file())
            .unwrap()
            .contains("token")
    );
}
