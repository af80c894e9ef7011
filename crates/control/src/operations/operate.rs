//! Creates operations: a task with one target per process, durable before the answer, dispatched right after.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use fleet::Row;
use model::access::{Audit, Caller, Permission};
use model::change::{Changes, OutcomeRow, TargetRow, TaskRow};
use model::operation::{GRACE_SECS, OutcomeSubject};
use model::spec::{Policy, Probe};
use model::version::{VersionOrigin, VersionSource};
use model::{Code, FullName, Host, Invalid, Labels, Op, OpId, Outcome, Spec, TaskId, UnixMillis};

use super::tasks::{MAX_OPEN_TARGETS, Tasks};
use super::{Operations, too_many_open};
use crate::answers::{NAMED_IN_AUDIT, resolve, shortened, spec_lacking};
use crate::commit::World;
use crate::draft::{Content, Draft};
use crate::registry::after::refuse_cycles;
use crate::{ControlError, HostSelector, Mode, TargetHost, secrets};

/// One line of an operate request. `operate_proc_multi` has many.
#[derive(Debug, Clone)]
pub struct Operate {
    pub name: FullName,
    pub op: Op,
    pub with: OperateSpec,
    pub hosts: Vec<TargetHost>,
}

/// Which spec an operation uses.
#[derive(Debug, Clone)]
pub enum OperateSpec {
    /// The registered one; without one the target fails with 851.
    Registered,
    /// This one, which is registered like an update.
    Spec(Box<Spec>, Labels),
    /// As much as a query needs. Nothing is stored.
    Probe(Probe),
    /// An invalid one: every key of this line fails with 65535 and the reason; the other lines go on.
    Unusable(Invalid),
}

impl Operations {
    /// Durable when it returns; from then on every key of the result exists.
    pub async fn operate(
        &self,
        caller: &Caller,
        requests: Vec<Operate>,
    ) -> Result<TaskId, ControlError> {
        // Processes where labels decide are checked in the plan, with the labels that they have then.
        let by_labels = !requests
            .iter()
            .all(|request| caller.may(Permission::Operate, &request.name.namespace));
        for request in &requests {
            self.check_registered(caller, request)?;
        }
        if requests.iter().all(|request| request.hosts.is_empty()) {
            return Err(Invalid::new("hosts", "must not be empty").into());
        }
        let n_asked: usize = requests.iter().map(|request| request.hosts.len()).sum();
        self.check_room(n_asked)?;
        let lines: Vec<Line> = requests.into_iter().map(Line::new).collect();
        let on_behalf = caller.clone();
        let (caller, at) = (caller.clone(), self.core.now());
        let core = self.core.clone();
        let id = self
            .core
            .commit(move |world| {
                let id = core.tasks.fresh_id(at, secrets::random_u32());
                let mut plan = OperatePlan::new(world, &core.tasks, id, at);
                for (index, line) in lines.iter().enumerate() {
                    if by_labels && let Some(denied) = line.denied(world.fleet, &caller) {
                        return Ok((Changes::default(), Err(denied)));
                    }
                    plan.add(index, line, &caller)?;
                }
                let changes = plan.finish(&caller, &lines);
                refuse_cycles(world.fleet, &changes)?;
                Ok((changes, Ok(id)))
            })
            .await?;
        match id {
            Ok(id) => {
                self.core.counters.operations.add(n_asked as u64);
                Ok(id)
            }
            // Outside of the plan, because it notes the refusal.
            Err(denied) => Err(self.refusal(&on_behalf, &denied)),
        }
    }

    /// Refuses more operations than may be under way at once.
    pub(super) fn check_room(&self, n_asked: usize) -> Result<(), ControlError> {
        match self.core.tasks.n_open().1 + n_asked > MAX_OPEN_TARGETS {
            false => Ok(()),
            true => Err(too_many_open()),
        }
    }
}

