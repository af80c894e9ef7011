use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::*;

fn state(pid: u32) -> Option<u8> {
    Stat::read(pid as i32).map(|stat| stat.state)
}

fn run_of(pid: u32) -> Run {
    Stat::read(pid as i32).unwrap().run()
}

#[tokio::test]
async fn zombies_of_the_agents_session_are_reaped_late_and_others_at_once() {
    let mut exits = Exits::new().unwrap();
    let spawn = |program: &[&str]| {
        let mut command = Command::new(program[0]);
        let pid = command.args(&program[1..]).spawn().unwrap().id();
        while state(pid) != Some(b'Z') {
            std::thread::yield_now();
        }
        pid
    };
    let (others, orphan) = (spawn(&["true"]), spawn(&["setsid", "true"]));
    exits.reap_orphans(5);
    assert_eq!(state(orphan), None);
    exits.reap_orphans(5 + LEFT_TO_OTHERS_MS - 1);
    assert_eq!(state(others), Some(b'Z'));
    exits.reap_orphans(5 + LEFT_TO_OTHERS_MS);
    assert_eq!(state(others), None);
}

/// Makes `pidfd_open` fail with this error, for this thread and its children, by a seccomp filter.
fn refuse_pidfds(errno: i32) {
    const LOAD_NUMBER: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const ANSWER: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let step = |code, k, jf| libc::sock_filter { code, jt: 0, jf, k };
    let mut steps = [
        step(LOAD_NUMBER, 0, 0),
        step(IF_EQUAL, libc::SYS_pidfd_open as u32, 1),
        step(ANSWER, libc::SECCOMP_RET_ERRNO | errno as u32, 0),
        step(ANSWER, libc::SECCOMP_RET_ALLOW, 0),
    ];
    let program = libc::sock_fprog {
        len: steps.len() as u16,
        filter: steps.as_mut_ptr(),
    };
    // SAFETY: the kernel copies the program, whose length is passed, before the calls return.
    let done = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(
                libc::PR_SET_SECCOMP,
                libc::SECCOMP_MODE_FILTER,
                &raw const program,
            ) == 0
    };
    assert!(done, "{}", io::Error::last_os_error());
}

/// Takes exits as the runner does until there is one.
async fn next_end(exits: &mut Exits) -> (Run, Exit) {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let ready = tokio::time::timeout(Duration::from_millis(20), exits.ready()).await;
        ready.unwrap_or(Ok(())).unwrap();
        if let Some(end) = exits.take().pop() {
            return end;
        }
        assert!(Instant::now() < until);
    }
}

#[allow(clippy::zombie_processes, reason = "the exits wait for it")]
async fn a_run_without_a_pidfd_is_watched_by_polling(errno: i32) {
    refuse_pidfds(errno);
    let mut exits = Exits::new().unwrap();
    let child = Command::new("sleep").arg("600").spawn().unwrap();
    // Not a child of this process: its parent is a shell that waits for it.
    let mut shell = Command::new("sh")
        .args(["-c", "sleep 600 >/dev/null & echo $!; exec >&-; wait"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut text = String::new();
    shell
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    let (ours, others) = (run_of(child.id()), run_of(text.trim().parse().unwrap()));

    assert_eq!(exits.watch(ours), None, "not known is not ended");
    assert_eq!(exits.watch(others), None, "not known is not ended");
    assert_eq!(
        (exits.run_of(ours.pid), exits.run_of(others.pid)),
        (Some(ours), Some(others))
    );
    tokio::time::sleep(Duration::from_millis(1100)).await;
    assert_eq!(exits.take(), [], "both live");

    for run in [ours, others] {
        let pid = Pid::from_raw(run.pid).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }
    let mut ends = [next_end(&mut exits).await, next_end(&mut exits).await];
    ends.sort_by_key(|(run, _)| *run != ours);
    assert_eq!(ends[0], (ours, Exit::Signal(9)));
    assert_eq!(ends[1].0, others);
    assert_eq!(
        (exits.run_of(ours.pid), exits.run_of(others.pid)),
        (None, None)
    );
    shell.wait().unwrap();
    let gone = Run {
        pid: i32::MAX,
        start: 1,
    };
    assert_eq!(exits.watch(gone), Some(Exit::Unseen));
}

#[tokio::test]
async fn a_filter_that_forbids_pidfds_ends_no_process() {
    a_run_without_a_pidfd_is_watched_by_polling(libc::EPERM).await;
}

#[tokio::test]
async fn a_kernel_without_pidfds_ends_no_process() {
    a_run_without_a_pidfd_is_watched_by_polling(libc::ENOSYS).await;
}

#[tokio::test]
async fn a_reused_pid_is_the_end_of_a_run() {
    refuse_pidfds(libc::EPERM);
    let mut exits = Exits::new().unwrap();
    let us = run_of(std::process::id());
    assert_eq!(exits.watch(us), None);
    let earlier = Run {
        start: us.start - 1,
        ..us
    };
    assert_eq!(exits.watch(earlier), Some(Exit::Unseen));
}

#[tokio::test]
#[allow(clippy::zombie_processes, reason = "the exits wait for it")]
async fn a_polled_run_gets_a_pidfd_when_there_is_one() {
    let mut exits = Exits::new().unwrap();
    let mut child = Command::new("sleep").arg("600").spawn().unwrap();
    let run = run_of(child.id());
    let why = io::Error::from_raw_os_error(libc::EMFILE);
    exits.watch_child(run, Err(why));
    assert!(exits.watched.is_empty() && exits.is_watched(run));
    exits.poll(&mut Vec::new());
    let has_pidfds = kernel::calls().pidfd_open;
    assert_eq!(exits.polled.run_of(run.pid).is_none(), has_pidfds);
    assert_eq!(exits.watched.contains_key(&run.pid), has_pidfds);
    child.kill().unwrap();
    assert_eq!(next_end(&mut exits).await, (run, Exit::Signal(9)));
}
