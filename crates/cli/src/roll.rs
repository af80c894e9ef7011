//! The flags of an update that rolls: batch by batch, with a canary and a gate, and back again if it fails.

use api::{HostRef, JobBody, JobUpdateBody, Scalar};
use model::FullName;
use model::job::JobAction;
use serde_json::{Map, Value};

use crate::client::Client;
use crate::confirm::ConfirmArgs;
use crate::failure::{Exit, Failure};
use crate::format::counted;
use crate::pace::PaceArgs;
use crate::verb::{Context, job};

/// What a roll does where the flags do not say.
const BATCH: &str = "10%";
const CANARY: i64 = 1;
const GATE: &str = "up:10s";

#[derive(Debug, clap::Args)]
pub struct RollArgs {
    /// Change hosts batch by batch, and restart what needs it: a canary first, then the rest [default with --roll: --canary 1
    /// --batch 10% --gate up:10s --max-failures 0]
    #[arg(long, help_heading = "Roll")]
    roll: bool,
    /// When the canary or more than --max-failures fail, give the changed hosts back what they had
    #[arg(long, requires = "roll", help_heading = "Roll")]
    revert: bool,
    /// Print the id of the roll and do not wait for its end
    #[arg(long, requires = "roll", help_heading = "Roll")]
    no_wait: bool,
    #[command(flatten)]
    confirm: ConfirmArgs,
    #[command(flatten)]
    pace: PaceArgs,
}

impl RollArgs {
    /// Whether hosts are changed batch by batch. Refuses flags that have no effect otherwise.
    pub fn is_asked(&self) -> Result<bool, Failure> {
        match (self.roll, self.pace.is_given()) {
            (false, true) => Err(Failure::usage(
                "--batch, --canary, --pause, --gate, --max-failures, --order, --isolation and --ignore go with --roll",
            )),
            (roll, _) => Ok(roll),
        }
    }

    /// Asks before a change that touches more than one host.
    pub fn ask(&self, what: &str) -> Result<(), Failure> {
        self.confirm.ask(what)
    }

    /// Begins the roll and follows it. `hosts` are those that the job is for.
    pub fn begin(
        &self,
        context: &Context,
        client: &Client,
        process: &FullName,
        update: JobUpdateBody,
        hosts: &[HostRef],
    ) -> Result<Exit, Failure> {
        if hosts.len() > 1 {
            let hosts = counted(hosts.len(), "host");
            self.ask(&format!("roll {process} out on {hosts}"))?;
        }
        let addresses = hosts.iter().map(|host| match host {
            HostRef::Text(host) => Some(Value::from(host.as_str())),
            HostRef::Parts(_) => None,
        });
        let addresses: Option<Vec<Value>> = addresses.collect();
        let addresses = addresses.ok_or_else(|| {
            Failure::usage("a roll knows hosts by their address: name them as IP or CLOUD:IP")
        })?;
        let mut options = self.pace.options();
        options.revert = Some(self.revert);
        if options.batch_size.is_empty() {
            options.batch_size = BATCH.into();
        }
        if options.gate.is_empty() {
            options.gate = GATE.into();
        }
        options.canary.get_or_insert(CANARY);
        let body = JobBody {
            action: JobAction::Update.as_str().into(),
            filter: Some(Map::from_iter([("host".to_owned(), addresses.into())])),
            expect_count: Some(hosts.len() as i64),
            options: Some(options),
            update: Some(JobUpdateBody {
                process: Scalar::from(process.to_string().as_str()),
                ..update
            }),
            ..JobBody::default()
        };
        job::begin_chosen(context, client, &body, (self.no_wait, None))
    }
}
