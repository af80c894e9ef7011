//! Updates that roll: begun at random among all other faults, and checked at every moment and at the end.

use control::{Control, ControlError, JobSelection, NewJob, NewUpdate};
use fleet::Filter;
use model::Labels;
use model::access::Caller;
use model::job::{Gate, JobAction, JobId, JobOptions, JobStatus};
use model::selector::NamePattern;

use store::JobPage;

use crate::ask::Reply;
use crate::program;
use crate::world::{N_PROCESSES, World};

/// More jobs than any history has.
const JOBS: u32 = 1000;
/// Hosts that a roll may change at a time.
const BATCH: u32 = 1;

impl World {
    /// Gives a process another definition, one host after the other.
    pub(crate) async fn roll(&mut self) {
        let name = program::name(self.random.below(N_PROCESSES));
        let spec = program::spec(&mut self.random, &name);
        let gate = self.random.pick(&["", "up:0s", "up:3s", "ready:1s"]);
        let options = JobOptions {
            batch_size: Some(BATCH),
            canary: self.random.permille(500).then_some(BATCH),
            max_failures: self.random.below(2) as u32,
            gate: (!gate.is_empty()).then(|| Gate::parse(gate).expect("a good gate")),
            revert: self.random.permille(700),
            ..JobOptions::default()
        };
        let said = format!(
            "roll {name}, revert={}, gate={gate:?}: {}",
            options.revert, spec.control.start_cmd
        );
        let filter = Filter {
            processes: Some(vec![NamePattern::exactly(&name)]),
            ..Filter::default()
        };
        let new = NewJob {
            action: JobAction::Update,
            selection: JobSelection::Processes {
                filter: Box::new(filter),
                except: Vec::new(),
            },
            field: "filter",
            scope: Default::default(),
            options,
            batch: None,
            expect_count: None,
            update: Some(NewUpdate {
                process: name,
                spec,
                labels: Labels::default(),
                restores: None,
            }),
        };
        self.may_roll = true;
        let answer = self
            .ask(&said, async move |control, caller| {
                match control.jobs().create(&caller, new).await {
                    Ok((id, _)) => Ok(Some(id)),
                    // It is registered nowhere, or another roll goes on.
                    Err(ControlError::Invalid(_) | ControlError::Conflict(_)) => Ok(None),
                    Err(error) => Err(error),
                }
            })
            .await;
        if let Reply::Received(Some(id)) = answer {
            self.log.note(format!("job {id} is {said}"));
            self.rolls.push(id);
        }
    }

    /// Never more of a process is down by a roll than its batch, whatever is killed; and no acknowledged roll is gone.
    pub(crate) async fn rolls_keep_their_batch(&mut self) -> Result<(), String> {
        for control in self.servers.controls() {
            control.replicas().catch_up().await;
            let jobs = listed(&control).await?;
            for id in &self.rolls {
                if !jobs.iter().any(|(known, ..)| known == id) {
                    return Err(format!("job {id} was answered for, and is forgotten"));
                }
            }
            for (id, _, n_running) in &jobs {
                if *n_running > BATCH {
                    return Err(format!("job {id} has {n_running} tasks under way"));
                }
            }
            self.may_roll = jobs.iter().any(|(_, status, _)| !status.is_over());
        }
        Ok(())
    }

    /// Once all is quiet, each roll has ended, and one that had to be taken back was.
    pub(crate) async fn no_roll_is_half_done(&self, control: &Control) -> Result<(), String> {
        let jobs = listed(control).await?;
        for (id, status, _) in &jobs {
            if !status.is_over() {
                return Err(format!("job {id} is {}", status.as_str()));
            }
            let view = control.jobs().get(&Caller::system(), *id).await;
            let view = view.map_err(|error| error.to_string())?;
            let (options, update) = (&view.job.options, view.job.update.as_ref());
            let update = update.ok_or_else(|| format!("job {id} lost its update"))?;
            if let Some(by) = update.reverted_by {
                let Some((_, status, _)) = jobs.iter().find(|(known, ..)| *known == by) else {
                    return Err(format!("job {by}, which takes {id} back, is forgotten"));
                };
                if !status.is_over() {
                    return Err(format!("job {by} is {}", status.as_str()));
                }
                continue;
            }
            let has_changed = |had: Option<u32>| had.is_some();
            let changed = view.tasks.iter().filter_map(|task| task.update);
            let changed = changed.filter(|of| has_changed(of.had)).count();
            let canary_failed =
                options.canary.is_some() && view.tasks[0].status == JobStatus::Failed;
            let n_failed = view.count(JobStatus::Failed);
            let is_past = canary_failed || n_failed > options.max_failures as usize;
            if options.revert && is_past && changed > 0 {
                return Err(format!("job {id} has failed and is not taken back"));
            }
        }
        Ok(())
    }
}

/// Each job with its status and how many of its tasks are under way.
async fn listed(control: &Control) -> Result<Vec<(JobId, JobStatus, u32)>, String> {
    let page = JobPage {
        limit: JOBS,
        ..JobPage::default()
    };
    let jobs = control.jobs().list(&Caller::system(), &page).await;
    let jobs = jobs.map_err(|error| error.to_string())?;
    let each = jobs.into_iter().map(|listed| {
        let summary = listed.summary;
        (summary.job.id, summary.job.status, summary.counts.running)
    });
    Ok(each.collect())
}
