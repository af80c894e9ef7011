//! `muster up`: a server and one agent on this machine, in one command.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use model::Host;
use serde_json::json;

use super::server::{Signals, block_on, boot_failure};
use super::{Context, environment};
use crate::colors::Style;
use crate::config::{ServerArgs, UpConfig};
use crate::failure::{Exit, Failure};
use crate::format::counted;
use crate::out::Out;

mod local_agent;

use local_agent::LocalAgent;

pub const EXAMPLES: &str = "\
Examples:
  muster up
  muster up --data ./data --http 127.0.0.1:0   any free port; the address is printed
  muster up --ip 10.0.0.7 --cloud-id 3         known by this address

Run it again on the same data directory to continue. Ctrl-C leaves the processes running.";

/// How long the greeting waits for the local agent.
const AGENT_TIMEOUT: Duration = Duration::from_secs(10);
/// Between two starts of an agent that ends.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LAST_RETRY: Duration = Duration::from_secs(30);

#[derive(Debug, clap::Args)]
pub struct UpArgs {
    #[command(flatten)]
    pub server: ServerArgs,
    /// The address that this host is known by [env: MUSTER_IP] [default: 127.0.0.1]
    #[arg(long, value_name = "IP")]
    pub ip: Option<String>,
    /// The cloud area that this host lies in [env: MUSTER_CLOUD_ID] [default: 0]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub cloud_id: Option<String>,
}

pub fn run(context: &Context, args: &UpArgs) -> Result<Exit, Failure> {
    let host = (args.ip.as_deref(), args.cloud_id.as_deref());
    let config = UpConfig::resolve(&args.server, host, context.data(), &environment)?;
    if args.server.print_config {
        context.out.config(&config.to_table())?;
        return Ok(Exit::Ok);
    }
    agent::log::init(config.server.log, config.server.log_format);
    block_on(stay_up(&context.out, config))
}

async fn stay_up(out: &Out, config: UpConfig) -> Result<Exit, Failure> {
    let mut signals = Signals::new()?;
    let mut running = server::start(config.server.server.clone())
        .await
        .map_err(|e| boot_failure(&e))?;
    running.control.return_memory_by(agent::give_memory_back);
    let local = LocalAgent {
        server: reachable(running.agents),
        data: config.server.server.data.join("agent"),
        host: config.host,
        join_token: running.join_token.clone(),
        log: config.server.log,
        log_format: config.server.log_format,
    };
    let mut agent = local.start()?;
    let mut retry = FIRST_RETRY;
    let is_connected = tokio::select! {
        () = signals.recv() => {
            return shut_down(out, agent, running).await;
        }
        is_connected = connected(&running) => is_connected,
    };
    let login = running.login_link().await.map_err(|e| boot_failure(&e))?;
    match out.is_document() {
        true => out.stream_document(&json!({
            "url": running.url,
            "login": login,
            "agents": reachable(running.agents),
            "data": config.server.server.data,
            "host": config.host,
            "connected": is_connected,
        }))?,
        false => greet(out, &config, &running.url, login.as_deref(), is_connected)?,
    }
    loop {
        tokio::select! {
            () = signals.recv() => return shut_down(out, agent, running).await,
            error = running.finished() => {
                agent.stop().await;
                return Err(boot_failure(&error));
            }
            (how, lasted) = agent.ended() => {
                if lasted > LAST_RETRY {
                    retry = FIRST_RETRY;
                }
                out.warn(format!(
                    "the local agent ended ({how}) and starts again in {} s; processes keep running",
                    retry.as_secs()
                ));
                tokio::select! {
                    () = signals.recv() => return shut_down(out, agent, running).await,
                    () = tokio::time::sleep(retry) => {}
                }
                retry = (retry * 2).min(LAST_RETRY);
                match local.start() {
                    Ok(started) => agent = started,
                    // The agent that ended stays, so the next round tries again.
                    Err(failure) => out.warn(failure),
                }
            }
        }
    }
}

/// Waits until an agent is connected; false when it takes too long.
async fn connected(running: &server::Running) -> bool {
    let mut changes = running.control.events().watch();
    let until_there = async {
        while running.control.figures().agents.n_up == 0 {
            // A change event only means that the figures may have changed.
            if changes.recv().await.is_err() {
                tokio::task::yield_now().await;
            }
        }
    };
    tokio::time::timeout(AGENT_TIMEOUT, until_there)
        .await
        .is_ok()
}

/// Stops the agent first, so that it disconnects properly, then the server.
async fn shut_down(
    out: &Out,
    agent: local_agent::RunningAgent,
    running: server::Running,
) -> Result<Exit, Failure> {
    let n_running = running.control.figures().n_running as u64;
    agent.stop().await;
    running.stop().await;
    let left = match n_running {
        0 => "nothing was running".to_owned(),
        n => format!(
            "{} running: muster up finds and manages them again",
            match n {
                1 => "1 process keeps".to_owned(),
                n => format!("{} keep", counted(n, "process")),
            }
        ),
    };
    let text = format!("server and agent stopped; {left}");
    match out.is_document() {
        true => out.note(text),
        false => out.success(format!("\n{text}"))?,
    }
    Ok(Exit::Ok)
}

fn greet(
    out: &Out,
    config: &UpConfig,
    url: &str,
    login: Option<&str>,
    is_connected: bool,
) -> Result<(), Failure> {
    let data = config.server.server.data.display();
    let Host { cloud, ip } = config.host;
    out.line(format!("Muster is up: {}", out.paint(Style::Bold, url)))?;
    if out.is_quiet() {
        return Ok(());
    }
    out.line(format!("  docs  {url}/docs"))?;
    out.line(format!("  data  {data}"))?;
    out.line(format!("  host  {cloud}:{ip}"))?;
    if !is_connected {
        out.warn("the local agent is not connected yet; its messages are above");
    }
    // --data only where the commands would not find it by themselves.
    let default_data = crate::home::default_data(&environment);
    let flag = match config.server.server.data == default_data {
        true => String::new(),
        false => format!(" --data {data}"),
    };
    out.line(format!(
        "\nTry, in another terminal:\n\
         \x20 muster register demo/sleeper --start 'sleep 1000'{flag}\n\
         \x20 muster start demo/sleeper{flag}\n\
         \x20 muster ps{flag}\n\
         \nCtrl-C stops the server and the agent and leaves the processes running."
    ))?;
    match login {
        Some(link) => out.line(format!(
            "\nOpen the console; the link logs you in once, within 15 minutes (muster console{flag} makes another):\n  {}",
            out.paint(Style::Bold, link)
        )),
        None => out.line(format!("\nOpen the console:\n  {url}/ui/")),
    }
}

/// The loopback address for a listener on all addresses.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}
