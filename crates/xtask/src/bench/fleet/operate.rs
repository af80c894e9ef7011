//! One operation on every host, polled until every target has ended.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::Value;

use super::{Args, load, row, seconds};
use crate::bench::hosts;
use crate::bench::millis;
use crate::client::Client;
use crate::deployment::Deployment;
use crate::interrupt;
use crate::table::{Table, thousands};

const PATIENCE: Duration = Duration::from_secs(60);
/// Between two polls, at least.
const PAUSE: Duration = Duration::from_millis(50);
/// The code of a target that has not ended.
const HANDLING: &[u8] = b"\"error_code\":115";

/// Durations of one operation, from the request on.
pub(super) struct Operated {
    answered: Duration,
    pub(super) ended: Duration,
    pub(super) polls: Vec<Duration>,
    /// CPU time of servers and simulator.
    cpu: (Duration, Duration),
}

pub(super) fn measure(
    args: &Args,
    deployment: &mut Deployment,
    table: &mut Table,
) -> anyhow::Result<()> {
    quiet(args, deployment, table)?;
    beside_load(args, deployment, table)
}

/// On an idle fleet.
fn quiet(args: &Args, deployment: &mut Deployment, table: &mut Table) -> anyhow::Result<()> {
    let all = series(args.agents, args.procs, args.operations, deployment)?;
    let (median, slowest) = (&all[all.len() / 2], &all[all.len() - 1]);
    row(
        table,
        format!(
            "operate {} hosts until every target has ended, median of {}",
            thousands(args.agents as f64),
            all.len()
        ),
        format!(
            "{} (answered after {} ms; slowest {}; CPU {} ms of the server, {} ms of the simulator)",
            seconds(median.ended),
            millis(median.answered),
            seconds(slowest.ended),
            median.cpu.0.as_millis(),
            median.cpu.1.as_millis()
        ),
        "≤ 1 s",
    );
    let targets = deployment.simulator.durations("targets")?;
    row(
        table,
        format!(
            "one target, from the making of the task until the agent knows that its result is durable (it takes {} to do)",
            args.delay
        ),
        format!(
            "p50 {} ms, p99 {} ms, of {}",
            targets.p50_ms,
            targets.p99_ms,
            thousands(targets.n as f64)
        ),
        "",
    );
    let mut polls: Vec<Duration> = all.into_iter().flat_map(|one| one.polls).collect();
    polls.sort_unstable();
    let rank = |part: f64| polls[((polls.len() as f64 * part).ceil() as usize).max(1) - 1];
    row(
        table,
        "polls of that result meanwhile, each of all targets",
        format!(
            "{} polls: p50 {} ms, p99 {} ms",
            polls.len(),
            millis(rank(0.5)),
            millis(rank(0.99))
        ),
        "",
    );
    Ok(())
}

/// The same at the steady load.
fn beside_load(args: &Args, deployment: &mut Deployment, table: &mut Table) -> anyhow::Result<()> {
    deployment
        .simulator
        .tell(&format!("rate {}", load::steady(args)))?;
    interrupt::sleep(args.load_time())?;
    let all = series(args.agents, args.procs, args.operations, deployment)?;
    deployment.simulator.tell("rate 0")?;
    let (median, slowest) = (&all[all.len() / 2], &all[all.len() - 1]);
    row(
        table,
        "the same beside the steady load",
        format!(
            "{} (slowest {})",
            seconds(median.ended),
            seconds(slowest.ended)
        ),
        "",
    );
    Ok(())
}

/// Several operations in sequence, sorted by duration.
pub(super) fn series(
    n_agents: usize,
    n_names: usize,
    n_operations: usize,
    deployment: &mut Deployment,
) -> anyhow::Result<Vec<Operated>> {
    let hosts = hosts::list(n_agents);
    let mut client = deployment.client()?;
    deployment.simulator.tell("reset")?;
    let mut all = Vec::new();
    let patience = super::patience(PATIENCE, n_agents);
    for number in 0..n_operations {
        let name = format!("proc-{}", number % n_names);
        let cpu = deployment.cpu();
        let mut operated = operate(&mut client, &hosts, &name, patience)?;
        operated.cpu = deployment.cpu().used_since(cpu);
        eprintln!(
            "operation {number}: answered after {}, ended after {}",
            seconds(operated.answered),
            seconds(operated.ended)
        );
        all.push(operated);
        let n_targets = n_agents * all.len();
        deployment.until_acknowledged(n_targets as u64, patience)?;
    }
    all.sort_by_key(|operated| operated.ended);
    Ok(all)
}

pub(super) fn operate(
    client: &mut Client,
    hosts: &str,
    name: &str,
    patience: Duration,
) -> anyhow::Result<Operated> {
    let body = format!(
        r#"{{"meta":{{"namespace":"bench","name":"{name}"}},"hosts":{hosts},"op_type":0}}"#
    );
    let started = Instant::now();
    let answer = client.gse("operate_proc", body.as_bytes())?;
    let answered = started.elapsed();
    let answer: Value = serde_json::from_slice(&answer)?;
    let task = answer["data"]["task_id"]
        .as_str()
        .context("a task id is answered")?;
    let poll = format!(r#"{{"task_id":"{task}"}}"#);
    let mut polls = Vec::new();
    loop {
        let asked = Instant::now();
        let result = client.gse("get_proc_operate_result", poll.as_bytes())?;
        polls.push(asked.elapsed());
        let goes_on = result.windows(HANDLING.len()).any(|part| part == HANDLING);
        if !goes_on {
            let ended = started.elapsed();
            let result: Value = serde_json::from_slice(&result)?;
            all_succeeded(task, &result["data"])?;
            return Ok(Operated {
                answered,
                ended,
                polls,
                cpu: Default::default(),
            });
        }
        ensure!(
            started.elapsed() < patience,
            "{task} has not ended in {patience:?}"
        );
        // Polls of many targets are work: they must not be all that the machine does.
        interrupt::sleep(PAUSE.max(asked.elapsed()))?;
    }
}

/// Fails unless every target succeeded: simulated agents do not fail, so the servers have lost some.
fn all_succeeded(task: &str, targets: &Value) -> anyhow::Result<()> {
    let targets = targets.as_object().context("the result names no targets")?;
    let mut failed: BTreeMap<i64, (usize, &str)> = BTreeMap::new();
    for target in targets.values() {
        let code = target["error_code"].as_i64();
        let code = code.context("a target has no error_code")?;
        if code != 0 {
            let message = target["error_msg"].as_str().unwrap_or_default();
            failed.entry(code).or_insert((0, message)).0 += 1;
        }
    }
    let failed: Vec<String> = failed
        .iter()
        .map(|(code, (n, message))| format!("{n} with {code} ({message})"))
        .collect();
    ensure!(
        failed.is_empty() && !targets.is_empty(),
        "of {} targets of {task} not all ended with success: {}",
        targets.len(),
        failed.join(", ")
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_failed_target_fails_the_bench_with_its_code() {
        let ok = json!({"error_code": 0, "error_msg": "success"});
        let away = json!({"error_code": 117, "error_msg": "no connection"});
        let good = json!({"a": ok, "b": ok});
        all_succeeded("t", &good).unwrap();
        let bad = json!({"a": ok, "b": away, "c": away, "d": {"error_code": 126}});
        let error = all_succeeded("t", &bad).unwrap_err().to_string();
        assert!(error.contains("of 4 targets of t"), "{error}");
        assert!(error.contains("2 with 117 (no connection)"), "{error}");
        assert!(error.contains("1 with 126"), "{error}");
        assert!(all_succeeded("t", &json!({})).is_err());
    }
}
