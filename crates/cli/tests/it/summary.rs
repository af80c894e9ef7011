//! `summary`: what is wrong now.

use serde_json::json;

use crate::command::muster;
use crate::fake_server::{FakeServer, ok};

#[test]
fn what_is_wrong_comes_with_the_command_that_lists_it() {
    let server = FakeServer::new(|_| {
        ok(
            json!({"processes": 1200, "states": {"running": 1190}, "wanted_down": 4, "gave_up": 2, "unhealthy": 0,
            "restart_needed": 3, "hosts": 10, "agents_up": 9, "tasks_running": 1, "jobs_running": 0, "config_drift": 0}),
        )
    });
    let ran = muster(&["summary", "-n", "web,db"]).to(&server.url).run();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(server.lines()[0], "GET /api/v1/summary?namespace=web%2Cdb");
    for line in [
        "  agents away: 1 (muster hosts --connected false)",
        "  given up by the agent: 2 (muster ps -n web,db --state failed)",
        "  restart needed: 3 (muster ps -n web,db --pending)",
    ] {
        assert!(
            ran.stdout.lines().any(|shown| shown == line),
            "{line}: {ran:?}"
        );
    }
    assert!(
        !ran.stdout.contains("health") && !ran.stdout.contains("nothing is wrong"),
        "{ran:?}"
    );
    assert!(
        ran.stdout.contains("tasks under way: 1 (muster task)"),
        "{ran:?}"
    );
}

#[test]
fn a_fleet_that_is_well_says_so() {
    let server = FakeServer::new(|_| {
        ok(json!({"processes": 1, "states": {"running": 1}, "hosts": 1, "agents_up": 1}))
    });
    let ran = muster(&["summary"]).to(&server.url).run();
    assert!(ran.stdout.contains("nothing is wrong"), "{ran:?}");
}
