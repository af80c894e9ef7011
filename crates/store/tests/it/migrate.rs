//! Stores of earlier versions are brought up to date when they are opened.

use model::access::Login;
use model::change::{Changes, NameId, ProcessId, Revision};
use model::job::{JobArea, JobTarget};
use model::topology::{BkProcessId, BusinessId};
use model::{Op, UnixMillis};
use store::{StoreError, TaskPage, TimelinePage};

use crate::sample;
use crate::test_database::TestDatabase;

/// The schema before the commit log, for either database, and some rows of it.
const SQLITE: [&str; 2] = [
    include_str!("../../migrations/sqlite/0001_first.sql"),
    include_str!("../../migrations/sqlite/0002_supplier.sql"),
];
const POSTGRES: [&str; 2] = [
    include_str!("../../migrations/postgres/0001_first.sql"),
    include_str!("../../migrations/postgres/0002_supplier.sql"),
];
const ROWS: &str = "
    CREATE TABLE schema_version (version BIGINT PRIMARY KEY);
    INSERT INTO schema_version (version) VALUES (1), (2);
    UPDATE revision SET head = 7, purged_through = 2, last_job = 5;
    INSERT INTO hosts (id, cloud, ip, agent_id, enrolled_at, supplier, revision) VALUES (4, 1, '10.0.0.4', 'agent-4', 0, 0, 3);
    INSERT INTO processes VALUES
        (1, 4, 1, 1, 1, 1, 5, 3, -1, 3, 0),
        (2, 4, 2, 1, 0, 1, 5, 3, -1, 4, 1),
        (3, 4, 3, 1, 1, 0, 6, 7, 9, 7, 0);
    INSERT INTO process_groups VALUES (4, 'gse', '[]', 5, 1);
    INSERT INTO apps VALUES ('gone', '', 6, 1);
    INSERT INTO webhooks VALUES ('gone', '', 3, 6, 1);
    INSERT INTO services VALUES (1, 2, 3, 'service', 6, 0), (2, 2, 3, '', 6, 1);
    INSERT INTO jobs (id, business, action, user_name, created_at, status, is_over, body, revision, gone)
        VALUES (5, 1, 'start', 'user', 1, 'failed', 1, '{}', 7, 1);
    INSERT INTO config_files VALUES (1, 0, 1, 'null', NULL, 'null', NULL, 5, 1);
    INSERT INTO events (host, seq, at, namespace, name, kind, body, revision) VALUES (4, 1, 1, 'n', 'p', 'k', '{}', 6);
";

async fn check(database: &TestDatabase) {
    let store = database.open().await;
    let loaded = store.load().await.unwrap();
    assert_eq!(loaded.revision, Revision(7));
    let ids = |changes: &Changes| Vec::from_iter(changes.processes.iter().map(|row| row.id.0));
    assert_eq!(ids(&loaded.changes), [1, 3]);
    assert_eq!(loaded.changes.hosts.len(), 1);
    assert_eq!(loaded.changes.topology.services.len(), 1);
    assert_eq!(loaded.changes.groups, []);
    assert_eq!(loaded.changes.apps, []);
    assert_eq!(loaded.changes.templates.files, []);
    assert_eq!(store.last_job_id().await.unwrap().0, 5);

    // Commits of the earlier version are not in the log.
    for since in [2, 6] {
        let refused = store.changes_since(Revision(since)).await.unwrap_err();
        assert!(matches!(refused, StoreError::TooOld { .. }), "{refused:?}");
    }
    let changes = Changes {
        processes: vec![sample::process(2)],
        processes_gone: vec![ProcessId(3)],
        apps: vec![sample::app(1)],
        ..Changes::default()
    };
    store.commit(Revision(7), &changes).await.unwrap();
    let followed = store.changes_since(Revision(7)).await.unwrap();
    assert_eq!(followed, (Revision(8), changes));
    assert_eq!(ids(&store.load().await.unwrap().changes), [1, 2]);
    // What came later is empty, and works.
    let page = TimelinePage {
        limit: 9,
        ..TimelinePage::default()
    };
    assert_eq!(store.timeline(&page).await.unwrap(), []);
    let row = sample::timeline(1);
    store
        .add_timeline(std::slice::from_ref(&row))
        .await
        .unwrap();
    assert_eq!(store.timeline(&page).await.unwrap()[0].row, row);
    store.close().await;
    database.open().await.close().await;
}

