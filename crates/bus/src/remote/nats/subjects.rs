//! The subjects of NATS. They begin with the name of the installation, so that several can share one NATS.

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

    pub(super) fn all(&self) -> String {
        format!("{}.all", self.prefix)
    }

    /// Messages to this replica alone.
    pub(super) fn one(&self, replica: ReplicaId) -> String {
        format!("{}.r.{replica}", self.prefix)
    }

    /// Requests to this replica.
    pub(super) fn requests(&self, replica: ReplicaId) -> String {
        format!("{}.q.{replica}", self.prefix)
    }

    /// The response to this request of the replica.
    pub(super) fn response(&self, replica: ReplicaId, id: u64) -> String {
        format!("{}.a.{replica}.{id}", self.prefix)
    }

    pub(super) fn all_responses(&self, replica: ReplicaId) -> String {
        format!("{}.a.{replica}.*", self.prefix)
    }
}

/// The id of the request whose response has this subject.
pub(super) fn request_id(subject: &str) -> Option<u64> {
    subject.rsplit('.').next()?.parse().ok()
}

/// A name as one token of a subject, without dots, spaces and stars.
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
    fn each_name_becomes_a_token_of_its_own() {
        assert_eq!(token("main-1"), "main-1");
        assert_eq!(token("a.b *"), "a_2eb_20_2a");
        assert_eq!(token("a_2eb"), "a_5f2eb");
        assert_eq!(token(""), "_");
    }

    #[test]
    fn a_response_names_its_request() {
        let subject = Subjects::new("x").response(ReplicaId(255), 7);
        assert_eq!(subject, "muster.x.a.00000000000000ff.7");
        assert_eq!(request_id(&subject), Some(7));
    }
}
