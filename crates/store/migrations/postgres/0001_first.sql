-- Everything that must survive. Times are milliseconds since 1970; `revision` is the commit that last changed a row;
-- `gone` marks a tombstone, kept until `purge`. Column by column the same as for SQLite. Texts that are compared are
-- compared by their bytes, as SQLite does.

CREATE TABLE revision (
    one            BIGINT PRIMARY KEY CHECK (one = 1),
    head           BIGINT NOT NULL,
    purged_through BIGINT NOT NULL,
    last_job       BIGINT NOT NULL
);
INSERT INTO revision (one, head, purged_through, last_job) VALUES (1, 0, 0, 0);

-- Who wrote which of the last revisions: tells a committer whose connection broke what became of its commit.
CREATE TABLE commits (
    revision BIGINT PRIMARY KEY,
    mark     BIGINT NOT NULL
);

CREATE TABLE hosts (
    id          BIGINT PRIMARY KEY,
    cloud       BIGINT NOT NULL,
    ip          TEXT   NOT NULL,
    agent_id    TEXT,
    enrolled_at BIGINT NOT NULL,
    revision    BIGINT NOT NULL
);
CREATE INDEX hosts_revision ON hosts (revision, id);

CREATE TABLE names (
    id        BIGINT PRIMARY KEY,
    namespace TEXT   NOT NULL,
    name      TEXT   NOT NULL,
    revision  BIGINT NOT NULL
);
CREATE INDEX names_revision ON names (revision, id);

CREATE TABLE definitions (
    id       BIGINT PRIMARY KEY,
    name     BIGINT NOT NULL,
    spec     TEXT   NOT NULL,
    labels   TEXT   NOT NULL,
    revision BIGINT NOT NULL,
    gone     BIGINT NOT NULL
);
CREATE INDEX definitions_revision ON definitions (revision, id);

-- The big one: numbers only.
CREATE TABLE processes (
    id            BIGINT PRIMARY KEY,
    host          BIGINT NOT NULL,
    name          BIGINT NOT NULL,
    definition    BIGINT NOT NULL,
    flag          BIGINT NOT NULL,
    managed       BIGINT NOT NULL,
    registered_at BIGINT NOT NULL,
    incarnation   BIGINT NOT NULL,
    owner         BIGINT NOT NULL,
    revision      BIGINT NOT NULL,
    gone          BIGINT NOT NULL
);
CREATE INDEX processes_revision ON processes (revision, id);
CREATE INDEX processes_gone ON processes (revision, id) WHERE gone = 1;

CREATE TABLE process_groups (
    host      BIGINT           NOT NULL,
    namespace TEXT COLLATE "C" NOT NULL,
    body      TEXT             NOT NULL,
    revision  BIGINT           NOT NULL,
    gone      BIGINT           NOT NULL,
    PRIMARY KEY (host, namespace)
);
CREATE INDEX process_groups_revision ON process_groups (revision, host, namespace);

-- The counts follow targets and outcomes, so that open tasks and summaries need not read those.
CREATE TABLE tasks (
    id         BIGINT PRIMARY KEY,
    created_at BIGINT NOT NULL,
    app        TEXT   NOT NULL,
    user_name  TEXT   NOT NULL,
    n_targets  BIGINT NOT NULL DEFAULT 0,
    n_ended    BIGINT NOT NULL DEFAULT 0,
    n_ok       BIGINT NOT NULL DEFAULT 0,
    revision   BIGINT NOT NULL
);
CREATE INDEX tasks_revision ON tasks (revision, id);
CREATE INDEX tasks_open ON tasks (id) WHERE n_ended < n_targets;

CREATE TABLE targets (
    task       BIGINT NOT NULL,
    ordinal    BIGINT NOT NULL,
    op         BIGINT NOT NULL,
    host       BIGINT,
    process    TEXT   NOT NULL,
    key_prefix TEXT   NOT NULL,
    probe      TEXT,
    deadline   BIGINT NOT NULL,
    revision   BIGINT NOT NULL,
    PRIMARY KEY (task, ordinal)
);
CREATE INDEX targets_revision ON targets (revision, task, ordinal);

CREATE TABLE outcomes (
    task     BIGINT NOT NULL,
    ordinal  BIGINT NOT NULL,
    code     BIGINT NOT NULL,
    body     TEXT   NOT NULL,
    revision BIGINT NOT NULL,
    PRIMARY KEY (task, ordinal)
);
CREATE INDEX outcomes_revision ON outcomes (revision, task, ordinal);

-- The process view. Ids come from elsewhere, so they have gaps. Most of it is JSON under its id.
CREATE TABLE businesses (
    id       BIGINT PRIMARY KEY,
    body     TEXT   NOT NULL,
    revision BIGINT NOT NULL,
    gone     BIGINT NOT NULL
);
CREATE INDEX businesses_revision ON businesses (revision, id);

