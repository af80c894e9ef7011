//! Benchmarks the API: registration, reads, memory, restart. A real server with SQLite, HTTP on loopback.

use std::net::SocketAddr;
use std::time::Instant;

use anyhow::ensure;

use super::{hosts, median, millis, row, seconds, timed};
use crate::client::Client;
use crate::server::{self, Server};
use crate::table::{Table, thousands};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Hosts in each registration.
    #[arg(long, default_value_t = 10_000)]
    hosts: usize,
    /// Registrations, each of its own process name.
    #[arg(long, default_value_t = 100)]
    names: usize,
    /// Small status queries to time.
    #[arg(long, default_value_t = 60_000)]
    queries: usize,
    /// Connections that send them.
    #[arg(long, default_value_t = 16)]
    connections: usize,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    server::build(&server::PROGRAMS)?;
    let binaries = server::binaries()?;
    let data = tempfile::tempdir()?;
    let (mut server, _) = Server::start(&binaries, data.path())?;
    let mut table = Table::new(["what", "measured", "aim"]);
    let mut client = Client::connect(server.http)?;
    let n_processes = args.hosts * args.names;

    // A request of its own, so that the first figure is for a warm server and an empty store.
    let first = timed(|| client.gse("register_proc_info", &register(args, "first")))?;
    let rate = args.hosts as f64 / first.as_secs_f64();
    row(
        &mut table,
        format!(
            "register {} hosts in one request, durable",
            thousands(args.hosts as f64)
        ),
        format!("{} ms ({}/s)", millis(first), thousands(rate)),
        "≥ 150,000/s",
    );
    client.gse("unregister_proc_info", &meta_and_hosts(args, "first"))?;

    let before = server.memory()?;
    let bodies: Vec<Vec<u8>> = (0..args.names)
        .map(|n| register(args, &format!("proc-{n}")))
        .collect();
    let all = timed(|| {
        for body in &bodies {
            client.gse("register_proc_info", body)?;
        }
        Ok(())
    })?;
    drop(bodies);
    row(
        &mut table,
        format!(
            "{} processes in {} requests",
            thousands(n_processes as f64),
            args.names
        ),
        format!(
            "{:.2} s ({}/s)",
            all.as_secs_f64(),
            thousands(n_processes as f64 / all.as_secs_f64())
        ),
        "≥ 150,000/s",
    );
    let grown = server.memory()?.saturating_sub(before) as f64 / n_processes as f64;
    row(
        &mut table,
        "memory per process (growth of the server's RSS)",
        format!("{grown:.0} bytes"),
        "≤ 200 bytes",
    );

    for (part, offset) in [("0", 0), ("90 % of all", n_processes / 10 * 9)] {
        let body = format!(
            r#"{{"meta":{{"namespace":"bench"}},"page":{{"start":{offset},"limit":1000}}}}"#
        );
        let page = median(50, || client.gse("sync_proc_status", body.as_bytes()))?;
        let name = format!("sync_proc_status page of 1,000 at offset {part}, median of 50");
        row(&mut table, name, format!("{} ms", millis(page)), "≤ 3 ms");
    }
    let body = meta_and_hosts(args, "proc-0");
    let status = median(15, || client.gse("get_proc_status", &body))?;
    row(
        &mut table,
        format!(
            "get_proc_status of {} hosts, median of 15",
            thousands(args.hosts as f64)
        ),
        format!("{} ms", millis(status)),
        "≤ 40 ms",
    );
    let rate = small_queries(server.http, args)?;
    row(
        &mut table,
        format!(
            "small status queries, {} connections, both ends on this machine",
            args.connections
        ),
        format!("{}/s", thousands(rate)),
        "",
    );

    server.kill()?;
    let (server, ready) = Server::start(&binaries, data.path())?;
    row(
        &mut table,
        format!(
            "kill -9, start, ready again with {} processes",
            thousands(n_processes as f64)
        ),
        seconds(ready),
        "≤ 3 s",
    );
    let body = r#"{"meta":{"namespace":"bench"},"page":{"start":0,"limit":1}}"#;
    let answer = Client::connect(server.http)?.gse("sync_proc_status", body.as_bytes())?;
    let count = format!("\"count\":{n_processes}");
    ensure!(
        String::from_utf8_lossy(&answer).contains(&count),
        "the restarted server lost processes"
    );
    table.print();
    Ok(())
}

/// Requests per second over several keep-alive connections.
fn small_queries(address: SocketAddr, args: &Args) -> anyhow::Result<f64> {
    let each = args.queries / args.connections.max(1);
    let body = br#"{"meta":{"namespace":"bench","name":"proc-0"},"hosts":[{"ip":"10.0.0.1","bk_cloud_id":0,"bk_supplier_id":0}]}"#;
    let started = Instant::now();
    std::thread::scope(|scope| {
        let senders: Vec<_> = (0..args.connections)
            .map(|_| {
                scope.spawn(move || -> anyhow::Result<()> {
                    let mut client = Client::connect(address)?;
                    for _ in 0..each {
                        client.gse("get_proc_status", body)?;
                    }
                    Ok(())
                })
            })
            .collect();
        senders
            .into_iter()
            .try_for_each(|sender| sender.join().expect("a sender does not panic"))
    })?;
    Ok((each * args.connections) as f64 / started.elapsed().as_secs_f64())
}

fn meta_and_hosts(args: &Args, name: &str) -> Vec<u8> {
    let meta = format!(r#"{{"namespace":"bench","name":"{name}"}}"#);
    format!(r#"{{"meta":{meta},"hosts":{}}}"#, hosts::list(args.hosts)).into_bytes()
}

fn register(args: &Args, name: &str) -> Vec<u8> {
    register_on(&hosts::list(args.hosts), name)
}

/// The spec of the API document's example, with labels.
pub(super) fn register_on(hosts: &str, name: &str) -> Vec<u8> {
    let meta = format!(
        r#"{{"namespace":"bench","name":"{name}","labels":{{"proc_name":"{name}","tier":"game"}}}}"#
    );
    let spec = r#"{"identity":{"proc_name":"proc-test","setup_path":"/data/gsetest/","pid_path":"/data/gsetest/proc-test.pid","config_path":"/data/gsetest/proc-test.conf","log_path":"/data/gsetest/logs/","user":"root"},"control":{"start_cmd":"./start.sh","stop_cmd":"./stop.sh","restart_cmd":"./restart.sh","reload_cmd":"./reload.sh","kill_cmd":"./kill.sh","version_cmd":"./version.sh","health_cmd":"./health.sh"},"resource":{"cpu":10.0,"mem":10.0,"fd":10000,"disk":100,"net":0},"monitor_policy":{"auto_type":1,"start_check_secs":5,"stop_check_secs":5,"start_retries":3,"start_interval":20}}"#;
    format!(r#"{{"meta":{meta},"hosts":{hosts},"spec":{spec}}}"#).into_bytes()
}
