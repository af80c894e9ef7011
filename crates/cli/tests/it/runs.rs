//! `runs`: the last runs of a process.

use serde_json::json;

use crate::command::muster;
use crate::fake_server::{FakeServer, ok};

#[test]
fn each_run_is_a_row_with_its_end_and_its_output() {
    let run = |number: u32, end: serde_json::Value, running: bool| {
        let took = end.is_object().then_some(252_000);
        json!({"number": number, "began": 1_700_000_000_000_i64, "running": running, "end": end, "duration_ms": took,
            "output_bytes": running.then_some(2048), "log_path": ""})
    };
    let failed = json!({"code": 3, "signal": null, "at": 1_700_000_252_000_i64, "oom": false, "memory_used": null,
        "memory_limit": null});
    let runs = [
        run(6, failed, false),
        run(7, json!(null), false),
        run(8, json!(null), true),
    ];
    let server = FakeServer::new(move |_| ok(json!({"host": "0:10.0.0.1", "runs": runs})));
    let shown = |options: &[&str]| {
        let args = [&["runs", "ops/backup", "--host", "10.0.0.1"], options].concat();
        let ran = muster(&args).to(&server.url).run();
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.stdout
    };
    let text = shown(&[]);
    assert_eq!(
        server.lines()[0],
        "GET /api/v1/processes/ops/backup/runs?host=0:10.0.0.1"
    );
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((lines[0], lines.len()), ("ops/backup on 0:10.0.0.1", 5));
    for (line, number, end) in [
        (lines[2], "6 ", "4m12s  exit 3    -"),
        (lines[3], "7 ", "-  not seen  -"),
        (lines[4], "8 ", "-  goes on   2.0 KiB"),
    ] {
        let line = line.trim();
        assert!(line.starts_with(number) && line.ends_with(end), "{line:?}");
    }
    assert_eq!(shown(&["--limit", "1"]).lines().count(), 3);
    let answer: serde_json::Value = serde_json::from_str(&shown(&["-o", "json"])).unwrap();
    assert_eq!(answer["runs"][0]["end"]["code"], 3);
}

#[test]
fn a_process_that_was_never_started_has_none() {
    let server = FakeServer::new(|_| ok(json!({"host": "0:10.0.0.1", "runs": []})));
    let ran = muster(&["runs", "ops/backup"]).to(&server.url).run();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        ran.stderr.contains("has not started ops/backup yet"),
        "{ran:?}"
    );
}

#[test]
fn the_output_of_one_run_is_asked_for_by_its_number() {
    for bad in ["0", "x"] {
        let ran = muster(&["logs", "ops/backup", "--run", bad]).run();
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.stderr.contains("--run"), "{ran:?}");
    }
    let ran = muster(&["logs", "ops/backup", "--run", "3", "--follow"]).run();
    assert_eq!(ran.code, 2, "{ran:?}");
}