/// How a result describes a registered process.
pub(crate) fn subject_of(row: &Row<'_>) -> OutcomeSubject {
    let identity = &row.definition().spec.identity;
    OutcomeSubject {
        proc_name: identity.proc_name.clone(),
        setup_path: identity.setup_path.clone(),
        registered_at: row.registered_at(),
        managed: row.managed(),
    }
}

/// How a result describes a process that a query looked for.
pub(crate) fn subject_of_probe(probe: &Probe) -> OutcomeSubject {
    OutcomeSubject {
        proc_name: probe.proc_name.clone(),
        setup_path: probe.setup_path.clone(),
        ..Default::default()
    }
}

/// A request line, with what its targets share.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) name: Arc<FullName>,
    op: Op,
    pub(super) hosts: Vec<TargetHost>,
    content: Option<Content>,
    probe: Option<Arc<Probe>>,
    unusable: Option<Invalid>,
}

impl Line {
    /// An operation on registered processes of one name, with the spec that each has.
    pub(super) fn of_registered(name: FullName, op: Op) -> Self {
        Self {
            name: Arc::new(name),
            op,
            hosts: Vec::new(),
            content: None,
            probe: None,
            unusable: None,
        }
    }

    /// For the audit trail.
    pub(super) fn words(&self) -> String {
        match self.content {
            Some(_) => format!("{} {} with a spec", self.op, self.name),
            None => format!("{} {}", self.op, self.name),
        }
    }

    pub(super) fn new(request: Operate) -> Self {
        let mut unusable = None;
        let (content, probe) = match request.with {
            OperateSpec::Registered => (None, None),
            OperateSpec::Spec(spec, labels) if request.op.stores_spec() => {
                (Some(Content::new(*spec, labels)), None)
            }
            OperateSpec::Spec(spec, _) => (None, Some(Arc::new(Probe::from(&*spec)))),
            OperateSpec::Probe(probe) => (None, Some(Arc::new(probe))),
            OperateSpec::Unusable(invalid) => {
                unusable = Some(invalid);
                (None, None)
            }
        };
        Self {
            unusable,
            name: Arc::new(request.name),
            op: request.op,
            hosts: request.hosts,
            content,
            probe,
        }
    }
}

/// A process on a host, or on a key that is no valid host.
type Key = (Result<Host, Box<str>>, Arc<FullName>);

/// Adds a key to a target that is named twice.
fn add_key(target: &mut TargetRow, prefix: &str) {
    if !target.key_prefixes.iter().any(|known| **known == *prefix) {
        let known = target.key_prefixes.iter().cloned();
        target.key_prefixes = known.chain([prefix.into()]).collect();
    }
}

/// Plans a task.
pub(crate) struct OperatePlan<'a> {
    draft: Draft<'a>,
    tasks: &'a Tasks,
    id: TaskId,
    /// The task whose failed targets this one repeats.
    pub(super) retries: Option<TaskId>,
    /// The operation and index of each target. A process is one target, however many keys name it.
    keys: HashMap<Key, (Op, usize)>,
}

impl<'a> OperatePlan<'a> {
    pub(crate) fn new(world: &World<'a>, tasks: &'a Tasks, id: TaskId, at: UnixMillis) -> Self {
        Self::on(Draft::new(world, at), tasks, id)
    }

    /// On top of an existing draft.
    pub(crate) fn on(draft: Draft<'a>, tasks: &'a Tasks, id: TaskId) -> Self {
        Self {
            draft,
            tasks,
            id,
            retries: None,
            keys: HashMap::new(),
        }
    }

    /// Adds a registered process that is no target of this task yet.
    pub(crate) fn add_instance(&mut self, name: FullName, op: Op, host: Host) -> OpId {
        self.add_registered(&Line::of_registered(name, op), host)
    }

    /// The same, of a process whose definition this draft replaces: its limits of time are those of the new one.
    pub(crate) fn add_updated(
        &mut self,
        name: FullName,
        op: Op,
        host: Host,
        content: Content,
    ) -> OpId {
        let line = Line {
            content: Some(content),
            ..Line::of_registered(name, op)
        };
        self.add_registered(&line, host)
    }

