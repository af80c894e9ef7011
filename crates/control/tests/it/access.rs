//! Authentication, permissions, logins, join tokens and the audit trail.

use std::time::Duration;

use control::{
    AuditFilter, ControlError, CredentialFault, Credentials, FirstKeys, NewJoinToken,
    RevokedGrants, Subject,
};
use model::access::{AccessArea, Audit, Caller, Grant, Permission, Role};
use model::topology::BusinessId;
use model::{AgentId, Host, Namespace, UnixMillis};

use crate::rig::{Rig, START};

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

fn namespace(name: &str) -> Namespace {
    Namespace::parse(name).unwrap()
}

fn operator(name: &str) -> Grant {
    Grant::new(Role::Operator, vec![namespace(name)], Vec::new()).unwrap()
}

fn everywhere(role: Role) -> Vec<Grant> {
    vec![Grant::everywhere(role)]
}

/// An operator of one namespace.
pub(crate) fn operator_of(name: &str) -> Caller {
    Caller::system().with_grants(&[operator(name)])
}

/// The newest lines of the audit trail.
pub(crate) async fn trail(rig: &Rig, filter: AuditFilter, limit: u32) -> Vec<(u64, Audit)> {
    let found = rig
        .control
        .access()
        .audit(&rig.caller, &filter, limit, None)
        .await;
    found.unwrap().lines
}

