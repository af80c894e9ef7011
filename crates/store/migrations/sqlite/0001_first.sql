-- Everything that must survive. Times are milliseconds since 1970; `revision` is the commit that last changed a row;
-- `gone` marks a tombstone, kept until `purge`. An index on
-- `revision` holds, unsaid, the key as well. Names avoid the words that PostgreSQL reserves.

CREATE TABLE revision (
    one            INTEGER PRIMARY KEY CHECK (one = 1),
    head           INTEGER NOT NULL,
    purged_through INTEGER NOT NULL,
    last_job       INTEGER NOT NULL
) STRICT;
INSERT INTO revision (one, head, purged_through, last_job) VALUES (1, 0, 0, 0);

CREATE TABLE hosts (
    id          INTEGER PRIMARY KEY,
    cloud       INTEGER NOT NULL,
    ip          TEXT    NOT NULL,
    agent_id    TEXT,
    enrolled_at INTEGER NOT NULL,
    revision    INTEGER NOT NULL
) STRICT;
CREATE INDEX hosts_revision ON hosts (revision);

CREATE TABLE names (
    id        INTEGER PRIMARY KEY,
    namespace TEXT    NOT NULL,
    name      TEXT    NOT NULL,
    revision  INTEGER NOT NULL
) STRICT;
CREATE INDEX names_revision ON names (revision);

CREATE TABLE definitions (
    id       INTEGER PRIMARY KEY,
    name     INTEGER NOT NULL,
    spec     TEXT    NOT NULL,
    labels   TEXT    NOT NULL,
    revision INTEGER NOT NULL,
    gone     INTEGER NOT NULL
) STRICT;
CREATE INDEX definitions_revision ON definitions (revision);

-- The big one: numbers only.
CREATE TABLE processes (
    id            INTEGER PRIMARY KEY,
    host          INTEGER NOT NULL,
    name          INTEGER NOT NULL,
    definition    INTEGER NOT NULL,
    flag          INTEGER NOT NULL,
    managed       INTEGER NOT NULL,
    registered_at INTEGER NOT NULL,
    incarnation   INTEGER NOT NULL,
    owner         INTEGER NOT NULL,
    revision      INTEGER NOT NULL,
    gone          INTEGER NOT NULL
) STRICT;
CREATE INDEX processes_revision ON processes (revision);
CREATE INDEX processes_gone ON processes (revision) WHERE gone = 1;

CREATE TABLE process_groups (
    host      INTEGER NOT NULL,
    namespace TEXT    NOT NULL,
    body      TEXT    NOT NULL,
    revision  INTEGER NOT NULL,
    gone      INTEGER NOT NULL,
    PRIMARY KEY (host, namespace)
) STRICT, WITHOUT ROWID;
CREATE INDEX process_groups_revision ON process_groups (revision);

-- The counts follow targets and outcomes, so that open tasks and summaries need not read those.
CREATE TABLE tasks (
    id         INTEGER PRIMARY KEY,
    created_at INTEGER NOT NULL,
    app        TEXT    NOT NULL,
    user_name  TEXT    NOT NULL,
    n_targets  INTEGER NOT NULL DEFAULT 0,
    n_ended    INTEGER NOT NULL DEFAULT 0,
    n_ok       INTEGER NOT NULL DEFAULT 0,
    revision   INTEGER NOT NULL
) STRICT;
CREATE INDEX tasks_revision ON tasks (revision);
CREATE INDEX tasks_open ON tasks (id) WHERE n_ended < n_targets;

CREATE TABLE targets (
    task       INTEGER NOT NULL,
    ordinal    INTEGER NOT NULL,
    op         INTEGER NOT NULL,
    host       INTEGER,
    process    TEXT    NOT NULL,
    key_prefix TEXT    NOT NULL,
    probe      TEXT,
    deadline   INTEGER NOT NULL,
    revision   INTEGER NOT NULL,
    PRIMARY KEY (task, ordinal)
) STRICT, WITHOUT ROWID;
CREATE INDEX targets_revision ON targets (revision);

CREATE TABLE outcomes (
    task     INTEGER NOT NULL,
    ordinal  INTEGER NOT NULL,
    code     INTEGER NOT NULL,
    body     TEXT    NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (task, ordinal)
) STRICT, WITHOUT ROWID;
CREATE INDEX outcomes_revision ON outcomes (revision);

-- The process view. Ids come from elsewhere, so they have gaps. Most of it is JSON under its id.
CREATE TABLE businesses (
    id       INTEGER PRIMARY KEY,
    body     TEXT    NOT NULL,
    revision INTEGER NOT NULL,
    gone     INTEGER NOT NULL
) STRICT;
CREATE INDEX businesses_revision ON businesses (revision);

