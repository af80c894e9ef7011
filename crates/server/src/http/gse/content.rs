//! `content`: a JSON document inside a string. Strict clients depend on each type in it.

use model::operation::{CommandRun, ProcessInspection};
use model::status::Exit;
use model::{FullName, Op, Outcome, UnixMillis};
use serde::Serialize;

/// How much output all `content`s of one response carry together, and each at least. A result may have 30,000 keys; the
/// native API shows everything, page by page.
const ALL_OUTPUT: usize = 8 * 1024 * 1024;
const LEAST_OUTPUT: usize = 4096;

/// How much output each of `n_targets` may show.
pub(crate) fn output_share(n_targets: usize) -> usize {
    (ALL_OUTPUT / n_targets.max(1)).clamp(LEAST_OUTPUT, model::operation::MAX_OUTPUT)
}

/// The fields of `content` beside the outcome.
#[derive(Debug, Clone)]
pub(crate) struct TargetFacts<'a> {
    pub process: &'a FullName,
    pub ip: String,
    pub agent_id: &'a str,
    /// The binary; empty if it is unknown by now.
    pub proc_name: &'a str,
    pub setup_path: &'a str,
    pub registered_at: UnixMillis,
    pub managed: bool,
    /// How many bytes of a command's output may be shown.
    pub max_output: usize,
}

/// The document for a target that has ended.
pub(crate) fn content(op: Op, outcome: &Outcome, facts: &TargetFacts<'_>) -> String {
    let written = match op {
        // A failed query has the same form.
        Op::Query => {
            let absent = ProcessInspection {
                pid: -1,
                disk: -1,
                looked_at: outcome.ended_at,
                ..Default::default()
            };
            let instance = outcome.instance.as_deref().unwrap_or(&absent);
            serde_json::to_string(&QueryContent::of(instance, facts))
        }
        _ => serde_json::to_string(&OperationContent {
            value: [Value::of(outcome, facts)],
        }),
    };
    written.expect("content has only string keys")
}

#[derive(Serialize)]
struct OperationContent<'a> {
    value: [Value<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Value<'a> {
    proc_name: &'a str,
    setup_path: &'a str,
    #[serde(rename = "funcID")]
    func_id: &'a str,
    #[serde(rename = "instanceID")]
    instance_id: &'a str,
    result: &'a str,
    is_auto: bool,
    // Beyond the responses of other servers.
    command: &'a str,
    exit_code: Option<i32>,
    exit_signal: Option<i32>,
    duration_ms: u64,
    output: &'a str,
}

impl<'a> Value<'a> {
    fn of(outcome: &'a Outcome, facts: &'a TargetFacts<'a>) -> Self {
        let ran = outcome.ran.as_ref();
        let (exit_code, exit_signal) = exit_of(ran);
        Self {
            proc_name: or_name(facts),
            setup_path: facts.setup_path,
            func_id: "",
            instance_id: "",
            result: match outcome.code.0 {
                0 => "success",
                _ => &outcome.message,
            },
            is_auto: outcome.managed.unwrap_or(facts.managed),
            command: ran.map_or("", |ran| &ran.command),
            exit_code,
            exit_signal,
            duration_ms: ran.map_or(0, |ran| ran.duration_ms),
            output: ran.map_or("", |ran| tail(&ran.output, facts.max_output)),
        }
    }
}

/// The exit code or the signal of a command, whichever ended it.
pub(crate) fn exit_of(ran: Option<&CommandRun>) -> (Option<i32>, Option<i32>) {
    match ran.and_then(|ran| ran.exit) {
        Some(Exit::Code(code)) => (Some(code), None),
        Some(Exit::Signal(signal)) => (None, Some(signal)),
        Some(Exit::Unseen) | None => (None, None),
    }
}

/// The end of a text, cut where a character begins.
fn tail(text: &str, max: usize) -> &str {
    let mut from = text.len().saturating_sub(max);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    &text[from..]
}

fn or_name<'a>(facts: &'a TargetFacts<'a>) -> &'a str {
    match facts.proc_name.is_empty() {
        true => facts.process.name.as_str(),
        false => facts.proc_name,
    }
}

#[derive(Serialize)]
struct QueryContent<'a> {
    ip: &'a str,
    bk_agent_id: &'a str,
    utctime: String,
    utctime2: String,
    timezone: i32,
    process: [QueriedProcess<'a>; 1],
}

#[derive(Serialize)]
struct QueriedProcess<'a> {
    procname: &'a str,
    instance: [QueriedInstance<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct QueriedInstance<'a> {
    cmdline: &'a str,
    process_name: &'a str,
    version: &'a str,
    health: &'a str,
    is_auto: bool,
    cpu_usage: f64,
    cpu_usage_ave: f64,
    phy_mem_usage: f64,
    use_phy_mem: u64,
    disk_size: i64,
    #[serde(rename = "freeVMem")]
    free_v_mem: String,
    pid: i32,
    start_time: String,
    stat: &'a str,
    utime: String,
    stime: String,
    thread_count: u32,
    elapsed_time: u64,
    #[serde(rename = "register_time")]
    register_time: i64,
    #[serde(rename = "last_start_time")]
    last_start_time: i64,
    #[serde(rename = "report_time")]
    report_time: i64,
}

