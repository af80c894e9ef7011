//! Usage in the status.

use std::net::TcpListener;

use model::operation::Op;

use supervisor::ControlGroups;

use crate::harness::{Home, with_and_without_groups};

with_and_without_groups!(cpu_and_memory_are_those_of_the_whole_family);

fn cpu_and_memory_are_those_of_the_whole_family(groups: ControlGroups) {
    let home = Home::with(groups);
    let mut supervisor = home.supervisor();
    let odd = env!("CARGO_BIN_EXE_odd-child");
    let mut spec = home.spec("--hold-mib 64 --hold-fds 40");
    spec.control.start_cmd = format!("{odd} --burn & {}", spec.control.start_cmd);
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    let cores = std::thread::available_parallelism().unwrap().get() as f32;
    let status = supervisor.status_where("usage", |s| {
        s.cpu > 20.0 / cores && s.mem > 0.0 && s.fd > 40
    });
    assert!(status.cpu <= 110.0, "{status:?}");
    let meminfo = std::fs::read_to_string("/proc/meminfo").unwrap();
    let total: f32 = meminfo.split_whitespace().nth(1).unwrap().parse().unwrap();
    let wanted = 64.0 * 1024.0 / total * 100.0;
    assert!(
        status.mem > wanted * 0.9 && status.mem < wanted * 3.0 + 1.0,
        "{status:?} {wanted}"
    );
    let instance = supervisor.succeed(2, Op::Query).instance.unwrap();
    assert!(instance.cpu > 0.0 && instance.free_kib > 0);
}

#[test]
fn bytes_under_the_log_path_are_counted() {
    let home = Home::new();
    let mut supervisor = home.supervisor();
    std::fs::create_dir(home.path("work/logs")).unwrap();
    std::fs::write(home.path("work/logs/old"), vec![1; 300_000]).unwrap();
    let mut spec = home.spec("--print hello");
    spec.identity.log_path = home.file("work/logs");
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    let status = supervisor.status_where("disk", |s| s.disk >= 300_000);
    assert!(status.disk < 600_000, "{status:?}");
}

/// A port that reads and discards everything.
pub(crate) fn listen() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            std::thread::spawn(move || std::io::copy(&mut stream, &mut std::io::sink()));
        }
    });
    port
}

#[test]
fn bytes_over_tcp_are_counted() {
    let home = Home::new();
    let port = listen();
    let mut supervisor = home.supervisor();
    supervisor.hold(home.spec(&format!("--talk {port}")));
    supervisor.succeed(1, Op::Start);
    // 1 KiB every 10 ms, less on a busy machine.
    let status = supervisor.status_where("net", |s| s.net > 5_000);
    assert!(status.net < 10_000_000, "{status:?}");
}
