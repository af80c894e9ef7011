//! A full disk under the agent: what runs is kept, what cannot be written down is refused, and with room all is as before.

use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use model::Code;
use model::event::EventKind;
use model::operation::Op;

use crate::keeper::{Home, Keeper, is_alive, kill, options, skip, wait_for};

/// A file system of its own for the agent's directory.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// None where we may not mount one.
    fn under(home: &Home) -> Option<Self> {
        let path = home.path("agent");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=1m", "small-disk"])
            .arg(&path)
            .output();
        match mounted {
            Ok(output) if output.status.success() => Some(Self(path)),
            Ok(_) | Err(_) => {
                skip("only root may mount a small disk");
                None
            }
        }
    }

    /// Takes all the room that is left.
    fn fill(&self) {
        let filler = std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(self.0.join("filler"));
        let mut filler = filler.unwrap();
        for size in [4096, 1] {
            while filler.write_all(&vec![1; size]).is_ok() {}
        }
    }

    fn make_room(&self) {
        std::fs::remove_file(self.0.join("filler")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _best_effort = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// Kills the process, and waits for the run that comes after it.
fn kill_and_await_another(home: &Home, keeper: &mut Keeper) {
    let before = keeper.running().pid;
    kill(before, libc::SIGKILL);
    wait_for("another run", || {
        keeper.listen();
        let pid = std::fs::read_to_string(home.path("pid")).ok()?;
        let pid = pid.trim().parse().ok()?;
        (pid != before && is_alive(pid)).then_some(())
    });
}

/// Waits until as many ends, and as many restarts after them, were told.
fn await_told(keeper: &mut Keeper, n: usize) {
    for kind in [EventKind::ProcessExit, EventKind::ProcessRestartSuccess] {
        wait_for(kind.as_str(), || {
            keeper.listen();
            let told = keeper.events.iter();
            (told.filter(|(_, event)| event.kind == kind).count() == n).then_some(())
        });
    }
}

#[test]
fn on_a_full_disk_what_runs_is_kept_and_operations_are_refused_until_there_is_room() {
    let home = Home::new();
    let Some(disk) = SmallDisk::under(&home) else {
        return;
    };
    let mut keeper = home.keeper();
    keeper.hold(home.daemon());
    keeper.succeed(1, Op::Start);

    // The room that is kept for this lets what is under way be written down, and nothing new.
    disk.fill();
    let refused = (2..100).map(|number| keeper.operate(number, Op::Query));
    let refused = refused.into_iter().find(|outcome| outcome.code != Code::OK);
    let refused = refused.expect("an operation that is not taken");
    assert_eq!(refused.code, Code::COMMAND_FAILED);
    assert!(
        refused.message.ends_with("is the disk full?"),
        "{}",
        refused.message
    );
    kill_and_await_another(&home, &mut keeper);
    await_told(&mut keeper, 1);

    // Not even that: it is kept all the same, and what it led to is told when it can be written down.
    disk.fill();
    kill_and_await_another(&home, &mut keeper);
    disk.make_room();
    await_told(&mut keeper, 2);
    let pid = keeper.running().pid;
    keeper.succeed(100, Op::Query);
    keeper.stop();

    let (mut keeper, recovered) = home.keeper_with(options());
    assert_eq!(recovered.under_way, []);
    assert_eq!(keeper.running().pid, pid);
    keeper.succeed(101, Op::Stop);
    assert_eq!(home.processes(), 0);
}
