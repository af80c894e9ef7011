//! NATS servers with authentication and TLS, and installations that share one.

use bus::{Bus, NatsError, NatsOptions, Received, ReplicaId};
use engines::Nats;
use testing::wait::until_async as until;

use super::join;
use crate::conformance::{committed, meet};

#[tokio::test]
async fn only_a_right_password_or_token_connects() {
    let by_password = Nats::start_with(&["--user", "ann", "--pass", "s3cr@t"]).unwrap();
    let by_token = Nats::start_with(&["--auth", "t0ken"]).unwrap();
    let with = |nats: &Nats, user: &str| nats.url().replace("nats://", &format!("nats://{user}@"));
    for (nats, user) in [(&by_password, "ann:s3cr%40t"), (&by_token, "t0ken")] {
        let urls = vec![with(nats, user)];
        meet(&[join(urls.clone(), 1).await, join(urls, 2).await]).await;
        let refused = join(vec![with(nats, "bob:wrong")], 3).await;
        assert!(!refused.is_up());
    }
}

#[tokio::test]
async fn tls_connections_trust_only_the_given_authority() {
    let folder = tempfile::tempdir().unwrap();
    let rcgen::CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(["127.0.0.1".into()]).unwrap();
    let [certificate, key] = ["cert.pem", "key.pem"].map(|name| folder.path().join(name));
    std::fs::write(&certificate, cert.pem()).unwrap();
    std::fs::write(&key, signing_key.serialize_pem()).unwrap();
    let nats = Nats::start_with(&[
        "--tls",
        "--tlscert",
        certificate.to_str().unwrap(),
        "--tlskey",
        key.to_str().unwrap(),
    ])
    .unwrap();
    let url = nats.url().replace("nats://", "tls://");
    let options = |replica| NatsOptions {
        root_certificates: Some(certificate.clone()),
        ..NatsOptions::new(vec![url.clone()], "test", ReplicaId(replica))
    };
    let one = Bus::nats(options(1)).await.unwrap();
    let two = Bus::nats(options(2)).await.unwrap();
    until("both are there", || one.is_up() && two.is_up()).await;
    meet(&[one, two]).await;
    let without_authority = join(vec![url], 3).await;
    assert!(!without_authority.is_up());
}

#[tokio::test]
async fn a_missing_certificate_file_is_an_error() {
    let mut options = NatsOptions::new(vec!["nats://127.0.0.1:1".into()], "test", ReplicaId(1));
    options.root_certificates = Some("/no/such/file".into());
    let error = Bus::nats(options).await.unwrap_err();
    assert!(matches!(error, NatsError::File { .. }), "{error}");
}

#[tokio::test]
async fn installations_on_one_server_are_separate() {
    let nats = Nats::start().unwrap();
    let join = async |cluster: &str, replica| {
        let options = NatsOptions::new(vec![nats.url()], cluster, ReplicaId(replica));
        Bus::nats(options).await.unwrap()
    };
    let (one, two) = (join("here", 1).await, join("here", 2).await);
    let other = join("there", 3).await;
    meet(&[one.clone(), two.clone()]).await;
    let mut subscription = two.subscribe();
    other.publish(committed(1));
    other.tell(two.replica(), vec![]);
    assert!(other.request(two.replica(), vec![]).await.is_err());
    one.publish(committed(2));
    let expected = Received::Message(one.replica(), committed(2));
    assert_eq!(subscription.recv().await, expected);
}