    /// The same, of a line that further processes share.
    pub(super) fn add_registered(&mut self, line: &Line, host: Host) -> OpId {
        let asked = TargetHost {
            key_prefix: host.to_string().into(),
            place: HostSelector::Host(host),
        };
        let ordinal = self.draft.changes.targets.len() as u32;
        self.target(line, &asked, host);
        OpId {
            task: self.id,
            ordinal,
        }
    }

    /// The changes that create the task, on behalf of `caller`.
    pub(crate) fn into_changes(mut self, caller: &Caller, what: String) -> model::change::Changes {
        self.draft.changes.tasks.push(self.row(caller));
        let (action, detail) = match self.retries {
            None => ("operate", self.detail()),
            Some(_) => ("retry_task", self.detail()),
        };
        self.draft
            .audit(Audit::new(caller, self.draft.at, action, what, detail));
        self.draft.finish()
    }

    fn row(&self, caller: &Caller) -> TaskRow {
        TaskRow {
            id: self.id,
            created_at: self.draft.at,
            app: caller.app.clone(),
            user: caller.user.clone(),
            retries: self.retries,
        }
    }

    /// The task and its hosts, for the audit trail.
    fn detail(&self) -> String {
        let targets = &self.draft.changes.targets;
        let hosts = targets
            .iter()
            .take(NAMED_IN_AUDIT)
            .map(|target| target.key_prefixes[0].to_string());
        format!(
            "{} on {}",
            self.id,
            shortened(hosts.collect(), targets.len())
        )
    }

    pub(super) fn add(
        &mut self,
        index: usize,
        line: &Line,
        caller: &Caller,
    ) -> Result<(), Invalid> {
        if let Some(content) = &line.content {
            let origin = VersionOrigin::new(VersionSource::Operate, &caller.app, &caller.user);
            let (name, hosts) = (&line.name, &line.hosts);
            self.draft
                .register(name, content, hosts, Mode::Update, &origin);
        }
        for asked in &line.hosts {
            let resolved = resolve(self.draft.fleet, asked);
            let place = resolved
                .as_ref()
                .copied()
                .map_err(|_| asked.key_prefix.clone());
            let next = self.draft.changes.targets.len();
            match self.keys.entry((place, line.name.clone())) {
                Entry::Vacant(first) => {
                    first.insert((line.op, next));
                }
                Entry::Occupied(before) if before.get().0 == line.op => {
                    let (_, index) = *before.get();
                    add_key(&mut self.draft.changes.targets[index], &asked.key_prefix);
                    continue;
                }
                Entry::Occupied(before) => {
                    let (op, _) = before.get();
                    return Err(Invalid::new(
                        format!("proc_operate_req[{index}]"),
                        format!(
                            "{} on {} is to {} and to {op} in one request",
                            line.name, asked.key_prefix, line.op
                        ),
                    ));
                }
            }
            match resolved {
                Ok(host) => match &line.unusable {
                    Some(invalid) => self.unusable(line, asked, host, invalid),
                    None => self.target(line, asked, host),
                },
                Err(refusal) => {
                    let outcome = Outcome::plain(refusal.code, refusal.message, self.draft.at);
                    self.push(line, asked, None, None, self.draft.at, Some(outcome));
                }
            }
        }
        Ok(())
    }

    /// Fails a target whose inline spec is invalid. Nothing is stored for it.
    fn unusable(&mut self, line: &Line, asked: &TargetHost, host: Host, invalid: &Invalid) {
        let id = self.draft.fleet.host_id(&host);
        let outcome = Outcome::plain(Code::COMMAND_FAILED, invalid.to_string(), self.draft.at);
        self.push(line, asked, id, None, self.draft.at, Some(outcome));
    }

