//! Messages in plain words, from a real server to the terminal.

use crate::real_server::RealServer;

#[test]
fn an_agent_that_is_not_connected_is_called_so() {
    let server = RealServer::start();
    let register = [
        "register",
        "web/nginx",
        "--host",
        "127.0.0.3",
        "--setup-path",
        "/tmp",
        "--start",
        "sleep 1000",
    ];
    server.fine(&register, "");
    let ran = server.run(&["start", "web/nginx"], "");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(
        ran.stdout
            .contains("start failed (117): agent on 127.0.0.3 is not connected"),
        "{ran:?}"
    );
}

#[test]
fn a_wrong_crontab_rule_names_the_part_that_is_wrong() {
    let server = RealServer::start();
    for (rule, part) in [
        ("61 * * * *", "minute must be 0-59, got 61"),
        ("0 0 * * mo-x", "weekday must be 0-7, a list (1,2)"),
        ("@sometimes", "must be @hourly, @daily"),
    ] {
        let register = [
            "register",
            "web/report",
            "--host",
            "127.0.0.3",
            "--setup-path",
            "/tmp",
            "--start",
            "true",
            "--auto-type",
            "periodic",
            "--crontab",
            rule,
        ];
        let ran = server.run(&register, "");
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(
            ran.stderr.contains(&format!("crontab_rule: {part}")),
            "{ran:?}"
        );
    }
}
