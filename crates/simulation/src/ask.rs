//! Requests to the server, and what must hold after each reply, or without one.

use std::time::Duration;

use control::{
    Control, ControlError, HostAnswer, HostSelector, Mode, Operate, OperateSpec, Registration,
    TargetHost,
};
use model::access::Caller;
use model::{Code, Host, Labels, Op, Spec};
use testing::Random;
use tokio::task::spawn_local;
use tokio::time::timeout;

use crate::clock_hold::ClockHold;
use crate::program;
use crate::world::{Expected, N_HOSTS, N_PROCESSES, World, hosts};

/// How long to wait for the store to work before the server is killed.
const MAX_WAIT: Duration = Duration::from_secs(20);

impl World {
    pub(crate) async fn register(&mut self) {
        let (targets, number) = self.choose();
        self.register_on(targets, number).await;
    }

    pub(crate) async fn register_on(&mut self, targets: Vec<usize>, number: usize) {
        let spec = program::spec(&mut self.random, &program::name(number));
        self.register_as(targets, number, spec).await;
    }

    pub(crate) async fn register_as(&mut self, targets: Vec<usize>, number: usize, spec: Spec) {
        let name = program::name(number);
        let mode = self.random.pick(&[Mode::Register, Mode::Update]);
        let said = format!("{mode:?} {name} on {targets:?}: {}", spec.control.start_cmd);
        let request = Registration {
            name,
            labels: Labels::default(),
            spec,
            hosts: asked(&targets),
            suppliers: Default::default(),
            mode,
            restores: None,
        };
        let answers = self
            .ask(&said, async move |control, caller| {
                control.registry().register(&caller, request).await
            })
            .await;
        for (index, at) in targets.iter().enumerate() {
            let expected = match &answers {
                Reply::Received(answers) => match answers[index].code {
                    Code::OK | Code::EXISTS
                        if self.may_yet_change(*at, number, &answers[index]) =>
                    {
                        Expected::Unsure
                    }
                    Code::OK | Code::EXISTS => Expected::There,
                    other => panic!("{said} was answered {other}"),
                },
                Reply::NotSent => continue,
                Reply::Unknown => match self.expected.get(&(*at, number)) {
                    Some(Expected::There) => Expected::There,
                    Some(Expected::Gone | Expected::Unsure) | None => Expected::Unsure,
                },
            };
            self.expected.insert((*at, number), expected);
        }
    }

    pub(crate) async fn unregister(&mut self) {
        let (targets, number) = self.choose();
        let name = program::name(number);
        let said = format!("unregister {name} on {targets:?}");
        let places = asked(&targets);
        let answers = self
            .ask(&said, async move |control, caller| {
                control.registry().unregister(&caller, &name, places).await
            })
            .await;
        for (index, at) in targets.into_iter().enumerate() {
            let expected = match &answers {
                Reply::Received(answers) if self.may_yet_change(at, number, &answers[index]) => {
                    Expected::Unsure
                }
                Reply::Received(_) => Expected::Gone,
                Reply::NotSent => continue,
                Reply::Unknown => match self.expected.get(&(at, number)) {
                    Some(Expected::Gone) | None => Expected::Gone,
                    Some(Expected::There | Expected::Unsure) => Expected::Unsure,
                },
            };
            self.expected.insert((at, number), expected);
        }
    }

    /// Whether an earlier request without a reply may still be committed. A commit refuses all that were planned before it; an
    /// answer without a commit only says what was so at that moment.
    fn may_yet_change(&self, at: usize, number: usize, answer: &HostAnswer) -> bool {
        !answer.changed && self.expected.get(&(at, number)) == Some(&Expected::Unsure)
    }

    pub(crate) async fn operate(&mut self) {
        let (targets, number) = self.choose();
        let op = self.random.weighted(&[
            (8, Op::Start),
            (5, Op::Stop),
            (4, Op::Restart),
            (3, Op::Reload),
            (2, Op::Kill),
            (5, Op::Manage),
            (2, Op::Unmanage),
            (1, Op::Query),
        ]);
        self.operate_on(targets, number, op).await;
    }

    pub(crate) async fn operate_on(&mut self, targets: Vec<usize>, number: usize, op: Op) {
        let name = program::name(number);
        let request = Operate {
            name: name.clone(),
            op,
            with: OperateSpec::Registered,
            hosts: asked(&targets),
        };
        let said = format!("{op} {name} on {targets:?}");
        let answer = self
            .ask(&said, async move |control, caller| {
                control.operations().operate(&caller, vec![request]).await
            })
            .await;
        if let Reply::Received(task) = answer {
            self.log.note(format!("{task} is {said}"));
            self.tasks.insert(task, targets.len());
            if self.is_healed {
                self.tasks_after_healing.push(task);
            }
        }
    }

    /// Sends a request to the server, which may be killed meanwhile.
    pub(crate) async fn ask<T: 'static>(
        &mut self,
        said: &str,
        request: impl AsyncFnOnce(Control, Caller) -> Result<T, ControlError> + 'static,
    ) -> Reply<T> {
        let clock_hold = self.clock_hold.clone();
        let Some(server) = self.servers.running_one(&mut self.random) else {
            return Reply::NotSent;
        };
        let Some(control) = server.control() else {
            return Reply::NotSent;
        };
        self.log.note(said);
        let asking = spawn_local(async move {
            // As the HTTP listener does: wait for everything that any replica has acknowledged.
            control.replicas().catch_up().await;
            request(control, Caller::system()).await
        });
        if !self.is_healed && self.random.permille(60) {
            wait_for_store(&clock_hold, &mut self.random).await;
            self.log.note("the server is killed while it is asked");
            server.kill();
            if !asking.is_finished() {
                asking.abort();
                return Reply::Unknown;
            }
        }
        match asking.await.expect("the server does not panic") {
            Ok(answer) => Reply::Received(answer),
            Err(ControlError::Busy(_) | ControlError::Unavailable(_)) => Reply::Unknown,
            Err(ControlError::Invalid(invalid)) if invalid.field == "spec.after" => {
                self.log.note(format!("refused: {invalid}"));
                Reply::NotSent
            }
            Err(error) => panic!("{said}: {error}"),
        }
    }

    pub(crate) async fn wait_for_store(&mut self) {
        wait_for_store(&self.clock_hold, &mut self.random).await;
    }

    fn choose(&mut self) -> (Vec<usize>, usize) {
        let targets = match self.random.permille(400) {
            true => (0..N_HOSTS).collect(),
            false => vec![self.random.below(N_HOSTS)],
        };
        (targets, self.random.below(N_PROCESSES))
    }
}

/// Waits until the store is at work, with a time-out.
async fn wait_for_store(clock_hold: &ClockHold, random: &mut Random) {
    let steps = random.below(8) as u32;
    let _ = timeout(MAX_WAIT, clock_hold.store_at_work(steps)).await;
}

/// The reply to a request.
pub(crate) enum Reply<T> {
    Received(T),
    /// The request was not sent, or refused: it changes nothing.
    NotSent,
    /// The request was sent, and its result is not known.
    Unknown,
}

fn asked(targets: &[usize]) -> Vec<TargetHost> {
    let hosts: Vec<Host> = hosts();
    let asked = |at: &usize| TargetHost {
        key_prefix: hosts[*at].to_string().into(),
        place: HostSelector::Host(hosts[*at]),
    };
    targets.iter().map(asked).collect()
}