#[tokio::test]
async fn a_sqlite_store_from_before_the_commit_log_is_migrated() {
    let database = TestDatabase::sqlite();
    std::fs::create_dir_all(database.file().parent().unwrap()).unwrap();
    for statements in SQLITE.into_iter().chain([ROWS]) {
        crate::sqlite::change_directly(&database, statements).await;
    }
    check(&database).await;
}

#[tokio::test]
async fn a_postgres_store_from_before_the_commit_log_is_migrated() {
    let mut database = TestDatabase::postgres();
    for statements in POSTGRES.into_iter().chain([ROWS]) {
        database.server().execute(statements).unwrap();
    }
    check(&database).await;
}

/// The schema before operations of tasks had a table of their own, and rows of it: an open job of a business, a task with two
/// targets.
const SQLITE_3: [&str; 3] = [
    SQLITE[0],
    SQLITE[1],
    include_str!("../../migrations/sqlite/0003_commit_log.sql"),
];
const POSTGRES_3: [&str; 3] = [
    POSTGRES[0],
    POSTGRES[1],
    include_str!("../../migrations/postgres/0003_commit_log.sql"),
];
const ROWS_3: &str = r#"
    CREATE TABLE schema_version (version BIGINT PRIMARY KEY);
    INSERT INTO schema_version (version) VALUES (1), (2), (3);
    UPDATE revision SET head = 7, purged_through = 7, last_job = 5;
    INSERT INTO tasks (id, created_at, app, user_name, n_targets, n_ended, n_ok) VALUES (77, 5, 'app', 'ann', 2, 2, 1);
    INSERT INTO targets (task, ordinal, op, host, process, key_prefix, probe, deadline) VALUES
        (77, 0, 1, NULL, 'web/nginx', '0:10.0.0.1', NULL, 9),
        (77, 1, 1, NULL, 'web/nginx', '0:10.0.0.2', NULL, 9);
    INSERT INTO jobs (id, business, action, user_name, created_at, status, is_over, body, n_pending, gone) VALUES
        (5, 2, 'restart', 'ann', 1, 'running', 0, '{"id":5,"business":2,"action":"restart","scope":{"scope":{}},"options":
        {"isolation":"business","batch_size":1,"max_failures":0,"ignore_error_codes":[],"pause_secs":0,"config_template_ids":[],
        "after_release":null},"app":"app","user":"ann","created_at":1,"ended_at":0,"status":"running","cancelled_by":"",
        "retried_at":0}', 1, 0);
    INSERT INTO job_tasks (job, ordinal, process, status, body) VALUES
        (5, 0, 46, 'pending', '{"job":5,"ordinal":0,"process":46,"local_inst_id":2,"label":{"expression":"a.b.c.d.46",
        "bk_process_name":"d","inst_id":2,"bk_cloud_id":0,"bk_host_innerip":"10.0.0.1"},"priority":3,"unit":0,
        "status":"pending","op":null,"code":0,"reason":"","output":"","command":"","started_at":0,"ended_at":0}');
"#;

async fn check_3(database: &TestDatabase) {
    let store = database.open().await;
    let loaded = store.load().await.unwrap().changes;
    assert_eq!(loaded.jobs[0].area, JobArea::Business(BusinessId(2)));
    assert_eq!(loaded.jobs[0].paused_by, "");
    let (process, local_inst_id) = (BkProcessId(46), 2);
    let target = JobTarget::Instance {
        process,
        local_inst_id,
    };
    assert_eq!(loaded.job_tasks[0].target, target);
    let page = TaskPage {
        process: Some("web/nginx".parse().unwrap()),
        op: Some(Op::Stop),
        ..sample::task_page(10)
    };
    let tasks = store.tasks(&page).await.unwrap();
    assert_eq!(tasks.len(), 1);
    assert_eq!(
        (tasks[0].task.id.number(), tasks[0].task.retries),
        (77, None)
    );
    // Jobs of both kinds are written side by side.
    store
        .commit(Revision(7), &sample::started(8, 2))
        .await
        .unwrap();
    let followed = store.changes_since(Revision(7)).await.unwrap();
    assert_eq!(followed, (Revision(8), sample::started(8, 2)));
    let all = store.load().await.unwrap().changes;
    assert_eq!((all.jobs.len(), all.job_tasks.len()), (2, 3));
    store.close().await;
    database.open().await.close().await;
}

