//! Where settings come from, and how bad ones are refused.

use std::path::PathBuf;

use agent::config::ConfigError;
use agent::{AgentArgs, AgentConfig};

fn resolve(args: &AgentArgs, env: &[(&str, &str)]) -> Result<AgentConfig, ConfigError> {
    AgentConfig::resolve(args, |name| {
        env.iter()
            .find(|(key, _)| *key == name)
            .map(|(_, value)| (*value).to_owned())
    })
}

fn file(text: &str) -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("agent.toml");
    std::fs::write(&path, text).unwrap();
    (dir, path.to_str().unwrap().to_owned())
}

fn with_server() -> AgentArgs {
    AgentArgs {
        server: vec!["10.0.0.1:1".into()],
        ..AgentArgs::default()
    }
}

#[test]
fn a_flag_wins_over_the_environment_that_over_the_file_that_over_the_default() {
    let (_dir, path) = file(
        "server = ['10.0.0.1:1', '[::1]:2']\nip = '1.1.1.1'\ncloud_id = 1\nagent_id = 'file'\nlog = 'warn'\n",
    );
    let args = AgentArgs {
        config: Some(path),
        ip: Some("3.3.3.3".into()),
        ..AgentArgs::default()
    };
    let env = [
        ("MUSTER_IP", "2.2.2.2"),
        ("MUSTER_CLOUD_ID", "2"),
        ("MUSTER_AGENT_ID", ""),
    ];
    let config = resolve(&args, &env).unwrap();
    assert_eq!(config.ip, Some("3.3.3.3".parse().unwrap()));
    assert_eq!(config.cloud, Some(2));
    assert_eq!(config.agent_id.as_ref().unwrap().as_str(), "file");
    assert_eq!(config.log.as_str(), "warn");
    assert_eq!(config.log_format.as_str(), "text");
    assert_eq!(config.data, PathBuf::from("/var/lib/muster-agent"));
    assert_eq!(config.servers.len(), 2);
}

#[test]
fn a_table_agent_wins_over_the_top_of_a_shared_file() {
    let (_dir, path) = file("log = 'warn'\nhttp = 'x'\n[agent]\nserver = 'h:1'\nip = '1.1.1.1'\n");
    let config = resolve(&AgentArgs::default(), &[("MUSTER_CONFIG", &path)]).unwrap();
    assert_eq!(config.servers[0].to_string(), "h:1");
    assert_eq!(config.log.as_str(), "warn");
}

#[test]
fn a_bad_value_names_its_place_and_the_rule() {
    let (_dir, bad_ip) = file("ip = 'nonsense'\n");
    let (_dir, unknown) = file("sever = 'h:1'\n");
    let (_dir, mistyped) = file("cloud_id = true\n");
    let args = |change: &dyn Fn(&mut AgentArgs)| {
        let mut args = with_server();
        change(&mut args);
        args
    };
    let config = |path: &String| {
        let path = path.clone();
        args(&move |args| args.config = Some(path.clone()))
    };
    let cases: Vec<(AgentArgs, Vec<(&str, &str)>, [&str; 2])> = vec![
        (AgentArgs::default(), vec![], ["--server", "is required"]),
        (
            args(&|a| a.server = vec!["h".into()]),
            vec![],
            ["--server", "HOST:PORT"],
        ),
        (args(&|a| a.ip = Some("x".into())), vec![], ["--ip", "IPv4"]),
        (
            with_server(),
            vec![("MUSTER_IP", "x")],
            ["MUSTER_IP", "IPv4"],
        ),
        (config(&bad_ip), vec![], ["key `ip`", "IPv4"]),
        (config(&unknown), vec![], ["key `sever`", "is no setting"]),
        (
            config(&mistyped),
            vec![],
            ["key `cloud_id`", "not a boolean"],
        ),
        (
            args(&|a| a.cloud_id = Some("-1".into())),
            vec![],
            ["--cloud-id", "0 to"],
        ),
        (
            args(&|a| a.agent_id = Some("a b".into())),
            vec![],
            ["--agent-id", "letters"],
        ),
        (
            with_server(),
            vec![("MUSTER_JOIN_TOKEN", "a.b")],
            ["MUSTER_JOIN_TOKEN", "64"],
        ),
        (
            args(&|a| a.log = Some("loud".into())),
            vec![],
            ["--log", "info"],
        ),
        (
            args(&|a| a.log_format = Some("xml".into())),
            vec![],
            ["--log-format", "json"],
        ),
        (
            args(&|a| a.data = Some(String::new())),
            vec![],
            ["--data", "is required"],
        ),
        (
            args(&|a| a.config = Some("/nowhere".into())),
            vec![],
            ["--config /nowhere", "read"],
        ),
    ];
    for (args, env, words) in cases {
        let error = resolve(&args, &env).unwrap_err().to_string();
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
    }
}

#[test]
fn secrets_are_neither_printed_nor_shown_in_complaints() {
    let args = AgentArgs {
        join: Some("hushhush".into()),
        ..with_server()
    };
    let config = resolve(&args, &[]).unwrap();
    assert!(
        config.to_toml().contains("join = \"***\""),
        "{}",
        config.to_toml()
    );
    assert!(!config.to_toml().contains("hushhush"));
    assert!(!format!("{config:?}").contains("hushhush"));

    let (_dir, path) = file("join = \"hushhush\nip = 3");
    let error = resolve(&with_server(), &[("MUSTER_CONFIG", &path)]).unwrap_err();
    assert!(error.to_string().contains("line 1"), "{error}");
    assert!(!error.to_string().contains("hushhush"), "{error}");
}

#[test]
fn a_printed_configuration_reads_back_the_same() {
    let args = AgentArgs {
        server: vec!["a:1".into(), "[::1]:2".into()],
        ip: Some("::1".into()),
        cloud_id: Some("7".into()),
        agent_id: Some("x-1".into()),
        data: Some("/data".into()),
        log: Some("debug".into()),
        log_format: Some("json".into()),
        ..AgentArgs::default()
    };
    let config = resolve(&args, &[]).unwrap();
    let (_dir, path) = file(&config.to_toml());
    let again = resolve(&AgentArgs::default(), &[("MUSTER_CONFIG", &path)]).unwrap();
    assert_eq!(again, config);
}
