//! The names that replicas listen to. They begin with the installation's, so that several can share one NATS.

use crate::ReplicaId;

#[derive(Debug)]
pub(super) struct Subjects {
    prefix: String,
}

impl Subjects {
    pub(super) fn new(cluster: &str) -> Self {
        let prefix = format!("muster.{}", token(cluster));
        Self { prefix }
    }

    pub(super) fn everyone(&self) -> String {
        format!("{}.all", self.prefix)
    }

    /// What this replica alone is told.
    pub(super) fn told(&self, replica: ReplicaId) -> String {
        format!("{}.r.{replica}", self.prefix)
    }

    /// What this replica is asked.
    pub(super) fn questions(&self, replica: ReplicaId) -> String {
        format!("{}.q.{replica}", self.prefix)
    }

    /// The answer to this question of the replica.
    pub(super) fn answer(&self, replica: ReplicaId, id: u64) -> String {
        format!("{}.a.{replica}.{id}", self.prefix)
    }

    pub(super) fn all_answers(&self, replica: ReplicaId) -> String {
        format!("{}.a.{replica}.*", self.prefix)
    }
}

/// The question that a message with this subject answers.
pub(super) fn answered(subject: &str) -> Option<u64> {
    subject.rsplit('.').next()?.parse().ok()
}

/// A name as one part of a subject, which takes neither dots nor spaces nor stars.
fn token(name: &str) -> String {
    let parts = name.bytes().map(|byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' => char::from(byte).to_string(),
        _ => format!("_{byte:02x}"),
    });
    let token: String = parts.collect();
    if token.is_empty() { "_".into() } else { token }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_is_one_part_of_a_subject_and_no_two_are_the_same() {
        assert_eq!(token("main-1"), "main-1");
        assert_eq!(token("a.b *"), "a_2eb_20_2a");
        assert_eq!(token("a_2eb"), "a_5f2eb");
        assert_eq!(token(""), "_");
    }

    #[test]
    fn an_answer_names_its_question() {
        let subject = Subjects::new("x").answer(ReplicaId(255), 7);
        assert_eq!(subject, "muster.x.a.00000000000000ff.7");
        assert_eq!(answered(&subject), Some(7));
    }
}
