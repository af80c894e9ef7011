//! The sources of settings, and errors about bad ones.

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
fn flag_wins_over_environment_over_file_over_default() {
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
    assert_eq!((config.memory_max, config.cpu_max), (256 << 20, 50));
    assert_eq!((config.output_runs, config.output_max), (3, 1 << 20));
    assert_eq!(config.cgroups.as_str(), "auto");
    assert_eq!(config.release, supervisor::AllowedPaths::Anywhere);
}

#[test]
fn releases_are_limited_to_folders_or_off() {
    let allowed = |env: &[(&str, &str)]| resolve(&with_server(), env).unwrap().release;
    let folders = ("MUSTER_RELEASE_PATHS", "/srv, /etc/app");
    let below = supervisor::AllowedPaths::Below(vec!["/srv".into(), "/etc/app".into()]);
    assert_eq!(allowed(&[folders]), below);
    let off = ("MUSTER_RELEASE", "off");
    assert_eq!(allowed(&[folders, off]), supervisor::AllowedPaths::Nowhere);
}

#[test]
fn a_table_agent_wins_over_the_top_of_a_shared_file() {
    let (_dir, path) = file("log = 'warn'\nhttp = 'x'\n[agent]\nserver = 'h:1'\nip = '1.1.1.1'\n");
    let config = resolve(&AgentArgs::default(), &[("MUSTER_CONFIG", &path)]).unwrap();
    assert_eq!(config.servers[0].to_string(), "h:1");
    assert_eq!(config.log.as_str(), "warn");
}

/// The error about these arguments.
fn complaint(change: impl FnOnce(&mut AgentArgs)) -> String {
    let mut args = with_server();
    change(&mut args);
    resolve(&args, &[]).unwrap_err().to_string()
}

fn complaint_about_env(name: &str, value: &str) -> String {
    let error = resolve(&with_server(), &[(name, value)]);
    error.unwrap_err().to_string()
}

fn complaint_about_file(text: &str) -> String {
    let (_dir, path) = file(text);
    complaint(|args| args.config = Some(path))
}

#[test]
fn an_error_names_the_source_and_the_rule() {
    let some = |text: &str| Some(text.to_owned());
    for (complaint, place, rule) in [
        (complaint(|a| a.server.clear()), "--server", "is required"),
        (
            complaint(|a| a.server = vec!["h".into()]),
            "--server",
            "HOST:PORT",
        ),
        (complaint(|a| a.ip = some("x")), "--ip", "IPv4"),
        (complaint(|a| a.cloud_id = some("-1")), "--cloud-id", "0 to"),
        (
            complaint(|a| a.agent_id = some("a b")),
            "--agent-id",
            "letters",
        ),
        (complaint(|a| a.log = some("loud")), "--log", "info"),
        (
            complaint(|a| a.log_format = some("xml")),
            "--log-format",
            "json",
        ),
        (
            complaint(|a| a.cgroups = some("maybe")),
            "--cgroups",
            "must be auto or off",
        ),
        (
            complaint(|a| a.release = some("maybe")),
            "--release",
            "must be on or off",
        ),
        (
            complaint_about_env("MUSTER_RELEASE_PATHS", "/srv,etc"),
            "MUSTER_RELEASE_PATHS",
            "must be absolute paths",
        ),
        (complaint(|a| a.data = some("")), "--data", "is required"),
        (
            complaint(|a| a.memory_max = some("1MiB")),
            "--memory-max",
            "4MiB to",
        ),
        (
            complaint(|a| a.cpu_max = some("0")),
            "--cpu-max",
            "1 to 100",
        ),
        (
            complaint_about_env("MUSTER_AGENT_MEMORY_MAX", "much"),
            "MUSTER_AGENT_MEMORY_MAX",
            "as in 256MiB",
        ),
        (
            complaint_about_file("cpu_max = 101"),
            "key `cpu_max`",
            "1 to 100",
        ),
        (
            complaint(|a| a.config = some("/nowhere")),
            "--config /nowhere",
            "read",
        ),
        (complaint_about_env("MUSTER_IP", "x"), "MUSTER_IP", "IPv4"),
        (
            complaint_about_env("MUSTER_JOIN_TOKEN", "a.b"),
            "MUSTER_JOIN_TOKEN",
            "64",
        ),
        (complaint_about_file("ip = 'x'"), "key `ip`", "IPv4"),
        (
            complaint_about_file("sever = 'h:1'"),
            "key `sever`",
            "is no setting",
        ),
        (
            complaint_about_file("cloud_id = true"),
            "key `cloud_id`",
            "not a boolean",
        ),
        (
            complaint_about_file("[agent]\nx = 1"),
            "key `x`",
            "is no setting",
        ),
    ] {
        assert!(
            complaint.contains(place) && complaint.contains(rule),
            "{complaint}"
        );
    }
}

#[test]
fn secrets_are_neither_printed_nor_part_of_errors() {
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
        memory_max: Some("64M".into()),
        cpu_max: Some("20%".into()),
        output_runs: Some("7".into()),
        output_max: Some("300KiB".into()),
        cgroups: Some("off".into()),
        release_paths: vec!["/srv".into(), "/etc/app".into()],
        log: Some("debug".into()),
        log_format: Some("json".into()),
        ..AgentArgs::default()
    };
    let config = resolve(&args, &[]).unwrap();
    let (_dir, path) = file(&config.to_toml());
    let again = resolve(&AgentArgs::default(), &[("MUSTER_CONFIG", &path)]).unwrap();
    assert_eq!(again, config);
}
