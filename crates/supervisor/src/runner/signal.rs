//! Sends the signals that stop and reload a process.

use model::Spec;
use model::spec::stop::StopSignal;
use rustix::process::Signal as KernelSignal;

use crate::machine::{Form, LiveRun, Signal};
use crate::os::kill;

/// A daemon was found by its pid file, which its user can write: it gets only signals that its user could send. A
/// foreground run was started by the agent itself.
pub(super) fn send(alive: LiveRun, signal: Signal, spec: &Spec) -> Result<(), String> {
    let send = |signal| match alive.form {
        Form::Daemon => kill::signal(alive.run, signal, &spec.identity.user),
        Form::Foreground { .. } => kill::signal_group(alive.run, signal),
    };
    // A process stopped by SIGSTOP gets the signal when it continues.
    let stop = |signal| send(signal).and_then(|()| send(KernelSignal::CONT));
    match signal {
        Signal::Terminate => stop(KernelSignal::TERM),
        Signal::HangUp => send(KernelSignal::HUP),
        Signal::Stop(signal) => stop(match signal {
            StopSignal::Hup => KernelSignal::HUP,
            StopSignal::Int => KernelSignal::INT,
            StopSignal::Quit => KernelSignal::QUIT,
            StopSignal::Abrt => KernelSignal::ABORT,
            StopSignal::Usr1 => KernelSignal::USR1,
            StopSignal::Usr2 => KernelSignal::USR2,
            StopSignal::Alrm => KernelSignal::ALARM,
            StopSignal::Term => KernelSignal::TERM,
            StopSignal::Winch => KernelSignal::WINCH,
            StopSignal::Pwr => KernelSignal::POWER,
        }),
    }
}