async fn fault(rig: &Rig, credentials: Credentials) -> CredentialFault {
    match rig
        .control
        .access()
        .authenticate(&credentials, None, "r1")
        .unwrap_err()
    {
        ControlError::Unauthenticated(fault) => fault,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn an_app_may_call_without_a_user_where_the_dialect_allows_it() {
    let rig = Rig::new().await;
    let secret = Some("secret-1".to_owned());
    let access = rig.control.access();
    let created = access.create_app(
        &rig.caller,
        "plain",
        secret,
        vec![operator("mine")],
        false,
        0,
    );
    created.await.unwrap();
    let alone = Credentials {
        app_alone: true,
        ..app("plain", "secret-1")
    };
    let caller = access.authenticate(&alone, None, "").unwrap();
    assert_eq!((caller.app.as_str(), caller.user.as_str()), ("plain", ""));
    assert!(caller.may(Permission::Operate, &namespace("mine")));
    let refused = access.check(&caller, Permission::View, &namespace("other"));
    assert_eq!(
        refused.unwrap_err().to_string(),
        "app plain lacks role viewer in namespace other"
    );
    let identity = access.identity(&caller, &alone);
    assert_eq!(identity.app.unwrap().code, "plain");
    assert!(identity.user.is_none());
    // A wrong login is not ignored because the app alone would do.
    let wrong_login = Credentials {
        token: Some("stale".into()),
        ..alone
    };
    assert_eq!(fault(&rig, wrong_login).await, CredentialFault::Login);
}

#[tokio::test]
async fn each_fault_of_credentials_has_its_own_error() {
    let rig = Rig::new().await;
    let mine = operator("mine");
    rig.control
        .access()
        .create_app(
            &rig.caller,
            "plain",
            Some("secret-1".into()),
            vec![mine],
            false,
            0,
        )
        .await
        .unwrap();
    rig.control
        .access()
        .create_app(
            &rig.caller,
            "trusted",
            Some("secret-2".into()),
            vec![Grant::everywhere(Role::Admin)],
            true,
            0,
        )
        .await
        .unwrap();

    for (credentials, expected) in [
        (Credentials::default(), CredentialFault::NoApp),
        (app("plain", ""), CredentialFault::NoSecret),
        (
            app("nobody", "secret-1"),
            CredentialFault::App("nobody".into()),
        ),
        (
            app("plain", "secret-2"),
            CredentialFault::App("plain".into()),
        ),
        (app("plain", "secret-1"), CredentialFault::NoUser),
        (
            named(app("plain", "secret-1"), "admin"),
            CredentialFault::NotTrusted("plain".into()),
        ),
    ] {
        assert_eq!(fault(&rig, credentials).await, expected);
    }

    let caller = rig
        .control
        .access()
        .authenticate(&named(app("trusted", "secret-2"), "admin"), None, "r1")
        .unwrap();
    assert_eq!(
        (caller.app.as_str(), caller.user.as_str()),
        ("trusted", "admin")
    );
    assert!(caller.may(Permission::Manage, AccessArea::Everything));

    rig.control
        .access()
        .create_user(
            &rig.caller,
            "ada",
            "correct horse",
            everywhere(Role::Operator),
        )
        .await
        .unwrap();
    assert!(
        rig.control
            .access()
            .login("ada", "wrong horse", None)
            .await
            .is_err()
    );
    assert!(
        rig.control
            .access()
            .login("bob", "correct horse", None)
            .await
            .is_err()
    );
    let (token, _) = rig
        .control
        .access()
        .login("ada", "correct horse", None)
        .await
        .unwrap();
    let with_login = Credentials {
        token: Some(token.clone()),
        ..app("plain", "secret-1")
    };
    let caller = rig
        .control
        .access()
        .authenticate(&with_login, None, "r1")
        .unwrap();
    assert_eq!(caller.user, "ada");
    assert!(caller.may(Permission::Operate, &namespace("mine")));
    assert!(!caller.may(Permission::View, &namespace("other")));
    assert!(!caller.may(Permission::Manage, AccessArea::Everything));

    rig.advance(Duration::from_secs(25 * 3600));
    assert_eq!(fault(&rig, with_login).await, CredentialFault::Login);
}

#[tokio::test]
async fn a_logout_and_a_deleted_user_end_their_logins() {
    let rig = Rig::new().await;
    rig.control
        .access()
        .create_user(
            &rig.caller,
            "ada",
            "correct horse",
            everywhere(Role::Operator),
        )
        .await
        .unwrap();
    let (first, _) = rig
        .control
        .access()
        .login("ada", "correct horse", None)
        .await
        .unwrap();
    let (second, _) = rig
        .control
        .access()
        .login("ada", "correct horse", None)
        .await
        .unwrap();
    let login = |token: &str| Credentials {
        token: Some(token.into()),
        ..Default::default()
    };
    assert_eq!(
        rig.control
            .access()
            .authenticate(&login(&first), None, "")
            .unwrap()
            .user,
        "ada"
    );
    rig.control.access().logout(&first, None).await.unwrap();
    assert_eq!(fault(&rig, login(&first)).await, CredentialFault::Login);
    assert!(
        rig.control
            .access()
            .authenticate(&login(&second), None, "")
            .is_ok()
    );
    rig.control
        .access()
        .delete_user(&rig.caller, "ada")
        .await
        .unwrap();
    assert_eq!(fault(&rig, login(&second)).await, CredentialFault::Login);
}

#[tokio::test]
async fn an_app_over_its_rate_limit_is_told_when_to_retry() {
    let rig = Rig::new().await;
    rig.control
        .access()
        .create_app(
            &rig.caller,
            "busy",
            Some("secret-1".into()),
            Vec::new(),
            true,
            3,
        )
        .await
        .unwrap();
    let credentials = named(app("busy", "secret-1"), "x");
    let answers: Vec<_> = (0..5)
        .map(|_| rig.control.access().authenticate(&credentials, None, ""))
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
async fn the_first_keys_are_created_once_and_configured_values_win() {
    let rig = Rig::new().await;
    let first = rig
        .control
        .access()
        .ensure_first_keys(FirstKeys::default())
        .await
        .unwrap();
    let secret = first.app_secret.unwrap();
    assert!(first.join_token.is_some());
    assert!(
        rig.control
            .access()
            .authenticate(&named(app("muster", &secret), "x"), None, "")
            .is_ok()
    );

    let rig = rig.restarted().await;
    let again = rig
        .control
        .access()
        .ensure_first_keys(FirstKeys::default())
        .await
        .unwrap();
    assert!(again.app_secret.is_none() && again.join_token.is_none());
    assert!(
        rig.control
            .access()
            .authenticate(&named(app("muster", &secret), "x"), None, "")
            .is_ok()
    );

    let fixed = FirstKeys {
        app_secret: Some("fixed-secret".into()),
        ..Default::default()
    };
    rig.control.access().ensure_first_keys(fixed).await.unwrap();
    assert!(
        rig.control
            .access()
            .authenticate(&named(app("muster", "fixed-secret"), "x"), None, "")
            .is_ok()
    );
    assert_eq!(
        fault(&rig, named(app("muster", &secret), "x")).await,
        CredentialFault::App("muster".into())
    );
}

#[tokio::test]
async fn a_join_token_is_valid_for_its_time_and_its_host() {
    let rig = Rig::new().await;
    let (here, there): (Host, Host) = ("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap());
    let (token, secret) = rig
        .control
        .access()
        .create_join_token(
            &rig.caller,
            NewJoinToken {
                host: Some(here),
                lives: Some(Duration::from_secs(3600)),
                ..NewJoinToken::default()
            },
        )
        .await
        .unwrap();
    assert!(
        rig.control
            .enrolment()
            .enrol(&secret, there, None, None)
            .await
            .is_err()
    );
    assert!(
        rig.control
            .enrolment()
            .enrol("made up", here, None, None)
            .await
            .is_err()
    );
    let id = rig
        .control
        .enrolment()
        .enrol(&secret, here, None, None)
        .await
        .unwrap();
    // The host keeps its agent id when it enrols again, and no other host may use it.
    assert_eq!(
        rig.control
            .enrolment()
            .enrol(&secret, here, None, None)
            .await
            .unwrap(),
        id
    );
    let (_, any) = rig
        .control
        .access()
        .create_join_token(&rig.caller, NewJoinToken::default())
        .await
        .unwrap();
    assert!(matches!(
        rig.control
            .enrolment()
            .enrol(&any, there, Some(id), None)
            .await,
        Err(ControlError::Conflict(_))
    ));
    let chosen = AgentId::parse("chosen-id").unwrap();
    assert_eq!(
        rig.control
            .enrolment()
            .enrol(&any, there, Some(chosen.clone()), None)
            .await
            .unwrap(),
        chosen
    );
    rig.advance(Duration::from_secs(3601));
    assert!(
        rig.control
            .enrolment()
            .enrol(&secret, here, None, None)
            .await
            .is_err()
    );
    rig.control
        .access()
        .delete_join_token(&rig.caller, &token.id)
        .await
        .unwrap();
    assert!(
        rig.control
            .access()
            .delete_join_token(&rig.caller, &token.id)
            .await
            .is_err()
    );
}

#[tokio::test]
async fn setting_agent_ids_needs_every_namespace() {
    let rig = Rig::new().await;
    rig.agent("10.0.0.1").await;
    let hosts = || {
        vec![(
            crate::rig::asked(&["10.0.0.1"]).remove(0),
            AgentId::parse("other").unwrap(),
        )]
    };
    let limited = operator_of("web");
    let refused = rig
        .control
        .registry()
        .set_agent_ids(&limited, hosts())
        .await;
    assert!(matches!(refused, Err(ControlError::Forbidden(_))));
    assert_eq!(
        rig.control
            .registry()
            .set_agent_ids(&rig.caller, hosts())
            .await
            .unwrap()[0]
            .code
            .0,
        0
    );
    let twice = [hosts(), hosts()].concat();
    // The refusal is written to the audit trail, too, a moment later.
    let named = AuditFilter {
        action: Some("set_agent_ids".to_owned()),
        ..Default::default()
    };
    let trail = trail(&rig, named, 1).await;
    assert!(
        trail[0].1.detail.contains("0:10.0.0.1 is other"),
        "{trail:?}"
    );
    assert!(
        rig.control
            .registry()
            .set_agent_ids(&rig.caller, twice)
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn only_an_admin_manages_access_and_every_change_is_audited() {
    let rig = Rig::new().await;
    let plain = Caller::system().with_grants(&[Grant::everywhere(Role::Operator)]);
    assert!(matches!(
        rig.control.access().apps(&plain),
        Err(ControlError::Forbidden(_))
    ));
    let refused = rig
        .control
        .access()
        .create_app(&plain, "x", None, Vec::new(), false, 0)
        .await;
    assert!(matches!(refused, Err(ControlError::Forbidden(_))));

    let caller = Caller {
        user: "ada".into(),
        from: Some([127, 0, 0, 9].into()),
        ..Caller::system()
    };
    rig.control
        .access()
        .create_app(&caller, "x", None, Vec::new(), false, 0)
        .await
        .unwrap();
    let twice = rig
        .control
        .access()
        .create_app(&caller, "x", None, Vec::new(), false, 0)
        .await;
    assert!(matches!(twice, Err(ControlError::Conflict(_))));
    rig.control.access().delete_app(&caller, "x").await.unwrap();
    let by_ada = AuditFilter {
        user: Some("ada".to_owned()),
        ..Default::default()
    };
    let trail = trail(&rig, by_ada, 10).await;
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

#[tokio::test]
async fn a_login_has_the_rights_that_app_and_user_share() {
    let rig = Rig::new().await;
    let control = &rig.control;
    let secret = || Some("secret-1".to_owned());
    let grants = vec![operator("web"), operator("db")];
    let created = control
        .access()
        .create_app(&rig.caller, "shop", secret(), grants, false, 0);
    created.await.unwrap();
    let viewer = Grant::new(Role::Viewer, vec![namespace("web")], vec![BusinessId(2)]).unwrap();
    let created = control
        .access()
        .create_user(&rig.caller, "ada", "correct horse", vec![viewer]);
    created.await.unwrap();
    let (token, _) = control
        .access()
        .login("ada", "correct horse", None)
        .await
        .unwrap();
    let alone = Credentials {
        token: Some(token.clone()),
        ..Default::default()
    };
    let person = control.access().authenticate(&alone, None, "").unwrap();
    assert!(person.may(Permission::View, &namespace("web")));
    assert!(person.may(Permission::View, BusinessId(2)));
    assert!(!person.may(Permission::View, &namespace("db")));
    assert!(!person.may(Permission::Operate, AccessArea::Anything));

    let through_app = Credentials {
        token: Some(token),
        ..app("shop", "secret-1")
    };
    let both = control
        .access()
        .authenticate(&through_app, None, "")
        .unwrap();
    assert_eq!(both.visible_namespaces(), Some(vec![namespace("web")]));
    // The app may and the user may not, and vice versa.
    let refused = control
        .access()
        .check(&both, Permission::Operate, &namespace("web"));
    assert!(matches!(refused, Err(ControlError::ForbiddenToUser(_))));
    let refused = control
        .access()
        .check(&both, Permission::View, BusinessId(2));
    assert!(matches!(refused, Err(ControlError::Forbidden(_))));

    // Granting and revoking take effect with the next request.
    let ada = || Subject::User("ada".to_owned());
    let granted = control
        .access()
        .grant(&rig.caller, ada(), operator("web"))
        .await;
    assert_eq!(granted.unwrap().len(), 2);
    let both = control
        .access()
        .authenticate(&through_app, None, "")
        .unwrap();
    assert!(both.may(Permission::Operate, &namespace("web")));
    let left = control
        .access()
        .revoke_grants(&rig.caller, ada(), RevokedGrants::default());
    assert_eq!(left.await.unwrap(), []);
    let both = control
        .access()
        .authenticate(&through_app, None, "")
        .unwrap();
    assert!(!both.may(Permission::View, AccessArea::Anything));
    assert!(control.access().reauthenticate(&through_app).is_some());

    // Grants survive a restart.
    control
        .access()
        .grant(&rig.caller, ada(), operator("db"))
        .await
        .unwrap();
    let rig = rig.restarted().await;
    let both = rig
        .control
        .access()
        .authenticate(&through_app, None, "")
        .unwrap();
    assert_eq!(both.visible_namespaces(), Some(vec![namespace("db")]));
}

#[tokio::test]
async fn an_admin_cannot_lock_itself_out() {
    let rig = Rig::new().await;
    let keys = rig
        .control
        .access()
        .ensure_first_keys(FirstKeys::default())
        .await;
    let credentials = named(app("muster", &keys.unwrap().app_secret.unwrap()), "x");
    let admin = rig
        .control
        .access()
        .authenticate(&credentials, None, "")
        .unwrap();
    let itself = Subject::App("muster".to_owned());
    let revoked =
        rig.control
            .access()
            .revoke_grants(&admin, itself.clone(), RevokedGrants::default());
    assert!(matches!(revoked.await, Err(ControlError::Conflict(_))));
    // Another admin can.
    let another = Caller {
        app: "another".to_owned(),
        ..Caller::system()
    };
    let revoked = rig
        .control
        .access()
        .revoke_grants(&another, itself, RevokedGrants::default());
    assert_eq!(revoked.await.unwrap(), []);
}

#[tokio::test]
async fn guessing_passwords_is_slowed_and_audited() {
    let rig = Rig::new().await;
    let created = rig.control.access().create_user(
        &rig.caller,
        "ada",
        "correct horse",
        everywhere(Role::Viewer),
    );
    created.await.unwrap();
    let from = Some([10, 0, 0, 66].into());
    // On a slow machine more tries become free while passwords are checked.
    let mut n_checked = 0;
    loop {
        match rig.control.access().login("ada", "wrong horse", from).await {
            Err(ControlError::Unauthenticated { .. }) => n_checked += 1,
            Err(ControlError::TooManyTries { .. }) => break,
            other => panic!("{other:?}"),
        }
    }
    assert!(n_checked >= 5, "{n_checked} tries");
    // Even the right password is refused.
    let refused = rig
        .control
        .access()
        .login("ada", "correct horse", from)
        .await;
    let Err(ControlError::TooManyTries { retry_after_ms }) = refused else {
        panic!("{refused:?}");
    };
    assert!((1..=12_000).contains(&retry_after_ms));
    // The same user at another address may log in.
    let elsewhere = Some([10, 0, 0, 67].into());
    let logged_in = rig
        .control
        .access()
        .login("ada", "correct horse", elsewhere)
        .await;
    assert!(logged_in.is_ok());
    let failed = AuditFilter {
        action: Some("login.failed".to_owned()),
        from: Some("10.0.0.66".to_owned()),
        ..Default::default()
    };
    let mut lines = Vec::new();
    while lines.is_empty() {
        tokio::task::yield_now().await;
        lines = trail(&rig, failed.clone(), 10).await;
    }
    assert_eq!(lines[0].1.object, "ada");
}

#[tokio::test]
async fn the_audit_trail_is_filtered_by_every_field() {
    let rig = Rig::new().await;
    let at = |caller: &str, from: u8| Caller {
        user: caller.to_owned(),
        from: Some([10, 0, 0, from].into()),
        ..Caller::system()
    };
    for n in 0..4_u8 {
        let caller = at(["ada", "bob"][usize::from(n % 2)], n);
        let code = format!("app-{n}");
        let created = rig
            .control
            .access()
            .create_app(&caller, &code, None, Vec::new(), false, 0);
        created.await.unwrap();
        rig.advance(Duration::from_secs(10));
    }
    let found = async |filter: AuditFilter| -> Vec<String> {
        let lines = trail(&rig, filter, 10).await.into_iter();
        lines.map(|(_, line)| line.object).collect()
    };
    let start = UnixMillis(crate::rig::START);
    let of_ada = AuditFilter {
        user: Some("ada".to_owned()),
        ..Default::default()
    };
    assert_eq!(found(of_ada).await, ["app-2", "app-0"]);
    let from_there = AuditFilter {
        from: Some("10.0.0.3".to_owned()),
        ..Default::default()
    };
    assert_eq!(found(from_there).await, ["app-3"]);
    let between = AuditFilter {
        since: Some(start.plus_millis(10_000)),
        until: Some(start.plus_millis(30_000)),
        ..Default::default()
    };
    assert_eq!(found(between).await, ["app-2", "app-1"]);
    let holds = AuditFilter {
        object: Some("p-1".to_owned()),
        ..Default::default()
    };
    assert_eq!(found(holds).await, ["app-1"]);
    // Page by page the result is the same.
    let all = AuditFilter {
        object: Some("app-".to_owned()),
        ..Default::default()
    };
    let (mut seen, mut before) = (Vec::new(), None);
    loop {
        let page = rig
            .control
            .access()
            .audit(&rig.caller, &all, 1, before)
            .await;
        let page = page.unwrap();
        seen.extend(page.lines.into_iter().map(|(_, line)| line.object));
        before = page.next;
        if before.is_none() {
            break;
        }
    }
    assert_eq!(seen, ["app-3", "app-2", "app-1", "app-0"]);
    let plain = Caller::system().with_grants(&everywhere(Role::Operator));
    let refused = rig.control.access().audit(&plain, &all, 1, None).await;
    assert!(matches!(refused, Err(ControlError::Forbidden(_))));
}

/// Credentials of a login.
fn login_of(token: &str) -> Credentials {
    Credentials {
        token: Some(token.to_owned()),
        app_alone: true,
        ..Credentials::default()
    }
}

#[tokio::test]
async fn a_user_changes_the_own_password_and_other_logins_end() {
    let rig = Rig::new().await;
    let access = rig.control.access();
    let (old, new) = ("correct horse", "battery staple");
    access
        .create_user(&rig.caller, "ada", old, Vec::new())
        .await
        .unwrap();
    let (first, _) = access.login("ada", old, None).await.unwrap();
    let (second, _) = access.login("ada", old, None).await.unwrap();
    let mine = login_of(&first);
    let caller = access.authenticate(&mine, None, "").unwrap();
    for (given, chosen, field) in [
        ("wrong horse", new, "old"),
        (old, "short", "new"),
        (old, old, "new"),
    ] {
        let refused = access
            .change_own_password(&caller, &mine, Some(given), chosen)
            .await;
        let Err(ControlError::Invalid(invalid)) = refused else {
            panic!("{given} {chosen}: {refused:?}")
        };
        assert_eq!(invalid.field, field);
    }
    access
        .change_own_password(&caller, &mine, Some(old), new)
        .await
        .unwrap();
    access.authenticate(&mine, None, "").unwrap();
    let ended = access.authenticate(&login_of(&second), None, "");
    assert!(matches!(ended, Err(ControlError::Unauthenticated(_))));
    assert!(access.login("ada", old, None).await.is_err());
    access.login("ada", new, None).await.unwrap();
    let filter = AuditFilter {
        action: Some("user.password".into()),
        ..AuditFilter::default()
    };
    let changed = trail(&rig, filter, 1).await.remove(0).1;
    assert_eq!(
        (
            changed.user.as_str(),
            changed.object.as_str(),
            changed.detail.as_str()
        ),
        ("ada", "ada", "1 other logins ended")
    );
}

#[tokio::test]
async fn a_user_sees_and_ends_the_own_logins_only() {
    let rig = Rig::new().await;
    let access = rig.control.access();
    for name in ["ada", "bob"] {
        access
            .create_user(&rig.caller, name, "correct horse", Vec::new())
            .await
            .unwrap();
    }
    let login = async |name: &str| access.login(name, "correct horse", None).await.unwrap().0;
    let (old, foreign) = (login("ada").await, login("bob").await);
    rig.advance(Duration::from_secs(60));
    let current = login("ada").await;
    let mine = login_of(&current);
    let caller = access.authenticate(&mine, None, "").unwrap();
    let logins = access.own_logins(&mine).unwrap();
    assert_eq!(
        logins
            .iter()
            .map(|login| login.is_current)
            .collect::<Vec<_>>(),
        [true, false],
        "the newest first"
    );
    assert_eq!(logins[0].created_at.0, START + 60_000);
    assert!(
        logins
            .iter()
            .all(|login| ![&old, &current].contains(&&login.id))
    );
    let foreign_id = access.own_logins(&login_of(&foreign)).unwrap()[0]
        .id
        .clone();
    for id in [foreign_id.as_str(), "no such", ""] {
        let refused = access.end_own_login(&caller, &mine, id).await;
        assert!(matches!(refused, Err(ControlError::NotFound(_))), "{id}");
    }
    access
        .end_own_login(&caller, &mine, &logins[1].id)
        .await
        .unwrap();
    assert!(access.authenticate(&login_of(&old), None, "").is_err());
    assert_eq!(access.own_logins(&mine).unwrap().len(), 1);
    // An app has neither a password nor logins.
    let app = Credentials::default();
    assert!(matches!(
        access.own_logins(&app),
        Err(ControlError::Unauthenticated(_))
    ));
}
