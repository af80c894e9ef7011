//! `topology`, `expression`, and `ps` of a business.

use serde_json::{Value, json};

use crate::command::muster;
use crate::fake_server::{FakeServer, ok, status};

const GAME: &str = "\
bk_biz_id: 2
bk_biz_name: game
sets:
  - bk_set_name: zone-1
    modules:
      - bk_module_name: login
        hosts: [10.0.0.1]
        processes:
          - {bk_process_name: login, work_path: /opt/login, pid_file: login.pid, start_cmd: ./start.sh}
";

fn difference() -> Value {
    json!({
        "sets": {"new": 1, "changed": 0, "gone": 0}, "processes": {"new": 1, "changed": 0, "gone": 2},
        "vanished": 0, "lines": ["+ set zone-1", "- process 7 chat"], "more_lines": 0, "troubles": [],
    })
}

#[test]
fn an_import_sends_each_business_and_shows_what_changes() {
    let server = FakeServer::answering(200, difference());
    let ran = muster(&["topology", "import", "game.yaml", "--dry-run"])
        .file("game.yaml", GAME)
        .in_home()
        .to(&server.url)
        .run();
    assert_eq!(ran.code, 0, "{ran:?}");
    let asked = server.asked();
    assert_eq!(
        asked[0].line,
        "PUT /api/v1/businesses/2/topology?dry_run=true"
    );
    assert_eq!(asked[0].body["sets"][0]["bk_set_name"], "zone-1");
    assert_eq!(
        ran.stdout,
        "+ set zone-1\n- process 7 chat\nbusiness 2 game would change: sets +1, processes +1 -2\n"
    );
}

#[test]
fn an_import_that_takes_processes_out_needs_yes_without_a_terminal() {
    let server = FakeServer::answering(200, difference());
    let several = json!({"businesses": [{"bk_biz_id": 2}, {"bk_biz_id": 3}]});
    let args = ["topology", "import", "-", "-o", "json", "--yes"];
    let run = |args: &[&str]| {
        let several = several.to_string();
        muster(args).stdin(&several).to(&server.url).run()
    };
    let ran = run(&args[..5]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(
        ran.stderr.contains("not done: take 4 processes out"),
        "{ran:?}"
    );
    let n_asked = server.lines().len();
    assert!(
        server
            .lines()
            .iter()
            .all(|line| line.contains("dry_run=true"))
    );
    let ran = run(&args);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(
        server.lines()[n_asked..],
        [
            "PUT /api/v1/businesses/2/topology",
            "PUT /api/v1/businesses/3/topology"
        ]
    );
    let json = ran.json();
    assert_eq!(json["dry_run"], false);
    assert_eq!(json["businesses"][1]["id"], 3);
    assert_eq!(json["businesses"][0]["difference"], difference());
}

#[test]
fn a_wrong_file_is_refused_before_any_request() {
    let server = FakeServer::answering(200, difference());
    let ran = muster(&["topology", "import", "game.yaml"])
        .file("game.yaml", &GAME.replace("10.0.0.1", "nowhere"))
        .in_home()
        .to(&server.url)
        .run();
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(
        ran.stderr
            .contains("game.yaml: sets[0].modules[0].hosts[0]"),
        "{ran:?}"
    );
    assert!(server.lines().is_empty());
}

#[test]
fn rows_that_were_left_out_are_a_failure() {
    let mut answer = difference();
    answer["troubles"] = json!([{"row": "sets[0].modules[0]", "reason": "no processes"}]);
    let server = FakeServer::answering(200, answer);
    let ran = muster(&["topology", "import", "-", "--yes"])
        .stdin(GAME)
        .to(&server.url)
        .run();
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(
        ran.stderr
            .contains("1 row left out:\n  sets[0].modules[0]: no processes"),
        "{ran:?}"
    );
}

#[test]
fn an_export_is_a_file_that_import_takes() {
    let document = json!({"bk_biz_id": 2, "bk_biz_name": "game", "sets": []});
    let server = FakeServer::answering(200, document.clone());
    let yaml = muster(&["topology", "export", "2"]).to(&server.url).run();
    assert_eq!(yaml.stdout, "bk_biz_id: 2\nbk_biz_name: game\nsets: []\n");
    let json = muster(&["topology", "export", "2", "-o", "json"])
        .to(&server.url)
        .run();
    assert_eq!(json.json(), document);
    let again = muster(&["topology", "import", "-", "--yes"])
        .stdin(&yaml.stdout)
        .to(&server.url)
        .run();
    assert_eq!(again.code, 0, "{again:?}");
}

#[test]
fn a_business_that_is_not_there_is_said_with_what_to_do() {
    let said = json!({"error": {"code": "not_found", "message": "business 9 is not known"}});
    for verb in ["export", "refresh", "remove"] {
        let server = FakeServer::answering(404, said.clone());
        let yes = Vec::from_iter((verb == "remove").then_some("--yes"));
        let args = [&["topology", verb, "9"], &yes[..]].concat();
        let ran = muster(&args).to(&server.url).run();
        assert_eq!(ran.code, 4, "{ran:?}");
        assert!(
            ran.stderr
                .contains("business 9 is not known\n  muster topology show"),
            "{ran:?}"
        );
    }
}

#[test]
fn the_processes_of_a_business_are_filtered_by_the_server() {
    let server = FakeServer::new(|_| {
        ok(json!({"count": 250, "start": 50, "processes": [{
            "id": 7, "expression": "zone-1.login.s.login.7", "host": "0:10.0.0.1", "status": "running",
            "managed": true, "instances": [{"status": "running", "connected": true}],
        }]}))
    });
    let ran = muster(&[
        "ps",
        "--biz",
        "2",
        "--set",
        "zone-[1-3]",
        "--service",
        "10.0.0.1_*",
        "--env",
        "formal",
        "--state",
        "failed,unregistered",
        "--pending",
        "--managed",
        "--host",
        "3:10.0.0.1",
        "--search",
        "10.0",
        "--order",
        "module,-id",
        "--page",
        "51",
        "--limit",
        "1",
    ])
    .to(&server.url)
    .run();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(
        server.lines(),
        [
            "GET /api/v1/processes/view?business=2&env=formal&expr=zone-%5B1-3%5D.%2A.10%5C.0%5C.0%5C.1_%2A.%2A.%2A\
             &state=failed%2Cunregistered&restart_needed=true&managed=true&ip=10.0.0.1&cloud=3&order=module%2C-id&search=10.0\
             &start=50&limit=1"
        ]
    );
    assert!(ran.stdout.contains("1 of 1 run"), "{ran:?}");
    assert!(ran.stderr.contains("51 to 51 of 250"), "{ran:?}");
}

#[test]
fn flags_of_a_business_need_one() {
    for wrong in [
        &["ps", "--set", "x"][..],
        &["ps", "--biz", "2", "--namespace", "web"],
        &["ps", "--biz", "2", "--expr", "a", "--set", "b"],
        &["job", "start"],
    ] {
        let ran = muster(wrong).run();
        assert_eq!(ran.code, 2, "{ran:?}");
    }
}

#[test]
fn a_wrong_expression_is_shown_with_a_caret() {
    let server = FakeServer::answering(500, json!({}));
    for command in [
        &["expression", "explain", "zone.gse_pr[", "--biz", "2"][..],
        &["ps", "--biz", "2", "--expr", "zone.gse_pr["],
        &["job", "stop", "--biz", "2", "--expr", "zone.gse_pr["],
    ] {
        let ran = muster(command).to(&server.url).run();
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(
            ran.stderr.ends_with("\n  zone.gse_pr[\n             ^\n"),
            "{ran:?}"
        );
    }
    assert!(server.lines().is_empty());
}

#[test]
fn an_expression_is_explained_part_by_part() {
    let server = FakeServer::new(|asked| {
        assert_eq!(
            asked.body,
            json!({"business": 2, "env": "test", "expression": "zone-1.*.*.*.*"})
        );
        ok(json!({
            "expression": "zone-1.*.*.*.*", "count": 12,
            "parts": [{"part": "set", "text": "zone-1", "words": "exactly \"zone-1\"", "count": 12}],
            "matches": [{"id": 7, "expression": "zone-1.login.s.login.7"}],
        }))
    });
    let ran = muster(&[
        "expression",
        "explain",
        "zone-1",
        "--biz",
        "2",
        "--env",
        "test",
    ])
    .to(&server.url)
    .run();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        ran.stdout
            .contains("12 processes selected\n  7  zone-1.login"),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("and 11 more"), "{ran:?}");
}

