//! A real server with https: trusted certificates, roles and the audit trail.

use serde_json::Value;

use crate::real_server::{RealServer, pem};

#[test]
fn the_command_line_trusts_only_the_given_ca() {
    let server = RealServer::start_tls();
    assert!(
        server.url.starts_with("https://127.0.0.1:"),
        "{}",
        server.url
    );
    // What the server wrote for the command line on its machine is enough.
    assert!(
        server
            .fine(&["app", "list"], "")
            .contains("admin of everything")
    );
    let chain = pem("chain.pem").display().to_string();
    server.fine(&["app", "list", "--ca", &chain], "");
    let another = pem("another.pem").display().to_string();
    let ran = server.run(&["app", "list", "--ca", &another], "");
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.stderr.contains("certificate"), "{ran:?}");
    let key = pem("nothing.pem").display().to_string();
    assert_eq!(server.run(&["app", "list", "--ca", &key], "").code, 2);
    let plain = server.url.replace("https", "http");
    assert_ne!(server.run(&["app", "list", "--url", &plain], "").code, 0);
}

#[test]
fn roles_are_given_and_taken_back_and_all_of_it_is_on_the_trail() {
    let server = RealServer::start_tls();
    let create = [
        "user",
        "create",
        "ada",
        "--password-stdin",
        "--role",
        "operator",
    ];
    server.fine(
        &[&create[..], &["--business", "2", "-n", "gse"]].concat(),
        "correct horse\n",
    );
    server.fine(&["user", "grant", "ada", "--role", "viewer"], "");
    let list = server.fine(&["user", "list"], "");
    assert!(
        list.contains("operator of gse, business 2; viewer of everything"),
        "{list}"
    );
    let told = server.fine(&["user", "revoke", "ada", "--business", "2"], "");
    assert!(
        told.contains("operator of gse; viewer of everything"),
        "{told}"
    );
    let told = server.fine(&["user", "revoke", "ada"], "");
    assert!(told.contains("ada has no role now"), "{told}");
    server.fine(
        &[
            "app",
            "create",
            "eyes",
            "--role",
            "viewer",
            "--business",
            "2",
        ],
        "",
    );
    server.fine(
        &["app", "grant", "eyes", "--role", "operator", "-n", "web"],
        "",
    );
    assert_eq!(
        server
            .run(&["user", "grant", "nobody", "--role", "viewer"], "")
            .code,
        4
    );
    let bad = ["user", "grant", "ada", "--role", "admin", "--business", "2"];
    assert_eq!(server.run(&bad, "").code, 2);

    let trail = server.fine(&["audit", "--object", "ada", "--since", "1h"], "");
    assert_eq!(trail.lines().count(), 5, "{trail}");
    let exported = server.fine(&["audit", "export", "--action", "user.grants"], "");
    let first: Value = serde_json::from_str(exported.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&first["object"], &first["detail"]),
        (&"ada".into(), &"nothing".into())
    );
    let to = server.home.path().join("audit.csv").display().to_string();
    let args = [
        "audit", "export", "--format", "csv", "--to", &to, "--object", "eyes",
    ];
    assert_eq!(server.fine(&args, ""), "");
    let csv = std::fs::read_to_string(&to).unwrap();
    assert!(csv.starts_with("id,at,app,user,"), "{csv}");
    assert_eq!(csv.lines().count(), 3, "{csv}");
}
