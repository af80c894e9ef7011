//! Credentials: who may call, and how it is told when they may not.

use std::time::Duration;

use control::{ControlError, Credentials, FirstKeys, Lacks};
use model::access::Caller;
use model::{AgentId, Host, Namespace};
use store::AuditPage;

use crate::rig::Rig;

fn app(code: &str, secret: &str) -> Credentials {
    Credentials {
        app_code: Some(code.into()),
        app_secret: Some(secret.into()),
        ..Default::default()
    }
}

fn named(credentials: Credentials, user: &str) -> Credentials {
    Credentials {
        username: Some(user.into()),
        ..credentials
    }
}

async fn lacks(rig: &Rig, credentials: Credentials) -> Lacks {
    match rig
        .control
        .authenticate(&credentials, None, "r1")
        .unwrap_err()
    {
        ControlError::Unauthenticated { lacks, .. } => lacks,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn each_lack_of_credentials_is_told_apart() {
    let rig = Rig::new().await;
    let namespaces = Some(vec![Namespace::parse("mine").unwrap()]);
    rig.control
        .create_app(
            &rig.caller,
            "plain",
            Some("secret-1".into()),
            namespaces,
            false,
            0,
        )
        .await
        .unwrap();
    rig.control
        .create_app(
            &rig.caller,
            "trusted",
            Some("secret-2".into()),
            None,
            true,
            0,
        )
        .await
        .unwrap();

    assert_eq!(
        lacks(&rig, Credentials::default()).await,
        Lacks::Credentials
    );
    assert_eq!(lacks(&rig, app("plain", "")).await, Lacks::Credentials);
    assert_eq!(lacks(&rig, app("nobody", "secret-1")).await, Lacks::App);
    assert_eq!(lacks(&rig, app("plain", "secret-2")).await, Lacks::App);
    assert_eq!(lacks(&rig, app("plain", "secret-1")).await, Lacks::User);
    assert_eq!(
        lacks(&rig, named(app("plain", "secret-1"), "admin")).await,
        Lacks::User
    );

    let caller = rig
        .control
        .authenticate(&named(app("trusted", "secret-2"), "admin"), None, "r1")
        .unwrap();
    assert_eq!(
        (caller.app.as_str(), caller.user.as_str(), caller.admin),
        ("trusted", "admin", true)
    );

    rig.control
        .create_user(&rig.caller, "ada", "correct horse")
        .await
        .unwrap();
    assert!(rig.control.login("ada", "wrong horse", None).await.is_err());
    assert!(
        rig.control
            .login("bob", "correct horse", None)
            .await
            .is_err()
    );
    let (token, _) = rig
        .control
        .login("ada", "correct horse", None)
        .await
        .unwrap();
    let with_login = Credentials {
        token: Some(token.clone()),
        ..app("plain", "secret-1")
    };
    let caller = rig.control.authenticate(&with_login, None, "r1").unwrap();
    assert_eq!((caller.user.as_str(), caller.admin), ("ada", false));
    assert!(!caller.may_touch(&Namespace::parse("other").unwrap()));

    rig.advance(Duration::from_secs(25 * 3600));
    assert_eq!(lacks(&rig, with_login).await, Lacks::User);
}

#[tokio::test]
async fn a_logout_and_a_deleted_user_end_their_logins() {
    let rig = Rig::new().await;
    rig.control
        .create_user(&rig.caller, "ada", "correct horse")
        .await
        .unwrap();
    let (first, _) = rig
        .control
        .login("ada", "correct horse", None)
        .await
        .unwrap();
    let (second, _) = rig
        .control
        .login("ada", "correct horse", None)
        .await
        .unwrap();
    let login = |token: &str| Credentials {
        token: Some(token.into()),
        ..Default::default()
    };
    assert_eq!(
        rig.control
            .authenticate(&login(&first), None, "")
            .unwrap()
            .user,
        "ada"
    );
    rig.control.logout(&first, None).await.unwrap();
    assert_eq!(lacks(&rig, login(&first)).await, Lacks::User);
    assert!(rig.control.authenticate(&login(&second), None, "").is_ok());
    rig.control.delete_user(&rig.caller, "ada").await.unwrap();
    assert_eq!(lacks(&rig, login(&second)).await, Lacks::User);
}

#[tokio::test]
async fn an_app_that_asks_too_fast_is_told_when_to_try_again() {
    let rig = Rig::new().await;
    rig.control
        .create_app(&rig.caller, "busy", Some("secret-1".into()), None, true, 3)
        .await
        .unwrap();
    let credentials = named(app("busy", "secret-1"), "x");
    let answers: Vec<_> = (0..5)
        .map(|_| rig.control.authenticate(&credentials, None, ""))
        .collect();
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 3);
    assert!(matches!(
        answers[4],
        Err(ControlError::TooFast {
            limit: 3,
            retry_after_ms: 1..=334,
            ..
        })
    ));
}

#[tokio::test]
async fn the_first_keys_are_made_once_and_fixed_values_win() {
    let rig = Rig::new().await;
    let first = rig
        .control
        .ensure_first_keys(FirstKeys::default())
        .await
        .unwrap();
    let secret = first.app_secret.unwrap();
    assert!(first.join_token.is_some());
    assert!(
        rig.control
            .authenticate(&named(app("muster", &secret), "x"), None, "")
            .is_ok()
    );

    let rig = rig.restarted().await;
    let again = rig
        .control
        .ensure_first_keys(FirstKeys::default())
        .await
        .unwrap();
    assert!(again.app_secret.is_none() && again.join_token.is_none());
    assert!(
        rig.control
            .authenticate(&named(app("muster", &secret), "x"), None, "")
            .is_ok()
    );

    let fixed = FirstKeys {
        app_secret: Some("fixed-secret".into()),
        ..Default::default()
    };
    rig.control.ensure_first_keys(fixed).await.unwrap();
    assert!(
        rig.control
            .authenticate(&named(app("muster", "fixed-secret"), "x"), None, "")
            .is_ok()
    );
    assert_eq!(
        lacks(&rig, named(app("muster", &secret), "x")).await,
        Lacks::App
    );
}

#[tokio::test]
async fn a_join_token_counts_for_its_time_and_its_host() {
    let rig = Rig::new().await;
    let (here, there): (Host, Host) = ("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap());
    let hour = Some(Duration::from_secs(3600));
    let (token, secret) = rig
        .control
        .create_join_token(&rig.caller, Some(here), hour)
        .await
        .unwrap();
    assert!(rig.control.enrol(&secret, there, None, None).await.is_err());
    assert!(
        rig.control
            .enrol("made up", here, None, None)
            .await
            .is_err()
    );
    let id = rig.control.enrol(&secret, here, None, None).await.unwrap();
    // The id stays when the host enrols again, and no other host may take it.
    assert_eq!(
        rig.control.enrol(&secret, here, None, None).await.unwrap(),
        id
    );
    let (_, any) = rig
        .control
        .create_join_token(&rig.caller, None, None)
        .await
        .unwrap();
    assert!(matches!(
        rig.control.enrol(&any, there, Some(id), None).await,
        Err(ControlError::Conflict(_))
    ));
    let chosen = AgentId::parse("chosen-id").unwrap();
    assert_eq!(
        rig.control
            .enrol(&any, there, Some(chosen.clone()), None)
            .await
            .unwrap(),
        chosen
    );
    rig.advance(Duration::from_secs(3601));
    assert!(rig.control.enrol(&secret, here, None, None).await.is_err());
    rig.control
        .delete_join_token(&rig.caller, &token.id)
        .await
        .unwrap();
    assert!(
        rig.control
            .delete_join_token(&rig.caller, &token.id)
            .await
            .is_err()
    );
}

#[tokio::test]
async fn a_token_does_not_push_a_living_agent_aside() {
    let rig = Rig::new().await;
    let agent = rig.agent("10.0.0.1").await;
    let host: Host = "10.0.0.1".parse().unwrap();
    assert!(matches!(
        rig.control.enrol("join-me", host, None, None).await,
        Err(ControlError::Conflict(_))
    ));
    drop(agent);
    assert!(rig.control.enrol("join-me", host, None, None).await.is_ok());
}

#[tokio::test]
async fn naming_agents_takes_every_namespace() {
    let rig = Rig::new().await;
    rig.agent("10.0.0.1").await;
    let hosts = || {
        vec![(
            crate::rig::asked(&["10.0.0.1"]).remove(0),
            AgentId::parse("other").unwrap(),
        )]
    };
    let limited = Caller {
        namespaces: Some(vec![Namespace::parse("web").unwrap()]),
        ..Caller::system()
    };
    let refused = rig.control.set_agent_ids(&limited, hosts()).await;
    assert!(matches!(refused, Err(ControlError::Forbidden(_))));
    assert_eq!(
        rig.control
            .set_agent_ids(&rig.caller, hosts())
            .await
            .unwrap()[0]
            .code
            .0,
        0
    );
    let twice = [hosts(), hosts()].concat();
    let trail = rig
        .control
        .audit(
            &rig.caller,
            AuditPage {
                limit: 1,
                ..Default::default()
            },
        )
        .await
        .unwrap();
    assert!(
        trail[0].1.detail.contains("0:10.0.0.1 is other"),
        "{trail:?}"
    );
    assert!(rig.control.set_agent_ids(&rig.caller, twice).await.is_ok());
}

#[tokio::test]
async fn only_an_admin_manages_access_and_every_change_is_on_the_trail() {
    let rig = Rig::new().await;
    let plain = Caller {
        admin: false,
        ..Caller::system()
    };
    assert!(matches!(
        rig.control.apps(&plain),
        Err(ControlError::Forbidden(_))
    ));
    let refused = rig
        .control
        .create_app(&plain, "x", None, None, false, 0)
        .await;
    assert!(matches!(refused, Err(ControlError::Forbidden(_))));

    let caller = Caller {
        user: "ada".into(),
        from: Some([127, 0, 0, 9].into()),
        ..Caller::system()
    };
    rig.control
        .create_app(&caller, "x", None, None, false, 0)
        .await
        .unwrap();
    let twice = rig
        .control
        .create_app(&caller, "x", None, None, false, 0)
        .await;
    assert!(matches!(twice, Err(ControlError::Conflict(_))));
    rig.control.delete_app(&caller, "x").await.unwrap();
    let trail = rig
        .control
        .audit(
            &caller,
            AuditPage {
                limit: 10,
                ..Default::default()
            },
        )
        .await
        .unwrap();
    let lines: Vec<_> = trail
        .iter()
        .map(|(_, a)| (a.action.as_str(), a.object.as_str(), a.user.as_str()))
        .collect();
    assert_eq!(
        lines,
        [("app.delete", "x", "ada"), ("app.create", "x", "ada")]
    );
    assert_eq!(trail[0].1.from, "127.0.0.9");
}
