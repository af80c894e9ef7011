//! PostgreSQL: data survives a restart, and nothing is left after the drop.

use engines::{Postgres, PostgresOptions};

#[test]
fn a_database_can_be_created_and_written() {
    let postgres = Postgres::start().unwrap();
    let url = postgres.create_database("fleet").unwrap();
    assert_eq!(
        url,
        format!("postgres://muster@127.0.0.1:{}/fleet", postgres.port())
    );
    let databases = postgres.execute("SELECT datname FROM pg_database").unwrap();
    assert!(databases.lines().any(|line| line == "fleet"), "{databases}");
    let settings = postgres.execute("SHOW fsync").unwrap();
    assert_eq!(settings, "off\n");
}

#[test]
fn options_reach_the_server() {
    let options = PostgresOptions {
        fsync: true,
        settings: vec![("max_connections".into(), "7".into())],
    };
    let postgres = Postgres::start_with(options).unwrap();
    assert_eq!(postgres.execute("SHOW fsync").unwrap(), "on\n");
    assert_eq!(postgres.execute("SHOW max_connections").unwrap(), "7\n");
}

#[test]
fn commits_survive_a_stop_and_a_kill() {
    let mut postgres = Postgres::start().unwrap();
    let url = postgres.url();
    postgres.execute("CREATE TABLE t (n int)").unwrap();
    postgres.execute("INSERT INTO t VALUES (1)").unwrap();
    postgres.stop().unwrap();
    assert!(postgres.execute("SELECT 1").is_err());
    postgres.start_again().unwrap();
    postgres.execute("INSERT INTO t VALUES (2)").unwrap();
    postgres.kill().unwrap();
    assert!(postgres.execute("SELECT 1").is_err());
    postgres.start_again().unwrap();
    assert_eq!(postgres.url(), url);
    assert_eq!(postgres.execute("SELECT sum(n) FROM t").unwrap(), "3\n");
}

#[test]
fn errors_of_statements_and_settings_are_reported() {
    let postgres = Postgres::start().unwrap();
    let error = postgres.execute("SELECT nonsense").unwrap_err();
    assert!(error.to_string().contains("nonsense"), "{error}");
    let options = PostgresOptions {
        settings: vec![("no_such_setting".into(), "1".into())],
        ..PostgresOptions::default()
    };
    let error = Postgres::start_with(options).unwrap_err();
    assert!(error.to_string().contains("no_such_setting"), "{error}");
}
