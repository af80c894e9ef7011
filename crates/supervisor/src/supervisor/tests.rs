//! A journal of an earlier boot, which only a unit test can write.

use std::sync::Arc;
use std::time::Duration;

use model::operation::{Op, OpId, TaskId};
use model::{Code, Flag, FullName, State, UnixMillis};
use tokio::sync::{mpsc, watch};

use super::{Options, Supervisor};
use crate::journal::Journal;
use crate::journal::entry::Entry;
use crate::machine::{CurrentRun, Form, LiveRun, Phase, Process, Ticket, tests_spec};
use crate::os::procfs::Stat;
use crate::{Notice, Registration};

#[tokio::test]
async fn a_reboot_ends_operations_and_restarts_managed_processes() {
    let dir = tempfile::tempdir().unwrap();
    let mut spec = tests_spec();
    spec.identity.proc_name = "sleep".into();
    spec.identity.setup_path = "/".into();
    spec.identity.pid_path = dir.path().join("pid").to_str().unwrap().into();
    spec.identity.user = nix::unistd::geteuid().to_string();
    spec.control.start_cmd = "sleep 1000".into();
    let name: FullName = "ns/p".parse().unwrap();
    let hold = Registration {
        name: name.clone(),
        incarnation: 1,
        spec: Arc::new(spec),
        labels: Default::default(),
        definition_hash: 0,
        flag: Flag::Unregistered,
        managed: false,
        registered_at: UnixMillis(1),
    };
    let ticket = Ticket {
        id: OpId {
            task: TaskId::from_number(1),
            ordinal: 1,
        },
        op: Op::Reload,
        deadline: UnixMillis(i64::MAX),
    };
    // A run of an earlier boot with the pid and start time of a process that lives now.
    let me = Stat::read(std::process::id() as i32).unwrap();
    let mut process = Process::new(Flag::Running, true);
    process.accept(ticket);
    process.phase = Phase::Up {
        current: CurrentRun {
            alive: LiveRun {
                run: me.run(),
                form: Form::Daemon,
                since_boot_ms: 1,
                started_at: UnixMillis(1),
            },
            facts: Default::default(),
        },
    };
    let (mut journal, ..) = Journal::open(dir.path()).unwrap();
    journal
        .append(&[
            Entry::Opened {
                boot_id: "another".into(),
            },
            Entry::Hold(Box::new(hold.clone())),
            Entry::State(name, Box::new(process)),
        ])
        .unwrap();
    drop(journal);

    let (supervisor, recovered) = Supervisor::open(dir.path(), Options::default()).unwrap();
    assert_eq!(recovered.under_way, [ticket.id]);
    let (_requests, take_requests) = mpsc::channel(1);
    let (give_notices, mut notices) = mpsc::channel(64);
    let (stop, stopped) = watch::channel(false);
    let heard = async {
        let (mut ended, mut pid) = (None, None);
        while ended.is_none() || pid.is_none() {
            match notices.recv().await.unwrap() {
                Notice::Ended(id, outcome) => ended = Some((id, outcome.code)),
                Notice::Status(_, status) if status.state == State::Running => {
                    pid = Some(status.pid);
                }
                Notice::Status(..) | Notice::Event(..) => {}
            }
        }
        stop.send(true).unwrap();
        (ended.unwrap(), pid.unwrap())
    };
    let run = supervisor.run(take_requests, give_notices, stopped);
    let both = async { tokio::join!(run, heard) };
    let (run, (ended, pid)) = Box::pin(tokio::time::timeout(Duration::from_secs(20), both))
        .await
        .unwrap();
    run.unwrap();
    assert_eq!(ended, (ticket.id, Code::TERMINATED));
    assert_ne!(pid, me.pid, "it was started anew");
    let started = Stat::read(pid).unwrap();
    crate::os::kill::signal(started.run(), rustix::process::Signal::KILL, "root").unwrap();
    let (_, recovered) = Supervisor::open(dir.path(), Options::default()).unwrap();
    assert!(recovered.under_way.is_empty());
    assert_eq!(recovered.results.len(), 1);
}
