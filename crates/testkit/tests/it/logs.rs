//! `muster logs` and `muster diff` with a server, an agent, and a program that writes.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};

use serde_json::Value;
use testkit::api::{APP_CODE, APP_SECRET};
use testkit::{Cluster, program, wait};

use crate::fixture::Fixture;

const IP: &str = "10.3.0.1";
const NAME: &str = "e2e/talker";

fn muster(cluster: &Cluster, words: &[&str]) -> Command {
    let mut command = Command::new(program::path("muster"));
    command
        .args(words)
        .env("MUSTER_URL", format!("http://{}", cluster.http()))
        .env("MUSTER_APP_CODE", APP_CODE)
        .env("MUSTER_APP_SECRET", APP_SECRET)
        .env("MUSTER_USER", "tester")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn ran(cluster: &Cluster, words: &[&str]) -> Output {
    muster(cluster, words).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A foreground program that prints what is written into its file `input`.
fn talker(cluster: &Cluster, log_path: &str) -> Fixture {
    let fixture = Fixture::daemon(cluster.path(), IP, "talker");
    std::fs::write(fixture.folder.join("input"), "one\n").unwrap();
    let mut spec = fixture.spec("exec tail -n +1 -f input");
    spec["identity"]["proc_name"] = "tail".into();
    spec["identity"]["log_path"] = log_path.into();
    let body = serde_json::json!({"meta": fixture.meta, "hosts": fixture.hosts, "spec": spec});
    let data = cluster.api.esb_ok("register_proc_info", body);
    assert_eq!(data[&fixture.key]["error_code"], 0, "{data}");
    assert_eq!(fixture.operate(&cluster.api, 0).0, 0);
    fixture
}

fn says(fixture: &Fixture, line: &str) {
    let input = fixture.folder.join("input");
    let mut input = std::fs::File::options().append(true).open(input).unwrap();
    writeln!(input, "{line}").unwrap();
}

/// `muster logs -f`, line by line. Killed at the end of the test.
struct Following {
    child: Child,
    lines: Receiver<String>,
}

impl Following {
    fn start(cluster: &Cluster) -> Self {
        let mut child = muster(cluster, &["logs", NAME, "-f"]).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Self { child, lines }
    }

    #[track_caller]
    fn shows(&self, line: &str) {
        let shown = self.lines.recv_timeout(wait::PATIENCE);
        assert_eq!(shown.as_deref(), Ok(line));
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        let _ended_already = self.child.kill();
        let _reaped = self.child.wait();
    }
}

#[test]
fn logs_are_followed_until_the_agent_stops_and_read_after_its_restart() {
    let cluster = Cluster::start();
    let mut agent = cluster.agent(IP);
    let fixture = talker(&cluster, "");

    let shown = ran(&cluster, &["logs", NAME]);
    assert_eq!(text(&shown.stdout), "one\n", "{shown:?}");
    let mut following = Following::start(&cluster);
    following.shows("one");
    says(&fixture, "two");
    following.shows("two");
    // The next run writes elsewhere, and begins with all of its input.
    assert_eq!(fixture.operate(&cluster.api, 7).0, 0, "restart");
    following.shows("one");
    following.shows("two");

    agent.restart();
    let ended = wait::until("logs -f to end", || following.child.try_wait().unwrap());
    assert_eq!(ended.code(), Some(3));
    let mut said = String::new();
    std::io::Read::read_to_string(&mut following.child.stderr.take().unwrap(), &mut said).unwrap();
    assert!(
        said.contains("disconnected; the output ends here"),
        "{said}"
    );

    cluster.wait_for_agent(IP, true);
    let last = wait::until("the agent to answer again", || {
        let shown = ran(&cluster, &["logs", NAME, "--tail", "1"]);
        shown.status.success().then_some(shown)
    });
    assert_eq!(text(&last.stdout), "two\n");

    agent.kill();
    cluster.wait_for_agent(IP, false);
    let away = ran(&cluster, &["logs", NAME]);
    assert_eq!(away.status.code(), Some(3), "{away:?}");
    assert!(text(&away.stderr).contains("is not connected"), "{away:?}");
}

#[test]
fn a_log_path_is_followed_from_run_to_run() {
    let cluster = Cluster::start();
    let _agent = cluster.agent(IP);
    let folder = cluster.path().join("logs");
    let fixture = talker(&cluster, &format!("{}/", folder.display()));
    let following = Following::start(&cluster);
    following.shows("one");
    assert_eq!(fixture.operate(&cluster.api, 1).0, 0, "stop");
    says(&fixture, "two");
    assert_eq!(fixture.operate(&cluster.api, 0).0, 0, "start");
    // The new run says all of its input.
    following.shows("one");
    following.shows("two");
    let all = ran(&cluster, &["logs", NAME, "-o", "json"]);
    assert_eq!(
        text(&all.stdout),
        "{\"line\":\"one\"}\n{\"line\":\"one\"}\n{\"line\":\"two\"}\n"
    );
}

#[test]
fn a_lost_journal_is_rebuilt_and_a_foreign_pid_is_shown() {
    let cluster = Cluster::start();
    let mut agent = cluster.agent(IP);
    let fixture = talker(&cluster, "");
    let pid = fixture.pid().unwrap().as_raw_nonzero().get();
    let none = wait::until("no difference", || {
        let diff = ran(&cluster, &["diff"]);
        diff.status.success().then_some(diff)
    });
    assert_eq!(text(&none.stdout), "no differences on 1 host\n");

    agent.kill();
    cluster.wait_for_agent(IP, false);
    let away = ran(&cluster, &["diff", "--host", IP]);
    assert_eq!(away.status.code(), Some(3), "{away:?}");
    std::fs::remove_dir_all(cluster.path().join(format!("agent-{IP}/supervisor"))).unwrap();
    agent.restart();
    cluster.wait_for_agent(IP, true);
    let held = wait::until("the process to be held as it was", || {
        let path = format!("/api/v1/hosts/0:{IP}/held");
        let (_, body) = cluster.api.native("GET", &path, None);
        let process = body["processes"][0].clone();
        let is_mended = process["differs"].as_array().is_some_and(Vec::is_empty);
        (is_mended && process["held"]["run"]["pid"] == pid).then_some(process)
    });
    assert_eq!(held["held"]["managed"], true, "{held}");
    assert_eq!(fixture.pid().unwrap().as_raw_nonzero().get(), pid);
    // What it writes goes where no agent knows; what its start wrote is still known.
    let left = ran(&cluster, &["logs", NAME]);
    let shown = text(&left.stdout);
    assert!(shown.contains("its last start wrote:\none\n"), "{left:?}");

    let mut stranger = Command::new("sleep").arg("600").spawn().unwrap();
    let own = std::fs::read(fixture.folder.join("pid")).unwrap();
    std::fs::write(fixture.folder.join("pid"), stranger.id().to_string()).unwrap();
    let diff = ran(&cluster, &["diff", "-o", "json"]);
    std::fs::write(fixture.folder.join("pid"), own).unwrap();
    stranger.kill().unwrap();
    stranger.wait().unwrap();
    assert_eq!(diff.status.code(), Some(1), "{diff:?}");
    let document: Value = serde_json::from_slice(&diff.stdout).unwrap();
    let foreign = &document["hosts"][0]["foreign"][0];
    assert_eq!(foreign["program"], "sleep", "{document}");
    assert_eq!(foreign["pid"], stranger.id());
}
