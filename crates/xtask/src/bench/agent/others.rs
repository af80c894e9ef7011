//! The other supervisors: how each is configured for `n` sleepers and started.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use super::Peer;
use super::install::Package;
use super::sandbox::Sandbox;

pub(super) fn all() -> Vec<Peer> {
    vec![
        Peer::program("runit", Package::Debian(&["runit"]), runit, "HUP"),
        Peer::program("s6", Package::Debian(S6_PACKAGES), s6, "TERM"),
        Peer::program("zinit", Package::Cargo("zinit"), zinit, "TERM"),
        Peer::program("horust", Package::Cargo("horust"), horust, "TERM"),
        Peer::program("pm2", Package::Npm("pm2"), pm2, "TERM"),
        Peer::program("circus", Package::PyPi("circus"), circus, "TERM"),
        Peer::program(
            "supervisord",
            Package::Debian(&["supervisor", "python3-pkg-resources"]),
            supervisord,
            "TERM",
        ),
        Peer::program("monit", Package::Debian(&["monit"]), monit, "TERM"),
    ]
}

/// One `runsv` per process below one `runsvdir`.
fn runit(sandbox: &Sandbox, n: usize) -> anyhow::Result<Command> {
    let binaries = sandbox.peer("runit").join("usr/bin");
    let mut program = Command::new(binaries.join("runsvdir"));
    program.arg(run_folders(sandbox, n)?);
    program.env("PATH", format!("{}:/usr/bin:/bin", binaries.display()));
    Ok(program)
}

const S6_PACKAGES: &[&str] = &["s6", "libs6-2.11", "libskarnet2.13", "libexecline2.9"];
const S6_IN_OVERLAY: &str = r#"
mount -t overlay overlay -o "lowerdir=$0:/usr/bin" /usr/bin && exec s6-svscan -c 2000 "$1"
"#;

/// One `s6-supervise` per process below one `s6-svscan`.
///
/// s6 finds its programs by absolute paths below `/usr/bin`, so it runs with an overlay in a mount namespace, which needs
/// root and vanishes with it.
fn s6(sandbox: &Sandbox, n: usize) -> anyhow::Result<Command> {
    let root = sandbox.peer("s6");
    let libraries = root.join(format!("usr/lib/{}-linux-gnu", std::env::consts::ARCH));
    let mut program = Command::new("unshare");
    program
        .args(["--mount", "sh", "-c", S6_IN_OVERLAY])
        .arg(root.join("usr/bin"))
        .arg(run_folders(sandbox, n)?)
        .env("LD_LIBRARY_PATH", libraries);
    Ok(program)
}

/// A folder per process with an executable `run`, as runit and s6 want it.
fn run_folders(sandbox: &Sandbox, n: usize) -> anyhow::Result<PathBuf> {
    let services = sandbox.dir().join("services");
    for index in 0..n {
        let service = services.join(format!("p{index}"));
        std::fs::create_dir_all(&service)?;
        let run = service.join("run");
        std::fs::write(
            &run,
            format!("#!/bin/sh\nexec {}\n", sandbox.command(index)),
        )?;
        std::fs::set_permissions(&run, PermissionsExt::from_mode(0o755))?;
    }
    std::fs::create_dir_all(&services)?;
    Ok(services)
}

/// A TOML file per process, restarted after the shortest delay.
fn zinit(sandbox: &Sandbox, n: usize) -> anyhow::Result<Command> {
    let services = toml_files(sandbox, n, |index, command| {
        format!(
            "[service]\nname = \"p{index}\"\nexec = \"{command}\"\n\
             [lifecycle]\nrestart = \"always\"\nrestart_delay_ms = 1\nrestart_delay_max_ms = 1\n\
             max_restarts = 0\n"
        )
    })?;
    let mut program = Command::new(sandbox.peer("zinit").join("bin/zinit-server"));
    program
        .arg("--config-dir")
        .arg(services)
        .arg("--socket")
        .arg(sandbox.dir().join("zinit.sock"))
        .args(["--log-level", "error"])
        .env("HOME", sandbox.dir());
    Ok(program)
}

/// A TOML file per process, restarted without delay.
fn horust(sandbox: &Sandbox, n: usize) -> anyhow::Result<Command> {
    let services = toml_files(sandbox, n, |_, command| {
        format!(
            "command = \"{command}\"\nstdout = \"/dev/null\"\nstderr = \"/dev/null\"\n\
             [restart]\nstrategy = \"always\"\nbackoff = \"0s\"\nattempts = 0\n"
        )
    })?;
    let mut program = Command::new(sandbox.peer("horust").join("bin/horust"));
    program
        .arg("--services-path")
        .arg(services)
        .arg("--uds-folder-path")
        .arg(sandbox.dir());
    Ok(program)
}