CREATE TABLE clouds (
    id       BIGINT PRIMARY KEY,
    body     TEXT   NOT NULL,
    revision BIGINT NOT NULL,
    gone     BIGINT NOT NULL
);
CREATE INDEX clouds_revision ON clouds (revision, id);

CREATE TABLE sets (
    id       BIGINT PRIMARY KEY,
    body     TEXT   NOT NULL,
    revision BIGINT NOT NULL,
    gone     BIGINT NOT NULL
);
CREATE INDEX sets_revision ON sets (revision, id);

CREATE TABLE modules (
    id       BIGINT PRIMARY KEY,
    body     TEXT   NOT NULL,
    revision BIGINT NOT NULL,
    gone     BIGINT NOT NULL
);
CREATE INDEX modules_revision ON modules (revision, id);

CREATE TABLE machines (
    id       BIGINT PRIMARY KEY,
    body     TEXT   NOT NULL,
    revision BIGINT NOT NULL,
    gone     BIGINT NOT NULL
);
CREATE INDEX machines_revision ON machines (revision, id);
CREATE INDEX machines_gone ON machines (revision, id) WHERE gone = 1;

CREATE TABLE programs (
    id       BIGINT PRIMARY KEY,
    body     TEXT   NOT NULL,
    revision BIGINT NOT NULL,
    gone     BIGINT NOT NULL
);
CREATE INDEX programs_revision ON programs (revision, id);
CREATE INDEX programs_gone ON programs (revision, id) WHERE gone = 1;

-- The two big ones of the view.
CREATE TABLE services (
    id       BIGINT PRIMARY KEY,
    module   BIGINT NOT NULL,
    machine  BIGINT NOT NULL,
    name     TEXT   NOT NULL,
    revision BIGINT NOT NULL,
    gone     BIGINT NOT NULL
);
CREATE INDEX services_revision ON services (revision, id);
CREATE INDEX services_gone ON services (revision, id) WHERE gone = 1;

CREATE TABLE view_processes (
    id               BIGINT PRIMARY KEY,
    service          BIGINT NOT NULL,
    program          BIGINT NOT NULL,
    process_template BIGINT NOT NULL,
    ordinal          BIGINT NOT NULL,
    vanished         BIGINT NOT NULL,
    revision         BIGINT NOT NULL,
    gone             BIGINT NOT NULL
);
CREATE INDEX view_processes_revision ON view_processes (revision, id);
CREATE INDEX view_processes_gone ON view_processes (revision, id) WHERE gone = 1;

-- The counts follow job_tasks, so that summaries need not read those. `gone`: `purge` is about to delete it.
CREATE TABLE jobs (
    id          BIGINT PRIMARY KEY,
    business    BIGINT NOT NULL,
    action      TEXT   NOT NULL,
    user_name   TEXT   NOT NULL,
    created_at  BIGINT NOT NULL,
    status      TEXT   NOT NULL,
    is_over     BIGINT NOT NULL,
    body        TEXT   NOT NULL,
    n_pending   BIGINT NOT NULL DEFAULT 0,
    n_running   BIGINT NOT NULL DEFAULT 0,
    n_succeeded BIGINT NOT NULL DEFAULT 0,
    n_failed    BIGINT NOT NULL DEFAULT 0,
    n_ignored   BIGINT NOT NULL DEFAULT 0,
    revision    BIGINT NOT NULL,
    gone        BIGINT NOT NULL
);
CREATE INDEX jobs_revision ON jobs (revision, id);
CREATE INDEX jobs_business ON jobs (business, id);
CREATE INDEX jobs_open ON jobs (id) WHERE is_over = 0;
CREATE INDEX jobs_ended ON jobs (created_at) WHERE is_over = 1 AND gone = 0;
CREATE INDEX jobs_gone ON jobs (id) WHERE gone = 1;

CREATE TABLE job_tasks (
    job      BIGINT NOT NULL,
    ordinal  BIGINT NOT NULL,
    process  BIGINT NOT NULL,
    status   TEXT   NOT NULL,
    body     TEXT   NOT NULL,
    revision BIGINT NOT NULL,
    PRIMARY KEY (job, ordinal)
);
CREATE INDEX job_tasks_revision ON job_tasks (revision, job, ordinal);

CREATE TABLE config_templates (
    id       BIGINT PRIMARY KEY,
    body     TEXT   NOT NULL,
    revision BIGINT NOT NULL,
    gone     BIGINT NOT NULL
);
CREATE INDEX config_templates_revision ON config_templates (revision, id);

CREATE TABLE template_versions (
    id       BIGINT PRIMARY KEY,
    body     TEXT   NOT NULL,
    revision BIGINT NOT NULL,
    gone     BIGINT NOT NULL
);
CREATE INDEX template_versions_revision ON template_versions (revision, id);