#[test]
fn a_refusal_of_the_server_is_passed_on() {
    let server = FakeServer::new(|_| {
        status(
            400,
            json!({"error": {"code": "invalid", "field": "order", "message": "order: must be some of set"}}),
        )
    });
    let ran = muster(&["ps", "--biz", "2", "--order", "x"])
        .to(&server.url)
        .run();
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("order: must be some of set"), "{ran:?}");
}

#[test]
fn a_business_is_named_by_id_or_by_name_in_every_verb() {
    let list = json!({"businesses": [
        {"id": 2, "name": "shop"}, {"id": 3, "name": "twin"}, {"id": 4, "name": "twin"}]});
    let server = FakeServer::new(move |asked| match asked.line.as_str() {
        "GET /api/v1/businesses" => ok(list.clone()),
        _ => ok(json!({"count": 0, "processes": [], "jobs": [], "templates": [], "grants": []})),
    });
    for line in [
        "ps --biz shop",
        "ps --business shop",
        "job list --biz shop",
        "job start --biz shop --no-wait",
        "template list --biz shop",
        "template files --biz shop",
        "expression explain * --biz shop",
        "topology show shop",
        "topology export shop",
        "topology refresh shop",
        "topology remove shop --yes",
        "user grant ann --role viewer --biz shop,3",
        "app revoke ci --business shop",
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let n_before = server.lines().len();
        muster(&words).to(&server.url).run();
        let asked = server.asked().split_off(n_before);
        assert_eq!(asked[0].line, "GET /api/v1/businesses", "{line}");
        let is_resolved = asked[1..].iter().any(|one| {
            one.line.contains("business=2")
                || one.line.contains("/businesses/2")
                || one.body["business"] == 2
                || one.body["businesses"][0] == 2
                || line.starts_with("topology show")
        });
        assert!(is_resolved, "{line}: {asked:?}");
    }
    let ran = muster(&["ps", "--biz", "twin"]).to(&server.url).run();
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(
        ran.stderr
            .contains("2 businesses are called \"twin\": 3, 4"),
        "{ran:?}"
    );
    let ran = muster(&["ps", "--biz", "nobody"]).to(&server.url).run();
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(ran.stderr.contains("muster topology show"), "{ran:?}");
}
