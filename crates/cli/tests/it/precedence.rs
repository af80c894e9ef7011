//! What counts where several sources name a server or credentials: flag, environment, context, cli.toml, default.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::command::{Muster, muster};
use crate::fake_server::FakeServer;

fn server() -> FakeServer {
    FakeServer::answering(200, json!({"count": 0, "processes": []}))
}

/// Each source has a server and a token or app of its own.
struct Sources {
    flag: FakeServer,
    variable: FakeServer,
    named: FakeServer,
    in_use: FakeServer,
    file: FakeServer,
}

impl Sources {
    fn new() -> Self {
        Self {
            flag: server(),
            variable: server(),
            named: server(),
            in_use: server(),
            file: server(),
        }
    }

    fn contexts(&self) -> String {
        let (named, in_use) = (&self.named.url, &self.in_use.url);
        format!(
            "current = \"in-use\"\n\
             [contexts.named]\nurl = \"{named}\"\nuser = \"n\"\ntoken = \"token-of-named\"\n\
             [contexts.in-use]\nurl = \"{in_use}\"\nuser = \"u\"\ntoken = \"token-of-in-use\"\n\
             [contexts.logged-out]\nurl = \"{named}\"\n"
        )
    }

    /// `muster ps` with a context in use.
    fn ps(&self, args: &[&str]) -> Muster {
        let command = muster(&[&["ps"], args].concat());
        let folder = command.home().join(".config/muster");
        std::fs::create_dir_all(&folder).unwrap();
        let contexts = folder.join("contexts.toml");
        std::fs::write(&contexts, self.contexts()).unwrap();
        std::fs::set_permissions(&contexts, std::fs::Permissions::from_mode(0o600)).unwrap();
        command
    }

    fn cli_toml(&self) -> String {
        format!(
            "url = \"{}\"\napp_code = \"filed\"\napp_secret = \"s\"\n",
            self.file.url
        )
    }
}

/// The only request that any of the servers got since the last call, with its server and credentials.
#[track_caller]
fn called(ran: Muster, server: &FakeServer) -> String {
    let before = server.asked().len();
    let ran = ran.run();
    assert_eq!(ran.code, 0, "{ran:?}");
    let asked = server.asked();
    assert_eq!(asked.len(), before + 1, "{ran:?}");
    let sent = |header: &&String| {
        header.starts_with("authorization") || header.starts_with("x-bkapi-app-code")
    };
    let sent: Vec<&String> = asked[before].headers.iter().filter(sent).collect();
    sent.iter()
        .map(|header| header.split(": ").nth(1).unwrap())
        .collect::<Vec<_>>()
        .join(" + ")
}

