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
    talker_on(cluster, IP, log_path)
}

fn talker_on(cluster: &Cluster, ip: &str, log_path: &str) -> Fixture {
    let fixture = Fixture::daemon(cluster.path(), ip, "talker");
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
        Self::with(cluster, &[])
    }

    fn with(cluster: &Cluster, words: &[&str]) -> Self {
        let words = [&["logs", NAME, "-f"], words].concat();
        let mut child = muster(cluster, &words).spawn().unwrap();
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
        ["one", "one", "two"]
            .map(|line| format!("{{\"host\":\"0:{IP}\",\"line\":\"{line}\"}}\n"))
            .concat()
    );
}

#[test]
fn the_output_of_a_crash_outlives_the_agent() {
    let cluster = Cluster::start();
    let mut agent = cluster.agent(IP);
    let fixture = talker(&cluster, "");
    let pid = fixture.pid().unwrap();
    // The process writes and dies while no agent watches.
    agent.kill();
    cluster.wait_for_agent(IP, false);
    says(&fixture, "last words");
    let written = format!("/proc/{}/fd/1", pid.as_raw_nonzero());
    wait::until("the last words", || {
        let output = std::fs::read_to_string(&written).unwrap();
        output.ends_with("last words\n").then_some(())
    });
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    agent.restart();
    cluster.wait_for_agent(IP, true);
    let shown = wait::until("the crashed run", || {
        let shown = ran(&cluster, &["logs", NAME, "--previous"]);
        shown.status.success().then_some(shown)
    });
    assert_eq!(text(&shown.stdout), "one\nlast words\n");
    // Both runs within the last minutes, and of these what matches.
    let lines = |words: &[&str]| {
        let shown = ran(&cluster, &[&["logs", NAME], words].concat());
        assert!(shown.status.success(), "{shown:?}");
        text(&shown.stdout)
    };
    wait::until("the next run", || {
        (lines(&["--since", "5m"]) == "one\nlast words\none\nlast words\n").then_some(())
    });
    let matching = lines(&["--since", "5m", "--grep", "(?i)LAST", "--tail", "1"]);
    assert_eq!(matching, "last words\n");

    // Forgotten with the process.
    let kept = cluster.path().join(format!("agent-{IP}/supervisor/runs"));
    assert_eq!(std::fs::read_dir(&kept).unwrap().count(), 1);
    assert_eq!(fixture.operate(&cluster.api, 1).0, 0, "stop");
    let gone = ran(&cluster, &["unregister", NAME, "--host", IP, "--yes"]);
    assert!(gone.status.success(), "{gone:?}");
    wait::until("nothing kept", || {
        let mut left = std::fs::read_dir(&kept).unwrap();
        left.next().is_none().then_some(())
    });
}

#[test]
fn logs_of_several_hosts_are_shown_and_followed_at_once() {
    const OTHER: &str = "10.3.0.22";
    let cluster = Cluster::start();
    let _agents = [cluster.agent(IP), cluster.agent(OTHER)];
    let one = talker(&cluster, "");
    let _other = talker_on(&cluster, OTHER, "");
    let shown = ran(&cluster, &["logs", NAME]);
    assert_eq!(
        text(&shown.stdout),
        format!("0:{IP}  | one\n0:{OTHER} | one\n"),
        "{shown:?}"
    );
    let following = Following::with(&cluster, &["--tail", "0", "--grep", "[aeiou]"]);
    wait::until("a line that comes after it began", || {
        says(&one, "hmm");
        says(&one, "again");
        let shown = following
            .lines
            .recv_timeout(std::time::Duration::from_millis(100));
        shown
            .ok()
            .map(|line| assert_eq!(line, format!("0:{IP}  | again")))
    });
    let failed = ran(&cluster, &["logs", NAME, "--previous"]);
    assert_eq!(failed.status.code(), Some(4), "{failed:?}");
    let why = text(&failed.stderr);
    assert!(why.contains("no run of e2e/talker before the one"), "{why}");
}

#[test]
fn the_result_says_that_a_log_cannot_be_written() {
    let cluster = Cluster::start();
    let _agent = cluster.agent(IP);
    let log = cluster.path().join("missing/folder/log");
    let fixture = talker(&cluster, log.to_str().unwrap());
    let again = ran(&cluster, &["restart", NAME]);
    assert!(again.status.success(), "{again:?}");
    let warning = format!(
        "warning: 0:{IP} {NAME}: log_path: cannot open {}: No such file or directory; output is kept by the agent only",
        log.display()
    );
    assert!(text(&again.stderr).contains(&warning), "{again:?}");
    assert_eq!(text(&ran(&cluster, &["logs", NAME]).stdout), "one\n");
    drop(fixture);
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