#[tokio::test]
async fn a_sqlite_store_of_version_3_is_migrated() {
    let database = TestDatabase::sqlite();
    std::fs::create_dir_all(database.file().parent().unwrap()).unwrap();
    for statements in SQLITE_3.into_iter().chain([ROWS_3]) {
        crate::sqlite::change_directly(&database, statements).await;
    }
    check_3(&database).await;
}

#[tokio::test]
async fn a_postgres_store_of_version_3_is_migrated() {
    let mut database = TestDatabase::postgres();
    for statements in POSTGRES_3.into_iter().chain([ROWS_3]) {
        database.server().execute(statements).unwrap();
    }
    check_3(&database).await;
}

/// The schema before logins had an address, and a login of it.
const SQLITE_5: [&str; 2] = [
    include_str!("../../migrations/sqlite/0004_timeline.sql"),
    include_str!("../../migrations/sqlite/0005_task_operations.sql"),
];
const POSTGRES_5: [&str; 2] = [
    include_str!("../../migrations/postgres/0004_timeline.sql"),
    include_str!("../../migrations/postgres/0005_task_operations.sql"),
];
const VERSIONS_5: &str = "
    CREATE TABLE schema_version (version BIGINT PRIMARY KEY);
    INSERT INTO schema_version (version) VALUES (1), (2), (3), (4), (5);
    UPDATE revision SET head = 7, purged_through = 7, last_job = 5;
";
const SQLITE_LOGIN_5: &str = "INSERT INTO logins (token_sha256, user_name, expires_at) VALUES
    (x'0707070707070707070707070707070707070707070707070707070707070707', 'ann', 9);";
const POSTGRES_LOGIN_5: &str = r"INSERT INTO logins (token_sha256, user_name, expires_at) VALUES
    ('\x0707070707070707070707070707070707070707070707070707070707070707', 'ann', 9);";

async fn check_5(database: &TestDatabase) {
    let store = database.open().await;
    let loaded = store.load().await.unwrap().changes.logins;
    let earlier = Login {
        token_sha256: [7; 32],
        user: "ann".into(),
        expires_at: UnixMillis(9),
        from: String::new(),
        user_agent: String::new(),
    };
    assert_eq!(loaded, [earlier]);
    let changes = Changes {
        logins: vec![sample::login(1)],
        ..Changes::default()
    };
    store.commit(Revision(7), &changes).await.unwrap();
    let followed = store.changes_since(Revision(7)).await.unwrap();
    assert_eq!(followed, (Revision(8), changes));
    store.close().await;
    database.open().await.close().await;
}

#[tokio::test]
async fn logins_of_a_sqlite_store_of_version_5_stay() {
    let database = TestDatabase::sqlite();
    std::fs::create_dir_all(database.file().parent().unwrap()).unwrap();
    let schema = SQLITE_3.into_iter().chain(SQLITE_5);
    for statements in schema.chain([VERSIONS_5, SQLITE_LOGIN_5]) {
        crate::sqlite::change_directly(&database, statements).await;
    }
    check_5(&database).await;
}

#[tokio::test]
async fn logins_of_a_postgres_store_of_version_5_stay() {
    let mut database = TestDatabase::postgres();
    let schema = POSTGRES_3.into_iter().chain(POSTGRES_5);
    for statements in schema.chain([VERSIONS_5, POSTGRES_LOGIN_5]) {
        database.server().execute(statements).unwrap();
    }
    check_5(&database).await;
}

/// The schema before hosts could be removed and had labels, and a host of it.
const SQLITE_6: &str = include_str!("../../migrations/sqlite/0006_logins.sql");
const POSTGRES_6: &str = include_str!("../../migrations/postgres/0006_logins.sql");
const HOST_6: &str = "
    INSERT INTO schema_version (version) VALUES (6);
    INSERT INTO hosts (id, cloud, ip, agent_id, enrolled_at, supplier) VALUES (4, 1, '10.0.0.4', 'agent-4', 5, 0);
";

async fn check_6(database: &TestDatabase) {
    let store = database.open().await;
    let mut host = store.load().await.unwrap().changes.hosts.remove(0);
    assert_eq!((host.id.0, host.removed_at), (4, None));
    assert!(host.labels.is_empty());
    host.removed_at = Some(UnixMillis(8));
    host.labels = host.labels.with("zone", "a");
    let changes = Changes {
        hosts: vec![host],
        ..Changes::default()
    };
    store.commit(Revision(7), &changes).await.unwrap();
    let followed = store.changes_since(Revision(7)).await.unwrap();
    assert_eq!(followed, (Revision(8), changes.clone()));
    store.close().await;
    let again = database.open().await;
    assert_eq!(again.load().await.unwrap().changes.hosts, changes.hosts);
    again.close().await;
}

