//! `template`: by name or id, with versions, bindings and files.

use serde_json::{Value, json};

use crate::command::{Output, muster};
use crate::fake_server::{FakeServer, Request, ok, status};

fn template() -> Value {
    json!({
        "id": 3, "template_name": "login.conf", "file_name": "login.conf", "abs_path": "/etc/login", "owner": "root",
        "group": "root", "filemode": "0644", "line_separator": "LF", "draft": 6, "active": 5, "versions": 2,
        "bindings": {"processes": [7], "process_templates": [1]}, "updated_at": 1, "updated_by": "ann",
    })
}

fn server() -> FakeServer {
    FakeServer::new(|asked: &Request| {
        let (method, path) = asked.line.split_once(' ').unwrap();
        let path = path.split('?').next().unwrap();
        match (method, path.strip_prefix("/api/v1/").unwrap()) {
            ("GET", "businesses/2/templates") => ok(json!({"templates": [template()]})),
            ("POST", "businesses/2/templates") => status(201, template()),
            ("DELETE", _) => status(204, Value::Null),
            ("GET", "businesses/2/templates/3/versions/5") => {
                ok(json!({"id": 5, "content": "port = ${port}\n"}))
            }
            ("GET", "processes/view") => {
                ok(json!({"count": 1, "processes": [{"id": 8, "expression": "z.m.s.p.8"}]}))
            }
            ("GET", "businesses/2/templates/3/files") => {
                ok(json!({"count": 1, "active": 5, "files": [{
                    "process": 8, "local_inst_id": 1, "expression": "z.m.s.p.8", "host": "0:10.0.0.1", "connected": true,
                    "state": "released", "generated": null, "drift": true,
                    "released": {"version": 5, "path": "/etc/login/login.conf", "md5": "x", "at": 1, "by": "ann"},
                    "drift_text": "config drift: /etc/login/login.conf has md5 y and not x",
                    "drift_reason": {"code": "differs", "params": {"md5": "y"}},
                }]}))
            }
            ("POST", "businesses/2/preview") => ok(json!({"content": "port = 80\n"})),
            ("GET", "businesses/2/processes/8/config-files") => ok(json!({"files": [{
                "process": 8, "local_inst_id": 1, "template": 3, "released": null,
                "generated": {"version": 5, "path": "/etc/login/login.conf", "md5": "x", "at": 1, "by": "ann"},
            }]})),
            ("GET", "businesses/2/processes/8/config-files/1/3") => ok(
                json!({"version": 5, "path": "/etc/login/login.conf", "md5": "x", "content": "port = 80\n"}),
            ),
            _ => ok(json!({"id": 6})),
        }
    })
}

fn run(server: &FakeServer, words: &[&str]) -> Output {
    let words = [&["template"], words, &["--biz", "2"]].concat();
    let ran = muster(&words)
        .file("login.mako", "port = ${port}\n")
        .in_home()
        .to(&server.url)
        .run();
    assert_eq!(ran.code, 0, "{ran:?}");
    ran
}

fn last(server: &FakeServer) -> Request {
    server.asked().pop().unwrap()
}

#[test]
fn a_template_is_created_with_its_first_version() {
    let server = server();
    run(
        &server,
        &[
            "create",
            "login.conf",
            "--path",
            "/etc/login/login.conf",
            "--mode",
            "0600",
            "--text",
            "login.mako",
        ],
    );
    let asked = server.asked();
    assert_eq!(
        asked[0].body,
        json!({
            "template_name": "login.conf", "file_name": "login.conf", "abs_path": "/etc/login", "owner": "root",
            "group": "root", "filemode": "0600", "line_separator": "LF",
        })
    );
    assert_eq!(asked[1].line, "PUT /api/v1/businesses/2/templates/3/draft");
    assert_eq!(asked[1].body["content"], "port = ${port}\n");
    assert_eq!(
        asked[2].line,
        "POST /api/v1/businesses/2/templates/3/versions/6/activate"
    );
}

#[test]
fn a_change_keeps_what_is_not_named() {
    let server = server();
    run(&server, &["edit", "login.conf", "--owner", "game"]);
    let asked = last(&server);
    assert_eq!(asked.line, "PUT /api/v1/businesses/2/templates/3");
    assert_eq!(asked.body["owner"], "game");
    assert_eq!(asked.body["abs_path"], "/etc/login");
    assert_eq!(asked.body["filemode"], "0644");
}

#[test]
fn bindings_are_added_to_and_taken_from_what_was_bound() {
    let server = server();
    run(&server, &["bind", "3", "--module", "login"]);
    assert_eq!(
        last(&server).body,
        json!({"processes": [7, 8], "process_templates": [1]})
    );
    run(&server, &["unbind", "3", "--process-template", "1"]);
    assert_eq!(
        last(&server).body,
        json!({"processes": [7], "process_templates": []})
    );
}

#[test]
fn versions_are_written_shown_activated_and_copied() {
    let server = server();
    assert_eq!(
        run(&server, &["versions", "login.conf", "5"]).stdout,
        "port = ${port}\n"
    );
    run(
        &server,
        &["draft", "login.conf", "login.mako", "-d", "new port"],
    );
    assert_eq!(
        last(&server).body,
        json!({"description": "new port", "content": "port = ${port}\n"})
    );
    run(&server, &["activate", "login.conf"]);
    assert_eq!(
        last(&server).line,
        "POST /api/v1/businesses/2/templates/3/versions/6/activate"
    );
    run(&server, &["clone", "login.conf", "5"]);
    assert_eq!(
        last(&server).line,
        "POST /api/v1/businesses/2/templates/3/versions/5/clone"
    );
    run(&server, &["delete", "login.conf", "--yes"]);
    assert_eq!(
        last(&server).line,
        "DELETE /api/v1/businesses/2/templates/3"
    );
}

#[test]
fn previews_and_files_are_shown() {
    let server = server();
    let ran = run(&server, &["preview", "login.conf", "--instance", "2"]);
    assert_eq!(ran.stdout, "port = 80\n");
    assert_eq!(
        last(&server).body,
        json!({"template": 3, "process": 8, "local_inst_id": 2})
    );
    let ran = run(&server, &["files", "--module", "login"]);
    assert!(
        ran.stdout
            .contains("z.m.s.p.8     1  login.conf  /etc/login/login.conf"),
        "{ran:?}"
    );
    let ran = run(&server, &["files", "--text", "generated"]);
    assert_eq!(ran.stdout, "port = 80\n");
}

#[test]
fn an_unknown_template_is_an_error_with_advice() {
    let server = server();
    let ran = muster(&["template", "versions", "chat.conf", "--biz", "2"])
        .to(&server.url)
        .run();
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(
        ran.stderr.contains("muster template list --biz 2"),
        "{ran:?}"
    );
}

#[test]
fn what_differs_on_a_host_is_listed() {
    let server = server();
    let ran = run(&server, &["drift", "login.conf"]);
    assert!(
        ran.stdout
            .ends_with("z.m.s.p.8     1  0:10.0.0.1  /etc/login/login.conf  has md5 y and not x\n"),
        "{ran:?}"
    );
    let asked = server.lines();
    assert_eq!(
        asked.last().unwrap(),
        "GET /api/v1/businesses/2/templates/3/files?drift=true&start=0&limit=100"
    );
    run(&server, &["drift", "3", "--all", "-o", "json"]);
    assert!(!server.lines().last().unwrap().contains("drift="));
}
