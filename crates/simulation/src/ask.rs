//! What people ask of the server, and what they may believe after its answer, or when there was none.

use std::time::Duration;

use control::{Asked, Control, ControlError, Mode, Operate, Place, Registration, With};
use model::access::Caller;
use model::{Code, Host, Labels, Op, Spec};
use testing::Random;
use tokio::task::spawn_local;
use tokio::time::timeout;

use crate::brake::Brake;
use crate::program;
use crate::world::{Belief, N_HOSTS, N_PROCESSES, World, hosts};

/// How long the store is waited for when the server is to be killed while it works.
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
        };
        let answers = self
            .ask(&said, async move |control, caller| {
                control.register(&caller, request).await
            })
            .await;
        for (index, at) in targets.iter().enumerate() {
            let belief = match &answers {
                Answered::So(answers) => match answers[index].code {
                    Code::OK | Code::EXISTS => Belief::There,
                    other => panic!("{said} was answered {other}"),
                },
                Answered::NotAtAll => continue,
                Answered::Perhaps => match self.beliefs.get(&(*at, number)) {
                    Some(Belief::There) => Belief::There,
                    Some(Belief::Gone | Belief::Unsure) | None => Belief::Unsure,
                },
            };
            self.beliefs.insert((*at, number), belief);
        }
    }

    pub(crate) async fn unregister(&mut self) {
        let (targets, number) = self.choose();
        let name = program::name(number);
        let said = format!("unregister {name} on {targets:?}");
        let places = asked(&targets);
        let answers = self
            .ask(&said, async move |control, caller| {
                control.unregister(&caller, &name, places).await
            })
            .await;
        for at in targets {
            let belief = match &answers {
                Answered::So(_) => Belief::Gone,
                Answered::NotAtAll => continue,
                Answered::Perhaps => match self.beliefs.get(&(at, number)) {
                    Some(Belief::Gone) | None => Belief::Gone,
                    Some(Belief::There | Belief::Unsure) => Belief::Unsure,
                },
            };
            self.beliefs.insert((at, number), belief);
        }
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
            with: With::Registered,
            hosts: asked(&targets),
        };
        let said = format!("{op} {name} on {targets:?}");
        let answer = self
            .ask(&said, async move |control, caller| {
                control.operate(&caller, vec![request]).await
            })
            .await;
        if let Answered::So(task) = answer {
            self.diary.note(format!("{task} is {said}"));
            self.tasks.insert(task, targets.len());
            if self.is_calm {
                self.calm_tasks.push(task);
            }
        }
    }

    /// Asks the server, which may be killed meanwhile.
    async fn ask<T: 'static>(
        &mut self,
        said: &str,
        request: impl AsyncFnOnce(Control, Caller) -> Result<T, ControlError> + 'static,
    ) -> Answered<T> {
        let brake = self.brake.clone();
        let Some(server) = self.servers.one_that_runs(&mut self.random) else {
            return Answered::NotAtAll;
        };
        let Some(control) = server.control() else {
            return Answered::NotAtAll;
        };
        self.diary.note(said);
        let asking = spawn_local(async move {
            // As the door does: whatever any replica answered for is known.
            control.settled().await;
            request(control, Caller::system()).await
        });
        if !self.is_calm && self.random.permille(60) {
            wait_for_store(&brake, &mut self.random).await;
            self.diary.note("the server is killed while it is asked");
            server.kill();
            if !asking.is_finished() {
                asking.abort();
                return Answered::Perhaps;
            }
        }
        match asking.await.expect("the server does not panic") {
            Ok(answer) => Answered::So(answer),
            Err(ControlError::Busy(_) | ControlError::Unavailable(_)) => Answered::Perhaps,
            Err(error) => panic!("{said}: {error}"),
        }
    }

    pub(crate) async fn wait_for_store(&mut self) {
        wait_for_store(&self.brake, &mut self.random).await;
    }

    fn choose(&mut self) -> (Vec<usize>, usize) {
        let targets = match self.random.permille(400) {
            true => (0..N_HOSTS).collect(),
            false => vec![self.random.below(N_HOSTS)],
        };
        (targets, self.random.below(N_PROCESSES))
    }
}

/// Until the store is in the middle of something, but not for ever.
async fn wait_for_store(brake: &Brake, random: &mut Random) {
    let steps = random.below(8) as u32;
    let _nothing_happened = timeout(MAX_WAIT, brake.store_at_work(steps)).await;
}

/// What came of a request.
enum Answered<T> {
    So(T),
    /// It was never made.
    NotAtAll,
    /// It was made, and nobody knows what became of it.
    Perhaps,
}

fn asked(targets: &[usize]) -> Vec<Asked> {
    let hosts: Vec<Host> = hosts();
    let asked = |at: &usize| Asked {
        key_prefix: hosts[*at].to_string().into(),
        place: Place::Host(hosts[*at]),
    };
    targets.iter().map(asked).collect()
}
