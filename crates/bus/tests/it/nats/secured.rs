//! NATS servers that want to know who comes, and installations that share one.

use bus::{Bus, NatsError, NatsOptions, Received, ReplicaId};
use engines::Nats;
use testing::wait::until_async as until;

use super::join;
use crate::conformance::{committed, meet};

#[tokio::test]
async fn a_user_with_a_password_and_a_token_are_let_in_and_nobody_else() {
    let by_password = Nats::start_with(&["--user", "ann", "--pass", "s3cr@t"]).unwrap();
    let by_token = Nats::start_with(&["--auth", "t0ken"]).unwrap();
    let with = |nats: &Nats, user: &str| nats.url().replace("nats://", &format!("nats://{user}@"));
    for (nats, user) in [(&by_password, "ann:s3cr%40t"), (&by_token, "t0ken")] {
        let urls = vec![with(nats, user)];
        meet(&[join(urls.clone(), 1).await, join(urls, 2).await]).await;
        let stranger = join(vec![with(nats, "bob:wrong")], 3).await;
        assert!(!stranger.is_up());
    }
}

#[tokio::test]
async fn encrypted_connections_trust_the_authority_that_is_named() {
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
    let distrustful = join(vec![url], 3).await;
    assert!(!distrustful.is_up());
}

#[tokio::test]
async fn a_certificate_that_is_not_there_is_told_at_once() {
    let mut options = NatsOptions::new(vec!["nats://127.0.0.1:1".into()], "test", ReplicaId(1));
    options.root_certificates = Some("/no/such/file".into());
    let error = Bus::nats(options).await.unwrap_err();
    assert!(matches!(error, NatsError::File { .. }), "{error}");
}

#[tokio::test]
async fn installations_that_share_a_server_do_not_hear_each_other() {
    let nats = Nats::start().unwrap();
    let join = async |cluster: &str, replica| {
        let options = NatsOptions::new(vec![nats.url()], cluster, ReplicaId(replica));
        Bus::nats(options).await.unwrap()
    };
    let (one, two) = (join("here", 1).await, join("here", 2).await);
    let stranger = join("there", 3).await;
    meet(&[one.clone(), two.clone()]).await;
    let mut subscription = two.subscribe();
    stranger.publish(committed(1));
    stranger.tell(two.replica(), vec![]);
    assert!(stranger.request(two.replica(), vec![]).await.is_err());
    one.publish(committed(2));
    let expected = Received::Message(one.replica(), committed(2));
    assert_eq!(subscription.recv().await, expected);
}
