//! The command line against a real server and agents: many processes at once, and definitions in and out.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use testkit::api::{APP_CODE, APP_SECRET};
use testkit::{Cluster, program, wait};

const HOSTS: [&str; 2] = ["10.1.1.1", "10.1.1.2"];

/// How one command ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    #[track_caller]
    pub(crate) fn fine(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }
}

/// Runs `muster` without a terminal.
pub(crate) fn muster_with(cluster: &Cluster, args: &[&str], env: &[(&str, &str)]) -> Ran {
    let output = Command::new(program::path("muster"))
        .args(args)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", cluster.path())
        .env("TMPDIR", cluster.path())
        .env("MUSTER_URL", format!("http://{}", cluster.http()))
        .env("MUSTER_APP_CODE", APP_CODE)
        .env("MUSTER_APP_SECRET", APP_SECRET)
        .env("MUSTER_USER", "tester")
        .envs(env.iter().copied())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    Ran {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

pub(crate) fn muster(cluster: &Cluster, args: &[&str]) -> Ran {
    muster_with(cluster, args, &[])
}

/// Registers a program that runs in the foreground. Each host has a folder of its own, so the definitions differ.
fn register(cluster: &Cluster, name: &str, host: &str, labels: &[&str]) {
    let folder = cluster.path().join(host);
    std::fs::create_dir_all(&folder).unwrap();
    let folder = folder.display().to_string();
    let mut args = vec![
        "register",
        name,
        "--host",
        host,
        "--start",
        "exec sleep 1000",
    ];
    args.extend([
        "--setup-path",
        &folder,
        "--start-check",
        "1",
        "--user",
        "root",
    ]);
    for label in labels {
        args.extend(["--label", label]);
    }
    muster(cluster, &args).fine();
}

/// `app/api` on both hosts and `db/redis` on the second, both of the front; `app/worker` on the first, of the back.
fn registered(cluster: &Cluster) {
    for host in HOSTS {
        register(cluster, "app/api", host, &["tier=front"]);
    }
    register(cluster, "app/worker", HOSTS[0], &["tier=back"]);
    register(cluster, "db/redis", HOSTS[1], &["tier=front", "canary=1"]);
}

/// `name@host` of every process in a state.
fn in_state(cluster: &Cluster, state: &str) -> Vec<String> {
    let ran = muster(cluster, &["ps", "--state", state, "-o", "json"]).fine();
    let mut rows: Vec<String> = ran.json()["processes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            let text = |key: &str| row[key].as_str().unwrap().to_owned();
            format!("{}/{}@{}", text("namespace"), text("name"), text("host"))
        })
        .collect();
    rows.sort();
    rows
}

#[track_caller]
fn wait_for_running(cluster: &Cluster, wanted: &[&str]) {
    wait::until(&format!("{wanted:?} to run"), || {
        in_state(cluster, "running") == wanted
    });
}

#[test]
fn names_wildcards_and_labels_select_what_one_task_does() {
    let cluster = Cluster::start();
    let _agents = HOSTS.map(|host| cluster.agent(host));
    registered(&cluster);

    let ran = muster(
        &cluster,
        &["start", "app/*", "db/redis", "-l", "tier=front"],
    )
    .fine();
    assert!(ran.stdout.ends_with("3 ok\n"), "{ran:?}");
    assert!(
        ran.stderr.starts_with("start 3 processes on 2 hosts:\n"),
        "{ran:?}"
    );
    assert!(
        ran.stderr.contains("app/api   0:10.1.1.1, 0:10.1.1.2\n"),
        "{ran:?}"
    );
    wait_for_running(
        &cluster,
        &[
            "app/api@0:10.1.1.1",
            "app/api@0:10.1.1.2",
            "db/redis@0:10.1.1.2",
        ],
    );
    let (_, tasks) = cluster.api.native("GET", "/api/v1/tasks", None);
    assert_eq!(tasks["tasks"].as_array().unwrap().len(), 1, "{tasks}");
    assert_eq!(tasks["tasks"][0]["targets"], 3);

    // What interrupts several needs --yes without a terminal, and does nothing without it.
    for args in [
        &["stop", "*/*"][..],
        &["restart", "-l", "tier"],
        &["kill", "app/api", "--all"],
    ] {
        let ran = muster(&cluster, args);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(
            ran.stderr.contains("--yes does it without asking"),
            "{ran:?}"
        );
    }
    assert_eq!(in_state(&cluster, "running").len(), 3);
    // A list of what it would do needs nothing.
    let ran = muster(
        &cluster,
        &[
            "stop",
            "app/*",
            "-l",
            "tier!=front",
            "--dry-run",
            "-o",
            "json",
        ],
    );
    let targets = json!([{"process": "app/worker", "host": "0:10.1.1.1"}]);
    assert_eq!(ran.fine().json()["targets"], targets);
    // One process on one host is stopped at once.
    muster(&cluster, &["stop", "db/redis"]).fine();
    muster(&cluster, &["stop", "app/api", "--host", HOSTS[1]]).fine();
    wait_for_running(&cluster, &["app/api@0:10.1.1.1"]);
    // A plain name on several hosts needs a choice; a wildcard does not.
    assert_eq!(muster(&cluster, &["start", "app/api"]).code, Some(2));
    muster(&cluster, &["restart", "app/*", "-H", HOSTS[0], "--yes"]).fine();
    wait_for_running(&cluster, &["app/api@0:10.1.1.1", "app/worker@0:10.1.1.1"]);
    muster(&cluster, &["stop", "-l", "tier,!canary", "--yes"]).fine();
    wait_for_running(&cluster, &[]);

    // A name or pattern that selects nothing stops the whole command.
    for args in [
        &["start", "app/*", "ap/*"][..],
        &["start", "app/*", "app/apo"],
        &["start", "-l", "tier=middle"],
        &["start", "app/*", "-l", "canary"],
    ] {
        let ran = muster(&cluster, args);
        assert_eq!(ran.code, Some(4), "{ran:?}");
    }
    for args in [
        &["start", "app"][..],
        &["start", "a/[b"],
        &["start", "-l", "=x"],
        &["start"],
    ] {
        let ran = muster(&cluster, args);
        assert_eq!(ran.code, Some(2), "{ran:?}");
    }
    assert_eq!(in_state(&cluster, "running"), Vec::<String>::new());

    let listed = muster(&cluster, &["ps", "*/a*", "-l", "tier=front", "-o", "json"]).fine();
    assert_eq!(listed.json()["count"], 2);
    let ran = muster(&cluster, &["status", "app/*"]).fine();
    assert!(ran.stdout.contains("app/api  on 2 hosts"), "{ran:?}");
    assert!(ran.stdout.contains("app/worker\n"), "{ran:?}");
}

#[test]
fn each_host_keeps_its_own_definition() {
    let cluster = Cluster::start();
    registered(&cluster);
    let ran = muster(&cluster, &["status", "app/api"]).fine();
    assert!(
        ran.stdout
            .contains("spec 1 of 2, version 1, on 1 host: 0:10.1.1.1\n"),
        "{ran:?}"
    );
    assert!(
        ran.stdout
            .contains("spec 2 of 2, version 2, on 1 host: 0:10.1.1.2\n"),
        "{ran:?}"
    );

    let mem_of = |host: &str| {
        let ran = muster(
            &cluster,
            &["export", "app/api", "--host", host, "-o", "json"],
        )
        .fine();
        let document = ran.json();
        let folder = document["identity"]["setup_path"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(folder.ends_with(host), "{document}");
        document["resource"]["mem"].as_f64()
    };
    let ran = muster(
        &cluster,
        &["update", "app/api", "-H", HOSTS[1], "--mem", "20"],
    )
    .fine();
    assert_eq!(ran.stdout, "updated app/api on 1 host\n");
    assert_eq!((mem_of(HOSTS[0]), mem_of(HOSTS[1])), (None, Some(20.0)));
    let again = muster(
        &cluster,
        &["update", "app/api", "-H", HOSTS[1], "--mem", "20"],
    )
    .fine();
    assert_eq!(
        again.stdout,
        "app/api is the same on 1 host: nothing changed\n"
    );
    let ran = muster(&cluster, &["update", "app/api", "--all", "--mem", "20"]).fine();
    assert_eq!(
        ran.stdout,
        "updated app/api on 1 host; 1 host had the same already\n"
    );
    assert_eq!(
        (mem_of(HOSTS[0]), mem_of(HOSTS[1])),
        (Some(20.0), Some(20.0))
    );

    // A host that has none of the definitions needs a whole one.
    let ran = muster(
        &cluster,
        &["update", "app/api", "-H", "10.1.1.9", "--mem", "5"],
    );
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("2 different definitions"), "{ran:?}");
    let ran = muster(&cluster, &["status", "app/api", "--host", HOSTS[0]]).fine();
    assert!(ran.stdout.contains("\nspec, version 4\n"), "{ran:?}");
}

#[test]
fn what_is_exported_can_be_sent_back_unchanged() {
    let cluster = Cluster::start();
    registered(&cluster);
    let file = cluster.path().join("all.toml");
    let path = file.to_str().unwrap();
    for (name, n_definitions) in [("db/redis", 1), ("*/*", 4)] {
        let text = muster(&cluster, &["export", name]).fine().stdout;
        std::fs::write(&file, &text).unwrap();
        let ran = muster(&cluster, &["apply", "--file", path]).fine();
        assert!(ran.stdout.starts_with("nothing to change"), "{ran:?}");
        for verb in ["register", "update"] {
            let ran = muster(&cluster, &[verb, "--file", path]).fine();
            assert!(
                ran.stdout
                    .lines()
                    .all(|line| line.ends_with("nothing changed")),
                "{ran:?}"
            );
        }
        let json = muster(&cluster, &["export", name, "-o", "json"]).fine();
        let document = json.json();
        let found = document["processes"].as_array().map_or(1, Vec::len);
        assert_eq!(found, n_definitions, "{document}");
        let file = file.with_extension("json");
        std::fs::write(&file, json.stdout).unwrap();
        let path = file.to_str().unwrap();
        let ran = muster(&cluster, &["update", "--file", path, "-o", "json"]).fine();
        assert!(!ran.stdout.contains("\"changed\": true"), "{ran:?}");
        assert_eq!(muster(&cluster, &["export", name]).fine().stdout, text);
    }
    // A file for many changes only what differs.
    let text = muster(&cluster, &["export", "*/*"]).fine().stdout;
    std::fs::write(&file, text.replace("tier = \"back\"", "tier = \"middle\"")).unwrap();
    let ran = muster(&cluster, &["update", "--file", path]).fine();
    assert!(
        ran.stdout.contains("updated app/worker on 1 host\n"),
        "{ran:?}"
    );
    assert_eq!(ran.stdout.matches("nothing changed").count(), 2, "{ran:?}");
    assert_eq!(muster(&cluster, &["export", "no/one"]).code, Some(4));
}

/// An editor: a shell script that gets the file as `$1`.
fn editor(cluster: &Cluster, script: &str) -> String {
    let path = cluster.path().join("editor.sh");
    std::fs::write(&path, script).unwrap();
    format!("sh {}", path.display())
}

fn left_files(cluster: &Cluster) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(cluster.path()).unwrap().flatten();
    let paths = entries.map(|entry| entry.path());
    paths
        .filter(|path| {
            path.to_str()
                .is_some_and(|path| path.contains("/muster-db-redis-"))
        })
        .collect()
}