impl<'a> QueryContent<'a> {
    fn of(instance: &'a ProcessInspection, facts: &'a TargetFacts<'a>) -> Self {
        let local = |at: UnixMillis| match at {
            UnixMillis::NEVER => String::new(),
            at => clock(at.plus_millis(i64::from(instance.utc_offset_secs) * 1000)),
        };
        Self {
            ip: &facts.ip,
            bk_agent_id: facts.agent_id,
            utctime: local(instance.looked_at),
            utctime2: clock(instance.looked_at),
            timezone: instance.utc_offset_secs / 3600,
            process: [QueriedProcess {
                procname: or_name(facts),
                instance: [QueriedInstance {
                    cmdline: &instance.cmdline,
                    process_name: facts.process.name.as_str(),
                    version: &instance.version,
                    health: &instance.health,
                    is_auto: instance.managed,
                    cpu_usage: short(instance.cpu),
                    cpu_usage_ave: short(instance.cpu_average),
                    phy_mem_usage: short(instance.mem),
                    use_phy_mem: instance.rss_kib,
                    disk_size: instance.disk,
                    free_v_mem: instance.free_kib.to_string(),
                    pid: instance.pid,
                    // Of the current run; `last_start_time` stays after its end.
                    start_time: match instance.pid > 0 {
                        true => local(instance.started_at),
                        false => String::new(),
                    },
                    stat: &instance.stat,
                    utime: instance.utime_ticks.to_string(),
                    stime: instance.stime_ticks.to_string(),
                    thread_count: instance.threads,
                    elapsed_time: instance.elapsed_secs,
                    register_time: facts.registered_at.secs(),
                    last_start_time: instance.started_at.secs(),
                    report_time: instance.looked_at.secs(),
                }],
            }],
        }
    }
}

/// `2026-11-15 10:45:02`
fn clock(at: UnixMillis) -> String {
    at.to_rfc3339().replace('T', " ").replace('Z', "")
}

fn short(percent: f64) -> f64 {
    match percent.is_finite() {
        true => (percent * 100.0).round() / 100.0,
        false => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use model::Code;
    use serde_json::json;

    use super::*;

    fn facts(process: &FullName) -> TargetFacts<'_> {
        TargetFacts {
            process,
            ip: "10.0.0.1".into(),
            agent_id: "",
            proc_name: "nginx",
            setup_path: "/data",
            registered_at: UnixMillis::from_secs(100),
            managed: true,
            max_output: 4096,
        }
    }

    fn read(text: &str) -> serde_json::Value {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_query_has_the_types_that_strict_clients_need() {
        let name = FullName::parse("gse", "web").unwrap();
        let mut outcome = Outcome::plain(Code::OK, "success", UnixMillis(0));
        outcome.instance = Some(Box::new(ProcessInspection {
            pid: 123,
            managed: true,
            cpu: 0.1 + 0.2,
            disk: -1,
            threads: 1,
            stat: "S".into(),
            started_at: UnixMillis::from_secs(1_700_000_000),
            looked_at: UnixMillis::from_secs(1_700_000_060),
            utc_offset_secs: 8 * 3600,
            ..ProcessInspection::default()
        }));
        assert_eq!(
            read(&content(Op::Query, &outcome, &facts(&name))),
            json!({"ip": "10.0.0.1", "bk_agent_id": "", "utctime": "2023-11-15 06:14:20",
                "utctime2": "2023-11-14 22:14:20", "timezone": 8, "process": [{"procname": "nginx", "instance": [{
                "cmdline": "", "processName": "web", "version": "", "health": "", "isAuto": true, "cpuUsage": 0.3,
                "cpuUsageAve": 0.0, "phyMemUsage": 0.0, "usePhyMem": 0, "diskSize": -1, "freeVMem": "0", "pid": 123,
                "startTime": "2023-11-15 06:13:20", "stat": "S", "utime": "0", "stime": "0", "threadCount": 1,
                "elapsedTime": 0, "register_time": 100, "last_start_time": 1_700_000_000,
                "report_time": 1_700_000_060}]}]})
        );
    }

    #[test]
    fn every_other_operation_has_exactly_one_value() {
        let name = FullName::parse("gse", "web").unwrap();
        let mut outcome = Outcome::plain(Code::COMMAND_FAILED, "no such file", UnixMillis(0));
        outcome.managed = Some(false);
        outcome.ran = Some(CommandRun {
            command: "./start.sh".into(),
            exit: Some(Exit::Code(127)),
            duration_ms: 12,
            output: "no such file".into(),
        });
        assert_eq!(
            read(&content(Op::Start, &outcome, &facts(&name))),
            json!({"value": [{"procName": "nginx", "setupPath": "/data", "funcID": "", "instanceID": "",
                "result": "no such file", "isAuto": false, "command": "./start.sh", "exitCode": 127,
                "exitSignal": null, "durationMs": 12, "output": "no such file"}]})
        );
    }

    #[test]
    fn a_failed_query_has_the_form_of_a_query() {
        let name = FullName::parse("gse", "web").unwrap();
        let outcome = Outcome::plain(
            Code::NO_CONNECTION,
            "can not find connection",
            UnixMillis(0),
        );
        let read = read(&content(Op::Query, &outcome, &facts(&name)));
        let instance = &read["process"][0]["instance"][0];
        assert_eq!(
            (&instance["pid"], &instance["processName"]),
            (&json!(-1), &json!("web"))
        );
        assert_eq!(read["process"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn output_is_divided_between_targets() {
        assert_eq!(output_share(1), 64 * 1024);
        assert_eq!(output_share(30_000), 4096);
    }

    #[test]
    fn long_output_keeps_its_end() {
        assert_eq!(tail("abcdef", 3), "def");
        assert_eq!(tail("日本語", 4), "語");
    }
}
