//! How the journal writes a process: what is true of one run only stands beside the phase.
//!
//! The format is older than the types: records of every version are read, so fields are only ever added, with a default.

use std::borrow::Cow;

use model::status::OomMemory;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Cause, Phase, Process, RunFacts};

#[derive(Serialize)]
struct Written<'a> {
    #[serde(flatten)]
    process: &'a Process,
    #[serde(flatten)]
    facts: Cow<'a, RunFacts>,
}

#[derive(Deserialize)]
struct Read {
    #[serde(flatten)]
    process: Process,
    #[serde(flatten)]
    facts: RunFacts,
}

pub(crate) fn serialize<S: Serializer>(process: &Process, to: S) -> Result<S::Ok, S::Error> {
    let facts = match &process.phase {
        Phase::Up { current } | Phase::Lost { current, .. } => Cow::Borrowed(&current.facts),
        Phase::Working(work) => match &work.before {
            Some(before) => Cow::Borrowed(&before.facts),
            None => Cow::Owned(RunFacts {
                sink: work.ended_sink.clone(),
                ..RunFacts::default()
            }),
        },
        Phase::Unobserved | Phase::Down | Phase::Backoff { .. } => Cow::default(),
    };
    Written { process, facts }.serialize(to)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Box<Process>, D::Error> {
    let Read { mut process, facts } = Read::deserialize(from)?;
    let message = &process.message;
    match &mut process.phase {
        Phase::Up { current } | Phase::Lost { current, .. } => current.facts = facts,
        Phase::Working(work) => {
            // Earlier versions kept the reason in the message alone.
            let has_reason = matches!(work.cause, Cause::Attempt(_) | Cause::Unhealthy { .. });
            if has_reason && work.reason.is_empty() {
                work.reason.clone_from(message);
            }
            match &mut work.before {
                Some(before) => before.facts = facts,
                None => work.ended_sink = facts.sink,
            }
        }
        Phase::Backoff { reason, .. } if reason.is_empty() => reason.clone_from(message),
        Phase::Unobserved | Phase::Down | Phase::Backoff { .. } => {}
    }
    Ok(Box::new(process))
}

/// The memory of a run that the kernel killed; earlier agents wrote only that it did.
pub(super) fn oom<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<OomMemory>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Form {
        Killed(bool),
        Memory(OomMemory),
    }
    Ok(match Form::deserialize(deserializer)? {
        Form::Killed(false) => None,
        Form::Killed(true) => Some(OomMemory::default()),
        Form::Memory(memory) => Some(memory),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kill_of_an_earlier_agent_has_no_figures() {
        #[derive(Deserialize)]
        struct Lost {
            #[serde(default, deserialize_with = "oom")]
            oom: Option<OomMemory>,
        }
        let read = |text: &str| serde_json::from_str::<Lost>(text).unwrap().oom;
        assert_eq!(read("{}"), None);
        assert_eq!(read(r#"{"oom": false}"#), None);
        assert_eq!(read(r#"{"oom": true}"#), Some(OomMemory::default()));
        let memory = OomMemory { used: 5, limit: 6 };
        assert_eq!(read(r#"{"oom": {"used": 5, "limit": 6}}"#), Some(memory));
    }
}
