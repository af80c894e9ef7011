//! Flags and files for the sections of specs beyond the GSE documents.

use serde_json::{Value, json};

use crate::command::muster;
use crate::register::accepting;

/// This section of the spec that `muster register` sends with these flags.
fn by_flags(section: &str, flags: &str) -> Value {
    let server = accepting();
    let mut args = vec!["register", "a/b", "--start", "./b"];
    args.extend(flags.split_whitespace());
    let ran = muster(&args).in_home().to(&server.url).run();
    assert_eq!(ran.code, 0, "{ran:?}");
    server.asked().last().unwrap().body["spec"][section].clone()
}

/// The same with a file that has these tables.
fn by_file(section: &str, tables: &str) -> Value {
    let server = accepting();
    let identity = "[identity]\nsetup_path = '/x'\nuser = 'root'\n[control]\nstart_cmd = './b'\n";
    let ran = muster(&["register", "a/b", "--file", "d.toml"])
        .file("d.toml", &format!("{identity}{tables}"))
        .in_home()
        .to(&server.url)
        .run();
    assert_eq!(ran.code, 0, "{ran:?}");
    server.asked().last().unwrap().body["spec"][section].clone()
}

/// These flags are refused with this message, and nothing is sent.
fn refused(flags: [&str; 2], message: &str) {
    let server = accepting();
    let ran = muster(&["register", "a/b", "--start", "./b", flags[0], flags[1]])
        .in_home()
        .to(&server.url)
        .run();
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains(message), "{ran:?}");
}

#[test]
fn the_back_off_of_restarts_has_flags_and_keys_with_units() {
    let flags = "--restart-delay 2s --restart-factor 1.5 --restart-delay-max 10m --restart-jitter 0 --restart-reset 1h \
                 --give-up never";
    assert_eq!(
        by_flags("restart", flags),
        json!({"delay": 2, "factor": 1.5, "delay_max": 600, "jitter": 0, "reset": 3600, "give_up": "never"})
    );
    let tables = "[restart]\ndelay = '2s'\nreset = '1h'\ngive_up = 7\n";
    let expected = json!({"delay": 2, "reset": 3600, "give_up": 7});
    assert_eq!(by_file("restart", tables), expected);
    let rule = "must be never, or a number of attempts";
    refused(["--give-up", "sometimes"], rule);
    refused(
        ["--restart-factor", "0.5"],
        "restart.factor: must be from 1",
    );
    refused(
        ["--restart-jitter", "200"],
        "restart.jitter: must be from 0 to 100",
    );
}

#[test]
fn the_signals_of_a_stop_have_flags_and_keys_with_units() {
    assert_eq!(
        by_flags("stop", "--stop-signals quit,SIGTERM --stop-grace 20s"),
        json!({"signals": ["SIGQUIT", "SIGTERM"], "grace": 20})
    );
    assert_eq!(
        by_file("stop", "[stop]\ngrace = '1m'\n"),
        json!({"grace": 60})
    );
    refused(["--stop-signals", "KILL"], "must be one of SIGHUP");
    refused(
        ["--stop-grace", "2m"],
        "stop.grace: 120 s for each of 1 signals must fit into monitor_policy.op_timeout, which is 60 s",
    );
}

#[test]
fn the_rules_of_a_schedule_have_flags_and_keys_with_units() {
    let flags = "--auto-type periodic --crontab @daily --schedule-missed once --schedule-overlap kill --schedule-jitter 5m \
                 --schedule-history 20";
    assert_eq!(
        by_flags("schedule", flags),
        json!({"missed": "once", "overlap": "kill", "jitter": 300, "history": 20})
    );
    let tables = "[monitor_policy]\nauto_type = 'periodic'\ncrontab_rule = '@daily'\n\
                  [schedule]\noverlap = 'wait'\njitter = '10m'\n";
    let expected = json!({"overlap": "wait", "jitter": 600});
    assert_eq!(by_file("schedule", tables), expected);
    refused(
        ["--schedule-jitter", "5m"],
        "schedule.jitter: needs monitor_policy.auto_type 0 (periodic) and a crontab_rule",
    );
}

#[test]
fn the_order_of_processes_has_flags_and_keys_with_units() {
    let flags =
        "--after db/postgres,restart --after db/migrate,when=exited_ok,where=any,patience=5m";
    let expected = json!([
        {"process": "db/postgres", "restart": true},
        {"process": "db/migrate", "when": "exited_ok", "where": "any", "patience": 300}
    ]);
    assert_eq!(by_flags("after", flags), expected);
    let tables = "[[after]]\nprocess = 'db/postgres'\nrestart = true\n\
                  [[after]]\nprocess = 'db/migrate'\nwhen = 'exited_ok'\nwhere = 'any'\npatience = '5m'\n";
    assert_eq!(by_file("after", tables), expected);
    assert_eq!(by_flags("after", "--no-after"), Value::Null);
    refused(
        ["--after", "postgres"],
        "after[0].process: must be NAMESPACE/NAME",
    );
    refused(
        ["--after", "db/x,when=alive"],
        "when: must be one of ready, up, exited_ok",
    );
    refused(
        ["--after", "db/x,where=all,restart"],
        "after[0].restart: needs where: same_host",
    );
    refused(
        ["--after", "db/x,soon"],
        "\"soon\" is unknown; there are when, where, patience, restart",
    );
}