#[test]
fn a_definition_is_edited_and_a_wrong_text_is_not_lost() {
    let cluster = Cluster::start();
    registered(&cluster);
    let edit = |script: &str| {
        let editor = editor(&cluster, script);
        muster_with(&cluster, &["edit", "db/redis"], &[("EDITOR", &editor)])
    };
    let ran = edit("exit 0").fine();
    assert_eq!(ran.stdout, "unchanged\n");
    let ran = edit("echo '# a remark' >> \"$1\"").fine();
    assert_eq!(ran.stdout, "unchanged\n", "the same definition");

    let ran = edit("sed -i 's/sleep 1000/sleep 2000/' \"$1\"").fine();
    assert!(
        ran.stdout.contains("-start_cmd = \"exec sleep 1000\"\n"),
        "{ran:?}"
    );
    assert!(
        ran.stdout.contains("+start_cmd = \"exec sleep 2000\"\n"),
        "{ran:?}"
    );
    assert!(
        ran.stdout.ends_with("updated db/redis on 1 host\n"),
        "{ran:?}"
    );
    assert!(left_files(&cluster).is_empty());

    // The wrong text comes back with the reason on top, and is kept when the user gives up.
    for (script, why) in [
        (
            "grep -q ^odd \"$1\" || sed -i '1i odd = 1' \"$1\"",
            "odd: is no key",
        ),
        (
            "sed -i 's/^name = .*/name = \"other\"/' \"$1\"",
            "not its name",
        ),
        (
            "sed -i 's/0:10.1.1.2/0:10.1.1.3/' \"$1\"",
            "0:10.1.1.2 is missing",
        ),
        ("sed -i 's/^hosts.*/hosts = [/' \"$1\"", "is no TOML"),
    ] {
        let ran = edit(script);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(why), "{ran:?}");
        let kept = left_files(&cluster);
        assert_eq!(kept.len(), 1, "{kept:?}");
        assert!(ran.stderr.contains(kept[0].to_str().unwrap()), "{ran:?}");
        let text = std::fs::read_to_string(&kept[0]).unwrap();
        assert!(text.contains("exec sleep 2000"), "{text}");
        assert!(text.contains("#: not taken: "), "{text}");
        std::fs::remove_file(&kept[0]).unwrap();
    }
    // Corrected in the second round.
    let script = "if grep -q '^#: ' \"$1\"; then sed -i 's/mem = 900/mem = 9/' \"$1\"; \
        else printf '\\n[resource]\\nmem = 900\\n' >> \"$1\"; fi";
    let ran = edit(script).fine();
    assert!(ran.stdout.contains("+mem = 9\n"), "{ran:?}");
    // An editor that fails changes nothing.
    let ran = edit("exit 3");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("nothing was changed"), "{ran:?}");
    assert!(left_files(&cluster).is_empty());
    // Neither does an edit that another change overtook.
    let other = format!(
        "{} update db/redis --mem 11 >&2",
        program::path("muster").display()
    );
    let ran = edit(&format!("{other}; sed -i 's/mem = 9.0/mem = 12.0/' \"$1\""));
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr.contains("changed by another meanwhile"),
        "{ran:?}"
    );
    let now = muster(&cluster, &["export", "db/redis", "-o", "json"]).fine();
    assert_eq!(now.json()["resource"]["mem"], 11.0);
}

