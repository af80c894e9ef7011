//! Settings of `server`, `up` and `agent`, and which they refuse before they open anything.

use crate::command::muster;

#[test]
fn flag_beats_environment_beats_file_beats_default() {
    let file = "http = '127.0.0.1:1001'\nagents = '127.0.0.1:1002'\nlog = 'debug'\n\
        [server]\nagents = '[::1]:1003'\napp_secret = 'hush-hush'\n[agent]\nserver = 'x:1'\n[console]\nx = 1\n";
    let ran = muster(&[
        "server",
        "--print-config",
        "--config",
        "m.toml",
        "--http",
        "0.0.0.0:9",
    ])
    .in_home()
    .file("m.toml", file)
    .env("MUSTER_HTTP", "127.0.0.1:8")
    .env("MUSTER_LOG", "error")
    .env("MUSTER_APP_CODE", "boss")
    .run();
    assert_eq!(ran.code, 0, "{ran:?}");
    let table: toml::Table = ran.stdout.parse().unwrap();
    assert_eq!(table["http"].as_str(), Some("0.0.0.0:9"));
    assert_eq!(table["agents"].as_str(), Some("[::1]:1003"));
    assert_eq!(table["log"].as_str(), Some("error"));
    assert_eq!(table["app_code"].as_str(), Some("boss"));
    assert_eq!(table["app_secret"].as_str(), Some("***"));
    assert!(!ran.stdout.contains("hush"));

    let ran = muster(&["up", "--print-config", "--cloud-id", "3"])
        .env("MUSTER_IP", "::1")
        .run();
    let table: toml::Table = ran.stdout.parse().unwrap();
    assert_eq!(table["http"].as_str(), Some("127.0.0.1:7100"));
    assert_eq!(table["log"].as_str(), Some("warn"));
    assert_eq!(table["ip"].as_str(), Some("::1"));
    assert_eq!(table["cloud_id"].as_integer(), Some(3));
}

#[test]
fn data_may_stand_before_or_after_the_verb() {
    for args in [
        &["--data", "/x/y", "server", "--print-config"][..],
        &["server", "--data", "/x/y", "--print-config"],
        &["up", "--print-config", "--data", "/x/y"],
    ] {
        let ran = muster(args).run();
        assert!(
            ran.stdout.contains("data = \"/x/y\"\n"),
            "{args:?}: {ran:?}"
        );
    }
    let ran = muster(&[
        "agent",
        "--data",
        "/x/z",
        "--server",
        "a:1",
        "--print-config",
    ])
    .run();
    assert!(ran.stdout.contains("data = \"/x/z\"\n"), "{ran:?}");
}

#[test]
fn what_is_printed_can_be_read_again() {
    let ran = muster(&[
        "up",
        "--http",
        "[::1]:5",
        "--store",
        "sqlite:/x/y.db",
        "--print-config",
    ])
    .run();
    let again = muster(&["up", "--config", "again.toml", "--print-config"])
        .env("MUSTER_DATA", "")
        .in_home()
        .file("again.toml", &ran.stdout)
        .run();
    assert_eq!(again.stdout, ran.stdout, "{again:?}");
}

#[test]
fn a_bad_value_stops_before_anything_is_opened() {
    for (args, env, file, part) in [
        (
            &["server", "--http", "nowhere"][..],
            None,
            "",
            "--http: must be IP:PORT",
        ),
        (
            &["up", "--agents", "1.2.3.4"],
            None,
            "",
            "--agents: must be IP:PORT",
        ),
        (
            &["up", "--http", "127.0.0.1:5", "--agents", "127.0.0.1:5"],
            None,
            "",
            "give each its own port",
        ),
        (
            &["up", "--ip", "10.0.0"],
            None,
            "",
            "--ip: must be an IPv4 or IPv6 address",
        ),
        (
            &["up", "--cloud-id", "-1"],
            None,
            "",
            "--cloud-id: must be a whole number",
        ),
        (
            &["server", "--store", "mysql://x"],
            None,
            "",
            "--store: must be sqlite:",
        ),
        (
            &["server", "--log", "loud"],
            None,
            "",
            "--log: must be off, error",
        ),
        (
            &["server"],
            Some(("MUSTER_LOG_FORMAT", "xml")),
            "",
            "environment variable MUSTER_LOG_FORMAT: must be text or json",
        ),
        (
            &["server"],
            Some(("MUSTER_APP_CODE", "a b")),
            "",
            "environment variable MUSTER_APP_CODE",
        ),
        (
            &["server", "--config", "m.toml"],
            None,
            "htpp = 'x'",
            "m.toml key `htpp`: is no setting",
        ),
        (
            &["server", "--config", "m.toml"],
            None,
            "http = true",
            "m.toml key `http`: must be a text",
        ),
        (
            &["server", "--config", "m.toml"],
            None,
            "\nhttp = ",
            "m.toml line 2: is no TOML",
        ),
        (
            &["server", "--config", "none.toml"],
            None,
            "",
            "--config none.toml: cannot be read",
        ),
        (
            &["server"],
            Some(("MUSTER_CONFIG", "none.toml")),
            "",
            "MUSTER_CONFIG none.toml: cannot be read",
        ),
    ] {
        let mut command = muster(args).in_home().file("m.toml", file);
        if let Some((name, value)) = env {
            command = command.env(name, value);
        }
        let data = command.home().join("fresh");
        let ran = command
            .env("MUSTER_DATA", &data.display().to_string())
            .run();
        assert_eq!(ran.code, 2, "{args:?}: {ran:?}");
        assert!(ran.stderr.contains(part), "{args:?}: {ran:?}");
        assert!(!data.exists(), "{args:?}");
    }
    let ran = muster(&["agent", "--server", "nonsense"]).run();
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("--server"), "{ran:?}");
}

#[test]
fn a_secret_that_could_be_guessed_stops_before_anything_is_opened() {
    for (variable, value) in [
        ("MUSTER_APP_SECRET", "short"),
        ("MUSTER_JOIN_TOKEN", "with blanks in it"),
    ] {
        let ran = muster(&["server", "--data", "never"])
            .in_home()
            .env(variable, value)
            .run();
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(
            ran.stderr.contains(variable) && !ran.stderr.contains(value),
            "{ran:?}"
        );
    }
}
