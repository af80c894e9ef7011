//! Runs the commands of the README, docs/start.md and docs/guides/api.md: those in blocks that are marked `sh run`, and the
//! program that is marked `python run`.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};

use testkit::{precondition, program};

/// A command of a document, and whether the text says that it fails.
#[derive(Debug, PartialEq, Eq)]
struct Step {
    line: String,
    fails: bool,
}

/// The blocks of a document with this mark.
fn blocks(document: &str, mark: &str) -> Vec<String> {
    let path = format!("{}/../../{document}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let opening = format!("```{mark}\n");
    let blocks = text.split(&opening).skip(1);
    blocks
        .map(|block| block.split("```").next().unwrap().to_owned())
        .collect()
}

fn steps(document: &str) -> Vec<Step> {
    let blocks = blocks(document, "sh run");
    let lines = blocks.iter().flat_map(|block| block.lines());
    lines
        .map(|line| Step {
            line: line.to_owned(),
            fails: line.contains("# fails"),
        })
        .collect()
}

/// `muster up` in a folder of its own, with its agent connected.
struct Installation {
    up: Child,
    url: String,
    data: tempfile::TempDir,
}

impl Installation {
    fn start() -> Self {
        let data = tempfile::TempDir::with_prefix("muster-readme-").unwrap();
        let mut up = Command::new(program::path("muster"))
            .args(["up", "--http", "127.0.0.1:0", "--agents", "127.0.0.1:0"])
            .arg("--data")
            .arg(data.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(up.stdout.take().unwrap())
            .lines()
            .map_while(Result::ok);
        let line = lines
            .find(|line| line.contains("http://"))
            .expect("up prints its address");
        let address = line.split("http://").nth(1).unwrap();
        let end = address.find(|c: char| c != ':' && c != '.' && !c.is_ascii_digit());
        let url = format!("http://{}", &address[..end.unwrap_or(address.len())]);
        std::thread::spawn(move || lines.for_each(drop));
        let installation = Self { up, url, data };
        testkit::wait::until("the local agent", || {
            let hosts = installation.shell("muster hosts -o json");
            let shown = String::from_utf8_lossy(&hosts.stdout).replace(' ', "");
            shown.contains("\"connected\":true")
        });
        installation
    }

    fn shell(&self, line: &str) -> Output {
        let muster = program::path("muster");
        let path = std::env::var("PATH").unwrap();
        let path = format!("{}:{path}", muster.parent().unwrap().display());
        Command::new("sh")
            .args(["-c", line])
            .env("PATH", path)
            .env("MUSTER_DATA", self.data.path())
            .output()
            .unwrap()
    }
}

impl Drop for Installation {
    /// The text need not end what it started.
    fn drop(&mut self) {
        let listed = self.shell("muster ps -o json");
        let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap_or_default();
        for row in listed["processes"].as_array().into_iter().flatten() {
            let [namespace, name] = ["namespace", "name"].map(|key| row[key].as_str().unwrap());
            self.shell(&format!(
                "muster stop {namespace}/{name}; muster unregister {namespace}/{name}"
            ));
        }
        self.up.kill().unwrap();
        self.up.wait().unwrap();
    }
}

fn works_as_written(document: &str, n_steps: usize) {
    let steps = steps(document);
    let is_ours = |step: &Step| step.line.starts_with("muster ");
    assert!(
        steps.len() >= n_steps && steps.iter().all(is_ours),
        "{steps:?}"
    );
    let installation = Installation::start();
    for Step { line, fails } in &steps {
        let output = installation.shell(line);
        let shown = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.success(), !fails, "{line}\n{shown}");
    }
}

#[test]
fn the_readme_works_as_written() {
    works_as_written("README.md", 4);
}

#[test]
fn the_start_works_as_written() {
    works_as_written("docs/start.md", 12);
}

#[test]
fn the_first_client_of_the_guide_works_as_written() {
    if !precondition::succeeds(&["python3", "--version"], "Python") {
        return;
    }
    let guide = "docs/guides/api.md";
    let installation = Installation::start();
    let [step] = &steps(guide)[..] else {
        panic!("the guide creates an app");
    };
    let created = installation.shell(&format!("{} -o json", step.line));
    let created: serde_json::Value = serde_json::from_slice(&created.stdout).unwrap();
    let [program] = &blocks(guide, "python run")[..] else {
        panic!("the guide has one program");
    };
    let output = Command::new("python3")
        .args(["-c", program])
        .env("MUSTER_URL", &installation.url)
        .env("TICKER_SECRET", created["secret"].as_str().unwrap())
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{shown}{error}");
    let lines: Vec<Vec<&str>> = shown
        .lines()
        .map(|line| line.split(' ').collect())
        .collect();
    let [started, listed] = &lines[..] else {
        panic!("{shown}{error}");
    };
    assert_eq!(started[1], "0", "{shown}");
    assert_eq!((listed[0], listed[2]), ("client", "running"), "{shown}");
}
