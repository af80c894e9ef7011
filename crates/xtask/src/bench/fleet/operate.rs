//! One operation on every host, polled as clients do until every target has ended.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::Value;

use super::stage::Stage;
use super::{Args, hosts, load, row, seconds};
use crate::bench::agent::interrupt;
use crate::bench::millis;
use crate::client::Client;
use crate::table::{Table, thousands};

const PATIENCE: Duration = Duration::from_secs(60);
/// Between two polls.
const PAUSE: Duration = Duration::from_millis(50);
/// What a target says that has not ended.
const HANDLING: &[u8] = b"\"error_code\":115";

/// One operation, from sending the request on.
struct Operated {
    answered: Duration,
    ended: Duration,
    polls: Vec<Duration>,
    /// Of servers and simulator, for all of it.
    cpu: (Duration, Duration),
}

pub(super) fn measure(args: &Args, stage: &mut Stage, table: &mut Table) -> anyhow::Result<()> {
    quiet(args, stage, table)?;
    beside_load(args, stage, table)
}

/// On a fleet that has nothing else to do.
fn quiet(args: &Args, stage: &mut Stage, table: &mut Table) -> anyhow::Result<()> {
    let all = series(args, stage)?;
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
    let targets = stage.simulator.stats()?["targets"].clone();
    let at = |part: &str| -> anyhow::Result<u64> {
        let value = targets[part].as_u64();
        value.with_context(|| format!("the simulator says no {part}"))
    };
    row(
        table,
        format!(
            "one target, from the making of the task until the agent knows that its result is durable (it takes {} to do)",
            args.delay
        ),
        format!(
            "p50 {} ms, p99 {} ms, of {}",
            at("p50_ms")?,
            at("p99_ms")?,
            thousands(at("n")? as f64)
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

/// The same while every process is reported once a minute.
fn beside_load(args: &Args, stage: &mut Stage, table: &mut Table) -> anyhow::Result<()> {
    stage
        .simulator
        .tell(&format!("rate {}", load::steady(args)))?;
    interrupt::sleep(args.load_time())?;
    let all = series(args, stage)?;
    stage.simulator.tell("rate 0")?;
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

/// Some operations one after the other, the fastest first.
fn series(args: &Args, stage: &mut Stage) -> anyhow::Result<Vec<Operated>> {
    let hosts = hosts::list(args.agents);
    let mut client = stage.client()?;
    stage.simulator.tell("reset")?;
    let mut all = Vec::new();
    for number in 0..args.operations {
        let name = format!("proc-{}", number % args.procs);
        let cpu = stage.cpu();
        let mut operated = operate(&mut client, &hosts, &name)?;
        operated.cpu = stage.cpu().used_since(cpu);
        eprintln!(
            "operation {number}: answered after {}, ended after {}",
            seconds(operated.answered),
            seconds(operated.ended)
        );
        all.push(operated);
        let n_targets = args.agents * all.len();
        stage.until_acknowledged(n_targets as u64, PATIENCE)?;
    }
    all.sort_by_key(|operated| operated.ended);
    Ok(all)
}

fn operate(client: &mut Client, hosts: &str, name: &str) -> anyhow::Result<Operated> {
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
            let n_ok = count(&result, b"\"error_code\":0,");
            ensure!(n_ok > 0, "no target of {task} succeeded");
            return Ok(Operated {
                answered,
                ended,
                polls,
                cpu: Default::default(),
            });
        }
        ensure!(
            started.elapsed() < PATIENCE,
            "{task} has not ended in {PATIENCE:?}"
        );
        interrupt::sleep(PAUSE)?;
    }
}

fn count(text: &[u8], part: &[u8]) -> usize {
    text.windows(part.len()).filter(|at| *at == part).count()
}
