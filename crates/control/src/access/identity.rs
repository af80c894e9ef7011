//! Who a caller is: the app and the user behind its credentials, with the roles of each.

use model::UnixMillis;
use model::access::{App, Caller, Grant};

use super::{Access, Credentials};

/// At least one of the two is there.
#[derive(Debug)]
pub struct Identity {
    pub app: Option<App>,
    pub user: Option<IdentityUser>,
}

#[derive(Debug)]
pub struct IdentityUser {
    pub name: String,
    /// None where a trusted app names the user: then only the roles of the app count.
    pub login: Option<IdentityLogin>,
}

#[derive(Debug)]
pub struct IdentityLogin {
    pub grants: Vec<Grant>,
    pub expires_at: UnixMillis,
    pub has_password: bool,
}

impl Access {
    /// Tells an authenticated caller who it is. Needs no role.
    pub fn identity(&self, caller: &Caller, credentials: &Credentials) -> Identity {
        let accounts = self.core.accounts();
        let token = credentials.token.as_deref().unwrap_or_default();
        let login = accounts.login(token, self.core.now());
        let login = login.filter(|(user, _)| user.name == caller.user);
        let login = login.map(|(user, login)| IdentityLogin {
            grants: user.grants(),
            expires_at: login.expires_at,
            has_password: user.has_password(),
        });
        Identity {
            app: accounts.apps.get(&caller.app).cloned(),
            user: (!caller.user.is_empty()).then(|| IdentityUser {
                name: caller.user.clone(),
                login,
            }),
        }
    }
}