CREATE TABLE clouds (
    id       INTEGER PRIMARY KEY,
    body     TEXT    NOT NULL,
    revision INTEGER NOT NULL,
    gone     INTEGER NOT NULL
) STRICT;
CREATE INDEX clouds_revision ON clouds (revision);

CREATE TABLE sets (
    id       INTEGER PRIMARY KEY,
    body     TEXT    NOT NULL,
    revision INTEGER NOT NULL,
    gone     INTEGER NOT NULL
) STRICT;
CREATE INDEX sets_revision ON sets (revision);

CREATE TABLE modules (
    id       INTEGER PRIMARY KEY,
    body     TEXT    NOT NULL,
    revision INTEGER NOT NULL,
    gone     INTEGER NOT NULL
) STRICT;
CREATE INDEX modules_revision ON modules (revision);

CREATE TABLE machines (
    id       INTEGER PRIMARY KEY,
    body     TEXT    NOT NULL,
    revision INTEGER NOT NULL,
    gone     INTEGER NOT NULL
) STRICT;
CREATE INDEX machines_revision ON machines (revision);
CREATE INDEX machines_gone ON machines (revision) WHERE gone = 1;

CREATE TABLE programs (
    id       INTEGER PRIMARY KEY,
    body     TEXT    NOT NULL,
    revision INTEGER NOT NULL,
    gone     INTEGER NOT NULL
) STRICT;
CREATE INDEX programs_revision ON programs (revision);
CREATE INDEX programs_gone ON programs (revision) WHERE gone = 1;

-- The two big ones of the view.
CREATE TABLE services (
    id       INTEGER PRIMARY KEY,
    module   INTEGER NOT NULL,
    machine  INTEGER NOT NULL,
    name     TEXT    NOT NULL,
    revision INTEGER NOT NULL,
    gone     INTEGER NOT NULL
) STRICT;
CREATE INDEX services_revision ON services (revision);
CREATE INDEX services_gone ON services (revision) WHERE gone = 1;

CREATE TABLE view_processes (
    id               INTEGER PRIMARY KEY,
    service          INTEGER NOT NULL,
    program          INTEGER NOT NULL,
    process_template INTEGER NOT NULL,
    ordinal          INTEGER NOT NULL,
    vanished         INTEGER NOT NULL,
    revision         INTEGER NOT NULL,
    gone             INTEGER NOT NULL
) STRICT;
CREATE INDEX view_processes_revision ON view_processes (revision);
CREATE INDEX view_processes_gone ON view_processes (revision) WHERE gone = 1;

-- The counts follow job_tasks, so that summaries need not read those. `gone`: `purge` is about to delete it.
CREATE TABLE jobs (
    id          INTEGER PRIMARY KEY,
    business    INTEGER NOT NULL,
    action      TEXT    NOT NULL,
    user_name   TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    status      TEXT    NOT NULL,
    is_over     INTEGER NOT NULL,
    body        TEXT    NOT NULL,
    n_pending   INTEGER NOT NULL DEFAULT 0,
    n_running   INTEGER NOT NULL DEFAULT 0,
    n_succeeded INTEGER NOT NULL DEFAULT 0,
    n_failed    INTEGER NOT NULL DEFAULT 0,
    n_ignored   INTEGER NOT NULL DEFAULT 0,
    revision    INTEGER NOT NULL,
    gone        INTEGER NOT NULL
) STRICT;
CREATE INDEX jobs_revision ON jobs (revision);
CREATE INDEX jobs_business ON jobs (business);
CREATE INDEX jobs_open ON jobs (id) WHERE is_over = 0;
CREATE INDEX jobs_ended ON jobs (created_at) WHERE is_over = 1 AND gone = 0;
CREATE INDEX jobs_gone ON jobs (id) WHERE gone = 1;

CREATE TABLE job_tasks (
    job      INTEGER NOT NULL,
    ordinal  INTEGER NOT NULL,
    process  INTEGER NOT NULL,
    status   TEXT    NOT NULL,
    body     TEXT    NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (job, ordinal)
) STRICT, WITHOUT ROWID;
CREATE INDEX job_tasks_revision ON job_tasks (revision);

CREATE TABLE config_templates (
    id       INTEGER PRIMARY KEY,
    body     TEXT    NOT NULL,
    revision INTEGER NOT NULL,
    gone     INTEGER NOT NULL
) STRICT;
CREATE INDEX config_templates_revision ON config_templates (revision);

CREATE TABLE template_versions (
    id       INTEGER PRIMARY KEY,
    body     TEXT    NOT NULL,
    revision INTEGER NOT NULL,
    gone     INTEGER NOT NULL
) STRICT;
CREATE INDEX template_versions_revision ON template_versions (revision);

