//! Programs of interpreters: under which names they are found, and that they are supervised like others.

use std::os::unix::fs::PermissionsExt;

use model::operation::Op;
use model::spec::Probe;
use testing::precondition;

use crate::harness::{Home, TestSupervisor, kill, until};

/// Whether the host has an interpreter in the `PATH` of commands.
fn is_here(program: &str) -> bool {
    let dirs = ["/usr/local/bin", "/usr/bin", "/bin"];
    let found = dirs
        .iter()
        .any(|dir| std::path::Path::new(dir).join(program).exists());
    let missing = format!("{program}, which scripts/setup test installs");
    precondition::is_met(found, &missing)
}

/// A directory with one program in it.
fn home_with(file: &str, contents: &[u8]) -> Home {
    let home = Home::new();
    let path = home.path("work").join(file);
    std::fs::write(&path, contents).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    home
}

/// The pid that is found by the pid file under this name; -1 for none.
fn pid_as(supervisor: &mut TestSupervisor, home: &Home, proc_name: &str) -> i32 {
    let mut spec = home.spec("");
    spec.identity.proc_name = proc_name.into();
    let number = 1000 + supervisor.ends.len() as u32;
    let stranger = "test/stranger".parse().unwrap();
    let id = supervisor.begin_on(&stranger, number, Op::Query, Some(Probe::from(&spec)));
    supervisor.end_of(id).instance.unwrap().pid
}

/// Starts a command in the background that writes its pid file. Checks that it is found by `names` and not by `others`,
/// found again by the next agent, restarted when it dies, and stopped.
fn is_kept(home: &Home, command: &str, names: &[&str], others: &[&str]) {
    let mut supervisor = home.supervisor();
    let mut spec = home.spec("");
    spec.identity.proc_name = names[0].into();
    spec.control.start_cmd = format!("nohup {command} > /dev/null 2>&1 &");
    spec.monitor_policy.start_interval = 0;
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    let pid = supervisor.running().pid;
    assert_eq!(pid, home.pid(), "{command}");
    for name in names {
        assert_eq!(
            pid_as(&mut supervisor, home, name),
            pid,
            "{command}: {name}"
        );
    }
    for name in others {
        assert_eq!(pid_as(&mut supervisor, home, name), -1, "{command}: {name}");
    }
    supervisor.stop();
    let mut supervisor = home.supervisor();
    assert_eq!(supervisor.running().pid, pid, "{command}");
    kill(pid, libc::SIGKILL);
    supervisor.next_run(home, pid);
    supervisor.succeed(2, Op::Stop);
    until("nothing is left", || (home.processes() == 0).then_some(()));
}

#[test]
fn a_python_script_is_known_by_its_name_and_by_its_interpreter() {
    if !is_here("python3") {
        return;
    }
    let body = "import os, signal\nopen('../pid', 'w').write(str(os.getpid()))\nsignal.pause()\n";
    let others = ["service", "python", "env", "sh"];
    for (command, file, first_line) in [
        ("./service.py", "service.py", "#!/usr/bin/env python3"),
        ("python3 service.py", "service.py", ""),
        ("/usr/bin/python3 ./service.py x", "service.py", ""),
        // The kernel cuts such a name, and argv[1] is the option instead of the file.
        (
            "./a-service-of-long-name.py",
            "a-service-of-long-name.py",
            "#!/usr/bin/python3 -u",
        ),
    ] {
        let home = home_with(file, format!("{first_line}\n{body}").as_bytes());
        is_kept(&home, command, &[file, "python3"], &others);
    }
}

#[test]
fn a_node_program_is_known_by_its_file_until_it_gives_itself_a_title() {
    if !is_here("node") {
        return;
    }
    let body =
        "require('fs').writeFileSync('../pid', `${process.pid}`); setInterval(() => {}, 1e6);";
    let home = home_with("server.js", body.as_bytes());
    is_kept(
        &home,
        "node server.js",
        &["server.js", "node"],
        &["server", "js"],
    );
    let home = home_with(
        "server.js",
        format!("process.title = 'web: idle'; {body}").as_bytes(),
    );
    is_kept(
        &home,
        "node server.js",
        &["node", "web: idle"],
        &["server.js", "web"],
    );
}

#[test]
fn a_java_program_is_known_as_java() {
    if !is_here("java") {
        return;
    }
    let java = "java -XX:TieredStopAtLevel=1 -Xmx16m -cp . Sleeper";
    let home = home_with("Sleeper.class", &sleeper());
    let command = format!("sh -c 'echo $$ > ../pid; exec {java}'");
    is_kept(&home, &command, &["java"], &["Sleeper", "sh"]);

    // In the foreground it needs no name, and its exit is known.
    let home = home_with("Sleeper.class", &sleeper());
    let mut supervisor = home.supervisor();
    let mut spec = home.spec("");
    spec.identity.proc_name = "Sleeper".into();
    spec.control.start_cmd = java.into();
    supervisor.hold(spec);
    supervisor.succeed(1, Op::Start);
    let pid = supervisor.running().pid;
    assert_eq!(home.pid(), pid);
    supervisor.succeed(2, Op::Unmanage);
    kill(pid, libc::SIGTERM);
    let said = supervisor.stopped().message;
    assert!(said.starts_with("exited with code 143 "), "{said}");
}

/// `class Sleeper { public static void main(String[] a) { Thread.sleep(Long.MAX_VALUE); } }`, compiled: a host that runs
/// Java programs need not have a compiler for them.
fn sleeper() -> Vec<u8> {
    let text = |text: &str| {
        let length = (text.len() as u16).to_be_bytes();
        [&[1], &length[..], text.as_bytes()].concat()
    };
    let constants = [
        text("Sleeper"),
        vec![7, 0, 1],
        text("java/lang/Object"),
        vec![7, 0, 3],
        text("main"),
        text("([Ljava/lang/String;)V"),
        text("Code"),
        text("java/lang/Thread"),
        vec![7, 0, 8],
        text("sleep"),
        text("(J)V"),
        vec![12, 0, 10, 0, 11],
        vec![10, 0, 9, 0, 12],
        // A long counts as two constants.
        [&[5], &i64::MAX.to_be_bytes()[..]].concat(),
    ];
    let version = [0, 0, 0, 52];
    let (is_public, is_class, no_interfaces, no_fields) = ([0, 1], [0, 2, 0, 4], [0, 0], [0, 0]);
    // ldc2_w Long.MAX_VALUE; invokestatic Thread.sleep; return
    let code = [0x14, 0, 14, 0xb8, 0, 13, 0xb1];
    let code_attribute = [
        &[0, 7, 0, 0, 0, 19, 0, 2, 0, 1, 0, 0, 0, 7],
        &code[..],
        &[0; 4],
    ]
    .concat();
    let method = [&[0, 1, 0, 9, 0, 5, 0, 6, 0, 1], &code_attribute[..]].concat();
    [
        &[0xca, 0xfe, 0xba, 0xbe],
        &version[..],
        &[0, constants.len() as u8 + 2],
        &constants.concat(),
        &is_public,
        &is_class,
        &no_interfaces,
        &no_fields,
        &method,
        &[0, 0],
    ]
    .concat()
}
