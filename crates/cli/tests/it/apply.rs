//! `muster apply` and the whole `muster export`, with a real server.

use serde_json::{Value, json};

use crate::command::muster;
use crate::real_server::RealServer;

const FLEET: &str = "\
processes:
- namespace: web
  name: nginx
  hosts: [10.0.0.1, 10.0.0.2]
  labels: {tier: front}
  identity: {setup_path: /opt/nginx, user: root}
  control: {start_cmd: ./sbin/nginx}
- namespace: web
  name: api
  hosts: [10.0.0.1]
  identity: {setup_path: /opt/api, user: api}
  control: {start_cmd: ./api --port 80}
  runtime: {env: {A: '1'}, memory_max: 100M, umask: '027'}
  restart: {delay: 2s, give_up: never}
  stop: {signals: [QUIT, TERM], grace: 5s}
groups:
- {namespace: web, name: front, cpu: 50, mem: 40.5, mem_weight: 1}
- {namespace: web, name: batch, hosts: [10.0.0.1], mem: 20}
webhooks:
- {url: 'http://127.0.0.1:9/hook', namespaces: [web], kinds: [process_exit], label: tier=front}
grants:
- {user: ann, role: operator, namespaces: [web, db]}
- {user: ann, role: viewer}
";

fn fleet() -> RealServer {
    let server = RealServer::start();
    server.add_user("ann", &[]);
    server
}

/// Applies a text from standard input.
fn apply(server: &RealServer, text: &str, flags: &[&str]) -> crate::command::Output {
    server.run(&[&["apply", "-f", "-"][..], flags].concat(), text)
}