#[test]
fn flag_environment_context_file_in_this_order() {
    let s = Sources::new();
    let token = ("MUSTER_TOKEN", "token-of-env");
    // Nothing but the context in use.
    assert_eq!(called(s.ps(&[]), &s.in_use), "bearer token-of-in-use");
    // The environment's token for the server of the context in use.
    let ran = s.ps(&[]).env(token.0, token.1);
    assert_eq!(called(ran, &s.in_use), "bearer token-of-env");
    // A context by variable, and by flag.
    let ran = s.ps(&[]).env("MUSTER_CONTEXT", "named");
    assert_eq!(called(ran, &s.named), "bearer token-of-named");
    let ran = s
        .ps(&["--context", "named"])
        .env("MUSTER_CONTEXT", "in-use");
    assert_eq!(called(ran, &s.named), "bearer token-of-named");
    // MUSTER_TOKEN counts before the context of MUSTER_CONTEXT, and after that of --context.
    let ran = s
        .ps(&[])
        .env("MUSTER_CONTEXT", "named")
        .env(token.0, token.1);
    assert_eq!(called(ran, &s.named), "bearer token-of-env");
    let ran = s.ps(&["--context", "named"]).env(token.0, token.1);
    assert_eq!(called(ran, &s.named), "bearer token-of-named");
    let ran = s.ps(&["--context", "logged-out"]).env(token.0, token.1);
    assert_eq!(called(ran, &s.named), "bearer token-of-env");
    // --context counts before MUSTER_URL.
    let ran = s
        .ps(&["--context", "named"])
        .env("MUSTER_URL", &s.variable.url);
    assert_eq!(called(ran, &s.named), "bearer token-of-named");
    // --url counts before MUSTER_URL, MUSTER_CONTEXT and the context in use.
    let ran = s
        .ps(&["--url", &s.flag.url])
        .env("MUSTER_URL", &s.variable.url)
        .env("MUSTER_CONTEXT", "named")
        .env(token.0, token.1);
    assert_eq!(called(ran, &s.flag), "bearer token-of-env");
    // MUSTER_URL counts before the context in use, whose token is not for it.
    let ran = s
        .ps(&[])
        .env("MUSTER_URL", &s.variable.url)
        .env("MUSTER_APP_CODE", "a")
        .env("MUSTER_APP_SECRET", "b");
    assert_eq!(called(ran, &s.variable), "a");
    assert_eq!(
        called(s.ps(&[]).env("MUSTER_URL", &s.variable.url), &s.variable),
        ""
    );
    // The token of the context in use goes to its own server, however that is named.
    let ran = s.ps(&["--url", &s.in_use.url]);
    assert_eq!(called(ran, &s.in_use), "bearer token-of-in-use");
    // App and login of the environment go together.
    let ran = s
        .ps(&[])
        .env("MUSTER_APP_CODE", "a")
        .env("MUSTER_APP_SECRET", "b")
        .env(token.0, token.1);
    assert_eq!(called(ran, &s.in_use), "a + bearer token-of-env");
}

#[test]
fn a_data_directory_that_is_named_counts_before_the_context_in_use() {
    let s = Sources::new();
    // MUSTER_DATA is set in every test: without a file there it does not count.
    assert_eq!(called(s.ps(&[]), &s.in_use), "bearer token-of-in-use");
    let ran = s.ps(&[]).file("cli.toml", &s.cli_toml());
    assert_eq!(called(ran, &s.file), "filed");
    let ran = s
        .ps(&["--data", "."])
        .file("cli.toml", &s.cli_toml())
        .in_home();
    assert_eq!(called(ran, &s.file), "filed");
    // --data counts before MUSTER_CONTEXT; MUSTER_CONTEXT counts before MUSTER_DATA.
    let ran = s
        .ps(&["--data", "."])
        .file("cli.toml", &s.cli_toml())
        .env("MUSTER_CONTEXT", "named")
        .in_home();
    assert_eq!(called(ran, &s.file), "filed");
    let ran = s
        .ps(&[])
        .file("cli.toml", &s.cli_toml())
        .env("MUSTER_CONTEXT", "named");
    assert_eq!(called(ran, &s.named), "bearer token-of-named");
    // A login for the server of the file counts before its app.
    let same = s.cli_toml().replace(&s.file.url, &s.in_use.url);
    let ran = s.ps(&[]).file("cli.toml", &same);
    assert_eq!(called(ran, &s.in_use), "bearer token-of-in-use");
    // A context without credentials does not take those of a file for another server.
    let ran = s
        .ps(&["--context", "logged-out"])
        .file("cli.toml", &s.cli_toml());
    assert_eq!(called(ran, &s.named), "");
}

#[test]
fn contradictions_are_refused() {
    let s = Sources::new();
    let ran = s.ps(&["--context", "named", "--url", &s.flag.url]).run();
    assert_eq!(ran.code, 2, "{ran:?}");
    let ran = s
        .ps(&[])
        .env("MUSTER_CONTEXT", "named")
        .env("MUSTER_URL", &s.variable.url)
        .run();
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(
        ran.stderr
            .contains("leave one of MUSTER_URL and MUSTER_CONTEXT out"),
        "{ran:?}"
    );
}
