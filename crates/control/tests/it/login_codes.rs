//! One-time codes, which log a user in without a password.

use std::time::Duration;

use control::{Control, ControlError, CredentialFault, Credentials};
use model::access::{Caller, Grant, Role};

use crate::rig::Rig;

async fn rig_with_ada() -> Rig {
    let rig = Rig::new().await;
    let grants = vec![Grant::everywhere(Role::Viewer)];
    let access = rig.control.access();
    let made = access.create_user(&rig.caller, "ada", "correct horse", grants);
    made.await.unwrap();
    rig
}

fn user_of(control: &Control, token: &str) -> Result<String, CredentialFault> {
    let credentials = Credentials {
        token: Some(token.to_owned()),
        ..Credentials::default()
    };
    match control.access().authenticate(&credentials, None, "") {
        Ok(caller) => Ok(caller.user),
        Err(ControlError::Unauthenticated(fault)) => Err(fault),
        Err(other) => panic!("{other}"),
    }
}

async fn refused(rig: &Rig, code: &str) -> bool {
    let answer = rig.control.access().login_with_code(code, None).await;
    matches!(
        answer,
        Err(ControlError::Unauthenticated(CredentialFault::Code))
    )
}

#[tokio::test]
async fn a_code_logs_its_user_in_once() {
    let rig = rig_with_ada().await;
    let access = rig.control.access();
    let made = access.create_login_code(&rig.caller, Some("ada")).await;
    let code = made.unwrap().code;
    // It is no token.
    assert_eq!(user_of(&rig.control, &code), Err(CredentialFault::Login));
    let (token, _) = access.login_with_code(&code, None).await.unwrap();
    assert_eq!(user_of(&rig.control, &token).unwrap(), "ada");
    assert!(refused(&rig, &code).await);
    // And a token is no code.
    assert!(refused(&rig, &token).await);
    assert!(refused(&rig, "").await);
}

#[tokio::test]
async fn of_two_browsers_with_one_code_one_is_logged_in() {
    let rig = rig_with_ada().await;
    let access = rig.control.access();
    let made = access.create_login_code(&rig.caller, Some("ada")).await;
    let code = made.unwrap().code;
    let both = tokio::join!(
        access.login_with_code(&code, None),
        access.login_with_code(&code, None)
    );
    let n_logged_in = [both.0.is_ok(), both.1.is_ok()]
        .iter()
        .filter(|ok| **ok)
        .count();
    assert_eq!(n_logged_in, 1);
}

#[tokio::test]
async fn a_code_expires_and_ends_with_its_user() {
    let rig = rig_with_ada().await;
    let access = rig.control.access();
    let made = access.create_login_code(&rig.caller, Some("ada")).await;
    rig.advance(Duration::from_secs(15 * 60));
    assert!(refused(&rig, &made.unwrap().code).await);
    let made = access.create_login_code(&rig.caller, Some("ada")).await;
    access.delete_user(&rig.caller, "ada").await.unwrap();
    assert!(refused(&rig, &made.unwrap().code).await);
}

#[tokio::test]
async fn a_user_makes_codes_for_themselves_alone() {
    let rig = rig_with_ada().await;
    let access = rig.control.access();
    let grants = vec![Grant::everywhere(Role::Viewer)];
    let ada = Caller {
        app: String::new(),
        user: "ada".to_owned(),
        ..Caller::system()
    }
    .with_grants(&grants);
    assert_eq!(
        access.create_login_code(&ada, None).await.unwrap().user,
        "ada"
    );
    let other = access.create_login_code(&ada, Some("admin")).await;
    assert!(
        matches!(other, Err(ControlError::Forbidden(..))),
        "{other:?}"
    );
    // A trusted app that names a user has no login.
    let named = Caller {
        app: "plain".to_owned(),
        ..ada
    };
    let other = access.create_login_code(&named, None).await;
    assert!(
        matches!(other, Err(ControlError::Forbidden(..))),
        "{other:?}"
    );
    let unknown = access.create_login_code(&rig.caller, Some("unknown")).await;
    assert!(
        matches!(unknown, Err(ControlError::NotFound(_))),
        "{unknown:?}"
    );
}

#[tokio::test]
async fn the_first_administrator_is_created_once_and_has_no_password() {
    let rig = Rig::new().await;
    let access = rig.control.access();
    let first = access.first_login_code().await.unwrap().unwrap();
    let second = access.first_login_code().await.unwrap().unwrap();
    assert_eq!(
        (first.user.as_str(), second.user.as_str()),
        ("admin", "admin")
    );
    assert_eq!(access.users(&rig.caller).unwrap().len(), 1);
    assert!(access.login("admin", "", None).await.is_err());
    let (token, _) = access.login_with_code(&second.code, None).await.unwrap();
    assert_eq!(user_of(&rig.control, &token).unwrap(), "admin");
    // A first password needs no old one, a second does.
    let login = Credentials {
        token: Some(token),
        ..Credentials::default()
    };
    let admin = access.authenticate(&login, None, "").unwrap();
    let first = access.change_own_password(&admin, &login, None, "correct horse");
    first.await.unwrap();
    access.login("admin", "correct horse", None).await.unwrap();
    let second = access.change_own_password(&admin, &login, None, "battery staple");
    assert!(matches!(second.await, Err(ControlError::Invalid(_))));
    // Deleted, it does not come back.
    let grants = vec![Grant::everywhere(Role::Admin)];
    let ada = access.create_user(&rig.caller, "ada", "correct horse", grants);
    ada.await.unwrap();
    access.delete_user(&rig.caller, "admin").await.unwrap();
    assert!(access.first_login_code().await.unwrap().is_none());
    let app = Caller {
        user: String::new(),
        ..rig.caller.clone()
    };
    let made = access.create_login_code(&app, None).await;
    assert!(matches!(made, Err(ControlError::NotFound(_))), "{made:?}");
}
