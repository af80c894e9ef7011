//! The query plans of SQLite.

use sqlx::AssertSqlSafe;

use super::raw;
use crate::test_database::TestDatabase;

#[tokio::test]
async fn large_tables_are_read_by_their_indexes() {
    let database = TestDatabase::sqlite();
    database.open().await.close().await;
    for (statement, wanted) in [
        (
            "SELECT id, body FROM commit_log WHERE id >= 5 AND id < 9 ORDER BY id",
            "INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
        ),
        (
            "SELECT id FROM timeline WHERE (at, id) < (9, 9) AND name = 5 AND +host = -1 ORDER BY at DESC, id DESC LIMIT 9",
            "timeline_name (name=? AND at<?)",
        ),
        (
            "SELECT id FROM timeline WHERE (at, id) < (9, 9) AND +name = -1 AND host = 5 ORDER BY at DESC, id DESC LIMIT 9",
            "timeline_host (host=? AND at<?)",
        ),
        (
            "DELETE FROM processes WHERE id IN (5, 6, 7)",
            "INTEGER PRIMARY KEY (rowid=?)",
        ),
        (
            "DELETE FROM config_files WHERE (process, local_inst_id, template) IN (VALUES (1, 2, 3), (4, 5, 6))",
            "PRIMARY KEY (process=? AND local_inst_id=? AND template=?)",
        ),
        (
            "SELECT app FROM tasks WHERE n_ended < n_targets ORDER BY id",
            "tasks_open",
        ),
        (
            "SELECT body FROM process_groups ORDER BY host, namespace",
            "SCAN process_groups",
        ),
        (
            "SELECT op FROM targets WHERE task IN (SELECT id FROM tasks WHERE n_ended < n_targets) ORDER BY task, ordinal",
            "SEARCH targets USING PRIMARY KEY",
        ),
        (
            "UPDATE tasks SET n_ended = v.column2 FROM (VALUES (1, 2), (3, 4)) AS v WHERE tasks.id = v.column1",
            "SEARCH tasks USING INTEGER PRIMARY KEY",
        ),
        (
            "SELECT count(o.code) FROM (VALUES (1, 2), (3, 4)) AS v CROSS JOIN targets AS t LEFT JOIN outcomes AS o \
             ON o.task = t.task AND o.ordinal = t.ordinal WHERE t.task = v.column1 AND t.ordinal = v.column2",
            "SEARCH t USING PRIMARY KEY",
        ),
        (
            "SELECT body FROM jobs WHERE is_over = 0 ORDER BY id",
            "jobs_open",
        ),
        (
            "SELECT id FROM jobs WHERE is_over = 1 AND gone = 0 AND created_at < 5 LIMIT 9",
            "jobs_ended",
        ),
        (
            "SELECT job, ordinal FROM job_tasks WHERE job IN (SELECT id FROM jobs WHERE gone = 1) LIMIT 9",
            "SEARCH job_tasks USING PRIMARY KEY",
        ),
        (
            "SELECT t.job, t.status, count(*) FROM (VALUES (1, 2), (3, 4)) AS v CROSS JOIN job_tasks AS t \
             WHERE t.job = v.column1 AND t.ordinal = v.column2 GROUP BY t.job, t.status",
            "SEARCH t USING PRIMARY KEY (job=? AND ordinal=?)",
        ),
        (
            "DELETE FROM contents WHERE id > x'00' AND id <= x'01' \
             AND NOT EXISTS (SELECT 1 FROM config_files WHERE generated_content = contents.id) \
             AND NOT EXISTS (SELECT 1 FROM config_files WHERE released_content = contents.id)",
            "config_files_released (released_content=?)",
        ),
        (
            "SELECT id FROM events WHERE at < 5 ORDER BY at, id LIMIT 9",
            "events_at",
        ),
    ] {
        let plan = plan(&database, statement).await;
        assert!(plan.contains(wanted), "{statement}\n{plan}");
        let is_sorted = plan.contains("TEMP B-TREE FOR ORDER BY");
        assert!(!is_sorted, "{statement}\n{plan}");
    }
}