    fn target(&mut self, line: &Line, asked: &TargetHost, host: Host) {
        let id = self.draft.host(host);
        let fleet = self.draft.fleet;
        let registered = fleet
            .name_id(&line.name)
            .and_then(|name| fleet.process(id, name));
        let spec = match (&line.content, &registered) {
            (Some(content), _) => Some(&*content.spec),
            (None, Some(row)) => Some(&*row.definition().spec),
            (None, None) => None,
        };
        let policy = spec.map_or_else(Policy::default, |spec| spec.monitor_policy.clone());
        let known = line.content.is_some() || registered.is_some();
        let connected = fleet.host(id).is_some_and(|view| view.link.is_up());
        let refused = match (known, line.op, &line.probe) {
            (false, Op::Query | Op::Unmanage, Some(_)) | (true, _, _) => None,
            (false, _, _) => Some((Code::NOT_REGISTERED, "process is not registered".to_owned())),
        };
        let ended = refused
            .or_else(|| {
                (!connected).then(|| {
                    (
                        Code::NO_CONNECTION,
                        format!("can not find connection by ip {}", host.ip),
                    )
                })
            })
            .or_else(|| {
                // A spec of the request was not registered if the agent does not know all of it.
                let op = line.content.is_none().then_some(line.op);
                let lacking = spec_lacking(fleet, host, spec?, op)?;
                Some((Code::COMMAND_FAILED, lacking))
            })
            // A process that is not registered is not managed, so this has succeeded.
            .or_else(|| {
                (!known && line.op == Op::Unmanage).then(|| (Code::OK, "success".to_owned()))
            });
        let outcome = ended.map(|(code, message)| Outcome {
            subject: Some(Box::new(match (&line.content, &registered, &line.probe) {
                (Some(content), _, _) => OutcomeSubject {
                    proc_name: content.spec.identity.proc_name.clone(),
                    setup_path: content.spec.identity.setup_path.clone(),
                    registered_at: registered
                        .as_ref()
                        .map_or(self.draft.at, |row| row.registered_at()),
                    managed: registered.is_some_and(|row| row.managed()),
                },
                (None, Some(row), _) => subject_of(row),
                (None, None, Some(probe)) => subject_of_probe(probe),
                (None, None, None) => OutcomeSubject::default(),
            })),
            ..Outcome::plain(code, message, self.draft.at)
        });
        // A start waits this long for its dependencies.
        let waits_secs = match spec.is_some_and(|spec| !spec.after.is_empty()) {
            true => policy.op_timeout,
            false => 0,
        };
        let deadline = self.deadline(id, line, &policy, waits_secs);
        let probe = line.probe.clone().filter(|_| !known);
        self.push(line, asked, Some(id), probe, deadline, outcome);
    }

    /// Its own time limit, counted from the end of earlier operations on the same process.
    fn deadline(
        &self,
        host: model::change::HostId,
        line: &Line,
        policy: &Policy,
        waits_secs: u32,
    ) -> UnixMillis {
        let begins = self
            .tasks
            .latest_deadline(host, &line.name)
            .unwrap_or(self.draft.at)
            .max(self.draft.at);
        let secs = line.op.max_secs(policy).saturating_add(GRACE_SECS);
        begins.plus_millis(i64::from(secs.saturating_add(waits_secs)) * 1000)
    }

    fn push(
        &mut self,
        line: &Line,
        asked: &TargetHost,
        host: Option<model::change::HostId>,
        probe: Option<Arc<Probe>>,
        deadline: UnixMillis,
        outcome: Option<Outcome>,
    ) {
        let op_id = OpId {
            task: self.id,
            ordinal: self.draft.changes.targets.len() as u32,
        };
        self.draft.changes.targets.push(TargetRow {
            op_id,
            op: line.op,
            host,
            process: line.name.clone(),
            key_prefixes: [asked.key_prefix.clone()].into(),
            probe,
            deadline,
        });
        if let Some(outcome) = outcome {
            self.draft
                .changes
                .outcomes
                .push(OutcomeRow { op_id, outcome });
        }
    }

    fn finish(self, caller: &Caller, lines: &[Line]) -> model::change::Changes {
        let named = lines.iter().take(NAMED_IN_AUDIT).map(Line::words);
        let object = shortened(named.collect(), lines.len());
        self.into_changes(caller, object)
    }
}