#[tokio::test]
async fn hosts_of_a_sqlite_store_of_version_6_stay() {
    let database = TestDatabase::sqlite();
    std::fs::create_dir_all(database.file().parent().unwrap()).unwrap();
    let schema = SQLITE_3.into_iter().chain(SQLITE_5).chain([SQLITE_6]);
    for statements in schema.chain([VERSIONS_5, HOST_6]) {
        crate::sqlite::change_directly(&database, statements).await;
    }
    check_6(&database).await;
}

#[tokio::test]
async fn hosts_of_a_postgres_store_of_version_6_stay() {
    let mut database = TestDatabase::postgres();
    let schema = POSTGRES_3.into_iter().chain(POSTGRES_5).chain([POSTGRES_6]);
    for statements in schema.chain([VERSIONS_5, HOST_6]) {
        database.server().execute(statements).unwrap();
    }
    check_6(&database).await;
}

/// The schema before versions, with two definitions of one process, and one of an instance of a business.
const SQLITE_8: [&str; 3] = [
    SQLITE_6,
    include_str!("../../migrations/sqlite/0007_removed_hosts.sql"),
    include_str!("../../migrations/sqlite/0008_host_labels.sql"),
];
const POSTGRES_8: [&str; 3] = [
    POSTGRES_6,
    include_str!("../../migrations/postgres/0007_removed_hosts.sql"),
    include_str!("../../migrations/postgres/0008_host_labels.sql"),
];

fn definitions_8() -> &'static str {
    let row = |id: u32, name: u32| {
        let spec = sample::spec(id).to_json().replace('\'', "''");
        format!("({id}, {name}, '{spec}', '{{\"n\":\"{id}\"}}')")
    };
    format!(
        "INSERT INTO schema_version (version) VALUES (6), (7), (8);
        INSERT INTO definitions (id, name, spec, labels) VALUES {}, {}, {};
        INSERT INTO processes (id, host, name, definition, flag, managed, registered_at, incarnation, owner) VALUES
            (1, 4, 1, 3, 1, 1, 5, 3, -1),
            (2, 5, 1, 3, 1, 1, 5, 3, -1),
            (3, 6, 1, 7, 1, 1, 5, 3, -1),
            (4, 4, 2, 8, 1, 1, 5, 3, 46);",
        row(3, 1),
        row(7, 1),
        row(8, 2)
    )
    .leak()
}

async fn check_8(database: &TestDatabase) {
    let store = database.open().await;
    let versions = store.versions(NameId(1)).await.unwrap();
    let found = versions.iter().map(|version| {
        let row = &version.row;
        (version.number, &*row.spec, row.labels.get("n"), row.at)
    });
    let expected = [(2, 7), (1, 3)].map(|(number, n)| (number, sample::spec(n), n.to_string()));
    let expected = expected
        .iter()
        .map(|(number, spec, n)| (*number, spec, Some(n.as_str()), UnixMillis::NEVER));
    assert!(found.eq(expected), "{versions:?}");
    assert_eq!(store.versions(NameId(2)).await.unwrap(), []);
    store.close().await;
}

#[tokio::test]
async fn definitions_of_a_sqlite_store_of_version_8_become_versions() {
    let database = TestDatabase::sqlite();
    std::fs::create_dir_all(database.file().parent().unwrap()).unwrap();
    let schema = SQLITE_3.into_iter().chain(SQLITE_5).chain(SQLITE_8);
    for statements in schema.chain([VERSIONS_5, definitions_8()]) {
        crate::sqlite::change_directly(&database, statements).await;
    }
    check_8(&database).await;
}

#[tokio::test]
async fn definitions_of_a_postgres_store_of_version_8_become_versions() {
    let mut database = TestDatabase::postgres();
    let schema = POSTGRES_3.into_iter().chain(POSTGRES_5).chain(POSTGRES_8);
    for statements in schema.chain([VERSIONS_5, definitions_8()]) {
        database.server().execute(statements).unwrap();
    }
    check_8(&database).await;
}
