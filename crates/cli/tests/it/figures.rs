//! `figures`: what a process used in the last hour.

use serde_json::json;

use crate::command::muster;
use crate::fake_server::{FakeServer, ok};

#[test]
fn each_figure_is_a_row_of_bars_with_its_mean_and_its_highest() {
    let server = FakeServer::new(|_| {
        ok(
            json!({"host": "0:10.0.0.1", "step_secs": 10, "until": 1_700_000_000_000_i64,
            "cpu": [0.0, 2.0, null, 4.0], "mem": [1.0, 1.0, null, 1.0], "fd": [null, null, null, null]}),
        )
    });
    let ran = muster(&["figures", "web/nginx", "--host", "10.0.0.1"])
        .to(&server.url)
        .run();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(
        server.lines()[0],
        "GET /api/v1/processes/web/nginx/figures?host=0:10.0.0.1"
    );
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines[0], "web/nginx on 0:10.0.0.1");
    let row = |n: usize| lines[n].split_whitespace().collect::<Vec<_>>();
    assert_eq!(row(2), ["cpu", "▁▅", "█", "4.0%", "2.0%", "4.0%"]);
    assert_eq!(row(4), ["descriptors", "-", "-", "-"]);
    let ran = muster(&["figures", "web/nginx", "-o", "json"])
        .to(&server.url)
        .run();
    let answer: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(answer["cpu"][3], 4.0);
}
