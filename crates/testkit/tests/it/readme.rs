//! Runs the commands of the README and of docs/start.md: those in blocks that are marked `sh run`.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};

use testkit::program;

/// A command of a document, and whether the text says that it fails.
#[derive(Debug, PartialEq, Eq)]
struct Step {
    line: String,
    fails: bool,
}

fn steps(document: &str) -> Vec<Step> {
    let path = format!("{}/../../{document}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let blocks = text.split("```sh run\n").skip(1);
    let lines = blocks.flat_map(|block| block.split("```").next().unwrap().lines());
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
        lines
            .find(|line| line.contains("http://"))
            .expect("up prints its address");
        std::thread::spawn(move || lines.for_each(drop));
        let installation = Self { up, data };
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
            self.shell(&format!("muster rm {namespace}/{name} --yes --force"));
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
