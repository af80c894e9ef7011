//! `muster relay`: its settings, and what it says.

use crate::command::muster;

#[test]
fn settings_come_from_flags_variables_and_a_file() {
    let file = "[relay]\nserver = [\"r1:7101\", \"[fd00::1]:7101\"]\nidle_timeout = 120\nmax_connections = 7\n";
    let ran = muster(&[
        "relay",
        "--config",
        "relay.toml",
        "--max-connections",
        "9",
        "--print-config",
    ])
    .file("relay.toml", file)
    .env("MUSTER_RELAY_LISTEN", "127.0.0.1:7")
    .in_home()
    .run();
    assert_eq!(ran.code, 0, "{ran:?}");
    let table: toml::Table = ran.stdout.parse().unwrap();
    assert_eq!(table["listen"].as_str(), Some("127.0.0.1:7"));
    let servers: Vec<_> = table["server"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it.as_str().unwrap())
        .collect();
    assert_eq!(servers, ["r1:7101", "[fd00::1]:7101"]);
    assert_eq!(table["max_connections"].as_integer(), Some(9));
    assert_eq!(table["idle_timeout"].as_integer(), Some(120));
    assert_eq!(table["connect_timeout"].as_integer(), Some(5));
    assert!(!table.contains_key("http_listen"));

    let words = [
        "relay",
        "--server",
        "r1:7101",
        "--print-config",
        "-o",
        "json",
    ];
    let json = muster(&words).run().json();
    assert_eq!(json["listen"], "[::]:7101");
}

#[test]
fn wrong_settings_are_refused_before_anything_is_opened() {
    let server = ["--server", "r1:7101"];
    for (words, said) in [
        (
            &[][..],
            "--server (or MUSTER_SERVER, or `server` in the file): is required",
        ),
        (&["--server", "r1"], "must be HOST:PORT"),
        (&["--listen", "7101"], "must be IP:PORT"),
        (&["--max-connections", "0"], "from 1 to 1000000"),
        (&["--idle-timeout", "5"], "from 40 to 86400"),
        (&["--http-listen", "127.0.0.1:0"], "--http-server"),
        (&["--http-server", "r1:7100"], "--http-listen"),
    ] {
        let server = if words.is_empty() || words[0] == "--server" {
            &[][..]
        } else {
            &server
        };
        let ran = muster(&[&["relay"][..], words, server].concat()).run();
        assert_eq!(ran.code, 2, "{words:?}: {ran:?}");
        assert!(ran.stderr.contains(said), "{words:?}: {ran:?}");
    }
    let file = "[relay]\nserver = \"r1:7101\"\nlimit = 1\n";
    let ran = muster(&["relay", "--config", "relay.toml"])
        .file("relay.toml", file)
        .in_home()
        .run();
    assert_eq!(
        (ran.code, ran.stderr.contains("`limit`: is no setting")),
        (2, true),
        "{ran:?}"
    );
}

#[test]
fn a_taken_address_is_named_with_advice() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ran = muster(&["relay", "--server", "r1:7101", "--listen", &address]).run();
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(
        ran.stderr
            .contains(&format!("cannot listen on {address} for agents")),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("--listen"), "{ran:?}");
}

#[test]
fn relays_of_a_server_are_addresses_and_networks() {
    let words = ["server", "--print-config", "--relays"];
    let ran = muster(&[&words[..], &["10.0.0.5,10.8.0.0/16"]].concat()).run();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        ran.stdout.contains("relays = \"10.0.0.5,10.8.0.0/16\""),
        "{ran:?}"
    );
    let ran = muster(&[&words[..], &["relay1"]].concat()).run();
    assert_eq!(
        (ran.code, ran.stderr.contains("\"relay1\"")),
        (2, true),
        "{ran:?}"
    );
}