-- The two contents are those that `generated` and `released` name: an index finds whether anybody still needs one.
CREATE TABLE config_files (
    process           BIGINT NOT NULL,
    local_inst_id     BIGINT NOT NULL,
    template          BIGINT NOT NULL,
    generated         TEXT   NOT NULL,
    generated_content BYTEA,
    released          TEXT   NOT NULL,
    released_content  BYTEA,
    revision          BIGINT NOT NULL,
    gone              BIGINT NOT NULL,
    PRIMARY KEY (process, local_inst_id, template)
);
CREATE INDEX config_files_revision ON config_files (revision, process, local_inst_id, template);
CREATE INDEX config_files_gone ON config_files (revision, process, local_inst_id, template) WHERE gone = 1;
CREATE INDEX config_files_generated ON config_files (generated_content);
CREATE INDEX config_files_released ON config_files (released_content);

-- Never changed: the id is the sha256 of the body. Bytes, because a text of PostgreSQL has no NUL.
CREATE TABLE contents (
    id   BYTEA PRIMARY KEY,
    body BYTEA NOT NULL
);

-- Ids are taken while the commit holds the lock of `revision`: they rise in the order of arrival and are never used again,
-- so a reader's position stays right. Each index ends in `at` and `id`: it serves one value of its column, newest first.
CREATE TABLE events (
    id        BIGINT           GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    host      BIGINT           NOT NULL,
    seq       BIGINT           NOT NULL,
    at        BIGINT           NOT NULL,
    namespace TEXT COLLATE "C" NOT NULL,
    name      TEXT COLLATE "C" NOT NULL,
    kind      TEXT COLLATE "C" NOT NULL,
    body      TEXT             NOT NULL,
    revision  BIGINT           NOT NULL,
    UNIQUE (host, seq)
);
CREATE INDEX events_revision ON events (revision, id);
CREATE INDEX events_at ON events (at, id);
CREATE INDEX events_host ON events (host, at, id);
CREATE INDEX events_namespace ON events (namespace, at, id);
CREATE INDEX events_namespace_kind ON events (namespace, kind, at, id);
CREATE INDEX events_name ON events (name, namespace, at, id);
CREATE INDEX events_kind ON events (kind, at, id);

-- `delivered` is the id of the last event that a webhook need not be told again. It moves without a commit.
CREATE TABLE webhooks (
    id        TEXT COLLATE "C" PRIMARY KEY,
    body      TEXT             NOT NULL,
    delivered BIGINT           NOT NULL,
    revision  BIGINT           NOT NULL,
    gone      BIGINT           NOT NULL
);

CREATE TABLE apps (
    id       TEXT COLLATE "C" PRIMARY KEY,
    body     TEXT             NOT NULL,
    revision BIGINT           NOT NULL,
    gone     BIGINT           NOT NULL
);

CREATE TABLE users (
    id       TEXT COLLATE "C" PRIMARY KEY,
    body     TEXT             NOT NULL,
    revision BIGINT           NOT NULL,
    gone     BIGINT           NOT NULL
);

CREATE TABLE join_tokens (
    id       TEXT COLLATE "C" PRIMARY KEY,
    body     TEXT             NOT NULL,
    revision BIGINT           NOT NULL,
    gone     BIGINT           NOT NULL
);

CREATE TABLE logins (
    token_sha256 BYTEA  PRIMARY KEY,
    user_name    TEXT   NOT NULL,
    expires_at   BIGINT NOT NULL,
    revision     BIGINT NOT NULL,
    gone         BIGINT NOT NULL
);
CREATE INDEX logins_revision ON logins (revision, token_sha256);

-- An id is never used again, so paging by id stays right.
CREATE TABLE audit (
    id         BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    at         BIGINT NOT NULL,
    app        TEXT   NOT NULL,
    user_name  TEXT   NOT NULL,
    from_addr  TEXT   NOT NULL,
    request_id TEXT   NOT NULL,
    action     TEXT   NOT NULL,
    object     TEXT   NOT NULL,
    detail     TEXT   NOT NULL,
    revision   BIGINT NOT NULL
);

CREATE TABLE settings (
    id   TEXT COLLATE "C" PRIMARY KEY,
    body BYTEA            NOT NULL
);

-- Soft state: the last snapshot of each shard of statuses.
CREATE TABLE status (
    shard BIGINT PRIMARY KEY,
    body  BYTEA  NOT NULL
);

-- Who does a piece of work for all replicas, and until when unless it is renewed.
CREATE TABLE leases (
    name   TEXT COLLATE "C" PRIMARY KEY,
    holder BIGINT           NOT NULL,
    until  BIGINT           NOT NULL
);

-- Messages between replicas for when the bus is away. Ids come from a row of their own, whose lock is held until the
-- letters are there: so they are seen in their order and without gaps.
CREATE TABLE mailbox (
    one  BIGINT PRIMARY KEY CHECK (one = 1),
    last BIGINT NOT NULL
);
INSERT INTO mailbox (one, last) VALUES (1, 0);

CREATE TABLE mail (
    id      BIGINT PRIMARY KEY,
    sender  BIGINT NOT NULL,
    sent_at BIGINT NOT NULL,
    body    BYTEA  NOT NULL
);
