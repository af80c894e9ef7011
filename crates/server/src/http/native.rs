//! The native API, `/api/v1`: plain REST names, ordinary status codes.
//!
//! One file per noun. `error` chooses the status codes, `caller` finds out who asks, `read` takes in bodies and queries.

mod agents;
mod apps;
mod audit;
mod businesses;
mod caller;
mod drain;
mod error;
mod events;
mod explain;
mod figures;
mod filter;
mod grants;
mod groups;
mod held;
mod host_check;
mod hosts;
mod jobs;
mod label_hosts;
mod login;
mod logs;
mod me;
mod operate;
mod plain;
mod processes;
mod recheck;
mod refusals;
mod register;
mod remove_hosts;
mod replicas;
mod request;
mod response;
mod results;
mod runs;
mod search;
mod selection;
mod summary;
mod targets;
mod tasks;
mod templates;
mod timeline;
mod tokens;
mod topology;
mod users;
mod versions;
mod view;
mod watch;
mod webhooks;
mod why;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::HttpState;
pub(crate) use error::{ApiError, ERROR_CODES};
pub(crate) use events::event_row;
pub(crate) use request::is_json_or_empty;

/// Every path of the native API. Handlers document themselves.
pub(crate) fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::default()
        .routes(routes!(processes::list))
        .routes(routes!(processes::facets))
        .routes(routes!(view::list))
        .routes(routes!(view::facets))
        .routes(routes!(
            processes::show,
            register::register,
            register::update,
            register::unregister
        ))
        .routes(routes!(versions::list))
        .routes(routes!(versions::rollback))
        .routes(routes!(logs::logs))
        .routes(routes!(why::why))
        .routes(routes!(runs::list))
        .routes(routes!(figures::process))
        .routes(routes!(figures::states))
        .routes(routes!(operate::operate))
        .routes(routes!(operate::operate_many))
        .routes(routes!(tasks::list))
        .routes(routes!(tasks::show))
        .routes(routes!(tasks::failures))
        .routes(routes!(tasks::hosts))
        .routes(routes!(tasks::retry))
        .routes(routes!(businesses::list))
        .routes(routes!(businesses::refresh))
        .routes(routes!(businesses::tree))
        .routes(routes!(topology::show, topology::import, topology::remove))
        .routes(routes!(explain::explain))
        .routes(routes!(templates::list, templates::create))
        .routes(routes!(
            templates::show,
            templates::update,
            templates::delete
        ))
        .routes(routes!(templates::bind))
        .routes(routes!(templates::preview))
        .routes(routes!(templates::variables))
        .routes(routes!(templates::versions::list))
        .routes(routes!(templates::versions::show))
        .routes(routes!(templates::versions::save_draft))
        .routes(routes!(templates::versions::activate))
        .routes(routes!(templates::versions::clone))
        .routes(routes!(templates::files::list))
        .routes(routes!(templates::files::of_template))
        .routes(routes!(templates::files::list_of_business))
        .routes(routes!(templates::files::show))
        .routes(routes!(jobs::list, jobs::create))
        .routes(routes!(jobs::show))
        .routes(routes!(jobs::retry))
        .routes(routes!(jobs::failures))
        .routes(routes!(jobs::hosts))
        .routes(routes!(jobs::pause))
        .routes(routes!(jobs::resume))
        .routes(routes!(jobs::cancel))
        .routes(routes!(jobs::revert))
        .routes(routes!(replicas::list))
        .routes(routes!(processes::names))
        .routes(routes!(search::search))
        .routes(routes!(hosts::list))
        .routes(routes!(remove_hosts::remove))
        .routes(routes!(label_hosts::label))
        .routes(routes!(hosts::show))
        .routes(routes!(hosts::set_agent_id))
        .routes(routes!(hosts::revoke))
        .routes(routes!(agents::binaries))
        .routes(routes!(agents::upgrade))
        .routes(routes!(drain::drain, drain::undo))
        .routes(routes!(held::held))
        .routes(routes!(host_check::check))
        .routes(routes!(groups::list, groups::set))
        .routes(routes!(apps::list, apps::create))
        .routes(routes!(apps::delete))
        .routes(routes!(grants::give_to_app, grants::take_from_app))
        .routes(routes!(users::list, users::create))
        .routes(routes!(users::delete))
        .routes(routes!(grants::give_to_user, grants::take_from_user))
        .routes(routes!(tokens::list, tokens::create))
        .routes(routes!(tokens::delete))
        .routes(routes!(login::login))
        .routes(routes!(login::create_code))
        .routes(routes!(login::logout))
        .routes(routes!(login::whoami))
        .routes(routes!(me::change_password))
        .routes(routes!(me::logins))
        .routes(routes!(me::end_login))
        .routes(routes!(audit::list))
        .routes(routes!(audit::export))
        .routes(routes!(watch::watch))
        .routes(routes!(summary::summary))
        .routes(routes!(events::list))
        .routes(routes!(events::counts))
        .routes(routes!(timeline::timeline))
        .routes(routes!(webhooks::list, webhooks::create))
        .routes(routes!(webhooks::delete))
        .routes(routes!(webhooks::test))
}