#[test]
fn the_same_file_twice_changes_nothing() {
    let server = fleet();
    let ran = apply(&server, FLEET, &["--dry-run"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    for line in [
        "+ process web/nginx on 2 hosts",
        "+ process web/api on 0:10.0.0.1",
        "+ groups web on 1 host",
        "+ webhook http://127.0.0.1:9/hook",
        "+ grant user ann: operator of web",
        "0:10.0.0.1: +3 ~0 -0",
        "0:10.0.0.2: +2 ~0 -0",
        "6 to add, 0 to change, 0 to remove",
    ] {
        let line = line.replace("6 to add", "7 to add");
        assert!(ran.stdout.contains(&line), "{line}: {ran:?}");
    }
    // Nothing was done by it, nor without being asked.
    assert_eq!(apply(&server, FLEET, &["--dry-run"]).code, 2);
    let ran = apply(&server, FLEET, &[]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("--yes"), "{ran:?}");
    let ran = apply(&server, FLEET, &["--yes"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("MUSTER_WEBHOOK_SECRET="), "{ran:?}");
    for flags in [&["--dry-run"][..], &["--yes"], &["--prune", "--dry-run"]] {
        let ran = apply(&server, FLEET, flags);
        assert_eq!(ran.code, 0, "{flags:?}: {ran:?}");
        assert!(ran.stdout.starts_with("nothing to change"), "{ran:?}");
    }
}

#[test]
fn what_is_exported_changes_nothing_when_it_is_applied() {
    let server = fleet();
    assert_eq!(apply(&server, FLEET, &["--yes"]).code, 0);
    let text = server.fine(&["export"], "");
    assert!(text.starts_with("# Written by muster export"), "{text}");
    assert!(!text.contains("ecret:"), "{text}");
    for part in [
        "namespaces:",
        "processes:",
        "groups:",
        "webhooks:",
        "grants:",
    ] {
        assert!(text.contains(&format!("\n{part}")), "{part}: {text}");
    }
    for flags in [&["--dry-run"][..], &["--prune", "--dry-run"]] {
        let ran = apply(&server, &text, flags);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{text}\n{ran:?}");
    }
    let json = server.fine(&["export", "-o", "json"], "");
    let file = server.home.path().join("all.json");
    std::fs::write(&file, json).unwrap();
    let ran = server.run(&["apply", "-f", "all.json", "--dry-run"], "");
    assert_eq!(ran.code, 0, "{ran:?}");
    server.fine(&["export", "--to", "fleet/"], "");
    let mut names: Vec<String> = std::fs::read_dir(server.home.path().join("fleet"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["fleet.yaml", "web.yaml"]);
    let ran = server.run(&["apply", "-f", "fleet", "--prune", "--dry-run"], "");
    assert_eq!(ran.code, 0, "{ran:?}");
    let text = server.fine(&["export", "-n", "web"], "");
    assert!(
        !text.contains("webhooks:") && text.contains("groups:"),
        "{text}"
    );
}

#[test]
fn a_change_shows_old_and_new_and_touches_only_what_differs() {
    let server = fleet();
    assert_eq!(apply(&server, FLEET, &["--yes"]).code, 0);
    // One host has another definition.
    server.fine(
        &["update", "web/nginx", "--host", "10.0.0.2", "--mem", "20"],
        "",
    );
    let ran = apply(&server, FLEET, &["--dry-run"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(
        ran.stdout
            .contains("~ process web/nginx on 1 of 2 hosts\n    resource.mem: 20.0 → 0.0"),
        "{ran:?}"
    );
    let changed = FLEET
        .replace("--port 80", "--port 81")
        .replace("cpu: 50", "cpu: 60");
    let ran = apply(&server, &changed, &["--yes", "-o", "json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let document = ran.json();
    let steps = document["steps"].as_array().unwrap();
    let of = |name: &str| {
        let is_it = |step: &&Value| step["name"] == name;
        steps
            .iter()
            .find(is_it)
            .unwrap_or_else(|| panic!("{document}"))
    };
    assert_eq!(
        of("web/api")["changes"],
        json!([{"field": "control.start_cmd", "old": "./api --port 80", "new": "./api --port 81"}])
    );
    assert!(
        of("web")["changes"].to_string().contains("front.cpu"),
        "{document}"
    );
    assert_eq!(
        (&document["done"], &document["failed"]),
        (&json!(4), &json!(0)),
        "{document}"
    );
    assert_eq!(apply(&server, &changed, &["--dry-run"]).code, 0);
}

#[test]
fn prune_removes_only_of_the_kinds_and_namespaces_that_are_declared() {
    let server = fleet();
    assert_eq!(apply(&server, FLEET, &["--yes"]).code, 0);
    let register = [
        "register",
        "other/thing",
        "--host",
        "10.0.0.1",
        "--start",
        "sleep 1",
        "--setup-path",
        "/tmp",
        "--user",
        "a",
    ];
    server.fine(&register, "");
    let less = "namespaces: [web]\nprocesses:\n- namespace: web\n  name: nginx\n  hosts: [10.0.0.1]\n  labels: {tier: front}\n  identity: {setup_path: /opt/nginx, user: root}\n  control: {start_cmd: ./sbin/nginx}\n";
    let ran = apply(&server, less, &["--dry-run"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        ran.stderr.contains("--prune") || ran.stdout.contains("nothing to change"),
        "{ran:?}"
    );
    let ran = apply(&server, less, &["--prune", "--dry-run"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(
        ran.stdout.contains("- process web/nginx on 0:10.0.0.2"),
        "{ran:?}"
    );
    assert!(
        ran.stdout.contains("- process web/api on 0:10.0.0.1"),
        "{ran:?}"
    );
    assert!(
        !ran.stdout.contains("groups") && !ran.stdout.contains("other/"),
        "{ran:?}"
    );
    assert_eq!(apply(&server, less, &["--prune", "--yes"]).code, 0);
    let names = server.fine(&["ps", "-o", "json"], "");
    let names: Value = serde_json::from_str(&names).unwrap();
    assert_eq!(names["count"], 2, "{names}");
    // Grants are pruned for those that the file names, and what it leaves stays.
    let ran = apply(
        &server,
        "grants:\n- {user: ann, role: viewer}\nwebhooks: []\n",
        &["--prune", "--yes"],
    );
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("- webhook"), "{ran:?}");
    let users: Value =
        serde_json::from_str(&server.fine(&["user", "list", "-o", "json"], "")).unwrap();
    let grants = users["users"][0]["grants"].to_string();
    assert!(
        grants.contains("viewer") && !grants.contains("operator"),
        "{grants}"
    );
}

#[test]
fn a_changed_webhook_is_replaced() {
    let server = fleet();
    let hook = "webhooks:\n- {url: 'http://127.0.0.1:9/x', namespaces: [web]}\n";
    assert_eq!(apply(&server, hook, &["--yes"]).code, 0);
    std::fs::write(server.home.path().join("secret"), "0123456789abcdef0123\n").unwrap();
    let file = server.home.path().join("hook.yaml");
    std::fs::write(
        &file,
        hook.replace("[web]}", "[web, db], secret_file: secret}"),
    )
    .unwrap();
    let ran = server.run(&["apply", "-f", "hook.yaml", "--yes"], "");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        ran.stdout.contains("~ webhook") && ran.stdout.contains("replaced"),
        "{ran:?}"
    );
    assert!(!ran.stdout.contains("MUSTER_WEBHOOK_SECRET"), "{ran:?}");
    let list: Value =
        serde_json::from_str(&server.fine(&["webhook", "list", "-o", "json"], "")).unwrap();
    assert_eq!(list["webhooks"].as_array().unwrap().len(), 1, "{list}");
    assert_eq!(
        list["webhooks"][0]["namespaces"],
        json!(["db", "web"]),
        "{list}"
    );
}

#[test]
fn templates_are_declared_with_their_text() {
    let server = fleet();
    let topology = json!({"bk_biz_id": 2, "bk_biz_name": "game", "sets": []});
    let file = server.home.path().join("topology.json");
    std::fs::write(&file, topology.to_string()).unwrap();
    let ran = server.run(&["topology", "import", "topology.json", "--yes"], "");
    assert_eq!(ran.code, 0, "{ran:?}");
    std::fs::write(server.home.path().join("login.mako"), "port=80\n").unwrap();
    let text = "templates:\n- {business: game, name: login.conf, path: /etc/login.conf, mode: '0600', text_file: login.mako}\n";
    std::fs::write(server.home.path().join("t.yaml"), text).unwrap();
    let args = ["apply", "-f", "t.yaml", "--yes"];
    let ran = server.run(&args, "");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(server.fine(&args, "").starts_with("nothing to change"));
    std::fs::write(server.home.path().join("login.mako"), "port=81\n").unwrap();
    let ran = server.run(&["apply", "-f", "t.yaml", "--dry-run"], "");
    assert!(
        ran.stdout.contains("text: \"port=80\\n\" → \"port=81\\n\""),
        "{ran:?}"
    );
    assert_eq!(server.run(&args, "").code, 0);
    let exported = server.fine(&["export"], "");
    assert!(exported.contains("port=81"), "{exported}");
    assert_eq!(apply(&server, &exported, &["--dry-run"]).code, 0);
    let ran = apply(
        &server,
        "templates:\n- {business: 7, name: a, path: /a}\n",
        &["--dry-run"],
    );
    assert_ne!(ran.code, 0, "{ran:?}");
}

#[test]
fn hosts_are_selected_by_their_labels() {
    let server = fleet();
    // A host is known once something names it.
    for host in ["10.0.0.1", "10.0.0.2", "10.0.0.3"] {
        let args = [
            "register",
            "seed/x",
            "--host",
            host,
            "--start",
            "sleep 1",
            "--setup-path",
            "/tmp",
            "--user",
            "a",
        ];
        server.fine(&args, "");
    }
    server.fine(&["hosts", "label", "10.0.0.1", "10.0.0.3", "zone=a"], "");
    let text = |hosts: &str| {
        format!(
            "processes:\n- namespace: w\n  name: n\n  hosts: {hosts}\n  identity: {{setup_path: /opt, user: root}}\n  control: {{start_cmd: ./n}}\n"
        )
    };
    for (hosts, expected) in [("all", "on 3 hosts"), ("{labels: zone=a}", "on 2 hosts")] {
        let ran = apply(&server, &text(hosts), &["--dry-run"]);
        assert!(ran.stdout.contains(expected), "{hosts}: {ran:?}");
    }
    let ran = apply(&server, &text("{labels: zone=z}"), &["--dry-run"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(
        ran.stderr.contains("-:2: w/n: hosts: selects no host"),
        "{ran:?}"
    );
}

#[test]
fn wrong_files_name_file_line_and_field_and_change_nothing() {
    let process = "processes:\n- namespace: w\n  name: n\n  hosts: [10.0.0.1]\n  identity: {setup_path: /opt, user: root}\n  control: {start_cmd: ./n}\n";
    for (text, expected) in [
        ("", "is empty"),
        (
            "proceses: []\n",
            "f.yaml:1: proceses: is no part of a document: namespaces, processes",
        ),
        ("proceses: []\n", "did you mean processes?"),
        ("processes: {}\n", "f.yaml:1: processes: must be a list"),
        (
            &process.replace("start_cmd", "start_comand"),
            "f.yaml:6: processes[0].control.start_comand: is unknown",
        ),
        (
            &process.replace("start_cmd", "start_comand"),
            "did you mean start_cmd?",
        ),
        (
            &process.replace("[10.0.0.1]", "[10.0.0.1, nonsense]"),
            "f.yaml:4: processes[0].hosts[1]: ",
        ),
        (
            &process.replace("[10.0.0.1]", "[]"),
            "f.yaml:4: processes[0].hosts: must name hosts",
        ),
        (
            &process.replace("user: root", "usr: root"),
            "did you mean user?",
        ),
        (
            &process.replace("setup_path: /opt", "setup_path: opt"),
            "f.yaml:5: processes[0].identity.setup_path: ",
        ),
        (
            &format!("{process}{}", &process["processes:\n".len()..]),
            "f.yaml:7: process w/n is declared twice; also at f.yaml:2",
        ),
        (
            "groups:\n- {namespace: w, name: g}\n",
            "f.yaml:2: groups[0]: a group needs a limit",
        ),
        (
            "groups:\n- {namespace: w, name: g, cpu: 101}\n",
            "f.yaml:2: groups[0].cpu: ",
        ),
        (
            "webhooks:\n- {url: 'ftp://x'}\n",
            "f.yaml:2: webhooks[0].url: ",
        ),
        (
            "webhooks:\n- url: 'http://x/'\n  kinds: [process_exti]\n",
            "f.yaml:3: webhooks[0].kinds[0]: is no kind of events; did you mean process_exit?",
        ),
        (
            "grants:\n- {role: viewer}\n",
            "f.yaml:2: grants[0]: must have an app or a user",
        ),
        (
            "grants:\n- {user: ann, role: king}\n",
            "f.yaml:2: grants[0].role: ",
        ),
        (
            "grants:\n- {user: ann, role: viewer, namespce: [a]}\n",
            "did you mean namespaces?",
        ),
        (
            "templates:\n- {business: 2, name: a, path: etc}\n",
            "f.yaml:2: templates[0].path: ",
        ),
        ("a: 1\n---\nb: [\n", "f.yaml:"),
    ] {
        let ran = muster(&["apply", "-f", "f.yaml", "--yes"])
            .file("f.yaml", text)
            .in_home()
            .run();
        assert_eq!(ran.code, 2, "{text}: {ran:?}");
        assert!(ran.stderr.contains(expected), "{expected}\n{text}\n{ran:?}");
    }
    let ran = muster(&["apply", "-f", "nothing.yaml"]).in_home().run();
    assert!(
        ran.code == 2 && ran.stderr.contains("nothing.yaml: cannot be read"),
        "{ran:?}"
    );
}

#[test]
fn a_failed_step_says_what_was_and_was_not_applied() {
    let server = fleet();
    server.add_user("bob", &[]);
    // bob may operate web only, so that the second namespace and the webhook are refused.
    server.fine(&["user", "revoke", "bob"], "");
    server.fine(
        &["user", "grant", "bob", "--role", "operator", "-n", "web"],
        "",
    );
    let ran = server.run(
        &["apply", "-f", "-", "--yes"],
        "grants:\n- {user: nobody-here, role: viewer}\n",
    );
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(
        ran.stderr.contains("-:2: there is no user nobody-here"),
        "{ran:?}"
    );
    // A template whose text cannot be rendered is refused by the server, and what came before it stays.
    let secret = "short\n";
    std::fs::write(server.home.path().join("s"), secret).unwrap();
    let text = format!(
        "{}webhooks:\n- {{url: 'http://127.0.0.1:9/y', secret_file: s}}\n",
        FLEET.split("webhooks:").next().unwrap()
    );
    std::fs::write(server.home.path().join("f.yaml"), text).unwrap();
    let ran = server.run(&["apply", "-f", "f.yaml", "--yes"], "");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(
        ran.stdout.contains("done    process web/nginx on 2 hosts"),
        "{ran:?}"
    );
    assert!(
        ran.stdout
            .contains("failed  webhook http://127.0.0.1:9/y: secret"),
        "{ran:?}"
    );
    assert!(ran.stdout.contains("applied, 1 failed"), "{ran:?}");
}