/// Each filter has an index with its events in the order of time, so a page reads no more than its rows.
#[tokio::test]
async fn pages_of_events_are_read_in_order_and_never_sorted() {
    let database = TestDatabase::sqlite();
    database.open().await.close().await;
    for (filter, wanted) in [
        ("", "events_at"),
        (" AND at >= 3", "events_at"),
        (" AND host = 1", "events_host"),
        (" AND host = 1 AND kind IN ('a', 'b')", "events_host"),
        (" AND namespace = 'n'", "events_namespace"),
        (
            " AND namespace = 'n' AND kind = 'k'",
            "events_namespace_kind",
        ),
        (" AND namespace = 'n' AND name = 'p'", "events_name"),
        (" AND kind = 'k' AND at >= 3", "events_kind"),
    ] {
        let statement = format!(
            "SELECT id, host, body FROM events WHERE (at, id) < (9, 9){filter} ORDER BY at DESC, id DESC LIMIT 9"
        );
        let plan = plan(&database, &statement).await;
        assert!(
            plan.contains(&format!("INDEX {wanted} ")),
            "{filter}\n{plan}"
        );
        assert!(!plan.contains("TEMP B-TREE"), "{filter}\n{plan}");
    }
}

/// Each batch begins where the last one ended, without a scan of the rows before it or a sort.
#[tokio::test]
async fn batches_of_a_table_are_read_in_order_and_never_sorted() {
    let database = TestDatabase::sqlite();
    database.open().await.close().await;
    for (table, condition, wanted) in [
        (
            "services",
            "(id) > (5) ORDER BY id",
            "INTEGER PRIMARY KEY (rowid>?)",
        ),
        (
            "config_files",
            "(process, local_inst_id, template) > (5, 5, 5) ORDER BY process, local_inst_id, template",
            "PRIMARY KEY ((process,local_inst_id,template)>(?,?,?))",
        ),
        (
            "job_tasks",
            "job = 5 AND (ordinal) > (5) ORDER BY ordinal",
            "PRIMARY KEY (job=? AND ordinal>?)",
        ),
    ] {
        let statement = format!(
            "SELECT string_agg(packed, '') FROM (SELECT concat_ws(' ', 1) || ' ' AS packed FROM {table} \
             WHERE {condition} LIMIT 9) AS batch"
        );
        let plan = plan(&database, &statement).await;
        assert!(plan.contains(wanted), "{condition}\n{plan}");
        assert!(!plan.contains("TEMP B-TREE"), "{condition}\n{plan}");
    }
}

/// A page of jobs is read from the newest on, with any filter.
#[tokio::test]
async fn pages_of_jobs_are_read_in_order_and_never_sorted() {
    let database = TestDatabase::sqlite();
    database.open().await.close().await;
    for (filter, wanted) in [
        ("", "INTEGER PRIMARY KEY (rowid<?)"),
        (
            " AND business = 1",
            "jobs_business (business=? AND rowid<?)",
        ),
        (
            " AND business = 1 AND status = 's' AND action = 'a' AND user_name = 'u'",
            "jobs_business (business=? AND rowid<?)",
        ),
    ] {
        let statement = format!(
            "SELECT body FROM jobs WHERE gone = 0 AND id < 9{filter} ORDER BY id DESC LIMIT 9"
        );
        let plan = plan(&database, &statement).await;
        assert!(plan.contains(wanted), "{filter}\n{plan}");
        assert!(!plan.contains("TEMP B-TREE"), "{filter}\n{plan}");
    }
}

async fn plan(database: &TestDatabase, statement: &str) -> String {
    let mut conn = raw(database).await;
    let explain = AssertSqlSafe(format!("EXPLAIN QUERY PLAN {statement}"));
    let steps: Vec<(i64, i64, i64, String)> =
        sqlx::query_as(explain).fetch_all(&mut conn).await.unwrap();
    let steps: Vec<String> = steps.into_iter().map(|(_, _, _, step)| step).collect();
    steps.join("\n")
}