#[test]
fn rm_stops_and_forgets_what_it_can_reach() {
    let cluster = Cluster::start();
    let [_first, mut second] = HOSTS.map(|host| cluster.agent(host));
    registered(&cluster);
    muster(&cluster, &["start", "app/*"]).fine();
    let running = [
        "app/api@0:10.1.1.1",
        "app/api@0:10.1.1.2",
        "app/worker@0:10.1.1.1",
    ];
    wait_for_running(&cluster, &running);

    let ran = muster(&cluster, &["rm", "app/worker"]);
    assert_eq!(ran.code, Some(2), "it needs --yes: {ran:?}");
    let ran = muster(&cluster, &["rm", "app/worker", "--yes"]).fine();
    assert!(
        ran.stdout
            .ends_with("stopped and forgot app/worker on 1 host\n"),
        "{ran:?}"
    );
    wait_for_running(&cluster, &running[..2]);
    assert_eq!(
        muster(&cluster, &["rm", "app/worker", "--yes"]).code,
        Some(4)
    );

    second.kill();
    cluster.wait_for_agent(HOSTS[1], false);
    let ran = muster(&cluster, &["rm", "app/api", "--all", "--yes"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stdout
            .contains("stopped and forgot app/api on 1 host\n"),
        "{ran:?}"
    );
    assert!(
        ran.stderr
            .contains("app/api stays registered on 0:10.1.1.2, where it could not be stopped"),
        "{ran:?}"
    );
    let left = muster(&cluster, &["ps", "app/*", "-o", "json"])
        .fine()
        .json();
    assert_eq!(
        (&left["count"], &left["processes"][0]["host"]),
        (&json!(1), &json!("0:10.1.1.2"))
    );

    // By force it is forgotten; what runs goes on until its agent is back, and after that.
    let ran = muster(&cluster, &["rm", "app/*", "--yes", "--force", "-o", "json"]).fine();
    assert_eq!(ran.json()["kept"], json!([]), "{ran:?}");
    assert_eq!(ran.json()["forgotten"][0]["code"], 117, "{ran:?}");
    let left = muster(&cluster, &["ps", "app/*", "-o", "json"])
        .fine()
        .json();
    assert_eq!(left["count"], 0);
}

/// A business whose process has a label, an environment and a log of its own for each instance.
fn import(cluster: &Cluster) {
    let folder = cluster.path().join("zone");
    std::fs::create_dir_all(&folder).unwrap();
    let document = json!({
        "bk_biz_id": 2, "bk_biz_name": "shop",
        "sets": [{"bk_set_name": "set", "modules": [{
            "bk_module_name": "web", "hosts": [HOSTS[0]],
            "processes": [{
                "bk_process_name": "web", "bk_func_name": "sleep", "proc_num": 2, "work_path": folder,
                "pid_file": "pid_${local_inst_id}", "bk_start_check_secs": 1,
                "start_cmd": "echo $GREETING > said_${local_inst_id}; exec sleep 1000",
                "labels": {"tier": "front"},
                "spec": {
                    "identity": {"log_path": folder.join("${local_inst_id}.log")},
                    "resource": {"mem": 30},
                    "monitor_policy": {"auto_type": "resident", "start_retries": 1},
                    "runtime": {"env": {"GREETING": "hello ${local_inst_id}"}, "nofile": 512},
                },
            }],
        }]}],
    });
    let file = cluster.path().join("shop.json");
    std::fs::write(&file, document.to_string()).unwrap();
    muster(cluster, &["topology", "import", file.to_str().unwrap()]).fine();
}

#[test]
fn a_topology_file_takes_everything_of_a_spec_and_a_business_has_a_name() {
    let cluster = Cluster::start();
    let _agent = cluster.agent(HOSTS[0]);
    import(&cluster);
    // Its instances are processes like others, with their labels.
    let ran = muster(&cluster, &["start", "-l", "tier=front"]).fine();
    assert!(ran.stdout.ends_with("2 ok\n"), "{ran:?}");
    for instance in ["1", "2"] {
        let said = std::fs::read_to_string(cluster.path().join(format!("zone/said_{instance}")));
        assert_eq!(said.unwrap(), format!("hello {instance}\n"));
    }
    let export = muster(&cluster, &["export", "*/web_2", "-o", "json"])
        .fine()
        .json();
    assert_eq!(export["runtime"]["nofile"], 512, "{export}");
    assert_eq!(export["resource"]["mem"], 30.0, "{export}");
    assert_eq!(
        export["labels"],
        json!({"bk_process_name": "web", "tier": "front"})
    );
    let log = export["identity"]["log_path"].as_str().unwrap();
    assert!(log.ends_with("/zone/2.log"), "{log}");

    // What is exported is the same as what is there.
    let text = muster(&cluster, &["topology", "export", "shop"])
        .fine()
        .stdout;
    let file = cluster.path().join("again.yaml");
    let path = file.to_str().unwrap();
    std::fs::write(&file, &text).unwrap();
    let ran = muster(&cluster, &["topology", "diff", path]).fine();
    assert!(ran.stdout.ends_with("nothing changes\n"), "{ran:?}");
    std::fs::write(&file, text.replace("nofile: 512", "nofile: 513")).unwrap();
    let ran = muster(&cluster, &["topology", "diff", path]);
    assert_eq!(ran.code, Some(1), "{ran:?}");

    for args in [
        &["ps", "--biz", "shop"][..],
        &["topology", "show", "shop"],
        &["expression", "explain", "*", "--biz", "shop"],
        &["job", "list", "--biz", "shop"],
        &["template", "list", "--biz", "shop"],
    ] {
        muster(&cluster, args).fine();
    }
    let ran = muster(&cluster, &["ps", "--biz", "shopping"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(
        ran.stderr.contains("no business is called \"shopping\""),
        "{ran:?}"
    );

    // Expressions are shown as a shell takes them.
    let shown = muster(&cluster, &["expression", "explain", "*", "--biz", "shop"])
        .fine()
        .stdout;
    let expression = shown
        .lines()
        .last()
        .unwrap()
        .trim()
        .split_once("  ")
        .unwrap()
        .1;
    let pasted = format!(
        "{} ps --biz shop -o json --expr {expression}",
        program::path("muster").display()
    );
    let ran = Command::new("sh")
        .args(["-c", &pasted])
        .env("MUSTER_URL", format!("http://{}", cluster.http()))
        .env("MUSTER_APP_CODE", APP_CODE)
        .env("MUSTER_APP_SECRET", APP_SECRET)
        .env("MUSTER_USER", "tester")
        .output()
        .unwrap();
    assert!(ran.status.success(), "{pasted}: {ran:?}");
    let listed: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(listed["count"], 1, "{expression}");

    // Jobs and removals that would interrupt or remove need --yes without a terminal.
    for args in [
        &["job", "stop", "--biz", "shop"][..],
        &["topology", "remove", "shop"],
    ] {
        let ran = muster(&cluster, args);
        assert_eq!(ran.code, Some(2), "{ran:?}");
    }
    assert_eq!(in_state(&cluster, "running").len(), 2);
    let ran = muster(&cluster, &["job", "stop", "--biz", "shop", "--yes"]).fine();
    assert!(ran.stdout.ends_with("2 ok\n"), "{ran:?}");
    muster(&cluster, &["topology", "remove", "shop", "--yes"]).fine();
}

#[test]
fn a_template_that_fails_for_an_instance_is_not_activated() {
    let cluster = Cluster::start();
    let _agent = cluster.agent(HOSTS[0]);
    import(&cluster);
    let folder = cluster.path().join("zone").display().to_string();
    let file = cluster.path().join("text");
    let text = |text: &str| std::fs::write(&file, text).unwrap();
    let path = file.to_str().unwrap();
    text("port ${local_inst_id}\n");
    let conf = format!("{folder}/web${{local_inst_id}}.conf");
    let create = [
        "template", "create", "web.conf", "--biz", "shop", "--path", &conf, "--text", path,
    ];
    muster(&cluster, &create).fine();
    muster(
        &cluster,
        &[
            "template",
            "bind",
            "web.conf",
            "--biz",
            "shop",
            "--process",
            "web",
        ],
    )
    .fine();
    text("% if local_inst_id == 2:\n${port}\n% endif\n");
    let draft = ["template", "draft", "web.conf", path, "--biz", "shop"];
    muster(&cluster, &draft).fine();
    let ran = muster(
        &cluster,
        &["template", "activate", "web.conf", "--biz", "shop"],
    );
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("instance 2 of set.web."), "{ran:?}");
    assert!(ran.stderr.contains("web.conf line 2"), "{ran:?}");
    // The version before is still released, and a comparison says what differs.
    let release = ["job", "release", "--biz", "shop"];
    muster(&cluster, &release).fine();
    let diff = ["job", "diff", "--biz", "shop"];
    muster(&cluster, &diff).fine();
    std::fs::write(format!("{folder}/web2.conf"), "changed by hand\n").unwrap();
    let ran = muster(&cluster, &diff);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.contains("changed by hand"), "{ran:?}");
}
