//! The web console in a real browser, against a real server and real agents: one test for each flow in `console/tests`.
//!
//! A flow is a Node program. It reads the address and the users from its environment, and asks for what only this side can do
//! by a line `@request` on its standard output; the answer is a line on its standard input. It succeeds if it exits with 0.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use testing::precondition;
use testkit::{Agent, Cluster, wait};

const USER: &str = "ada";
const PASSWORD: &str = "correct horse";

/// A server with an agent and an administrator. Flows register the processes that they need.
struct World {
    cluster: Cluster,
    agents: Vec<Agent>,
}

impl World {
    fn start() -> Self {
        let mut world = Self {
            cluster: Cluster::start(),
            agents: Vec::new(),
        };
        world.have_agents(1);
        let user = json!({"name": USER, "password": PASSWORD, "grants": [{"role": "admin"}]});
        world.ask("POST", "/api/v1/users", user);
        world
    }

    /// Starts agents until there are so many.
    fn have_agents(&mut self, n_agents: usize) {
        for number in self.agents.len() + 1..=n_agents {
            self.agents
                .push(self.cluster.agent(&format!("10.5.0.{number}")));
        }
    }

    #[track_caller]
    fn ask(&self, method: &str, path: &str, body: Value) -> Value {
        let body = Some(body).filter(|body| !body.is_null());
        let (status, answer) = self.cluster.api.native(method, path, body);
        assert!(status < 300, "{method} {path}: {status} {answer}");
        answer
    }

    /// Registers one process on very many hosts, which have no agents.
    fn register_many(&self) {
        for hundred in 0..50 {
            let hosts: Vec<String> = (0..100).map(|n| format!("10.6.{hundred}.{n}")).collect();
            let spec = json!({
                "identity": {"proc_name": "many", "setup_path": "/opt/many", "pid_path": "/opt/many/pid", "user": "root"},
                "control": {"start_cmd": "./many"},
            });
            let body = json!({"hosts": hosts, "spec": spec});
            self.ask("PUT", "/api/v1/processes/many/many", body);
        }
    }

    /// Does what a flow asks for.
    fn obey(&mut self, request: &str) {
        match request {
            "kill-server" => self.cluster.kill_server(),
            "start-server" => self.cluster.restart_server(),
            "kill-agent" => {
                self.agents[0].kill();
                self.cluster.wait_for_agent(&self.agents[0].ip, false);
            }
            "start-agent" => {
                self.agents[0].restart();
                self.cluster.wait_for_agent(&self.agents[0].ip, true);
            }
            "four-agents" => self.have_agents(4),
            other => panic!("a flow asks for {other:?}, which is not known here"),
        }
    }
}

fn console() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../console")
}

/// Whether a browser is here, and the packages that drive it.
#[track_caller]
fn has_browser() -> bool {
    let is_there = console().join("node_modules/playwright-core").exists();
    precondition::is_met(is_there, "the packages of the web console: scripts/console")
        && precondition::succeeds(&["/usr/bin/chromium", "--version"], "chromium")
}

/// For flows that run the commands which the console shows.
fn path_with_muster() -> String {
    let muster = testkit::program::path("muster");
    let others = std::env::var("PATH").unwrap_or_default();
    format!("{}:{others}", muster.parent().unwrap().display())
}

/// Runs a flow; nothing of it is left behind.
#[track_caller]
fn run(flow: &str) {
    run_with(flow, &[]);
}

#[track_caller]
fn run_with(flow: &str, args: &[&str]) {
    if has_browser() {
        run_in(World::start(), flow, args);
    }
}

#[track_caller]
#[expect(
    clippy::print_stdout,
    reason = "the steps of the flow, which the test runner shows"
)]
fn run_in(mut world: World, flow: &str, args: &[&str]) {
    let mut child = Command::new("node")
        .arg(console().join("tests").join(format!("{flow}.mjs")))
        .args(args)
        .env("MUSTER_URL", format!("http://{}", world.cluster.http()))
        .env("MUSTER_USER", USER)
        .env("MUSTER_PASSWORD", PASSWORD)
        .env("MUSTER_FOLDER", world.cluster.path())
        .env("PATH", path_with_muster())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        match line.strip_prefix('@') {
            Some(request) => {
                world.obey(request);
                writeln!(stdin, "done").unwrap();
            }
            None => println!("{line}"),
        }
    }
    let status = wait::until("the flow to end", || child.try_wait().unwrap());
    assert!(status.success(), "{flow}: {status}");
}

#[test]
fn a_browser_logs_in_by_password_and_by_link() {
    run("login");
}

#[test]
fn an_empty_server_shows_the_first_steps() {
    run("first");
}

#[test]
fn a_process_is_found_and_opened() {
    run("find");
}

#[test]
fn an_operation_shows_its_consequences_and_is_followed() {
    run("act");
}

#[test]
fn the_main_flow_needs_no_mouse() {
    run("keyboard");
}

#[test]
fn changes_are_shown_live_in_all_tabs() {
    run("live");
}

#[test]
fn an_operation_is_followed_over_a_restart_of_the_server() {
    run("restart");
}

#[test]
fn a_browser_without_network_says_so_and_catches_up() {
    run("offline");
}

#[test]
fn a_login_that_ends_in_the_middle_loses_nothing() {
    run("expired");
}

#[test]
fn two_tabs_share_a_stream_a_login_and_settings() {
    run("tabs");
}

#[test]
fn language_theme_and_keys_are_kept() {
    run("settings");
}

#[test]
fn a_viewer_has_no_button_that_works() {
    run("viewer");
}

#[test]
fn each_page_shows_and_permits_what_the_role_does() {
    run("roles");
}

#[test]
fn markup_in_names_and_output_is_text() {
    run("markup");
}

#[test]
fn tasks_and_jobs_are_listed_and_retried() {
    run("operations");
}

#[test]
fn a_list_is_in_its_address_and_a_set_that_moved_is_refused() {
    run("list");
}

#[test]
fn events_are_announced_and_filtered() {
    run("events");
}

#[test]
fn a_host_shows_what_it_holds_and_when_its_agent_left() {
    run("host");
}

#[test]
fn output_is_followed_filtered_and_downloaded() {
    run("logs");
}

#[test]
fn users_change_their_password_logins_and_settings() {
    run("me");
}

#[test]
fn users_apps_tokens_and_webhooks_are_administered() {
    run("admin");
}

#[test]
fn a_big_table_is_small_in_the_browser() {
    if has_browser() {
        let world = World::start();
        world.register_many();
        run_in(world, "table", &[]);
    }
}

#[test]
fn a_business_is_filtered_operated_and_configured() {
    run("business");
}

#[test]
fn a_config_file_is_made_compared_and_rolled_out() {
    run("release");
}

#[test]
fn every_page_is_accessible_in_english_and_chinese() {
    run_with("pages", &["wide"]);
}

#[test]
fn every_page_is_accessible_on_a_small_screen() {
    run_with("pages", &["narrow"]);
}

#[test]
fn a_template_is_edited_and_its_versions_are_compared() {
    run("editor");
}

#[test]
fn figures_are_charts_that_zoom() {
    run("figures");
}

#[test]
fn two_outputs_are_followed_at_once() {
    run("follows");
}

#[test]
fn templates_are_changed_deleted_and_their_files_listed() {
    run("templates");
}

#[test]
fn a_canary_that_fails_stops_a_roll_and_an_update_is_taken_back() {
    run("roll");
}

#[test]
fn a_definition_is_edited_and_rolled_back() {
    run("definition");
}

#[test]
fn a_role_is_granted_by_labels() {
    run("grants");
}