-- The two contents are those that `generated` and `released` name: an index finds whether anybody still needs one.
CREATE TABLE config_files (
    process           INTEGER NOT NULL,
    local_inst_id     INTEGER NOT NULL,
    template          INTEGER NOT NULL,
    generated         TEXT    NOT NULL,
    generated_content BLOB,
    released          TEXT    NOT NULL,
    released_content  BLOB,
    revision          INTEGER NOT NULL,
    gone              INTEGER NOT NULL,
    PRIMARY KEY (process, local_inst_id, template)
) STRICT, WITHOUT ROWID;
CREATE INDEX config_files_revision ON config_files (revision);
CREATE INDEX config_files_gone ON config_files (revision) WHERE gone = 1;
CREATE INDEX config_files_generated ON config_files (generated_content);
CREATE INDEX config_files_released ON config_files (released_content);

-- Never changed: the id is the sha256 of the body. Bytes, because a text of PostgreSQL has no NUL.
CREATE TABLE contents (
    id   BLOB PRIMARY KEY,
    body BLOB NOT NULL
) STRICT;

-- AUTOINCREMENT: ids rise in the order of arrival and are never used again, so a reader's position stays right.
-- Each index ends in `at` (and, unsaid, `id`): it serves one value of its column, newest first.
CREATE TABLE events (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    host      INTEGER NOT NULL,
    seq       INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    namespace TEXT    NOT NULL,
    name      TEXT    NOT NULL,
    kind      TEXT    NOT NULL,
    body      TEXT    NOT NULL,
    revision  INTEGER NOT NULL,
    UNIQUE (host, seq)
) STRICT;
CREATE INDEX events_revision ON events (revision);
CREATE INDEX events_at ON events (at);
CREATE INDEX events_host ON events (host, at);
CREATE INDEX events_namespace ON events (namespace, at);
CREATE INDEX events_namespace_kind ON events (namespace, kind, at);
CREATE INDEX events_name ON events (name, namespace, at);
CREATE INDEX events_kind ON events (kind, at);

-- `delivered` is the id of the last event that a webhook need not be told again. It moves without a commit.
CREATE TABLE webhooks (
    id        TEXT    PRIMARY KEY,
    body      TEXT    NOT NULL,
    delivered INTEGER NOT NULL,
    revision  INTEGER NOT NULL,
    gone      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE apps (
    id       TEXT    PRIMARY KEY,
    body     TEXT    NOT NULL,
    revision INTEGER NOT NULL,
    gone     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE users (
    id       TEXT    PRIMARY KEY,
    body     TEXT    NOT NULL,
    revision INTEGER NOT NULL,
    gone     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE join_tokens (
    id       TEXT    PRIMARY KEY,
    body     TEXT    NOT NULL,
    revision INTEGER NOT NULL,
    gone     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE logins (
    token_sha256 BLOB    PRIMARY KEY,
    user_name    TEXT    NOT NULL,
    expires_at   INTEGER NOT NULL,
    revision     INTEGER NOT NULL,
    gone         INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX logins_revision ON logins (revision);

-- AUTOINCREMENT: an id is never used again, so paging by id stays right.
CREATE TABLE audit (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    at         INTEGER NOT NULL,
    app        TEXT    NOT NULL,
    user_name  TEXT    NOT NULL,
    from_addr  TEXT    NOT NULL,
    request_id TEXT    NOT NULL,
    action     TEXT    NOT NULL,
    object     TEXT    NOT NULL,
    detail     TEXT    NOT NULL,
    revision   INTEGER NOT NULL
) STRICT;

CREATE TABLE settings (
    id   TEXT PRIMARY KEY,
    body BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Soft state: the last snapshot of each shard of statuses.
CREATE TABLE status (
    shard INTEGER PRIMARY KEY,
    body  BLOB NOT NULL
) STRICT;

-- Who does a piece of work for all replicas, and until when unless it is renewed.
CREATE TABLE leases (
    name   TEXT    PRIMARY KEY,
    holder INTEGER NOT NULL,
    until  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Messages between replicas for when the bus is away. Ids come from a row of their own, whose lock is held until the
-- letters are there: so they are seen in their order and without gaps.
CREATE TABLE mailbox (
    one  INTEGER PRIMARY KEY CHECK (one = 1),
    last INTEGER NOT NULL
) STRICT;
INSERT INTO mailbox (one, last) VALUES (1, 0);

CREATE TABLE mail (
    id      INTEGER PRIMARY KEY,
    sender  INTEGER NOT NULL,
    sent_at INTEGER NOT NULL,
    body    BLOB    NOT NULL
) STRICT;