fn toml_files(
    sandbox: &Sandbox,
    n: usize,
    text: impl Fn(usize, &str) -> String,
) -> anyhow::Result<PathBuf> {
    let services = sandbox.dir().join("services");
    std::fs::create_dir(&services)?;
    for index in 0..n {
        let text = text(index, &sandbox.command(index));
        std::fs::write(services.join(format!("p{index}.toml")), text)?;
    }
    Ok(services)
}

/// In the foreground, each process in fork mode and without logs.
fn pm2(sandbox: &Sandbox, n: usize) -> anyhow::Result<Command> {
    let app = |index: usize| {
        json!({
            "name": format!("p{index}"),
            "script": sandbox.sleeper(),
            "args": [sandbox.fifo(), index.to_string()],
            "interpreter": "none",
            "exec_mode": "fork",
            "autorestart": true,
            "max_restarts": 1_000_000,
            "min_uptime": 0,
            "restart_delay": 0,
            "out_file": "/dev/null",
            "error_file": "/dev/null",
            "pmx": false,
            "vizion": false,
        })
    };
    let apps: Vec<_> = (0..n).map(app).collect();
    let config = write_config(
        sandbox,
        "ecosystem.json",
        json!({ "apps": apps }).to_string(),
    )?;
    let pm2 = sandbox.peer("pm2").join("node_modules/pm2");
    let mut program = Command::new("node");
    match n {
        // With nothing to start it would exit; its daemon does not.
        0 => program.arg(pm2.join("lib/Daemon.js")),
        _ => program
            .arg(pm2.join("bin/pm2"))
            .arg("start")
            .arg(config)
            .arg("--no-daemon"),
    };
    program
        .env("PM2_HOME", sandbox.dir().join("pm2"))
        .env("PM2_DISCRETE_MODE", "true");
    Ok(program)
}

/// One watcher per process, polled ten times a second: it restarts when it polls, by default every five seconds.
fn circus(sandbox: &Sandbox, n: usize) -> anyhow::Result<Command> {
    let dir = sandbox.dir().display();
    let mut text = format!(
        "[circus]\nendpoint=ipc://{dir}/endpoint\npubsub_endpoint=ipc://{dir}/pubsub\nwarmup_delay=0\n\
         check_delay=0.1\n"
    );
    for index in 0..n {
        let command = sandbox.command(index);
        text += &format!(
            "[watcher:p{index}]\ncmd={command}\ncopy_env=true\nwarmup_delay=0\nmax_retry=-1\n"
        );
    }
    let config = write_config(sandbox, "circus.ini", text)?;
    let mut program = Command::new(sandbox.peer("circus").join("bin/circusd"));
    program.args(["--log-level", "error"]).arg(config);
    Ok(program)
}

/// Without logs, and with `startsecs` 0.
fn supervisord(sandbox: &Sandbox, n: usize) -> anyhow::Result<Command> {
    let dir = sandbox.dir().display();
    let mut text = format!(
        "[supervisord]\nnodaemon=true\nlogfile=/dev/null\nlogfile_maxbytes=0\nloglevel=error\n\
         pidfile={dir}/supervisord.pid\nminfds=8192\n"
    );
    for index in 0..n {
        text += &format!(
            "[program:p{index}]\ncommand={}\nautorestart=true\nstartsecs=0\nstdout_logfile=NONE\n\
             stderr_logfile=NONE\n",
            sandbox.command(index)
        );
    }
    let config = write_config(sandbox, "supervisord.conf", text)?;
    let root = sandbox.peer("supervisord");
    let mut program = Command::new("/usr/bin/python3");
    program
        .arg(root.join("usr/bin/supervisord"))
        .arg("-c")
        .arg(config)
        .env("PYTHONPATH", root.join("usr/lib/python3/dist-packages"));
    Ok(program)
}

/// Polls pid files once a second, its shortest interval.
fn monit(sandbox: &Sandbox, n: usize) -> anyhow::Result<Command> {
    let dir = sandbox.dir().display();
    let mut text = format!(
        "set daemon 1\nset log /dev/null\nset pidfile {dir}/monit.pid\nset idfile {dir}/monit.id\n\
         set statefile {dir}/monit.state\n"
    );
    for index in 0..n {
        let pid_file = format!("{dir}/p{index}.pid");
        let command = sandbox.command(index);
        text += &format!(
            "check process p{index} with pidfile {pid_file}\n  \
             start program = \"/bin/sh -c '{command} {pid_file} &'\"\n"
        );
    }
    let config = write_config(sandbox, "monitrc", text)?;
    std::fs::set_permissions(&config, PermissionsExt::from_mode(0o600))?;
    let mut program = Command::new(sandbox.peer("monit").join("usr/bin/monit"));
    program.arg("-I").arg("-c").arg(config);
    Ok(program)
}

fn write_config(sandbox: &Sandbox, name: &str, text: String) -> anyhow::Result<PathBuf> {
    let config = sandbox.dir().join(name);
    std::fs::write(&config, text)?;
    Ok(config)
}
